//! Hosts by state and failure domain.

use std::{collections::BTreeMap, fmt};

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost};
use capm3_domain::host::{could_be_taken, domain_of};
use capm3_engine::{
    Caches,
    metrics::{Encoder, Series},
};

use super::{OTHER, bounded, number};

pub(super) const HOSTS: Series = Series::gauge(
    "capm3_hosts",
    &["state", "failure_domain"],
    "BareMetalHosts by provisioning state and failure domain; no failure domain: not labelled with one",
);
pub(super) const USABLE: Series = Series::gauge(
    "capm3_hosts_usable",
    &["failure_domain"],
    "BareMetalHosts that a machine could take if its selector matches, by failure domain",
);

/// States of the host operator.
const STATES: [&str; 15] = [
    "available",
    "deleting",
    "deprovisioning",
    "externally provisioned",
    "inspecting",
    "match profile",
    "none",
    "powering off before delete",
    "preparing",
    "provisioned",
    "provisioning",
    "ready",
    "registering",
    "registration error",
    "unmanaged",
];

#[derive(Default)]
struct Domain {
    by_state: BTreeMap<&'static str, usize>,
    usable: usize,
}

pub(super) fn encode(encoder: &mut Encoder<'_>, caches: &Caches) -> fmt::Result {
    let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
    if let Some(hosts) = caches.store::<BareMetalHost>() {
        hosts.visit(|host| {
            let name = domain_of(host).unwrap_or_default();
            // Not the entry API: it would make a name for each host.
            if !domains.contains_key(name) {
                domains.insert(name.to_owned(), Domain::default());
            }
            if let Some(domain) = domains.get_mut(name) {
                *domain.by_state.entry(state(host)).or_default() += 1;
                domain.usable += usize::from(could_be_taken(host) && !host.metadata.is_deleting());
            }
        });
    }
    let domains = bounded(domains, |all, one| {
        let mut all = all.unwrap_or_default();
        one.by_state.into_iter().for_each(|(state, count)| *all.by_state.entry(state).or_default() += count);
        all.usable += one.usable;
        all
    });
    let states = domains.iter().flat_map(|(name, domain)| {
        domain.by_state.iter().map(move |(state, count)| ([*state, name.as_str()], number(*count)))
    });
    encoder.gauges(&HOSTS, states)?;
    encoder.gauges(&USABLE, domains.iter().map(|(name, domain)| ([name], number(domain.usable))))
}

/// Its state in the words of the host operator, without one `none`.
fn state(host: &BareMetalHost) -> &'static str {
    match host.status.provisioning.state.as_deref().unwrap_or_default() {
        "" => "none",
        named => STATES.into_iter().find(|known| *known == named).unwrap_or(OTHER),
    }
}

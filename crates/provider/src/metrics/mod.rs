//! What a scrape shows of hosts, machines, pools and workload clusters.
//!
//! Nearly everything is read from the caches when somebody asks, so a reconciliation pays nothing for it; only what is an event
//! is counted when it happens: the steps of a machine ([`progress`]) and claims of hosts that another one won
//! ([`claims`]). Labels have bounded values: no names of objects, and not more than [`MOST_VALUES`] failure domains or
//! namespaces.

mod claims;
mod hosts;
mod indexes;
mod pools;
mod progress;
mod waits;
mod writes;

use std::{collections::BTreeMap, fmt, sync::Arc};

use capm3_engine::{
    Caches, WriteCounts,
    metrics::{Encoder, Series, Source},
};

pub(crate) use claims::HostClaims;
pub(crate) use progress::Progress;

use crate::{baremetalhost::Orphans, waits::Waits, workload::Workloads};

/// How many values a label may have. The rest is counted as [`OTHER`].
const MOST_VALUES: usize = 100;
/// The value of a label that stands for all that had no place.
const OTHER: &str = "other";

const ORPHANED: Series = Series::gauge(
    "capm3_orphaned_hosts",
    &[],
    "BareMetalHosts whose Metal3Machine cannot be found or does not know them; see docs/troubleshooting.md",
);
const WORKLOAD_CLUSTERS: Series = Series::gauge(
    "capm3_workload_clusters",
    &["state"],
    "Workload clusters by connection: connecting, synced, unreachable",
);
const HEALTHY: Series = Series::gauge(
    "capm3_watch_healthy",
    &["kind"],
    "1 if objects of this kind can be read, or the kind need not be installed and is not; else 0",
);

/// The series of the provider.
pub const SERIES: &[Series] = &[
    hosts::HOSTS,
    hosts::USABLE,
    pools::POOLS,
    pools::SMALLEST,
    pools::ADDRESSES,
    indexes::SPACES,
    indexes::USED,
    indexes::HIGHEST,
    HEALTHY,
    ORPHANED,
    claims::CLAIMS,
    claims::CONFLICTS,
    waits::MACHINES,
    waits::LONGEST,
    waits::RENDER_ERRORS,
    progress::STEPS,
    WORKLOAD_CLUSTERS,
    writes::REFUSED,
];

/// What the caches show, on every replica alike.
#[derive(Clone)]
pub struct CacheSource(pub Arc<Caches>);

impl fmt::Debug for CacheSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheSource")
    }
}

impl Source for CacheSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        let Self(caches) = self;
        hosts::encode(encoder, caches)?;
        pools::encode(encoder, caches)?;
        indexes::encode(encoder, caches)?;
        let healthy = caches.health();
        let healthy =
            healthy.map(|it| ([it.kind().kind.clone()], number(usize::from(it.state().is_healthy()))));
        encoder.gauges(&HEALTHY, healthy)
    }
}

/// Where the figures of a provider come from.
pub(crate) struct ProviderSource {
    pub(crate) caches: CacheSource,
    pub(crate) orphans: Arc<Orphans>,
    pub(crate) waits: Arc<Waits>,
    pub(crate) workloads: Arc<Workloads>,
    pub(crate) claims: HostClaims,
    pub(crate) progress: Progress,
    pub(crate) writes: WriteCounts,
}

impl fmt::Debug for ProviderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderSource")
    }
}

impl Source for ProviderSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        self.caches.encode(encoder)?;
        encoder.gauge(&ORPHANED, number(self.orphans.count()))?;
        self.claims.encode(encoder)?;
        waits::encode(encoder, &self.waits)?;
        self.progress.encode(encoder)?;
        let states = self.workloads.count_by_state();
        encoder.gauges(&WORKLOAD_CLUSTERS, states.map(|(state, count)| ([state], number(count))))?;
        writes::encode(encoder, &self.writes)
    }
}

/// As Prometheus has numbers. Whole ones up to 2^53 are exact.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of objects are far below 2^53; addresses may be rounded"
)]
fn number(count: impl TryInto<u128>) -> f64 {
    count.try_into().map_or(f64::INFINITY, |count| count as f64)
}

/// Puts what is under too many values of a label together under [`OTHER`].
fn bounded<V>(
    mut by_value: BTreeMap<String, V>,
    mut merge: impl FnMut(Option<V>, V) -> V,
) -> BTreeMap<String, V> {
    let Some((beyond, _)) = by_value.iter().nth(MOST_VALUES) else { return by_value };
    let beyond = by_value.split_off(&beyond.clone());
    let other = beyond.into_values().fold(by_value.remove(OTHER), |all, one| Some(merge(all, one)));
    by_value.extend(other.map(|other| (OTHER.to_owned(), other)));
    by_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_too_many_values_are_put_together() {
        let sum = |all: Option<u32>, one| all.unwrap_or_default() + one;
        let few: BTreeMap<String, u32> = (0..100).map(|it| (format!("{it:03}"), 1)).collect();
        assert_eq!(bounded(few.clone(), sum), few);
        let many: BTreeMap<String, u32> = (0..250).map(|it| (format!("{it:03}"), 1)).collect();
        let bounded = bounded(many, sum);
        assert_eq!((bounded.len(), bounded[OTHER], bounded["099"]), (101, 150, 1));
    }

    #[test]
    fn every_series_has_a_name_of_its_own_and_a_help_in_one_line() {
        let all: Vec<&Series> = SERIES.iter().chain(capm3_engine::metrics::SERIES).collect();
        assert!(all.len() > 20);
        let names: std::collections::BTreeSet<&str> = all.iter().map(|it| it.family).collect();
        assert_eq!(names.len(), all.len());
        for series in all {
            let help = series.help;
            assert!(help.len() > 15 && !help.ends_with('.') && !help.contains('\n'), "{}", series.family);
        }
    }
}

//! Why a machine does not make progress where it waits for another object of the provider: what that object waits for, by the
//! decision of its own controller.
//!
//! Takes a reader, whose word is final, and the wait of a machine; gives the last object of the chain that waits, if there
//! is one. Nothing is written, and nobody is asked.

use std::sync::Arc;

use capm3_api::{
    ipam::IpPool,
    metadata::MetadataExt,
    neighbours::Cluster,
    v1beta2::{Metal3Cluster, Metal3Data, Metal3DataTemplate},
};
use capm3_domain::wait::{AddressWait, Text, Wait};
use capm3_engine::{Aggregate, Index, Object, ObjectKey, Reader, Visit};

use crate::{
    ippool, metal3cluster,
    metal3data::{self, Settings},
    metal3datatemplate,
    plan::{End, Plan},
};

/// An object that keeps a machine waiting because it waits itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Its kind.
    pub kind: &'static str,
    /// Its name, in the namespace of the machine.
    pub name: String,
    /// What it waits for.
    pub wait: Wait,
    /// The wait of the machine together with this, as a message.
    pub message: Text,
}

/// What the object that a machine waits for waits for itself; none if it does not wait.
pub(crate) fn cause(reader: &impl Reader, machine: &ObjectKey, wait: &Wait) -> Option<Cause> {
    let reader = &Authoritative(reader);
    let here = |name: &str| ObjectKey::new(&machine.namespace, name);
    match wait {
        Wait::Infrastructure(cluster) => of_cluster(reader, &here(cluster), wait),
        Wait::DataTemplate { template, missing_in: None, report: None } | Wait::Data { template, .. } => {
            of_template(reader, machine, &here(template), wait)
        }
        Wait::Rendering { data, .. } => of_data(reader, &here(data)),
        _ => None,
    }
}

fn of_cluster(reader: &impl Reader, cluster: &ObjectKey, wait: &Wait) -> Option<Cause> {
    let name = reader.get::<Cluster>(cluster)?.spec.infrastructure_ref.as_ref()?.name.clone()?;
    let snapshot = metal3cluster::observe(reader, &ObjectKey::new(&cluster.namespace, &name), true)?;
    let found = waits_for(metal3cluster::decide(&snapshot, ""))?;
    Some(Cause::beside(wait, Metal3Cluster::API.kind, name, found))
}

/// Of the claims only that of the machine counts: another one may be paused.
fn of_template(
    reader: &impl Reader,
    machine: &ObjectKey,
    template: &ObjectKey,
    wait: &Wait,
) -> Option<Cause> {
    let mut snapshot = metal3datatemplate::observe(reader, template)?;
    snapshot.claims.retain(|claim| claim.metadata.name_str() == machine.name);
    let found = waits_for(metal3datatemplate::decide(&snapshot, ""))?;
    Some(Cause::beside(wait, Metal3DataTemplate::API.kind, template.name.clone(), found))
}

/// The data, or a pool that it waits for and that waits itself.
fn of_data(reader: &impl Reader, data: &ObjectKey) -> Option<Cause> {
    let settings = Settings { serves_addresses: true, ..Settings::default() };
    let found = waits_for(metal3data::decide(&metal3data::observe(reader, data, settings)?, ""))?;
    let name = data.name.clone();
    let report = match &found {
        Wait::DataError(error) => error.sentence(),
        other => Text::new(other),
    };
    let waiting = Wait::Rendering { data: name.clone(), report: Some(report) };
    if let Wait::Addresses(addresses) = &found
        && let Some(cause) =
            addresses.0.iter().find_map(|address| of_pool(reader, &data.namespace, address, &waiting))
    {
        return Some(cause);
    }
    Some(Cause { kind: Metal3Data::API.kind, name, wait: found, message: Text::new(waiting) })
}

fn of_pool(reader: &impl Reader, namespace: &str, address: &AddressWait, wait: &Wait) -> Option<Cause> {
    let AddressWait::Pool { kind, pool, .. } = address else { return None };
    let key = Some(ObjectKey::new(namespace, pool)).filter(|_| kind == IpPool::API.kind)?;
    let found = waits_for(ippool::decide(&ippool::observe(reader, &key)?, ""))?;
    Some(Cause::beside(wait, IpPool::API.kind, key.name, found))
}

fn waits_for(plan: Plan) -> Option<Wait> {
    match plan.end {
        End::WaitFor(wait) | End::Retry(wait, _) => Some(wait),
        End::Done | End::Again | End::After(_) => None,
    }
}

impl Cause {
    fn beside(waiting: &Wait, kind: &'static str, name: String, wait: Wait) -> Self {
        let message = Text::new(format!("{waiting}; {kind} {name}: {wait}"));
        Self { kind, name, wait, message }
    }
}

/// A reader that is authoritative: what it does not show is gone.
struct Authoritative<'r, R>(&'r R);

impl<R: Reader> Reader for Authoritative<'_, R> {
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get(key)
    }

    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        self.0.by_index(index, value)
    }

    fn aggregate<K: Object, A: Aggregate<K>>(&self, group: &str) -> Arc<A> {
        self.0.aggregate(group)
    }

    fn is_served<K: Object>(&self) -> Option<bool> {
        self.0.is_served::<K>()
    }

    fn count<K: Object>(&self, index: &Index<K>, value: &str) -> usize {
        self.0.count(index, value)
    }

    fn each<K: Object>(&self, index: &Index<K>, value: &str, visit: &mut Visit<'_, K>) {
        self.0.each(index, value, visit);
    }
}

//! Machines whose host is not decided: they have no uid yet, and several hosts are equal to them.
//!
//! Takes the objects before and after a run; gives the hosts that such a machine may take. The run takes one of them. A machine
//! with a uid is among them only if it chooses after one without. Hosts that become free during the run are not counted.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine};
use capm3_domain::{
    host::{HostRequest, PossibleHosts, Undecided, reuse_label},
    wait::Wait,
};
use capm3_engine::{Memory, Object, ObjectKey, Reader};
use capm3_provider::metal3machine::{Inputs, Live, find_hosts, observe};

/// Whether a machine that looks for a host has no uid.
pub(super) fn may_be(memory: &Memory) -> bool {
    without_host(memory).any(|machine| machine.metadata.uid_str().is_empty())
}

/// The machines whose host is not decided. `wait` shows what a machine waits for after the run.
pub(super) fn undecided<'w>(
    before: &Memory,
    after: &Memory,
    wait: impl Fn(&ObjectKey) -> Option<&'w Wait>,
) -> BTreeMap<ObjectKey, PossibleHosts> {
    let mut by_namespace: BTreeMap<String, Undecided> = BTreeMap::new();
    let looked = without_host(before).map(|machine| machine.key()).filter(|key| {
        let has_one = |machine: Arc<Metal3Machine>| find_hosts(after, &machine, key).host.is_some();
        matches!(wait(key), Some(Wait::NoHost(_) | Wait::ReservedHost(_)))
            || after.get(key).is_some_and(has_one)
    });
    let possible = looked.filter_map(|key| {
        let namespace = by_namespace.entry(key.namespace.clone()).or_default();
        let possible = next(namespace, before, after, &key)?;
        Some((key, possible))
    });
    possible.filter(|(_, possible)| !possible.is_decided()).collect()
}

/// The hosts that a machine may take: its request as it is after the run, the hosts as they are before.
fn next(
    namespace: &mut Undecided,
    before: &Memory,
    after: &Memory,
    key: &ObjectKey,
) -> Option<PossibleHosts> {
    let live = Live::trusting_the_reader();
    let inputs = Inputs::trusting(&live);
    let candidates = observe(before, &inputs, key)?.candidates.all();
    let snapshot = observe(after, &inputs, key)?;
    let capi = snapshot.machine.as_deref()?;
    let reuse = reuse_label(capi, snapshot.machine_set.as_deref());
    let request = HostRequest::new(&snapshot.metal3_machine, capi, reuse).sparing(&candidates.of_others);
    Some(namespace.next(&request, candidates.hosts.iter().map(AsRef::as_ref)))
}

fn without_host(memory: &Memory) -> impl Iterator<Item = Arc<Metal3Machine>> + use<'_> {
    let machines = memory.caches().store::<Metal3Machine>().map(|store| store.all()).unwrap_or_default();
    machines.into_iter().filter(|machine| find_hosts(memory, machine, &machine.key()).host.is_none())
}

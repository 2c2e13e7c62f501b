//! Whose a host is, looked up among the machines that know it.
//!
//! The rule is in `domain::host`; here are the machines that it is asked about, and the hosts to reconcile when a
//! machine ceases to have a say.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::host::rightful_other;
use capm3_engine::{Index, Object, ObjectKey, Reader, informer::Change};

use crate::indexes::{HOSTS_BY_UID, MACHINES_BY_HOST, MACHINES_BY_HOST_UID};

/// Name of the machine that a host belongs to before it belongs to `machine`, if there is one.
pub(crate) fn of_another(
    reader: &impl Reader,
    machine: &Metal3Machine,
    host: &BareMetalHost,
) -> Option<String> {
    let mut machines = reader.by_index(&MACHINES_BY_HOST, &host.key().to_string());
    if let Some(uid) = host.metadata.uid.as_deref().filter(|uid| !uid.is_empty()) {
        machines.extend(reader.by_index(&MACHINES_BY_HOST_UID, uid));
    }
    let other = rightful_other(machine, host, machines.iter().map(AsRef::as_ref));
    other.map(|other| other.metadata.name_str().to_owned())
}

/// The same for a machine that is not there.
pub(crate) fn of_another_than(
    reader: &impl Reader,
    machine: &ObjectKey,
    host: &BareMetalHost,
) -> Option<String> {
    of_another(reader, &stand_in(machine), host)
}

/// A machine of that name of which nothing else is known.
pub(crate) fn stand_in(machine: &ObjectKey) -> Metal3Machine {
    let mut stand_in = Metal3Machine::default();
    stand_in.metadata.name = Some(machine.name.clone());
    stand_in.metadata.namespace = Some(machine.namespace.clone());
    stand_in
}

/// The hosts that a machine knew as its own while it lived, and does not any more: others may have them now.
pub(crate) fn hosts_left(reader: &impl Reader, change: &Change<Metal3Machine>) -> Vec<ObjectKey> {
    let names = left(change, &MACHINES_BY_HOST);
    let names = names.iter().filter_map(|host| host.split_once('/'));
    let names = names.map(|(namespace, name)| ObjectKey::new(namespace, name));
    let uids = left(change, &MACHINES_BY_HOST_UID);
    let by_uid = uids.iter().flat_map(|uid| reader.by_index(&HOSTS_BY_UID, uid)).map(|host| host.key());
    names.chain(by_uid).collect()
}

/// Values that a machine had in an index while it lived, and has not any more.
fn left(change: &Change<Metal3Machine>, index: &Index<Metal3Machine>) -> Vec<String> {
    let known = |machine: &Option<Arc<Metal3Machine>>| {
        let living = machine.as_deref().filter(|machine| !machine.metadata.is_deleting());
        living.map(|machine| (index.values)(machine)).unwrap_or_default()
    };
    let now = known(&change.new);
    known(&change.old).into_iter().filter(|value| !now.contains(value)).collect()
}

//! The line of machines that wait for hosts which are booked for their owner.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine, MachineSet},
    v1beta2::Metal3Machine,
};
use capm3_domain::{
    host::{HostRequest, Standing, judge, order_of_line, reuse_label, waits_for_booked},
    user_data::has_user_data,
};
use capm3_engine::{Object, ObjectKey, Reader};

use crate::indexes::{BOOKED_HOSTS_BY_LABEL, HOSTS_BY_CONSUMER, MACHINES_WITHOUT_HOST};

/// A machine in the line.
#[derive(Debug)]
struct Waiter {
    key: ObjectKey,
    /// How many of the booked hosts that are not ready it could have.
    hosts: usize,
}

/// How many machines of the same owner are ahead of this one in the wait for hosts under this booking.
pub(super) fn ahead_of(reader: &impl Reader, machine: &ObjectKey, booking: &str) -> usize {
    line(reader, &machine.namespace, booking).iter().take_while(|waiter| waiter.key != *machine).count()
}

/// The machines that wait for a host under this booking, and for which there is one, first one first.
pub(super) fn who_waits(reader: &impl Reader, namespace: &str, booking: &str) -> Vec<ObjectKey> {
    let line = line(reader, namespace, booking).into_iter().enumerate();
    let waits = line.filter(|(ahead, waiter)| waits_for_booked(waiter.hosts, *ahead));
    waits.map(|(_, waiter)| waiter.key).collect()
}

fn line(reader: &impl Reader, namespace: &str, booking: &str) -> Vec<Waiter> {
    let hosts = reader.by_index(&BOOKED_HOSTS_BY_LABEL, &format!("{namespace}/{booking}"));
    if hosts.is_empty() {
        return Vec::new();
    }
    let mut machines = reader.by_index(&MACHINES_WITHOUT_HOST, namespace);
    machines.sort_by(|a, b| order_of_line(a, b));
    // Machines of one owner ask for the same: their hosts are counted once.
    let mut counted: Vec<(Arc<Metal3Machine>, String, usize)> = Vec::new();
    let mut line = Vec::new();
    for machine in machines {
        let Some(owner) = owner_to_be(reader, &machine, booking) else { continue };
        let same = counted.iter().find(|(other, cluster, _)| {
            other.spec.host_selector == machine.spec.host_selector && *cluster == owner.spec.cluster_name
        });
        let count = match same {
            Some((_, _, count)) => *count,
            None => {
                let count = unready_for(&machine, &owner, booking, &hosts);
                counted.push((Arc::clone(&machine), owner.spec.cluster_name.clone(), count));
                count
            }
        };
        if count > 0 {
            line.push(Waiter { key: machine.key(), hosts: count });
        }
    }
    line
}

/// The Machine of a machine that could take a host now and may have one of this booking.
fn owner_to_be(reader: &impl Reader, machine: &Metal3Machine, booking: &str) -> Option<Arc<Machine>> {
    let key = machine.key();
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let is_out = machine.metadata.is_deleting()
        || machine.spec.provider_id.as_ref().is_some_and(|id| !id.is_empty())
        || reader.count(&HOSTS_BY_CONSUMER, &key.to_string()) > 0;
    let owner = machine.metadata.owner(CAPI_GROUP, "Machine").filter(|_| !is_out)?;
    let capi = reader.get::<Machine>(&here(&owner.name)).filter(|capi| has_user_data(machine, capi))?;
    let set = capi.metadata.owner(CAPI_GROUP, "MachineSet");
    let set = set.and_then(|owner| reader.get::<MachineSet>(&here(&owner.name)));
    (reuse_label(&capi, set.as_deref()).as_deref() == Some(booking)).then_some(capi)
}

fn unready_for(
    machine: &Metal3Machine,
    owner: &Machine,
    booking: &str,
    hosts: &[Arc<BareMetalHost>],
) -> usize {
    let request = HostRequest::new(machine, owner, Some(booking.to_owned()));
    hosts.iter().filter(|host| matches!(judge(&request, host), Standing::ReservedLater(_))).count()
}

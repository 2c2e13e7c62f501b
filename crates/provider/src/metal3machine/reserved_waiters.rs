//! The line of machines that wait for hosts which are reserved for their owner.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine, MachineSet},
    v1beta2::Metal3Machine,
};
use capm3_domain::{
    host::{Eligibility, HostRequest, eligibility, reservation_order, reuse_label, waits_for_reserved},
    user_data::has_user_data,
};
use capm3_engine::{Object, ObjectKey, Reader};

use crate::indexes::{HOSTS_BY_CONSUMER, MACHINES_WITHOUT_HOST, RESERVED_HOSTS_BY_LABEL};

/// A machine in the line.
#[derive(Debug)]
struct Waiter {
    key: ObjectKey,
    /// How many of the reserved hosts that are not ready it could have.
    hosts: usize,
}

/// How many machines of the same owner are ahead of this one in the wait for hosts under this reservation.
pub(super) fn ahead_of(reader: &impl Reader, machine: &ObjectKey, reservation: &str) -> usize {
    line(reader, &machine.namespace, reservation).iter().take_while(|waiter| waiter.key != *machine).count()
}

/// The machines that wait for a host under this reservation, and for which there is one, first one first.
pub(super) fn who_waits(reader: &impl Reader, namespace: &str, reservation: &str) -> Vec<ObjectKey> {
    let line = line(reader, namespace, reservation).into_iter().enumerate();
    let waits = line.filter(|(ahead, waiter)| waits_for_reserved(waiter.hosts, *ahead));
    waits.map(|(_, waiter)| waiter.key).collect()
}

fn line(reader: &impl Reader, namespace: &str, reservation: &str) -> Vec<Waiter> {
    let hosts = reader.by_index(&RESERVED_HOSTS_BY_LABEL, &format!("{namespace}/{reservation}"));
    if hosts.is_empty() {
        return Vec::new();
    }
    let mut machines = reader.by_index(&MACHINES_WITHOUT_HOST, namespace);
    machines.sort_by(|a, b| reservation_order(a, b));
    // Machines of one owner ask for the same: their hosts are counted once.
    let mut counted: Vec<(Arc<Metal3Machine>, String, usize)> = Vec::new();
    let mut line = Vec::new();
    for machine in machines {
        let Some(owner) = owner_to_be(reader, &machine, reservation) else { continue };
        let same = counted.iter().find(|(other, cluster, _)| {
            other.spec.host_selector == machine.spec.host_selector && *cluster == owner.spec.cluster_name
        });
        let count = match same {
            Some((_, _, count)) => *count,
            None => {
                let count = unready_for(&machine, &owner, reservation, &hosts);
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

/// The Machine of a machine that could take a host now and may have one of this reservation.
fn owner_to_be(reader: &impl Reader, machine: &Metal3Machine, reservation: &str) -> Option<Arc<Machine>> {
    let key = machine.key();
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let is_out = machine.metadata.is_deleting()
        || machine.spec.provider_id.as_ref().is_some_and(|id| !id.is_empty())
        || reader.count(&HOSTS_BY_CONSUMER, &key.to_string()) > 0;
    let owner = machine.metadata.owner(CAPI_GROUP, "Machine").filter(|_| !is_out)?;
    let capi = reader.get::<Machine>(&here(&owner.name)).filter(|capi| has_user_data(machine, capi))?;
    let set = capi.metadata.owner(CAPI_GROUP, "MachineSet");
    let set = set.and_then(|owner| reader.get::<MachineSet>(&here(&owner.name)));
    (reuse_label(&capi, set.as_deref()).as_deref() == Some(reservation)).then_some(capi)
}

fn unready_for(
    machine: &Metal3Machine,
    owner: &Machine,
    reservation: &str,
    hosts: &[Arc<BareMetalHost>],
) -> usize {
    let request = HostRequest::new(machine, owner, Some(reservation.to_owned()));
    hosts.iter().filter(|host| matches!(eligibility(&request, host), Eligibility::ReservedLater(_))).count()
}

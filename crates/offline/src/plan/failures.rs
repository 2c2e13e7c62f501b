//! Hosts that fail at the start: nobody takes them any more, and the machines on them are given up, as a failed remediation does.

use std::collections::BTreeSet;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::Metal3Machine,
    vocabulary::{annotation, label},
};
use capm3_domain::host::domain_of;
use capm3_engine::{Object, ObjectKey, Reader};
use capm3_world::dry_run as world;
use serde_json::json;

use super::{Options, PlanError, simulation::Simulation};
use crate::nearest::nearest;

/// Lets the hosts fail; gives what that means.
pub(super) fn fail(simulation: &mut Simulation, options: &Options) -> Result<Vec<String>, PlanError> {
    let hosts =
        simulation.memory.caches().store::<BareMetalHost>().map(|store| store.all()).unwrap_or_default();
    let mut failed: BTreeSet<ObjectKey> = BTreeSet::new();
    for name in &options.failed_hosts {
        let found: Vec<ObjectKey> =
            hosts.iter().filter(|host| host.metadata.name_str() == name).map(|host| host.key()).collect();
        if found.is_empty() {
            let hint = hint(name, hosts.iter().map(|host| host.metadata.name_str()));
            return Err(PlanError::NoHost { name: name.clone(), hint });
        }
        failed.extend(found);
    }
    for name in &options.failed_domains {
        let inside = hosts.iter().filter(|host| domain_of(host) == Some(name.as_str()));
        let found: Vec<ObjectKey> = inside.map(|host| host.key()).collect();
        if found.is_empty() {
            let hint = hint(name, hosts.iter().filter_map(|host| domain_of(host)));
            return Err(PlanError::NoDomain { name: name.clone(), label: label::FAILURE_DOMAIN, hint });
        }
        failed.extend(found);
    }
    failed.iter().for_each(|host| fail_one(simulation, host));
    let note = "a host that fails is marked as unhealthy and never taken; the machine on it is given up, as by a health check \
                whose remediation has failed; its host is still deprovisioned and cleaned";
    Ok(if failed.is_empty() { Vec::new() } else { vec![note.to_owned()] })
}

fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn fail_one(simulation: &mut Simulation, host: &ObjectKey) {
    let mark = json!({"metadata": {"annotations": {annotation::UNHEALTHY: annotation::UNHEALTHY_NODE}}});
    simulation.memory.change::<BareMetalHost>(host, &mark);
    let consumer = simulation.memory.get::<BareMetalHost>(host).and_then(|host| {
        let consumer = host.spec.consumer_ref.clone()?;
        consumer.name.filter(|_| consumer.kind.as_deref() == Some("Metal3Machine"))
    });
    let machine = consumer.as_deref().and_then(|name| {
        let infrastructure =
            simulation.memory.get::<Metal3Machine>(&ObjectKey::new(&host.namespace, name))?;
        let owner = infrastructure.metadata.owner(capm3_api::neighbours::CAPI_GROUP, "Machine")?;
        Some(ObjectKey::new(&host.namespace, &owner.name))
    });
    let now = simulation.now;
    if let Some(machine) = machine {
        world::give_up(&mut simulation.memory, &machine, now);
        simulation.memory.nodes_changed(host);
    }
    simulation.note_failure(host, consumer);
}

//! The host of each machine: the one it has, else the one that the controller takes.
//!
//! Takes the machines and the memory; puts the machines into it, with their owners and the hosts as they are after the claim.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine},
    v1beta2::Metal3Machine,
    vocabulary::annotation,
};
use capm3_domain::{
    host::{Consumer, HostChoice, HostOutcome, Ownership, known_host, known_host_uid, ownership},
    wait::Wait,
};
use capm3_engine::{Memory, Object, ObjectKey, Reader, ResourceKind};
use capm3_provider::{
    host_patch::{claim as claim_host, host_annotation},
    indexes::HOSTS_BY_NAMESPACE,
    metal3machine::{Inputs, Live, find_hosts, host_to_take, observe},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::case::Case;

/// Gives each machine its host. Machines that have one come first: what is taken is not given to others.
pub(super) fn choose(memory: &mut Memory, cases: &mut [Case<'_>]) {
    for case in cases.iter_mut() {
        put_machine(memory, case);
    }
    for case in cases.iter_mut() {
        find_own(memory, case);
    }
    let mut without: BTreeMap<Asked, String> = BTreeMap::new();
    for case in cases.iter_mut().filter(|case| case.host.is_none() && case.problem.is_none()) {
        find_new(memory, case, &mut without);
    }
}

/// What decides alike for two machines whether there is a host at all. Hosts are only taken here, so what one machine does not
/// find the next does not find either.
type Asked = (String, String, String);

/// Puts a machine into the memory, with the Machine that owns it or would.
fn put_machine(memory: &mut Memory, case: &mut Case<'_>) {
    if case.machine.metadata.owner(CAPI_GROUP, "Machine").is_none() {
        let kind = ResourceKind::of::<Machine>();
        let owner = OwnerReference {
            api_version: kind.api_version(),
            kind: kind.kind,
            name: case.owner.metadata.name_str().to_owned(),
            uid: case.owner.metadata.uid_str().to_owned(),
            ..OwnerReference::default()
        };
        case.machine.metadata.owner_references.get_or_insert_default().push(owner);
    }
    memory.put(case.machine.clone());
    if memory.get::<Machine>(&case.owner.key()).is_none() {
        memory.put(case.owner.clone());
    }
}

/// The host that the controllers find to be the machine's.
fn find_own(memory: &mut Memory, case: &mut Case<'_>) {
    let known = match known_host(&case.machine) {
        Ok(known) => known,
        Err(error) => return case.fail("metadata.annotations", error),
    };
    let found = find_hosts(memory, &case.machine, &case.key());
    if let Some(host) = found.host {
        let other = found.of_others.get(host.metadata.name_str());
        let other = other.map(|other| Consumer::machine(case.machine.metadata.namespace_str(), other));
        let ownership = other.map_or_else(|| ownership(&case.machine, &host), Ownership::Other);
        return match ownership {
            Ownership::Ours => has(case, host.as_ref().clone()),
            Ownership::Nobody => take(memory, &host.key(), case),
            Ownership::Other(consumer) => {
                case.fail("", format!("host {} is consumed by {consumer}", host.metadata.name_str()));
            }
        };
    }
    if let Some(key) = known.map(|name| case.here(&name)) {
        let message = format!("BareMetalHost {key}, which it has recorded, is not in the files; add it");
        return case.fail(&place_of_record(case), message);
    }
    if let Some(host) = found.held.first() {
        let ObjectKey { namespace, name } = host.key();
        case.fail("", Wait::UnrecordedHost { namespace, host: name });
    }
}

/// The host that the controller takes now.
fn find_new(memory: &mut Memory, case: &mut Case<'_>, without: &mut BTreeMap<Asked, String>) {
    // Without any host what needs none can still be rendered.
    if memory.count(&HOSTS_BY_NAMESPACE, case.machine.metadata.namespace_str()) == 0 {
        return;
    }
    let asked = asked(case);
    if let Some(refusal) = without.get(&asked) {
        return case.fail("", refusal.clone());
    }
    let chosen = {
        let live = Live::trusting_the_reader();
        let snapshot = observe(memory, &Inputs::trusting(&live), &case.key());
        let snapshot = snapshot.expect("the machine was put into the memory");
        chosen(&host_to_take(&snapshot))
    };
    match chosen {
        Ok(name) => take(memory, &case.here(&name), case),
        Err(Refusal::NoneLeft(message)) => {
            case.fail("", message.clone());
            without.insert(asked, message);
        }
        Err(Refusal::Other(message)) => case.fail("", message),
    }
}

fn asked(case: &Case<'_>) -> Asked {
    let Metal3Machine { metadata, spec, .. } = &case.machine;
    let selector = serde_json::to_string(&spec.host_selector).unwrap_or_default();
    (metadata.namespace_str().to_owned(), selector, case.owner.spec.cluster_name.clone())
}

/// The host as it is after the claim. One that was reserved may still name its last machine.
fn take(memory: &mut Memory, key: &ObjectKey, case: &mut Case<'_>) {
    let Some(host) = memory.get::<BareMetalHost>(key) else { return };
    let mut host = host.as_ref().clone();
    claim_host(&mut host, &case.machine, &case.owner.spec.cluster_name);
    memory.put(host.clone());
    has(case, host);
}

/// The machine as it is with its host: templates may read the labels and annotations of both.
fn has(case: &mut Case<'_>, host: BareMetalHost) {
    let (name, value) = host_annotation(&host);
    case.machine.metadata.annotations.get_or_insert_default().insert(name, value);
    case.host = Some(host);
}

/// Where a machine says which host it has.
fn place_of_record(case: &Case<'_>) -> String {
    let is_by_id = known_host_uid(&case.machine).is_some()
        || case.machine.metadata.annotation(annotation::HOST).is_none();
    match is_by_id {
        true => "spec.providerID".to_owned(),
        false => format!("metadata.annotations[{}]", annotation::HOST),
    }
}

/// Why a machine gets no host.
enum Refusal {
    NoneLeft(String),
    Other(String),
}

/// Name of the chosen host, or why there is none.
fn chosen(choice: &HostChoice) -> Result<String, Refusal> {
    match &choice.outcome {
        HostOutcome::Chosen(chosen) => Ok(chosen.host.clone()),
        HostOutcome::None => Err(Refusal::NoneLeft(format!(
            "no host is available: {}; make one of these hosts available, or add hosts",
            choice.counts()
        ))),
        HostOutcome::Wait(reserved) => {
            let reserved: Vec<&str> = reserved.iter().map(|(host, _)| host.as_str()).collect();
            let reserved = reserved.join(", ");
            Err(Refusal::Other(format!("it waits for a host reserved for its owner: {reserved}")))
        }
        HostOutcome::Err(error) => Err(Refusal::Other(error.to_string())),
    }
}

//! The host of each machine: the one it has, else one that it could take.
//!
//! Which host a machine has, and which one a machine that exists would take, the controllers' own decision tells. A machine that exists draws among equals by its uid. One without a uid
//! exists nowhere, so what it will draw cannot be known: it takes the first by name, which is also quick for thousands.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP},
    vocabulary::{annotation, label},
};
use capm3_domain::{
    host::{
        Consumer, Eligibility, HostChoice, HostOutcome, HostRequest, Ownership, choose, eligibility,
        known_host, known_host_uid, ownership,
    },
    wait::Wait,
};
use capm3_engine::{Memory, Object, ObjectKey, Reader, ResourceKind};
use capm3_provider::{
    host_patch::{claim as claim_host, host_annotation},
    indexes::HOSTS_BY_NAMESPACE,
    kinds,
    metal3machine::{Inputs, Live, choose_host, find_hosts, observe},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{case::Case, site::Site};
use crate::planner::inspected;

/// Gives each machine its host. Machines that have one come first: what is taken is not given out again.
pub(super) fn place(site: &Site<'_>, cases: &mut [Case<'_>]) {
    let mut hosts = Hosts::of(site);
    for case in cases.iter().filter(|case| site.machines.contains_key(&case.key())) {
        hosts.know(case);
    }
    for case in cases.iter_mut() {
        hosts.find_own(case);
    }
    for case in cases.iter_mut().filter(|case| case.host.is_none() && case.problem.is_none()) {
        hosts.find_new(case);
    }
}

/// The hosts of the files and who may take them.
struct Hosts {
    /// Hosts as they will be once they are inspected, machines and their owners.
    memory: Memory,
    lines: BTreeMap<Asked, Line>,
}

/// What decides alike for two machines without a uid.
type Asked = (String, String, String, Option<String>);

/// Hosts that machines which ask alike may take.
#[derive(Default)]
struct Line {
    by_domain: BTreeMap<String, Vec<ObjectKey>>,
    all: Vec<ObjectKey>,
    /// Whether hosts are reserved for the owner of the machines, which must be looked at anew for each.
    has_reservations: bool,
    /// Why there are no more.
    refusal: Option<String>,
}

impl Hosts {
    fn of(site: &Site<'_>) -> Self {
        let mut memory = kinds::memory();
        site.hosts.values().for_each(|found| memory.put(inspected(found.object.clone())));
        site.machine_sets.values().for_each(|found| memory.put(found.object.clone()));
        Self { memory, lines: BTreeMap::new() }
    }

    /// Takes a machine in, with the Machine that owns it or would.
    fn know(&mut self, case: &Case<'_>) {
        let mut machine = case.machine.clone();
        if machine.metadata.owner(CAPI_GROUP, "Machine").is_none() {
            let kind = ResourceKind::of::<capm3_api::neighbours::Machine>();
            let owner = OwnerReference {
                api_version: kind.api_version(),
                kind: kind.kind,
                name: case.owner.metadata.name_str().to_owned(),
                uid: case.owner.metadata.uid_str().to_owned(),
                ..OwnerReference::default()
            };
            machine.metadata.owner_references.get_or_insert_default().push(owner);
        }
        self.memory.put(machine);
        self.memory.put(case.owner.clone());
    }

    fn host(&self, key: &ObjectKey) -> Option<Arc<BareMetalHost>> {
        self.memory.get(key)
    }

    /// The host that the controllers find to be the machine's.
    fn find_own(&mut self, case: &mut Case<'_>) {
        let known = match known_host(&case.machine) {
            Ok(known) => known,
            Err(error) => return case.fail("metadata.annotations", error),
        };
        let found = find_hosts(&self.memory, &case.machine, &case.key());
        if let Some(host) = found.host {
            let other = found.of_others.get(host.metadata.name_str());
            let other = other.map(|other| Consumer::machine(case.machine.metadata.namespace_str(), other));
            let ownership = other.map_or_else(|| ownership(&case.machine, &host), Ownership::Other);
            return match ownership {
                Ownership::Ours | Ownership::Nobody => self.take(&host.key(), case),
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

    fn find_new(&mut self, case: &mut Case<'_>) {
        // Without any host what needs none can still be rendered.
        if self.memory.count(&HOSTS_BY_NAMESPACE, case.machine.metadata.namespace_str()) == 0 {
            return;
        }
        let found = match case.machine.metadata.uid_str() {
            "" => self.first(case),
            _ => self.draw(case),
        };
        match found {
            Ok(key) => self.take(&key, case),
            Err(message) => case.fail("", message),
        }
    }

    /// What the controllers would choose now.
    fn draw(&mut self, case: &Case<'_>) -> Result<ObjectKey, String> {
        if self.memory.get::<capm3_api::v1beta2::Metal3Machine>(&case.key()).is_none() {
            self.know(case);
        }
        let live = Live::trusting_the_reader();
        let snapshot = observe(&self.memory, &Inputs::trusting(&live), &case.key());
        let snapshot = snapshot.expect("the machine was put into the memory");
        chosen(&choose_host(&snapshot)).map(|name| case.here(&name))
    }

    /// The first by name of the hosts that the controllers could choose, of the machine's domain if there is one.
    fn first(&mut self, case: &Case<'_>) -> Result<ObjectKey, String> {
        let request = request(case);
        let selector = serde_json::to_string(&case.machine.spec.host_selector).unwrap_or_default();
        let namespace = case.machine.metadata.namespace_str().to_owned();
        let asked =
            (namespace.clone(), selector, request.cluster_name.to_owned(), request.reuse_label.clone());
        let memory = &self.memory;
        let line = self.lines.entry(asked).or_insert_with(|| Line::of(&request, memory));
        if line.has_reservations {
            return self.draw(case);
        }
        if let Some(refusal) = &line.refusal {
            return Err(refusal.clone());
        }
        let is_free = |key: &ObjectKey| {
            let host = memory.get::<BareMetalHost>(key);
            host.is_some_and(|host| matches!(eligibility(&request, &host), Eligibility::Free))
        };
        let domain = request.failure_domain().and_then(|domain| line.by_domain.get_mut(domain));
        let next = domain.and_then(|line| next(line, is_free)).or_else(|| next(&mut line.all, is_free));
        let offered = match next.and_then(|key| memory.get::<BareMetalHost>(&key)) {
            Some(host) => vec![host],
            None => memory.by_index(&HOSTS_BY_NAMESPACE, &namespace),
        };
        let found = chosen(&choose(&request, offered.iter().map(AsRef::as_ref)));
        if let Err(message) = &found {
            line.refusal = Some(message.clone());
        }
        found.map(|name| case.here(&name))
    }

    /// Host and machine as they are after the claim: templates may read the labels and annotations of both.
    fn take(&mut self, key: &ObjectKey, case: &mut Case<'_>) {
        let Some(host) = self.host(key) else { return };
        let mut host = host.as_ref().clone();
        if host.spec.consumer_ref.is_none() {
            claim_host(&mut host, &case.machine, &case.owner.spec.cluster_name);
            self.memory.put(host.clone());
        }
        let (name, value) = host_annotation(&host);
        case.machine.metadata.annotations.get_or_insert_default().insert(name, value);
        case.host = Some(host);
    }
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

impl Line {
    fn of(request: &HostRequest<'_>, memory: &Memory) -> Self {
        let mut line = Self::default();
        let namespace = request.machine.metadata.namespace_str();
        memory.each(&HOSTS_BY_NAMESPACE, namespace, &mut |host| match eligibility(request, host) {
            Eligibility::Free => line.add(host),
            Eligibility::Reserved | Eligibility::ReservedLater(_) => line.has_reservations = true,
            Eligibility::Own | Eligibility::Rejected(_) => {}
        });
        // Taken from the end.
        line.all.reverse();
        line.by_domain.values_mut().for_each(|hosts| hosts.reverse());
        line
    }

    fn add(&mut self, host: &BareMetalHost) {
        let key = host.key();
        if let Some(domain) = host.metadata.label(label::FAILURE_DOMAIN) {
            self.by_domain.entry(domain.to_owned()).or_default().push(key.clone());
        }
        self.all.push(key);
    }
}

/// The next host of a line that is still free.
fn next(line: &mut Vec<ObjectKey>, is_free: impl Fn(&ObjectKey) -> bool) -> Option<ObjectKey> {
    loop {
        let key = line.pop()?;
        if is_free(&key) {
            return Some(key);
        }
    }
}

fn request<'a>(case: &'a Case<'_>) -> HostRequest<'a> {
    HostRequest::new(&case.machine, &case.owner, case.reservation.clone())
}

/// Name of the chosen host, or why there is none.
fn chosen(choice: &HostChoice) -> Result<String, String> {
    match &choice.outcome {
        HostOutcome::Chosen(chosen) => Ok(chosen.host.clone()),
        HostOutcome::None => Err(format!(
            "no host is available: {}; make one of these hosts available, or add hosts",
            choice.counts()
        )),
        HostOutcome::Wait(reserved) => {
            let reserved: Vec<&str> = reserved.iter().map(|(host, _)| host.as_str()).collect();
            Err(format!("it waits for a host reserved for its owner: {}", reserved.join(", ")))
        }
        HostOutcome::Err(error) => Err(error.to_string()),
    }
}

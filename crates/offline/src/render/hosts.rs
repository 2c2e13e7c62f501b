//! The host of each machine: the one it has, else one that it could take.
//!
//! Rules are `domain`'s. A machine that exists draws among equals by its uid, as the controllers do. One without a uid
//! exists nowhere, so what it will draw cannot be known: it takes the first by name, which is also quick for thousands.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, HostHardware},
    vocabulary::{annotation, host_state, label},
};
use capm3_domain::host::{
    Consumer, HostChoice, HostOutcome, HostRequest, Ownership, Standing, annotated_host, choose, judge,
    ownership,
};
use capm3_engine::{Object, ObjectKey};
use capm3_provider::host_patch::{claim as claim_host, host_annotation};

use super::{case::Case, site::Site};

/// Gives each machine its host. Machines that have one come first: what is taken is not given out again.
pub(super) fn place(site: &Site<'_>, cases: &mut [Case<'_>]) {
    let mut hosts = Hosts::of(site);
    for case in cases.iter_mut() {
        hosts.find_own(case);
    }
    for case in cases.iter_mut().filter(|case| case.host.is_none() && case.problem.is_none()) {
        hosts.find_new(case);
    }
}

/// The hosts of the files and who may take them.
struct Hosts {
    /// By namespace and name, as they will be once they are inspected.
    hosts: BTreeMap<ObjectKey, BareMetalHost>,
    by_consumer: BTreeMap<ObjectKey, Vec<ObjectKey>>,
    lines: BTreeMap<Asked, Line>,
}

/// What decides alike for two machines without a uid.
type Asked = (String, String, String, Option<String>);

/// Hosts that machines which ask alike may take.
#[derive(Default)]
struct Line {
    by_domain: BTreeMap<String, Vec<ObjectKey>>,
    all: Vec<ObjectKey>,
    /// Whether hosts are booked for the owner of the machines, which must be looked at anew for each.
    has_bookings: bool,
    /// Why there are no more.
    refusal: Option<String>,
}

impl Hosts {
    fn of(site: &Site<'_>) -> Self {
        let inspected = |(key, found): (&ObjectKey, &super::site::Located<'_, BareMetalHost>)| {
            (key.clone(), inspected(found.object.clone()))
        };
        let hosts: BTreeMap<ObjectKey, BareMetalHost> = site.hosts.iter().map(inspected).collect();
        let mut by_consumer: BTreeMap<ObjectKey, Vec<ObjectKey>> = BTreeMap::new();
        for (key, host) in &hosts {
            let name = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref());
            if let Some(name) = name {
                by_consumer.entry(ObjectKey::new(&key.namespace, name)).or_default().push(key.clone());
            }
        }
        Self { hosts, by_consumer, lines: BTreeMap::new() }
    }

    /// The host that names the machine, else the one that the machine has recorded.
    fn find_own(&mut self, case: &mut Case<'_>) {
        let recorded = match annotated_host(&case.machine) {
            Ok(name) => name.map(|name| case.here(name)),
            Err(error) => return case.fail("metadata.annotations", error),
        };
        let consumed = self.by_consumer.get(&case.key()).into_iter().flatten();
        let is_ours = |key: &&ObjectKey| {
            let consumer = self.hosts.get(*key).and_then(|host| host.spec.consumer_ref.as_ref());
            consumer.is_some_and(|consumer| Consumer::is_machine(consumer, &case.machine))
        };
        let consumed: Vec<&ObjectKey> = consumed.filter(is_ours).collect();
        let own = consumed.iter().find(|key| Some(**key) == recorded.as_ref()).or(consumed.first());
        let Some(key) = own.map(|key| (*key).clone()).or(recorded) else { return };
        if let Some(host) = self.hosts.get(&key) {
            return match ownership(&case.machine, host) {
                Ownership::Ours | Ownership::Nobody => self.take(&key, case),
                Ownership::Other(consumer) => {
                    case.fail("", format!("host {} is consumed by {consumer}", key.name));
                }
            };
        }
        let message = format!("BareMetalHost {key}, which it has recorded, is not in the files; add it");
        case.fail(&format!("metadata.annotations[{}]", annotation::HOST), message);
    }

    fn find_new(&mut self, case: &mut Case<'_>) {
        let namespace = case.machine.metadata.namespace_str();
        // Without any host what needs none can still be rendered.
        let first = self.hosts.range(ObjectKey::new(namespace, "")..).next();
        if first.is_none_or(|(key, _)| key.namespace != namespace) {
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
    fn draw(&self, case: &Case<'_>) -> Result<ObjectKey, String> {
        let choice = choose(&request(case), self.hosts.values());
        chosen(&choice).map(|name| case.here(&name))
    }

    /// The first by name of the hosts that the controllers could choose, of the machine's domain if there is one.
    fn first(&mut self, case: &Case<'_>) -> Result<ObjectKey, String> {
        let request = request(case);
        let selector = serde_json::to_string(&case.machine.spec.host_selector).unwrap_or_default();
        let namespace = case.machine.metadata.namespace_str().to_owned();
        let asked = (namespace, selector, request.cluster_name.to_owned(), request.reuse_label.clone());
        let hosts = &self.hosts;
        let line = self.lines.entry(asked).or_insert_with(|| Line::of(&request, hosts.values()));
        if line.has_bookings {
            return self.draw(case);
        }
        if let Some(refusal) = &line.refusal {
            return Err(refusal.clone());
        }
        let is_free = |key: &ObjectKey| {
            let host = hosts.get(key);
            host.is_some_and(|host| matches!(judge(&request, host), Standing::Free))
        };
        let domain = request.failure_domain().and_then(|domain| line.by_domain.get_mut(domain));
        let next = domain.and_then(|line| next(line, is_free)).or_else(|| next(&mut line.all, is_free));
        let next = next.and_then(|key| hosts.get(&key));
        let choice = match next {
            Some(host) => choose(&request, [host].into_iter()),
            None => choose(&request, hosts.values()),
        };
        let found = chosen(&choice);
        if let Err(message) = &found {
            line.refusal = Some(message.clone());
        }
        found.map(|name| case.here(&name))
    }

    /// Host and machine as they are after the claim: templates may read the labels and annotations of both.
    fn take(&mut self, key: &ObjectKey, case: &mut Case<'_>) {
        let Some(host) = self.hosts.get_mut(key) else { return };
        if host.spec.consumer_ref.is_none() {
            claim_host(host, &case.machine, &case.owner.spec.cluster_name);
        }
        let (name, value) = host_annotation(host);
        case.machine.metadata.annotations.get_or_insert_default().insert(name, value);
        case.host = Some(host.clone());
    }
}

impl Line {
    fn of<'h>(request: &HostRequest<'_>, hosts: impl Iterator<Item = &'h BareMetalHost>) -> Self {
        let mut line = Self::default();
        let namespace = request.machine.metadata.namespace_str();
        for host in hosts.filter(|host| host.metadata.namespace_str() == namespace) {
            match judge(request, host) {
                Standing::Free => line.add(host),
                Standing::Reserved | Standing::ReservedLater(_) => line.has_bookings = true,
                Standing::Own | Standing::Rejected(_) => {}
            }
        }
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
    HostRequest::new(&case.machine, &case.owner, case.booking.clone())
}

/// Name of the chosen host, or why there is none.
fn chosen(choice: &HostChoice) -> Result<String, String> {
    match &choice.outcome {
        HostOutcome::Chosen(chosen) => Ok(chosen.host.clone()),
        HostOutcome::None => Err(format!("no host is available: {}; add hosts that fit", choice.counts())),
        HostOutcome::Wait(booked) => {
            let booked: Vec<&str> = booked.iter().map(|(host, _)| host.as_str()).collect();
            Err(format!("it waits for a host reserved for its owner: {}", booked.join(", ")))
        }
        HostOutcome::Err(error) => Err(error.to_string()),
    }
}

/// A host that no operator has seen yet, as it will be: available, with the hardware that its annotation tells.
fn inspected(mut host: BareMetalHost) -> BareMetalHost {
    if host.status.provisioning.state.as_deref().unwrap_or_default().is_empty() {
        host.status.provisioning.state = Some(host_state::AVAILABLE.into());
    }
    if host.status.hardware.is_none() {
        let details = host.metadata.annotation(annotation::HARDWARE_DETAILS);
        let details = details.and_then(|text| serde_json::from_str::<HostHardware>(text).ok());
        host.status.hardware = details;
    }
    host
}

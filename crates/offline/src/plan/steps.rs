//! The story of a simulation: what happened when, told of machines and hosts.
//!
//! Takes which objects have changed and reads them; gives steps, the machines of the end, and what hosts did. What depends on the
//! uid of a machine that does not exist yet is reported as a set of outcomes, or not at all. It changes nothing.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
    mem,
};

use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3DataClaim, Metal3Machine},
};
use capm3_engine::{Memory, ObjectKey};

use super::{
    candidates::Candidates,
    facts::{self, HostFact, MachineFact},
    result::{Event, HostLane, Outcome, Span, Step},
};

#[path = "steps_data.rs"]
mod data;

use data::Data;

/// States in which a host is on its way back.
const RETURNING: [&str; 1] = ["deprovisioning"];
const AVAILABLE: &str = "available";

/// What happened so far.
#[derive(Default)]
pub(super) struct Story {
    touched: BTreeSet<(TypeId, ObjectKey)>,
    machines: BTreeMap<ObjectKey, MachineFact>,
    hosts: BTreeMap<ObjectKey, HostFact>,
    /// Machines that do not exist yet, as they are printed.
    names: BTreeMap<ObjectKey, String>,
    numbers: BTreeMap<(String, String), usize>,
    steps: Vec<Step>,
    /// Where the steps of the present moment begin.
    moment: usize,
    lanes: BTreeMap<ObjectKey, Vec<(u64, HostFact)>>,
    data: Data,
}

impl Story {
    /// Takes note of what has changed.
    pub(super) fn hear(&mut self, touched: BTreeSet<(TypeId, ObjectKey)>) {
        self.touched.extend(touched);
    }

    /// What is there at the start is no change.
    pub(super) fn begin(&mut self, memory: &Memory) {
        let (machines, hosts) = self.changed();
        self.machines = machines
            .into_iter()
            .filter_map(|key| Some((key.clone(), facts::machine(memory, &key)?)))
            .collect();
        self.hosts =
            hosts.into_iter().filter_map(|key| Some((key.clone(), facts::host(memory, &key)?))).collect();
        self.lanes = self.hosts.iter().map(|(key, fact)| (key.clone(), vec![(0, fact.clone())])).collect();
    }

    /// The machines and hosts to which something has happened.
    fn changed(&mut self) -> (BTreeSet<ObjectKey>, BTreeSet<ObjectKey>) {
        let (mut machines, mut hosts) = (BTreeSet::new(), BTreeSet::new());
        let of_machines =
            [TypeId::of::<Metal3Machine>(), TypeId::of::<Machine>(), TypeId::of::<Metal3DataClaim>()];
        for (kind, key) in mem::take(&mut self.touched) {
            if of_machines.contains(&kind) {
                machines.insert(key);
            } else if kind == TypeId::of::<BareMetalHost>() {
                hosts.insert(key);
            }
        }
        (machines, hosts)
    }

    /// Tells what has happened to the machines and hosts that changed, at a moment.
    pub(super) fn look(&mut self, memory: &Memory, at: u64, candidates: &mut Candidates) {
        let (machines, hosts) = self.changed();
        let first = self.steps.len();
        for key in hosts {
            self.look_at_host(memory, at, &key, candidates);
        }
        for key in machines {
            self.look_at_machine(memory, at, &key);
        }
        if let Some(steps) = self.steps.get_mut(first..) {
            steps.sort_by_key(|step| step.event);
        }
    }

    fn look_at_host(&mut self, memory: &Memory, at: u64, key: &ObjectKey, candidates: &mut Candidates) {
        let Some(new) = facts::host(memory, key) else {
            self.hosts.remove(key);
            return;
        };
        let old = self.hosts.insert(key.clone(), new.clone()).unwrap_or_default();
        if RETURNING.contains(&old.state.as_str()) && new.state == AVAILABLE {
            candidates.returned(key);
            let racks = new.rack.iter().cloned().collect();
            let kept_for = new.kept_for.clone();
            self.steps.push(Step {
                host: Some(key.name.clone()),
                racks,
                kept_for,
                ..step(at, Event::HostReturns, key)
            });
        }
        if (&old.state, &old.consumer) != (&new.state, &new.consumer) {
            self.lanes.entry(key.clone()).or_default().push((at, new));
        }
    }

    fn look_at_machine(&mut self, memory: &Memory, at: u64, key: &ObjectKey) {
        let old = self.machines.get(key).cloned();
        let Some(new) = facts::machine(memory, key) else {
            if let Some(old) = self.machines.remove(key) {
                self.tell(at, Event::MachineGone, key, &old);
            }
            return;
        };
        self.machines.insert(key.clone(), new.clone());
        let is_first = old.is_none();
        if is_first {
            self.call(key, new.owner.as_deref());
        }
        let old = old.unwrap_or_default();
        if new.is_deleting && !old.is_deleting {
            self.tell(at, Event::MachineGoes, key, &new);
        } else if new.host.is_some() && old.host.is_none() && !new.is_deleting {
            self.data.took.insert(key.clone());
            match self.of_moment(key, Event::MachineComes) {
                Some(step) => step.event = Event::MachineTakesHost,
                None => self.tell(at, Event::MachineTakesHost, key, &new),
            }
        } else if is_first {
            self.tell(at, Event::MachineComes, key, &new);
        }
        if new.index.is_some() && old.index.is_none() {
            self.data.fresh.insert(key.clone());
            if self.of_moment(key, Event::MachineTakesHost).is_none() {
                self.tell(at, Event::MachineGetsData, key, &new);
            }
        }
        if new.is_ready && !old.is_ready && !new.is_deleting {
            self.tell(at, Event::MachineReady, key, &new);
        }
    }

    /// A machine that does not exist yet gets a number.
    fn call(&mut self, key: &ObjectKey, owner: Option<&str>) {
        let owner = owner.and_then(|owner| owner.rsplit('/').next()).unwrap_or(&key.name).to_owned();
        let number = self.numbers.entry((key.namespace.clone(), owner.clone())).or_default();
        *number += 1;
        self.names.insert(key.clone(), format!("{owner}-new-{number}"));
    }

    /// The step of the present moment about a machine.
    fn of_moment(&mut self, key: &ObjectKey, event: Event) -> Option<&mut Step> {
        let name = self.name(key);
        let here = self.steps.get_mut(self.moment..)?;
        here.iter_mut().find(|step| {
            step.event == event && step.namespace == key.namespace && step.machine.as_ref() == Some(&name)
        })
    }

    fn tell(&mut self, at: u64, event: Event, key: &ObjectKey, fact: &MachineFact) {
        let told = Step {
            owner: fact.owner.clone(),
            machine: Some(self.name(key)),
            host: fact.host.clone(),
            racks: fact.rack.iter().cloned().collect(),
            ..step(at, event, key)
        };
        self.steps.push(told);
    }

    /// A host fails.
    pub(super) fn host_fails(&mut self, memory: &Memory, host: &ObjectKey, machine: Option<String>) {
        let rack = facts::host(memory, host).and_then(|fact| fact.rack);
        self.steps.push(Step {
            machine,
            host: Some(host.name.clone()),
            racks: rack.into_iter().collect(),
            ..step(0, Event::HostFails, host)
        });
    }

    /// Nothing more happens at this moment: what its machines have got is reported, as far as it is certain.
    pub(super) fn end_of_moment(&mut self, memory: &Memory, candidates: &mut Candidates) {
        for key in &self.data.fresh {
            if let Some(fact) = facts::machine(memory, key) {
                self.machines.insert(key.clone(), fact);
            }
        }
        self.data.settle(memory, &self.machines, &self.names, candidates);
        let keys: BTreeMap<(String, String), ObjectKey> =
            self.machines.keys().map(|key| ((key.namespace.clone(), self.name(key)), key.clone())).collect();
        let from = self.moment.min(self.steps.len());
        for step in self.steps.get_mut(from..).into_iter().flatten() {
            let name = step.machine.clone().unwrap_or_default();
            let Some(key) = keys.get(&(step.namespace.clone(), name)) else { continue };
            if let Some(fact) = self.machines.get(key) {
                step.host = step.host.clone().or_else(|| fact.host.clone());
                if step.racks.is_empty() {
                    step.racks.extend(fact.rack.clone());
                }
                let got = self.data.of(key, fact, candidates);
                step.possible_hosts = got.hosts;
                step.racks.extend(got.racks);
                if step.event != Event::MachineComes {
                    (step.data_templates, step.indexes, step.addresses) =
                        (got.templates, got.indexes, got.addresses);
                }
            }
        }
        self.moment = self.steps.len();
    }

    pub(super) fn name(&self, machine: &ObjectKey) -> String {
        self.names.get(machine).unwrap_or(&machine.name).clone()
    }

    pub(super) fn with_names(&self, text: &str) -> String {
        // Longer names first: one may begin like another.
        let mut names: Vec<(&ObjectKey, &String)> = self.names.iter().collect();
        names.sort_by_key(|(key, _)| std::cmp::Reverse(key.name.len()));
        names.into_iter().fold(text.to_owned(), |text, (key, name)| text.replace(&key.name, name))
    }

    pub(super) fn last_event(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.at)
    }

    /// Everything, in the end.
    pub(super) fn tell_all(
        &mut self,
        memory: &Memory,
        candidates: &Candidates,
    ) -> (Vec<Step>, Vec<Outcome>, Vec<HostLane>) {
        let outcomes = self.machines.iter().map(|(key, known)| {
            let fact = facts::machine(memory, key).unwrap_or_else(|| known.clone());
            let got = self.data.of(key, &fact, candidates);
            let mut racks = got.racks;
            racks.extend(fact.rack.clone());
            Outcome {
                namespace: key.namespace.clone(),
                machine: self.name(key),
                owner: fact.owner.clone(),
                is_new: self.names.contains_key(key),
                is_ready: fact.is_ready,
                host: fact.host,
                possible_hosts: got.hosts,
                racks,
                data_templates: got.templates,
                indexes: got.indexes,
                addresses: got.addresses,
            }
        });
        let outcomes = outcomes.collect();
        let end = self.last_event();
        let lanes = self.lanes.iter().filter(|(_, states)| states.len() > 1);
        let lanes = lanes.map(|(key, states)| self.lane(key, states, end)).collect();
        (mem::take(&mut self.steps), outcomes, lanes)
    }

    fn lane(&self, key: &ObjectKey, states: &[(u64, HostFact)], end: u64) -> HostLane {
        let ends = states.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let spans =
            states.iter().zip(ends).filter(|((from, _), to)| from < to).map(|((from, fact), to)| Span {
                from: *from,
                to,
                state: fact.state.clone(),
                machine: fact.consumer.as_ref().map(|name| self.name(&ObjectKey::new(&key.namespace, name))),
            });
        let rack = states.last().and_then(|(_, fact)| fact.rack.clone());
        HostLane { namespace: key.namespace.clone(), host: key.name.clone(), rack, spans: spans.collect() }
    }
}

fn step(at: u64, event: Event, key: &ObjectKey) -> Step {
    Step {
        at,
        event,
        namespace: key.namespace.clone(),
        owner: None,
        machine: None,
        host: None,
        possible_hosts: BTreeSet::new(),
        racks: BTreeSet::new(),
        data_templates: BTreeSet::new(),
        indexes: BTreeSet::new(),
        addresses: BTreeSet::new(),
        kept_for: None,
    }
}

//! Which hosts a machine without uid may take, followed through time.
//!
//! Takes the memory before and after a machine is reconciled; gives the hosts among which its uid decides. The simulation goes on
//! with one of them. A host that an undecided machine may have taken counts as free and as taken from then on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
};
use capm3_domain::{
    data_template::data_template_for,
    host::{HostRequest, Undecided, domain_of, reuse_label},
};
use capm3_engine::{Memory, ObjectKey, Reader};
use capm3_provider::metal3machine::{Inputs, Live, find_hosts, observe};

/// Hosts of undecided machines.
#[derive(Default)]
pub(super) struct Candidates {
    by_namespace: BTreeMap<String, Undecided>,
    /// Hosts that undecided machines have taken here, as they were before.
    before: BTreeMap<ObjectKey, Arc<BareMetalHost>>,
    decided: BTreeMap<ObjectKey, Choice>,
}

/// What a machine may get.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    /// Its hosts.
    pub(super) hosts: BTreeSet<String>,
    /// Their failure domains.
    pub(super) racks: BTreeSet<String>,
    /// The data templates that go with them.
    pub(super) templates: BTreeSet<String>,
}

impl Candidates {
    /// The hosts before a machine is reconciled; none if it has one already.
    pub(super) fn before(&self, memory: &Memory, key: &ObjectKey) -> Option<Vec<Arc<BareMetalHost>>> {
        let machine = memory.get::<Metal3Machine>(key)?;
        let knows_uid = !machine.metadata.uid_str().is_empty();
        let is_open = self.by_namespace.contains_key(&key.namespace);
        let has_one = find_hosts(memory, &machine, key).host.is_some();
        if has_one || machine.metadata.is_deleting() || (knows_uid && !is_open) {
            return None;
        }
        let live = Live::trusting_the_reader();
        let inputs = Inputs::trusting(&live);
        Some(observe(memory, &inputs, key)?.candidates.all().hosts)
    }

    /// The machine has been reconciled: if it has taken a host, these are the hosts that it may take.
    pub(super) fn after(
        &mut self,
        memory: &Memory,
        key: &ObjectKey,
        before: Option<Vec<Arc<BareMetalHost>>>,
    ) {
        let Some((before, machine)) = before.zip(memory.get::<Metal3Machine>(key)) else { return };
        let Some(taken) = find_hosts(memory, &machine, key).host else { return };
        let live = Live::trusting_the_reader();
        let inputs = Inputs::trusting(&live);
        let Some(snapshot) = observe(memory, &inputs, key) else { return };
        let Some(capi) = snapshot.machine.as_deref() else { return };
        let others = snapshot.candidates.all().of_others;
        let reuse = reuse_label(capi, snapshot.machine_set.as_deref());
        let request = HostRequest::new(&machine, capi, reuse).sparing(&others);
        let here = |host: &Arc<BareMetalHost>| {
            let key = ObjectKey::new(&key.namespace, host.metadata.name_str());
            self.before.get(&key).unwrap_or(host).clone()
        };
        let hosts: Vec<Arc<BareMetalHost>> = before.iter().map(here).collect();
        let undecided = self.by_namespace.entry(key.namespace.clone()).or_default();
        let possible = undecided.next(&request, hosts.iter().map(AsRef::as_ref));
        let mut names = possible.hosts;
        names.insert(taken.metadata.name_str().to_owned());
        if names.len() > 1 {
            let was = before.iter().find(|host| host.metadata.name == taken.metadata.name);
            let taken = ObjectKey::new(&key.namespace, taken.metadata.name_str());
            was.into_iter().for_each(|host| drop(self.before.insert(taken.clone(), Arc::clone(host))));
        }
        let choice = choice(&names, &hosts, &machine, snapshot.template.as_deref());
        self.decided.insert(key.clone(), choice);
    }

    /// A host is available again.
    pub(super) fn returned(&mut self, host: &ObjectKey) {
        if let Some(undecided) = self.by_namespace.get_mut(&host.namespace) {
            undecided.returned(&host.name);
        }
        self.before.remove(host);
    }

    /// What a machine may get that has chosen here.
    pub(super) fn of(&self, machine: &ObjectKey) -> Option<&Choice> {
        self.decided.get(machine)
    }
}

fn choice(
    names: &BTreeSet<String>,
    hosts: &[Arc<BareMetalHost>],
    machine: &Metal3Machine,
    template: Option<&Metal3MachineTemplate>,
) -> Choice {
    let mut choice = Choice { hosts: names.clone(), ..Choice::default() };
    for host in hosts.iter().filter(|host| names.contains(host.metadata.name_str())) {
        choice.racks.extend(domain_of(host).map(str::to_owned));
        let data = data_template_for(machine, Some(host), template);
        choice.templates.extend(data.and_then(|data| data.name).map(|name| name.to_string()));
    }
    choice
}

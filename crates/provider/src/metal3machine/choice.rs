//! Which host a machine takes: the rule of `domain::host`, asked about the candidates of an observation.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
};
use capm3_domain::host::{self, HostChoice, HostRequest, QuickChoice, reuse_label};
use capm3_engine::Object;

use super::{MachineSnapshot, candidates::AllHosts};

/// The hosts that a machine chooses among, and the choice.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) choice: HostChoice,
    hosts: Vec<Arc<BareMetalHost>>,
}

impl Chosen {
    /// A host by its name.
    pub(super) fn host(&self, name: &str) -> Option<Arc<BareMetalHost>> {
        self.hosts.iter().find(|host| host.metadata.name_str() == name).cloned()
    }
}

/// The choice that the controller acts on. A host that can be taken at once is found without judging all of them; why there
/// is none is judged of every host.
pub(super) fn choose(snapshot: &MachineSnapshot<'_>, machine: &Machine) -> Chosen {
    let reuse = reuse_label(machine, snapshot.machine_set.as_deref());
    let request = HostRequest::new(&snapshot.metal3_machine, machine, reuse);
    match first_choice(snapshot, &request) {
        Some(host) => {
            Chosen { choice: host::choose(&request, [host.as_ref()].into_iter()), hosts: vec![host] }
        }
        None => choose_among_all(snapshot, request),
    }
}

/// The host that the controller takes; where there is none, why none of them is.
pub fn host_to_take(snapshot: &MachineSnapshot<'_>) -> HostChoice {
    let machine = snapshot.machine.as_deref().cloned().unwrap_or_default();
    choose(snapshot, &machine).choice
}

/// Which host the machine would take, and why not the others.
pub fn choose_host(snapshot: &MachineSnapshot<'_>) -> HostChoice {
    let machine = snapshot.machine.as_deref().cloned().unwrap_or_default();
    let reuse = reuse_label(&machine, snapshot.machine_set.as_deref());
    choose_among_all(snapshot, HostRequest::new(&snapshot.metal3_machine, &machine, reuse)).choice
}

fn choose_among_all(snapshot: &MachineSnapshot<'_>, request: HostRequest<'_>) -> Chosen {
    let AllHosts { mut hosts, mut of_others } = snapshot.candidates.all();
    of_others.extend(snapshot.of_others.clone());
    let own = snapshot.surplus.iter().chain(&snapshot.held);
    hosts.retain(|host| !own.clone().any(|other| other.key() == host.key()));
    let ahead = request.reuse_label.as_deref().map(|label| snapshot.candidates.waiters_ahead(label));
    let request = request.behind(ahead.unwrap_or_default()).sparing(&of_others);
    Chosen { choice: host::choose(&request, hosts.iter().map(AsRef::as_ref)), hosts }
}

/// The host that is chosen among all, found among those that are usable. Where hosts are reserved for the machine's owner,
/// or it holds others already, every host has a say.
fn first_choice(snapshot: &MachineSnapshot<'_>, request: &HostRequest<'_>) -> Option<Arc<BareMetalHost>> {
    let candidates = &snapshot.candidates;
    let is_reserved = request.reuse_label.as_deref().is_some_and(|label| candidates.is_any_reserved(label));
    if is_reserved || !snapshot.surplus.is_empty() || !snapshot.held.is_empty() {
        return None;
    }
    let best_of = |failure_domain: Option<&str>| {
        let mut choice = QuickChoice::new(request);
        candidates.each_usable(failure_domain, &mut |host| choice.offer(host));
        choice.best()
    };
    let in_domain = request.failure_domain().and_then(|domain| best_of(Some(domain)));
    let best = in_domain.or_else(|| best_of(None))?;
    (!candidates.is_of_another(&best)).then_some(best)
}

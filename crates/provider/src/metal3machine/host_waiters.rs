//! Which waiting machine is reconciled when a host becomes usable: one at a time, so that one host does not wake all of them.
//!
//! The machine that has waited longest and could take the host comes first; machines of its failure domain come before all
//! others. If it does not take the host, the next one is woken. If it does, the first few of the others are reconciled a little
//! later, to update the reasons in their conditions.
//!
//! A machine that waits for a reserved host is woken when it cannot get one any more: the host is no longer usable, or machines
//! ahead of it need it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine, MachineSet},
    v1beta2::Metal3Machine,
    vocabulary::{condition, label, reason},
};
use capm3_domain::host::{Eligibility, HostRequest, could_be_taken, eligibility, reuse_label};
use capm3_engine::{Object, ObjectKey, Queue, Reader};
use parking_lot::Mutex;

use super::{decide::Awaits, reserved_waiters};

/// How many waiting machines are reconciled after another one has taken a host. Their conditions may have to change; a thousand
/// of them must not be written at once.
const BYSTANDERS: usize = 4;

/// The delay before they are reconciled, so that hosts that are taken one after the other cause one reconcile.
const BYSTANDER_DELAY: Duration = Duration::from_secs(5);

/// Machines to be reconciled.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    /// Immediately: a host is offered to them.
    pub(super) now: Vec<ObjectKey>,
    /// Later: there is no host for them, but their conditions may be outdated.
    pub(super) later: Vec<ObjectKey>,
}

impl Wakeups {
    /// Puts them into the work queue.
    pub(super) fn enqueue(self, queue: &Queue<ObjectKey>) {
        self.now.into_iter().for_each(|machine| queue.add(machine));
        self.later.into_iter().for_each(|machine| queue.add_after(machine, BYSTANDER_DELAY));
    }
}

/// Machines that wait for a host, and hosts that were offered to them.
#[derive(Debug, Default)]
pub(super) struct HostWaiters {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Machines that found no host, or are being reconciled at the moment.
    waiting: BTreeSet<ObjectKey>,
    /// Hosts offered to a machine that was not reconciled since.
    open: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// Machines that a host was offered to since it became usable.
    asked: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// Machines that wait for a reserved host, by namespace and reservation.
    reserved: BTreeMap<(String, String), BTreeSet<ObjectKey>>,
}

impl State {
    fn note_reservation(&mut self, machine: &ObjectKey, awaits: &Awaits) {
        self.reserved.retain(|_, machines| {
            machines.remove(machine);
            !machines.is_empty()
        });
        if let Awaits::Reservation(reservation) = awaits {
            let place = (machine.namespace.clone(), reservation.clone());
            self.reserved.entry(place).or_default().insert(machine.clone());
        }
    }
}

impl HostWaiters {
    /// The reconcile of a machine begins. Called before the machine is observed, so that no host becomes usable unnoticed.
    pub(super) fn begin_reconcile(&self, machine: &ObjectKey) {
        self.state.lock().waiting.insert(machine.clone());
    }

    /// The reconcile of a machine ends. Gives the machines to wake for hosts that it was offered and did not take, and those
    /// whose conditions may change because it took one.
    pub(super) fn end_reconcile(
        &self,
        reader: &impl Reader,
        machine: &ObjectKey,
        awaits: &Awaits,
    ) -> Wakeups {
        let waits = *awaits != Awaits::Nothing;
        let offered = {
            let mut state = self.state.lock();
            state.note_reservation(machine, awaits);
            if !waits {
                state.waiting.remove(machine);
            }
            state.open.remove(machine).unwrap_or_default()
        };
        let took_one = !waits && !offered.is_empty();
        let mut wakeups = Wakeups {
            now: offered.iter().filter_map(|host| self.next(reader, host)).collect(),
            later: if took_one { self.bystanders(reader, &machine.namespace) } else { Vec::new() },
        };
        if let Awaits::Reservation(reservation) = awaits {
            // It may be ahead of others in the queue, and its host may have changed during the reconcile.
            let (without_host, _) = self.who_waits(reader, &machine.namespace, reservation);
            if without_host.contains(machine) {
                // It is not in the queue, such as a machine whose predecessor's host is still being cleaned. Two of them must
                // not wake each other without a delay.
                wakeups.later.extend(without_host);
            } else {
                wakeups.now.extend(without_host);
            }
        }
        wakeups
    }

    /// A reserved host becomes usable or unusable: machines that cannot get it are reconciled immediately. The first few of the
    /// others are reconciled later, to name the right hosts in their conditions.
    pub(super) fn reservation_changed(
        &self,
        reader: &impl Reader,
        namespace: &str,
        reservation: &str,
    ) -> Wakeups {
        let (now, wait_on) = self.who_waits(reader, namespace, reservation);
        Wakeups { now, later: wait_on.into_iter().take(BYSTANDERS).collect() }
    }

    /// The machines that wait for a host of this reservation: those that cannot get one, and the others.
    fn who_waits(
        &self,
        reader: &impl Reader,
        namespace: &str,
        reservation: &str,
    ) -> (Vec<ObjectKey>, Vec<ObjectKey>) {
        let place = (namespace.to_owned(), reservation.to_owned());
        let waiting = self.state.lock().reserved.get(&place).cloned().unwrap_or_default();
        if waiting.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let rightly: BTreeSet<ObjectKey> =
            reserved_waiters::who_waits(reader, namespace, reservation).into_iter().collect();
        waiting.into_iter().partition(|machine| !rightly.contains(machine))
    }

    /// The machines whose conditions have reported for the longest time that no host is available.
    fn bystanders(&self, reader: &impl Reader, namespace: &str) -> Vec<ObjectKey> {
        let waiting = self.state.lock().waiting.clone();
        let here = waiting.iter().filter(|machine| machine.namespace == namespace);
        let machines = here.filter_map(|key| reader.get::<Metal3Machine>(key));
        let has_reported = |machine: &Arc<Metal3Machine>| {
            find(&machine.status.conditions, condition::ASSOCIATE_HOST)
                .is_some_and(|condition| condition.reason == reason::ASSOCIATE_HOST_FAILED)
        };
        let mut line: Vec<_> =
            machines.filter(has_reported).map(|machine| (waits_since(&machine), machine.key())).collect();
        line.sort();
        line.into_iter().take(BYSTANDERS).map(|(_, key)| key).collect()
    }

    /// A host becomes usable: gives the machine to reconcile.
    pub(super) fn offer(&self, reader: &impl Reader, host: &ObjectKey) -> Option<ObjectKey> {
        self.state.lock().asked.remove(host);
        self.next(reader, host)
    }

    fn next(&self, reader: &impl Reader, key: &ObjectKey) -> Option<ObjectKey> {
        let (waiting, asked) = {
            let state = self.state.lock();
            (state.waiting.clone(), state.asked.get(key).cloned().unwrap_or_default())
        };
        let host = reader.get::<BareMetalHost>(key).filter(|host| could_be_taken(host));
        let next = host.and_then(|host| {
            let here = waiting.iter().filter(|machine| machine.namespace == key.namespace);
            next_waiter(reader, &host, here.filter(|machine| !asked.contains(machine)))
        });
        let mut state = self.state.lock();
        match &next {
            Some(machine) => {
                state.asked.entry(key.clone()).or_default().insert(machine.clone());
                state.open.entry(machine.clone()).or_default().insert(key.clone());
            }
            None => {
                state.asked.remove(key);
            }
        }
        next
    }
}

/// The first waiting machine that could take the host.
fn next_waiter<'a>(
    reader: &impl Reader,
    host: &BareMetalHost,
    waiting: impl Iterator<Item = &'a ObjectKey>,
) -> Option<ObjectKey> {
    let domain = host.metadata.label(label::FAILURE_DOMAIN).filter(|domain| !domain.is_empty());
    let mut line: Vec<_> = waiting
        .filter_map(|key| reader.get::<Metal3Machine>(key))
        .filter(|machine| !machine.metadata.is_deleting())
        .map(|machine| {
            let elsewhere = domain.is_none() || machine.spec.failure_domain.as_deref() != domain;
            ((elsewhere, waits_since(&machine), machine.key()), machine)
        })
        .collect();
    line.sort_by(|(a, _), (b, _)| a.cmp(b));
    let fits = line.into_iter().find(|(_, machine)| could_take(reader, machine, host));
    fits.map(|((_, _, key), _)| key)
}

/// Since when a machine has had no host.
fn waits_since(machine: &Metal3Machine) -> String {
    let waits = find(&machine.status.conditions, condition::ASSOCIATE_HOST);
    waits.map(|condition| condition.last_transition_time.clone()).unwrap_or_default()
}

fn could_take(reader: &impl Reader, machine: &Arc<Metal3Machine>, host: &BareMetalHost) -> bool {
    let here = |name: &str| ObjectKey::new(machine.metadata.namespace_str(), name);
    let owner = machine.metadata.owner(CAPI_GROUP, "Machine");
    let Some(capi) = owner.and_then(|owner| reader.get::<Machine>(&here(&owner.name))) else { return false };
    let set = capi.metadata.owner(CAPI_GROUP, "MachineSet");
    let set = set.and_then(|owner| reader.get::<MachineSet>(&here(&owner.name)));
    let request = HostRequest::new(machine, &capi, reuse_label(&capi, set.as_deref()));
    !matches!(eligibility(&request, host), Eligibility::Rejected(_))
}

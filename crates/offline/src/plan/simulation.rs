//! Time: the controllers run until nothing more is written, then time moves to the next moment at which something is due.
//!
//! Takes a memory and how long steps take; changes the memory and tells the story of it. Which keys are reconciled is driven by what
//! they have read. It decides nothing itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use capm3_api::{conditions::find, metadata::MetadataExt, v1beta2::Metal3Machine, vocabulary::condition};
use capm3_engine::{End, Memory, ObjectKey, Reader, clock};
use capm3_provider::{
    dry_run::{Controller, Settings},
    indexes::USABLE_HOSTS,
};
use capm3_world::{Steps as Durations, dry_run as world};
use jiff::Timestamp;

use super::{
    candidates::Candidates,
    result::{HostLane, Outcome, Step},
    steps::Story,
};
use crate::planner::work::{Who, Work};

/// In how many rounds of one moment the controllers must come to rest.
const ROUNDS: usize = 20_000;

/// How many moments a plan has at most.
const MOMENTS: usize = 200_000;

/// How often a key of the provider is looked at again because of the time alone, without a write.
const QUIET_LOOKS: u8 = 3;

/// After which time every grace period is over.
const LATER: Duration = Duration::from_secs(3600);

/// A provider as it is set up by default in `up`.
const SETTINGS: Settings = Settings { serves_addresses: true, names_claims_by_host: false };

/// Controllers of the provider that gather claims for a moment and serve them together, the one that gathers longer last.
const GATHERING: [Who; 2] = [Who::Provider(Controller::DataTemplate), Who::Provider(Controller::Pool)];

/// The controllers at work.
pub(super) struct Simulation {
    pub(super) memory: Memory,
    pub(super) now: Timestamp,
    start: Timestamp,
    work: Work,
    around: world::Surroundings,
    /// What is due by the time alone.
    timers: BTreeSet<(Timestamp, usize)>,
    /// The moment at which each key is due, and how often a pass over it changed nothing.
    due: BTreeMap<usize, (Timestamp, u8)>,
    /// What a neighbour waits for, as it says it.
    pub(super) waits: BTreeMap<(world::Controller, ObjectKey), String>,
    story: Story,
    candidates: Candidates,
    at_once: Vec<Who>,
}

impl Simulation {
    pub(super) fn new(mut memory: Memory, durations: Durations, now: Timestamp) -> Self {
        memory.tell_time(clock::text(now));
        let ours = [Controller::Cluster, Controller::Machine, Controller::Data].map(Who::Provider);
        let at_once: Vec<Who> = world::Controller::ALL.into_iter().map(Who::World).chain(ours).collect();
        let all = at_once.iter().copied().chain(GATHERING).chain([Who::Provider(Controller::Host)]);
        let mut simulation = Self {
            work: Work::of(all),
            memory,
            now,
            start: now,
            around: world::Surroundings::new(durations),
            timers: BTreeSet::new(),
            due: BTreeMap::new(),
            waits: BTreeMap::new(),
            story: Story::default(),
            candidates: Candidates::default(),
            at_once,
        };
        simulation.hear();
        simulation.story.begin(&simulation.memory);
        simulation
    }

    /// Runs until nothing happens any more. `false` if that does not come to pass.
    pub(super) fn run(&mut self) -> bool {
        for _ in 0..MOMENTS {
            if !self.settle() {
                return false;
            }
            let Some((moment, _)) = self.timers.first().copied() else {
                if self.is_at_rest() {
                    return true;
                }
                continue;
            };
            self.move_to(moment);
        }
        false
    }

    /// What happens to a host that fails.
    pub(super) fn note_failure(&mut self, host: &ObjectKey, machine: Option<String>) {
        self.hear();
        self.story.host_fails(&self.memory, host, machine);
    }

    /// When the last step was, in seconds from the start.
    pub(super) fn last_event(&self) -> u64 {
        self.story.last_event()
    }

    /// Everything that happened, and how it is in the end.
    pub(super) fn take_story(&mut self) -> (Vec<Step>, Vec<Outcome>, Vec<HostLane>) {
        self.story.tell_all(&self.memory, &self.candidates)
    }

    /// What a machine is called.
    pub(super) fn name(&self, machine: &ObjectKey) -> String {
        self.story.name(machine)
    }

    /// A text with the names of machines that do not exist yet as they are printed.
    pub(super) fn with_names(&self, text: &str) -> String {
        self.story.with_names(text)
    }

    fn move_to(&mut self, moment: Timestamp) {
        self.now = moment.max(self.now);
        self.memory.tell_time(clock::text(self.now));
        while let Some((at, number)) = self.timers.first().copied().filter(|(at, _)| *at <= self.now) {
            self.timers.remove(&(at, number));
            self.work.is_due_now(number);
        }
    }

    /// Nothing is due: reservations that nobody needs are given up once every grace is over. Whether that changes nothing.
    fn is_at_rest(&mut self) -> bool {
        let (before, now) = (self.memory.version(), self.now);
        self.work.all_due();
        self.now = now + LATER;
        self.reconcile_all(Who::Provider(Controller::Host));
        if self.memory.version() == before {
            self.work.forget_due();
            self.now = now;
            return true;
        }
        false
    }

    /// Runs every controller until nothing more is written; those that gather claims when nobody else has anything to do, each in
    /// its turn.
    fn settle(&mut self) -> bool {
        let mut rounds = 0;
        loop {
            for gathering in GATHERING {
                while self.work.has_any(&self.at_once) {
                    rounds += 1;
                    if rounds > ROUNDS {
                        return false;
                    }
                    for who in self.at_once.clone() {
                        self.reconcile_all(who);
                    }
                    self.look();
                }
                self.reconcile_all(gathering);
                self.look();
            }
            if !self.work.has_any(&self.at_once) && !self.work.has_any(&GATHERING) {
                self.story.end_of_moment(&self.memory, &mut self.candidates);
                return true;
            }
        }
    }

    fn look(&mut self) {
        let at = self.now.duration_since(self.start).as_secs();
        self.story.look(&self.memory, u64::try_from(at).unwrap_or(0), &mut self.candidates);
    }

    /// Runs a controller for each of its keys that are due, one after the other.
    fn reconcile_all(&mut self, who: Who) {
        if who == Who::Provider(Controller::Machine) {
            return self.reconcile_machines();
        }
        let mut from = 0;
        while let Some((number, key)) = self.work.take(who, from) {
            from = number + 1;
            self.reconcile(who, number, &key);
        }
    }

    /// Machines that wait for a host are served as hosts are offered to them: those in whose failure domain one is free first, and
    /// who waits longest first.
    fn reconcile_machines(&mut self) {
        let who = Who::Provider(Controller::Machine);
        let mut line: Vec<_> = Vec::new();
        for number in self.work.numbers_of(who, 0) {
            let Some((_, key)) = self.work.key(number) else { continue };
            line.push((self.turn(key), number));
        }
        line.sort();
        for (_, number) in line {
            if let Some((number, key)) = self.work.take_number(who, number) {
                let seen = self.candidates.before(&self.memory, &key);
                self.reconcile(who, number, &key);
                self.candidates.after(&self.memory, &key, seen);
            }
        }
    }

    /// Where a machine stands in the line for hosts; one that does not wait for a host comes first.
    fn turn(&self, key: &ObjectKey) -> (bool, String) {
        let Some(machine) = self.memory.get::<Metal3Machine>(key) else { return (false, String::new()) };
        let waits =
            find(&machine.status.conditions, condition::ASSOCIATE_HOST).filter(|it| it.status != "True");
        let Some(waits) = waits.filter(|_| !machine.metadata.is_deleting()) else {
            return (false, String::new());
        };
        let domain = machine.spec.failure_domain.as_deref().filter(|domain| !domain.is_empty());
        let place = domain.map(|domain| format!("{}/{domain}", key.namespace));
        let elsewhere = place.is_some_and(|place| self.memory.count(&USABLE_HOSTS, &place) == 0);
        (elsewhere, waits.last_transition_time.clone())
    }

    fn reconcile(&mut self, who: Who, number: usize, key: &ObjectKey) {
        let (now, before) = (self.now, self.memory.version());
        if let Some((moment, _)) = self.due.get(&number) {
            self.timers.remove(&(*moment, number));
        }
        let delay = match who {
            Who::World(controller) => {
                let around = &mut self.around;
                let end =
                    self.memory.read_by(number, |memory| controller.reconcile(memory, key, around, now));
                self.note_wait(controller, key, &end);
                delay(&end)
            }
            Who::Provider(controller) => {
                let text = clock::text(now);
                let end =
                    self.memory.read_by(number, |memory| controller.reconcile(memory, key, SETTINGS, &text));
                delay(&end).filter(|_| self.is_worth_a_look(number, before))
            }
        };
        if let Some(delay) = delay {
            let moment = now + delay.max(Duration::from_secs(1));
            self.timers.insert((moment, number));
            self.due.entry(number).or_insert((moment, 0)).0 = moment;
        }
        self.hear();
    }

    /// Whether time alone may change what is decided about a key: not if several passes over it changed nothing.
    fn is_worth_a_look(&mut self, number: usize, before: u64) -> bool {
        let (_, quiet) = self.due.entry(number).or_insert((self.now, 0));
        *quiet = if self.memory.version() == before { quiet.saturating_add(1) } else { 0 };
        *quiet <= QUIET_LOOKS
    }

    fn note_wait(&mut self, controller: world::Controller, key: &ObjectKey, end: &End) {
        match end {
            End::WaitFor(wait) | End::Retry(wait, _) => {
                self.waits.insert((controller, key.clone()), wait.to_string());
            }
            _ => {
                self.waits.remove(&(controller, key.clone()));
            }
        }
    }

    fn hear(&mut self) {
        let news = self.memory.news();
        self.work.hear(&news);
        self.story.hear(news.touched);
    }
}

/// After which time a key is due again by its own account.
fn delay<W>(end: &End<W>) -> Option<Duration> {
    match end {
        End::After(delay) | End::Retry(_, delay) => Some(*delay),
        End::Done | End::WaitFor(_) | End::Again => None,
    }
}

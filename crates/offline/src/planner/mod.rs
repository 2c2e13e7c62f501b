//! What will happen: the controllers' own decisions, carried out on objects in memory until nothing more is written.
//!
//! Takes documents, of files or of a cluster, and a time; gives the memory as it is then, what each object waits for, and the
//! machines whose host cannot be known. It decides nothing itself. Claims are served in the order in which a provider serves
//! them that has just started and whose writes take less time than it gathers claims. Nobody else acts: hosts are not
//! provisioned, so it ends where data is rendered and images are written to hosts.

mod operator;
mod site;
#[cfg(test)]
mod tests;
mod undecided;
pub(crate) mod work;

use std::{collections::BTreeMap, time::Duration};

use capm3_domain::{host::PossibleHosts, wait::Wait};
use capm3_engine::{
    Memory, ObjectKey, clock,
    manifests::{Document, Problem},
};
pub use capm3_provider::dry_run::{Controller, Settings};
use capm3_provider::plan::End;
use jiff::Timestamp;
use serde_json::Value;
pub(crate) use site::Loader;
use work::{Who, Work};

/// After which time every wait is reported and every grace period is over.
const LATER: Duration = Duration::from_secs(3600);

/// In how many rounds every object is reconciled before the planner gives up waiting for rest.
const ROUNDS: usize = 100;

/// A provider as it is set up by default in `up`.
const SETTINGS: Settings = Settings { serves_addresses: true, names_claims_by_host: false };

/// Controllers that gather claims for a moment and serve them together, the one that gathers longer last.
const GATHERING: [Controller; 2] = [Controller::DataTemplate, Controller::Pool];

/// Controllers that reconcile as soon as something changes.
const AT_ONCE: [Controller; 3] = [Controller::Cluster, Controller::Machine, Controller::Data];

/// The same once every grace is over: hosts whose reservation has lost its owner are released.
const LATE: [Controller; 4] = [Controller::Cluster, Controller::Machine, Controller::Data, Controller::Host];

/// Objects and what the controllers make of them.
#[derive(Debug)]
pub struct Planner {
    memory: Memory,
    work: Work,
    settings: Settings,
    waits: BTreeMap<(Controller, ObjectKey), Wait>,
    undecided: BTreeMap<ObjectKey, PossibleHosts>,
}

impl Planner {
    /// Reads documents; kinds that the controllers do not read are passed over. What cannot be read is reported and left out. A
    /// host that no operator has seen counts as available, with the hardware of its annotation.
    pub fn read<'d>(documents: impl IntoIterator<Item = &'d Document>) -> (Self, Vec<Problem>) {
        let (memory, problems) = site::read(documents);
        let work = Work::of(Controller::ALL.map(Who::Provider));
        (
            Self { memory, work, settings: SETTINGS, waits: BTreeMap::new(), undecided: BTreeMap::new() },
            problems,
        )
    }

    /// The same for a provider that is set up otherwise.
    #[must_use]
    pub fn with(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Lets the controllers work from `now` on until nothing more is written. `false` if that does not happen.
    pub fn run(&mut self, now: Timestamp) -> bool {
        let before = undecided::may_be(&self.memory).then(|| self.memory.clone());
        let rests = self.run_to_fixpoint(&AT_ONCE, now) && self.run_to_fixpoint(&LATE, now + LATER);
        let wait = |key: &ObjectKey| self.wait(Controller::Machine, key);
        self.undecided = before.map(|b| undecided::undecided(&b, &self.memory, wait)).unwrap_or_default();
        rests
    }

    /// What is there.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Every object of a kind with all its members, by namespace and name.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        site::list(&self.memory, kind)
    }

    /// What an object waits for, as its controller decided last.
    pub fn wait(&self, controller: Controller, key: &ObjectKey) -> Option<&Wait> {
        self.waits.get(&(controller, key.clone()))
    }

    /// The machines whose host is not decided, because they have no uid yet or choose after one that has none, and the hosts
    /// that they may take. The memory shows one of them.
    pub fn undecided(&self) -> &BTreeMap<ObjectKey, PossibleHosts> {
        &self.undecided
    }

    /// Those that gather claims reconcile when nobody else has anything to do, each in its turn.
    fn run_to_fixpoint(&mut self, controllers: &[Controller], now: Timestamp) -> bool {
        let now = clock::text(now);
        self.memory.tell_time(&now);
        self.hear();
        // What is decided may depend on the time.
        self.work.all_due();
        (0..ROUNDS).any(|_| {
            let run_to_fixpoint = GATHERING.into_iter().all(|gathering| {
                let rests = self.settle(controllers, &now);
                self.work(gathering, &now);
                rests
            });
            let all: Vec<Who> = controllers.iter().chain(&GATHERING).copied().map(Who::Provider).collect();
            run_to_fixpoint && !self.work.has_any(&all)
        })
    }

    /// Runs these controllers until they write nothing more.
    fn settle(&mut self, controllers: &[Controller], now: &str) -> bool {
        let all: Vec<Who> = controllers.iter().copied().map(Who::Provider).collect();
        (0..ROUNDS).any(|_| {
            controllers.iter().for_each(|controller| self.work(*controller, now));
            !self.work.has_any(&all)
        })
    }

    /// Runs a controller for each of its keys that are due, one after the other.
    fn work(&mut self, controller: Controller, now: &str) {
        let mut from = 0;
        while let Some((number, key)) = self.work.take(Who::Provider(controller), from) {
            from = number + 1;
            let settings = self.settings;
            let end = self.memory.read_by(number, |memory| controller.reconcile(memory, &key, settings, now));
            self.hear();
            if let End::WaitFor(wait) | End::Retry(wait, _) = end {
                self.waits.insert((controller, key), wait);
            } else {
                self.waits.remove(&(controller, key));
            }
        }
    }

    fn hear(&mut self) {
        self.work.hear(&self.memory.news());
    }
}

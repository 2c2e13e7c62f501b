//! What will happen: the controllers' own decisions, carried out on objects in memory until nothing more is written.
//!
//! Takes documents, of files or of a cluster, and a time; gives the memory as it is then, and what each object waits for. It
//! decides nothing itself. Nobody else acts: hosts are not provisioned, so it ends where data is rendered and hosts are
//! told what to run.

mod site;

use std::{collections::BTreeMap, time::Duration};

use capm3_domain::wait::Wait;
use capm3_engine::{
    Memory, ObjectKey, clock,
    manifests::{Document, Problem},
};
pub use capm3_provider::dry_run::{Controller, Settings};
use capm3_provider::plan::End;
use jiff::Timestamp;
use serde_json::Value;

/// After which time every wait is said and every grace is over.
const LATER: Duration = Duration::from_secs(3600);

/// How often every object is looked at before it is given up that they come to rest.
const ROUNDS: usize = 100;

/// A provider as it is set up by default in `up`.
const SETTINGS: Settings = Settings { serves_addresses: true, names_claims_by_host: false };

/// Objects and what the controllers make of them.
#[derive(Debug)]
pub struct Planner {
    memory: Memory,
    settings: Settings,
    waits: BTreeMap<(Controller, ObjectKey), Wait>,
}

impl Planner {
    /// Reads documents; kinds that the controllers do not read are passed over. What cannot be read is told and left out.
    pub fn read<'d>(documents: impl IntoIterator<Item = &'d Document>) -> (Self, Vec<Problem>) {
        let (memory, problems) = site::read(documents);
        (Self { memory, settings: SETTINGS, waits: BTreeMap::new() }, problems)
    }

    /// The same for a provider that is set up otherwise.
    #[must_use]
    pub fn with(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Lets the controllers work from `now` on until nothing more is written. `false` if they do not come to rest.
    pub fn run(&mut self, now: Timestamp) -> bool {
        // Hosts whose booking has lost its owner are let go after a grace.
        let at_once = Controller::ALL.into_iter().filter(|controller| *controller != Controller::Host);
        let at_once: Vec<Controller> = at_once.collect();
        self.come_to_rest(&at_once, now) && self.come_to_rest(&Controller::ALL, now + LATER)
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

    fn come_to_rest(&mut self, controllers: &[Controller], now: Timestamp) -> bool {
        let now = clock::text(now);
        self.memory.tell_time(&now);
        for _ in 0..ROUNDS {
            let before = self.memory.version();
            self.waits.clear();
            for controller in controllers {
                self.work(*controller, &now);
            }
            if self.memory.version() == before {
                return true;
            }
        }
        false
    }

    /// Lets a controller look at everything that it has, one after the other.
    fn work(&mut self, controller: Controller, now: &str) {
        for key in controller.keys(&self.memory) {
            let end = controller.reconcile(&mut self.memory, &key, self.settings, now);
            if let End::WaitFor(wait) | End::Retry(wait, _) = end {
                self.waits.insert((controller, key), wait);
            }
        }
    }
}

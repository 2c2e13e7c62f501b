//! The controllers' own decisions, carried out on a memory instead of a server.
//!
//! Takes a memory, a controller and a key; observes, decides and acts as the controller does until it waits. What the memory
//! does not show is not there, so nothing is left to prove. Nobody else acts meanwhile: hosts are not provisioned, workload
//! clusters are not known, and what objects that are gone have left behind is not cleaned up.

use capm3_api::{
    ipam::IpPool,
    neighbours::BareMetalHost,
    v1beta2::{Metal3Cluster, Metal3Data, Metal3DataTemplate, Metal3Machine},
};
use capm3_engine::{Memory, Next, Object, ObjectKey};

pub use crate::metal3data::Settings;
use crate::{
    baremetalhost, ippool, metal3cluster, metal3data, metal3datatemplate, metal3machine,
    plan::{End, Plan},
};

/// How many passes a batch gets before it has to wait.
const ATTEMPTS: usize = 8;

/// The controllers that decide who gets what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Of Metal3Clusters.
    Cluster,
    /// Of Metal3Machines.
    Machine,
    /// Of Metal3DataTemplates and their claims.
    DataTemplate,
    /// Of Metal3Data.
    Data,
    /// Of IPPools and their claims.
    Pool,
    /// Of hosts that nobody looks after.
    Host,
}

impl Controller {
    /// Each of them, in the order in which one waits for the other.
    pub const ALL: [Self; 6] =
        [Self::Cluster, Self::Machine, Self::DataTemplate, Self::Data, Self::Pool, Self::Host];

    /// The keys to reconcile, by namespace and name.
    pub fn keys(self, memory: &Memory) -> Vec<ObjectKey> {
        match self {
            Self::Cluster => keys::<Metal3Cluster>(memory),
            Self::Machine => keys::<Metal3Machine>(memory),
            Self::DataTemplate => keys::<Metal3DataTemplate>(memory),
            Self::Data => keys::<Metal3Data>(memory),
            Self::Pool => keys::<IpPool>(memory),
            Self::Host => keys::<BareMetalHost>(memory),
        }
    }

    /// Looks at one object, decides and acts, at once again while the plan says so.
    pub fn reconcile(self, memory: &mut Memory, key: &ObjectKey, settings: Settings, now: &str) -> End {
        match self {
            Self::Cluster => memory.drive(|memory| {
                Some(metal3cluster::decide(&metal3cluster::observe(memory, key, true)?, now))
            }),
            Self::Machine => memory.drive(|memory| machine(memory, key, now)),
            Self::DataTemplate => batch(memory, |memory| {
                let snapshot = metal3datatemplate::observe(memory, key)?;
                Some(metal3datatemplate::decide_in_parts(&snapshot, now).collect())
            }),
            Self::Data => memory
                .drive(|memory| Some(metal3data::decide(&metal3data::observe(memory, key, settings)?, now))),
            Self::Pool if !settings.serves_addresses => End::Done,
            Self::Pool => batch(memory, |memory| {
                let snapshot = ippool::observe(memory, key)?;
                Some(ippool::decide_in_parts(&snapshot, now).collect())
            }),
            Self::Host => memory.drive(|memory| {
                let snapshot = baremetalhost::observe(memory, key)?;
                let owner_is_gone = snapshot.absent.is_some();
                Some(baremetalhost::decide(&snapshot, owner_is_gone))
            }),
        }
    }
}

fn keys<K: Object>(memory: &Memory) -> Vec<ObjectKey> {
    let all = memory.caches().store::<K>().map(|store| store.all()).unwrap_or_default();
    all.iter().map(|object| object.key()).collect()
}

fn machine(memory: &Memory, key: &ObjectKey, now: &str) -> Option<Plan> {
    let live = metal3machine::Live::trusting_the_reader();
    let inputs = metal3machine::Inputs::trusting(&live);
    match metal3machine::decide(&metal3machine::observe(memory, &inputs, key)?, now).next {
        Next::Act(plan) => Some(plan),
        // The reader has answered everything.
        Next::Ask(_) => None,
    }
}

/// One pass that serves many claims, in parts, made again while the view is outdated.
fn batch(memory: &mut Memory, mut decide: impl FnMut(&Memory) -> Option<Vec<Plan>>) -> End {
    for _ in 0..ATTEMPTS {
        let Some(parts) = decide(memory) else { return End::Done };
        match memory.act_in_parts(parts.into_iter()) {
            Ok(End::Again) | Err(_) => {}
            Ok(end) => return end,
        }
    }
    End::Again
}

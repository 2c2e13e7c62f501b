//! The controllers' own decisions, carried out on a memory instead of a server.
//!
//! Takes a memory, a controller and a key; observes, decides and acts as the controller does until it waits. What the memory
//! does not show is not there, so nothing is left to prove. Nobody else acts meanwhile: hosts are not provisioned, and what
//! objects that are gone have left behind is not cleaned up. Of workload clusters those are known that the memory keeps.

use std::any::TypeId;

use capm3_api::{
    ipam::IpPool,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Node},
    v1beta2::{Metal3Cluster, Metal3Data, Metal3DataTemplate, Metal3Machine},
    vocabulary::annotation,
};
use capm3_engine::{Caches, Memory, Next, ObjectKey, Reader};

pub use crate::metal3data::Settings;
use crate::{
    baremetalhost,
    indexes::MACHINES_IN_PROGRESS,
    ippool, metal3cluster, metal3data, metal3datatemplate, metal3machine,
    plan::{End, Plan},
    workload::{NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID, Workload},
};

/// Indexes whose counts say only how often a status is written, by name.
pub const UNCOUNTED: &[&str] = &[MACHINES_IN_PROGRESS.name];

/// Adds the Nodes of a workload cluster.
pub fn register_nodes(caches: &mut Caches) {
    caches.add(&[NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID]);
}

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

    /// The Rust type of the objects whose keys it reconciles.
    pub fn type_id(self) -> TypeId {
        match self {
            Self::Cluster => TypeId::of::<Metal3Cluster>(),
            Self::Machine => TypeId::of::<Metal3Machine>(),
            Self::DataTemplate => TypeId::of::<Metal3DataTemplate>(),
            Self::Data => TypeId::of::<Metal3Data>(),
            Self::Pool => TypeId::of::<IpPool>(),
            Self::Host => TypeId::of::<BareMetalHost>(),
        }
    }

    /// Looks at one object, decides and acts, at once again while the plan says so.
    pub fn reconcile(self, memory: &mut Memory, key: &ObjectKey, settings: Settings, now: &str) -> End {
        match self {
            Self::Cluster => memory.drive(|memory| {
                Some(metal3cluster::decide(&metal3cluster::observe(memory, key, true)?, now))
            }),
            Self::Machine => reconcile_machine(memory, key, now),
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

/// The Nodes of the machine's host may be read and written besides.
fn reconcile_machine(memory: &mut Memory, key: &ObjectKey, now: &str) -> End {
    let host = memory.get::<Metal3Machine>(key);
    let host = host.and_then(|machine| machine.metadata.annotation(annotation::HOST).map(str::to_owned));
    let host = host.and_then(|path| path.split_once('/').map(|(home, name)| ObjectKey::new(home, name)));
    let nodes = |memory: &Memory| memory.workloads().map(|(_, workload)| workload.version()).sum::<u64>();
    if let Some(host) = &host {
        memory.reads_nodes_of(host);
    }
    let before = nodes(memory);
    let end = memory.drive(|memory| machine(memory, key, now));
    if let Some(host) = host.filter(|_| nodes(memory) != before) {
        memory.nodes_changed(&host);
    }
    end
}

fn machine(memory: &Memory, key: &ObjectKey, now: &str) -> Option<Plan> {
    let live = metal3machine::Live::trusting_the_reader();
    let workload = |cluster: &ObjectKey| {
        let nodes = memory.workload(cluster).and_then(|workload| workload.caches().store::<Node>());
        nodes.map_or(Workload::Unknown, Workload::InMemory)
    };
    let inputs = metal3machine::Inputs { workload: &workload, ..metal3machine::Inputs::trusting(&live) };
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

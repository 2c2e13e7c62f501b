//! How any controller of this product runs, whatever it controls.
//!
//! The way of a change: [`informer`] keeps a typed, indexed copy of each kind and notifies its subscribers what changed;
//! a [`queue`] holds the keys; [`controller`] workers take a key, *observe* through a [`Reader`], *decide* a [`Plan`] and
//! *act* it out through [`Executor`], whose answers enter the cache at once, so that the next pass sees our own writes.
//! [`reconcile`] is the one loop of passes, and [`metrics`] shows what all of it did. Of several replicas only the one
//! that holds the [`lease`] writes: [`WriteGate`].
//!
//! The crate knows no kind of ours. Time comes from [`clock`] and the runtime's timer, chance from [`rng`], so that
//! a run on a paused, single-threaded runtime is repeatable.

pub mod absence;
mod act;
mod cache;
pub mod client;
pub mod clock;
pub mod controller;
mod gate;
pub mod informer;
pub mod lease;
pub mod manifests;
mod memory;
pub mod metrics;
mod object;
mod object_diff;
mod patch;
mod plan;
pub mod queue;
mod read_json;
mod reader;
mod reconcile;
pub mod rng;
mod tasks;
mod workload_writer;
mod write_counts;

pub use act::{ActError, Acting, Executor};
pub use cache::Caches;
pub use client::{ApiClient, ApiError, Detail};
pub use clock::Clock;
pub use controller::{Controller, Outcome};
pub use gate::{Term, WriteGate};
pub use informer::{Aggregate, Index, Informer, Store};
pub use memory::{Memory, News, Outdated};
pub use object::{Object, ObjectKey, ResourceKind};
pub use patch::merge_diff;
pub use plan::{End, EventNote, Note, Plan, Write};
pub use queue::Queue;
pub use reader::{Reader, Visit};
pub use reconcile::{Next, Passes, Reconciler, drive, reconcile};
pub use tasks::Tasks;
pub use workload_writer::{WorkloadDelete, WorkloadPatch, WorkloadWriter};
pub use write_counts::{WriteCounts, WriteOutcome};

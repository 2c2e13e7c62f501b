//! How any controller of this product runs, whatever it controls.
//!
//! The way of a change: [`informer`] keeps a typed, indexed copy of each kind and tells its subscribers what changed;
//! a [`queue`] holds the keys to look at; [`controller`] workers take a key, *observe* through a [`Reader`], *decide*
//! a [`Plan`] and *act* it out through [`Executor`], whose answers enter the cache at once, so the next look
//! sees our own writes.
//!
//! The crate knows no kind of ours. Time comes from [`clock`] and the runtime's timer, chance from [`rng`], so that
//! a run on a paused, single-threaded runtime is repeatable.

pub mod absence;
mod act;
mod cache;
pub mod client;
pub mod clock;
pub mod controller;
pub mod informer;
pub mod manifests;
mod object;
mod part;
mod patch;
mod plan;
pub mod queue;
mod reader;
pub mod rng;
mod tasks;

pub use act::{ActError, Acting, Executor};
pub use cache::Caches;
pub use client::{ApiClient, ApiError, Detail};
pub use clock::Clock;
pub use controller::{Controller, Looks, Outcome, drive};
pub use informer::{Index, Informer, Store};
pub use object::{Object, ObjectKey, ResourceKind};
pub use patch::merge_diff;
pub use plan::{End, EventNote, Note, Plan, Write};
pub use queue::Queue;
pub use reader::Reader;
pub use tasks::Tasks;

//! The controllers, one folder per kind: `observe` reads into a plain snapshot, `decide` is a pure function to a plan,
//! the engine carries it out. `mod.rs` of each folder says what wakes it.
//!
//! [`Provider::start`] wires them over one client; dropping the [`Provider`] stops everything at once.

pub mod aggregates;
pub mod audit;
pub mod baremetalhost;
mod batch;
mod causes;
mod conditions;
mod context;
pub mod crd_migration;
mod deletion_tracker;
pub mod dry_run;
mod finalizers;
pub mod host_crd;
pub mod host_patch;
pub mod indexes;
pub mod ippool;
pub mod kinds;
pub mod label_sync;
mod lazy;
pub mod metal3cluster;
pub mod metal3data;
pub mod metal3datatemplate;
pub mod metal3machine;
pub mod metal3machinetemplate;
pub mod metal3remediation;
pub mod metrics;
mod node_of_host;
mod owners;
pub mod plan;
mod rightful_owner;
mod wait_throttle;
mod waits;
mod watch_filter;
mod watching;
pub mod workload;

pub use causes::Cause;
pub use context::{ADVICE, Options, Provider};
pub use lazy::Lazy;
pub use waits::Waiting;
pub use watch_filter::WatchFilter;

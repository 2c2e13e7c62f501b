//! The composition: embedded API server, simulated world and provider in one process.
//!
//! [`Lab`] starts and drives them, [`manifests`] reads what a user wrote, [`report`] says where everything stands,
//! [`stuck`] says why something does not get on. `capm3 up`, the end-to-end tests and the benchmarks all use it.
//! On a paused, single-threaded runtime a run is repeatable: equal seeds give equal writes in equal order.

mod admission;
pub mod fleet;
pub mod manifests;
mod progress;
pub mod report;
mod running;
pub mod stuck;
mod workload_apis;

pub use progress::Progress;
pub use running::{Lab, LabError, Options, Settled, apply, crds};

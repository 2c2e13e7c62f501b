//! The composition: embedded API server, simulated world and provider in one process.
//!
//! [`Lab`] starts and drives them, [`manifests`] reads what a user wrote, [`report`] says where everything stands,
//! [`expected`] what is asked for, [`stuck`] says why something does not make progress. [`faults`] puts faults between the provider and the server,
//! [`invariants`] says what must never be true, [`moving`] moves a cluster into another lab, [`sweep`] cuts the provider
//! off at every write there is. `capm3 up`, the end-to-end tests and the benchmarks all use it.
//! On a paused, single-threaded runtime a run is repeatable: equal seeds give equal writes in equal order.

mod admission;
pub mod expected;
pub mod faults;
pub mod finished;
pub mod fleet;
mod installed;
pub mod invariants;
pub mod manifests;
pub mod moving;
mod progress;
pub mod report;
mod running;
pub mod stuck;
pub mod sweep;
mod workload_apis;

pub use admission::InProcess;
pub use installed::StoredAs;
pub use progress::{Progress, ProgressStep};
pub use running::{Lab, LabError, Options, Settled, apply, crds};

//! What a Metal3Remediation asks for, how far it has come, and what it changes on a Node.
//!
//! Takes the spec ([`Strategy`]), the record of what was done ([`Progress`]) and a Node as it was read; gives times, the texts
//! of annotations and the content of patches. What is done next is decided by the controller; nothing here reads a clock.

mod backup;
mod progress;
mod strategy;
mod taint;
mod wait;

pub use backup::{NodeBackup, Restoration};
pub use progress::{Phase, Progress};
pub use strategy::{OnExhausted, PowerOff, Strategy, UnsupportedStrategy};
pub use taint::{has_taint, is_supported, is_tolerated_by, with_taint, without_taint};
pub use wait::{Drain, HostProblem, RemediationWait};

//! Unhealthy machines from the MachineHealthCheck that notices to the Node that is back, or to the host that takes its place.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod exhausted;
mod many;
mod obstacles;
mod power_cycle;
mod site;

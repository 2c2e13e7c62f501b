//! From Machine to host and back: the whole life of a Metal3Machine, end to end, by topic.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/wire.rs"]
mod wire;

mod absence;
mod capacity;
mod data;
mod events;
mod host_waiters;
mod machine_conditions;
mod missing_prerequisites;
mod moments;
mod moving;
mod orphans;
mod pausing;
mod races;
mod racks;
mod refused;
mod release;
mod reservations;
mod reuse;
mod rightful_owner;
mod rows;
mod seed;
mod workload;

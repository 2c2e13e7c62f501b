//! `capm3 release` as a person runs it: against a cluster that `capm3 up` runs, and against a server that changes, refuses
//! or does not serve something.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod fake;
mod life;
mod refusals;
mod usage;

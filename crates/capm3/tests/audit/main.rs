//! `capm3 audit`: every contradiction is planted in a healthy fleet, found by its rule alone, and repaired.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test uses its own part")]
mod common;
mod finding;
mod fixing;
mod moving;
mod planted;
mod site;
mod usage;

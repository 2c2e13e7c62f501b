//! `capm3 explain` as a person runs it, from files and against a running cluster, compared with what is checked in under
//! `tests/expected/explain`.
//! `CAPM3_BLESS=1 cargo test -p capm3 --test explain` writes the files again; read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod live;
mod machines;
mod objects;
mod one_host;
mod pools;
mod usage;

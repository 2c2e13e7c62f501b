//! The webhook server as an API server sees it: over TLS, by a client that trusts only its authority.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod client;
mod golden;
mod limits;
mod reload;
// The reader has more than this test uses.
#[allow(unused_imports)]
#[path = "../../../domain/tests/support/mod.rs"]
mod support;

//! A plain store with the verbs of an API server, and a stand-in for the provider: just enough to run the world alone.

pub mod provider;
pub mod schema;
pub mod server;

//! Provider IDs, the Node of a machine, and the machine's addresses.
//!
//! Takes the machine's record of its host, the Nodes of the workload cluster and what inspection found; gives the ID
//! to write, what to do about the Node, and the address list. Must not reach a workload cluster: whether it can be
//! reached is the caller's question.

mod addresses;
mod id;
mod node;

pub use addresses::{MAX_ADDRESSES, addresses};
pub use id::{IdError, ProviderId, SomeProviderId, expected_id};
pub use node::{NodeConflict, NodeDecision, NodeQuestion, NodeWait, Nodes, decide_node};

#[cfg(test)]
mod rows_tests;

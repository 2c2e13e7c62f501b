//! Whether this process leads.

use std::fmt;

use super::{Encoder, Series, Source};
use crate::WriteGate;

pub(super) const MASTER: Series = Series::gauge(
    "leader_election_master_status",
    &["name"],
    "1 on the replica that holds the Lease of this name, 0 on the others",
);

/// The series of an election.
#[derive(Debug)]
pub struct LeadershipSource {
    /// Name of the Lease.
    pub lease: String,
    /// Open while this process leads.
    pub gate: WriteGate,
}

impl Source for LeadershipSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        encoder.gauges(&MASTER, [([&self.lease], f64::from(u8::from(self.gate.is_open())))])
    }
}

//! Leader election by a Lease, as client-go does it: a Go process and this one may contend for the same Lease.
//!
//! [`evaluate()`] decides from what was seen of the Lease, [`Elector`] reads and writes it, [`Record`] is its content. Times in
//! a Lease are for people: whether it has expired is measured by the own monotonic clock since its content was last seen to
//! change, so the clocks of two machines need not agree. [`crate::WriteGate`] keeps who does not lead from writing.

mod elector;
mod evaluate;
mod event;
mod record;
mod timing;

pub use elector::{Candidate, Elector, LeadershipLost};
pub use evaluate::{Observed, Verdict, evaluate};
pub use record::{Record, lease_kind};
pub use timing::{Timing, TimingError};

//! Sets of numbers that know their gaps; indexes and addresses are allocated from them.
//!
//! [`Runs`] is a plain set, [`UsedNumbers`] counts how often each number is used and is kept up to date with every object that
//! comes or goes, [`FreeNumbers`] is what one reconcile allocates from: sets that others keep, and its own changes on top. None
//! of them knows what the numbers mean.

mod free;
mod runs;
mod used;

pub use free::FreeNumbers;
pub use runs::Runs;
pub use used::UsedNumbers;

//! What the controller of a data object would decide now, for people to read. Nothing is written.

use capm3_domain::wait::Wait;
use capm3_engine::{ObjectKey, Reader};

use super::{Settings, decide, observe};
use crate::plan::End;

/// What the data waits for; `None` if it is not there or does not wait.
pub fn waits_for(reader: &impl Reader, key: &ObjectKey) -> Option<Wait> {
    match decide(&observe(reader, key, Settings::default())?, "").end {
        End::WaitFor(wait) | End::Retry(wait, _) => Some(wait),
        End::Done | End::Again | End::After(_) => None,
    }
}

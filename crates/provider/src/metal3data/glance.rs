//! A look at data that acts on nothing, for people to read.

use capm3_engine::{End, ObjectKey, Reader};

use super::{decide, observe};

/// What the data waits for, as its controller says it; `None` if it is not there or does not wait.
pub fn waits_for(reader: &impl Reader, key: &ObjectKey) -> Option<String> {
    let End::WaitFor(what) = decide(&observe(reader, key)?, "").end else { return None };
    Some(what)
}

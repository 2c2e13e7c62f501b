//! Whether anybody was denied anything, by the audit log.

use anyhow::{Result, ensure};

use super::{management::Management, say};
use crate::requests::denied;

/// Nobody may have lacked a right: not our manager, not the real ones beside it, not the world.
pub fn check(management: &Management) -> Result<()> {
    let users = management.users();
    for user in &users {
        let denials = denied(&management.audit_log(), user)?;
        ensure!(denials.is_empty(), "{user} lacks rights:\n{}", denials.join("\n"));
    }
    say(&format!("{}: no request of {} accounts was denied", management.name(), users.len()));
    Ok(())
}

//! Whether anything went wrong: two owners, something taken from a live machine, something left behind, a writer that did not
//! lead.

use std::{collections::BTreeSet, fmt::Debug, path::Path, sync::Arc};

use anyhow::{Result, ensure};
use capm3_lab::{invariants, report::report_of};
use serde_json::Value;

use super::{
    NAMESPACE, audit,
    history::{History, text},
    phase::{self, Phase, Size},
    say,
};

/// How many violations are printed.
const MAX_REPORTED: usize = 10;

/// A process that was stopped, and when it went on.
pub struct Resumed {
    /// Id of its token.
    pub token: String,
    pub at: String,
}

/// Judges everything so far, at rest; says what was looked at.
pub fn history(history: &History, now: Phase, size: Size) -> Result<String> {
    let revisions = history.revisions()?;
    let mix_ups = invariants::judge(&revisions);
    none("mixed up", &mix_ups)?;
    let losses = invariants::judge_losses(&revisions);
    none("taken from live machines", &losses)?;
    let objects: Vec<Arc<Value>> = history.with_objects(|objects| {
        let of_fleet = objects.all().filter(|object| text(object, "/metadata/namespace") == NAMESPACE);
        of_fleet.cloned().collect()
    })?;
    let given =
        objects.iter().map(|object| text(object, "/metadata/name")).filter(|name| phase::is_given(name));
    let leaks = invariants::leaks(&objects, &given.map(str::to_owned).collect());
    none("left behind", &leaks)?;
    let report = report_of(&objects, 0);
    let twice = report.duplicates();
    none("used twice", &twice)?;
    let machines = if now == Phase::Delete { 0 } else { size.machines() };
    let used = report.hosts.iter().filter(|host| host.consumer.is_some()).count();
    ensure!(used == machines, "{used} hosts are consumed by {machines} machines");
    let count = revisions.len();
    Ok(format!(
        "{machines} machines on {used} of {} hosts, nothing mixed up in {count} revisions",
        report.hosts.len()
    ))
}

/// Fails with the first of what was found, if anything was.
fn none(what: &str, found: &[impl Debug]) -> Result<()> {
    let first: Vec<_> = found.iter().take(MAX_REPORTED).collect();
    ensure!(found.is_empty(), "{what}: {} times, such as {first:#?}", found.len());
    Ok(())
}

/// Judges who wrote when, by the audit log.
pub fn writers(log: &Path, resumed: &[Resumed]) -> Result<()> {
    let writes = audit::writes(log)?;
    ensure!(writes.iter().any(|write| !write.is_lease), "the audit log tells no tokens apart");
    let usurpations = audit::usurpations(&writes);
    none("written by who did not lead", &usurpations)?;
    let forbidden: BTreeSet<&str> =
        writes.iter().filter(|write| write.code == 403).map(|write| write.what.as_str()).collect();
    ensure!(forbidden.is_empty(), "forbidden: {forbidden:?}");
    let counts: Vec<String> = audit::counts(&writes).values().map(usize::to_string).collect();
    say(&format!("writes of {} processes that led: {}", counts.len(), counts.join(", ")));
    for Resumed { token, at } in resumed {
        let late: Vec<_> =
            writes.iter().filter(|write| write.token == *token && write.received > *at).collect();
        let accepted: Vec<&str> =
            late.iter().filter(|write| write.is_accepted()).map(|write| write.what.as_str()).collect();
        say(&format!(
            "after it was continued, a stopped leader wrote {} times, {} accepted",
            late.len(),
            accepted.len()
        ));
        ensure!(accepted.is_empty(), "written by a leader that had been stopped: {accepted:?}");
    }
    Ok(())
}

//! What each process wrote, from the audit log of the server: who acted when it did not lead.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use serde_json::Value;

use crate::audit_log::{self, ObjectRef};

/// Member of a user that tells credentials of one account apart, and how the id of a token begins in it.
const CREDENTIAL: &str = "/authentication.kubernetes.io~1credential-id/0";
const TOKEN: &str = "JTI=";

/// A write of a replica, other than of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Id of the token of the process.
    pub token: String,
    /// When the server received it, as text of one length.
    pub received: String,
    /// When it was answered.
    pub answered: String,
    /// What it was, such as `patch baremetalhosts/h`.
    pub what: String,
    pub is_lease: bool,
    pub code: u16,
}

/// Writes of processes with a token of their own, in the order in which they were received.
pub fn writes(log: &Path) -> Result<Vec<Written>> {
    let mut all = Vec::new();
    for line in audit_log::lines(log)? {
        let line = line?;
        let credential = line.user.extra.pointer(CREDENTIAL).and_then(Value::as_str);
        let Some(token) = credential.filter(|it| it.starts_with(TOKEN)) else { continue };
        let ObjectRef { resource, name, .. } = &line.object_ref;
        if matches!(line.verb.as_str(), "get" | "list" | "watch") || resource == "events" {
            continue;
        }
        all.push(Written {
            token: token.to_owned(),
            received: line.request_received_timestamp,
            answered: line.stage_timestamp,
            what: format!("{} {resource}/{name}", line.verb),
            is_lease: resource == "leases",
            code: line.response_status.code,
        });
    }
    all.sort_by(|a, b| a.received.cmp(&b.received));
    Ok(all)
}

impl Written {
    pub fn is_accepted(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// Writes that were accepted although another process had taken the Lease before they were received.
pub fn usurpations(writes: &[Written]) -> Vec<String> {
    let mut taken: Vec<(&str, &str)> = Vec::new();
    let mut renewals: Vec<&Written> = writes.iter().filter(|it| it.is_lease && it.is_accepted()).collect();
    renewals.sort_by(|a, b| a.answered.cmp(&b.answered));
    for renewal in renewals {
        if taken.last().is_none_or(|(_, token)| *token != renewal.token) {
            taken.push((&renewal.answered, &renewal.token));
        }
    }
    let leader = |at: &str| taken.iter().rev().find(|(since, _)| *since <= at).map(|(_, token)| *token);
    let acts = writes.iter().filter(|it| !it.is_lease && it.is_accepted());
    acts.filter(|it| leader(&it.received) != Some(it.token.as_str()))
        .map(|it| format!("{} by {} at {}, which did not lead", it.what, it.token, it.received))
        .collect()
}

/// How often each process wrote, by its token.
pub fn counts(writes: &[Written]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for write in writes.iter().filter(|it| !it.is_lease) {
        *counts.entry(write.token.as_str()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(token: &str, second: u32, what: &str, code: u16) -> Written {
        let at = |micros| format!("2026-01-01T00:00:{second:02}.{micros:06}Z");
        Written {
            token: token.to_owned(),
            received: at(0),
            answered: at(5),
            what: what.to_owned(),
            is_lease: what == "lease",
            code,
        }
    }

    #[test]
    fn who_writes_after_another_took_the_lease_is_reported() {
        let mut writes = vec![
            written("a", 1, "lease", 201),
            written("a", 2, "patch hosts/h", 200),
            written("b", 3, "lease", 409),
            written("a", 4, "lease", 200),
            written("a", 5, "patch hosts/h", 200),
            written("b", 6, "lease", 200),
            written("a", 7, "patch hosts/h", 409),
            written("b", 7, "patch hosts/h", 200),
        ];
        assert_eq!(usurpations(&writes), Vec::<String>::new());
        writes.push(written("a", 8, "patch hosts/g", 200));
        writes.push(written("c", 9, "create secrets/s", 201));
        let found = usurpations(&writes);
        assert_eq!(
            found,
            [
                "patch hosts/g by a at 2026-01-01T00:00:08.000000Z, which did not lead",
                "create secrets/s by c at 2026-01-01T00:00:09.000000Z, which did not lead"
            ]
        );
        assert_eq!(counts(&writes), BTreeMap::from([("a", 4), ("b", 1), ("c", 1)]));
    }

    #[test]
    fn a_log_is_read_by_token_without_reads_and_events() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let line = |verb: &str, resource: &str, extra: &str| {
            format!(
                r#"{{"verb":"{verb}","requestReceivedTimestamp":"2026-01-01T00:00:01.000001Z","stageTimestamp":"2026-01-01T00:00:01.000002Z","user":{{"username":"u"{extra}}},"objectRef":{{"resource":"{resource}","name":"n"}},"responseStatus":{{"code":200}}}}"#
            )
        };
        let token = r#","extra":{"authentication.kubernetes.io/credential-id":["JTI=x"]}"#;
        let lines = [
            line("update", "leases", token),
            line("get", "leases", token),
            line("create", "events", token),
            line("patch", "machines", ""),
            line("patch", "machines", &token.replace("JTI=", "X509SHA256=")),
            line("patch", "machines", token),
            r#"{"verb":"del"#.to_owned(),
        ];
        std::fs::write(&log, lines.join("\n")).unwrap();
        let read = writes(&log).unwrap();
        let found: Vec<(&str, &str, bool)> =
            read.iter().map(|it| (it.token.as_str(), it.what.as_str(), it.is_lease)).collect();
        assert_eq!(found, [("JTI=x", "update leases/n", true), ("JTI=x", "patch machines/n", false)]);
    }
}

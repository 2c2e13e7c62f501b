//! How often a client asked, as a server counted it: the embedded one in memory, the real one in its audit log.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, ensure};
use capm3_apiserver::RequestCount;
use serde::{Deserialize, Serialize};

use crate::audit_log::{self, ObjectRef};

/// Requests of one client. Events are not counted, nor are renewals of its Lease, watches and the lists with which a client starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub writes: u64,
    pub reads: u64,
}

impl Counts {
    fn add(&mut self, verb: &str, resource: &str, count: u64) {
        match verb {
            _ if ["events", "leases"].contains(&resource) => {}
            "watch" | "list" => {}
            "get" => self.reads += count,
            _ => self.writes += count,
        }
    }

    /// From the counters of the embedded server.
    pub fn embedded(requests: &[RequestCount], user_agent: &str) -> Self {
        let mut counts = Self::default();
        for request in requests.iter().filter(|request| request.user_agent == user_agent) {
            let resource = request.resource.rsplit('/').next().unwrap_or_default();
            counts.add(&request.verb, resource, request.count);
        }
        counts
    }

    /// Requests of a client since an earlier count.
    pub fn since(self, earlier: Self) -> Self {
        Self { writes: self.writes - earlier.writes, reads: self.reads - earlier.reads }
    }

    /// Every request.
    pub fn all(self) -> u64 {
        self.writes + self.reads
    }

    /// From the audit log of a real server.
    pub fn audited(log: &Path, user_agent: &str) -> Result<Self> {
        let mut counts = Self::default();
        for line in audit_log::lines(log)? {
            let line = line?;
            if line.user_agent == user_agent {
                counts.add(&line.verb, &line.object_ref.resource, 1);
            }
        }
        Ok(counts)
    }
}

/// How often a client asked what and how it was answered, the most frequent first: `12 patch machines/status 200`.
pub fn table(requests: impl IntoIterator<Item = (String, u64)>) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (what, count) in requests {
        *counts.entry(what).or_default() += count;
    }
    let mut rows: Vec<(String, u64)> = counts.into_iter().collect();
    rows.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    rows.into_iter().map(|(what, count)| format!("{count:>8} {what}")).collect()
}

/// What was asked of the embedded server between two looks at its counters.
pub fn between(before: &[RequestCount], after: &[RequestCount]) -> Vec<RequestCount> {
    let same = |a: &RequestCount, b: &RequestCount| {
        RequestCount { count: 0, ..a.clone() } == RequestCount { count: 0, ..b.clone() }
    };
    let earlier = |request: &RequestCount| before.iter().find(|b| same(b, request)).map_or(0, |b| b.count);
    let news = after.iter().map(|r| RequestCount { count: r.count - earlier(r), ..r.clone() });
    news.filter(|request| request.count > 0).collect()
}

/// What a client asked of the embedded server.
pub fn embedded_by_kind(requests: &[RequestCount], user_agent: &str) -> Vec<String> {
    let own = requests.iter().filter(|r| r.user_agent == user_agent && r.verb != "watch" && r.verb != "list");
    let row = |r: &RequestCount| {
        let resource = r.resource.rsplit('/').next().unwrap_or_default();
        let separator = if r.subresource.is_empty() { "" } else { "/" };
        (format!("{} {resource}{separator}{} {}", r.verb, r.subresource, r.code), r.count)
    };
    table(own.map(row))
}

/// Everything that a client asked of a real server, by verb, kind and code: reads, events, lists and watches too, and what it
/// asked of workload clusters that the same server plays.
pub fn everything(log: &Path, user_agent: &str) -> Result<BTreeMap<String, u64>> {
    let mut rows = BTreeMap::new();
    for line in audit_log::lines(log)? {
        let line = line?;
        if line.user_agent == user_agent {
            let ObjectRef { resource, subresource, .. } = &line.object_ref;
            let separator = if subresource.is_empty() { "" } else { "/" };
            let code = line.response_status.code;
            *rows.entry(format!("{} {resource}{separator}{subresource} {code}", line.verb)).or_default() += 1;
        }
    }
    Ok(rows)
}

/// What was asked since an earlier count.
pub fn since(earlier: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let news = now.iter().map(|(what, count)| (what.clone(), count - earlier.get(what).unwrap_or(&0)));
    news.filter(|(_, count)| *count > 0).collect()
}

/// What a user was denied by a real server, whatever it is: `3 watch /api/v1/secrets`. An error if the user never asked.
pub fn denied(log: &Path, user: &str) -> Result<Vec<String>> {
    let (mut rows, mut asked) = (Vec::new(), 0_u64);
    for line in audit_log::lines(log)? {
        let line = line?;
        if line.user.username != user {
            continue;
        }
        asked += 1;
        if line.response_status.code == 403 {
            let path = line.request_uri.split('?').next().unwrap_or_default();
            rows.push((format!("{} {path}", line.verb), 1));
        }
    }
    ensure!(asked > 0, "{user} asked nothing by {}", log.display());
    Ok(table(rows))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_is_counted_by_client_without_events_leases_watches_and_the_half_line_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        fs::write(
            &log,
            r#"{"verb":"patch","userAgent":"a","objectRef":{"resource":"machines"}}
{"verb":"create","userAgent":"a","objectRef":{"resource":"events"}}
{"verb":"update","userAgent":"a","objectRef":{"resource":"leases"}}
{"verb":"get","userAgent":"a"}
{"verb":"watch","userAgent":"a"}
{"verb":"create","userAgent":"b"}
{"verb":"del"#,
        )
        .unwrap();
        assert_eq!(Counts::audited(&log, "a").unwrap(), Counts { writes: 1, reads: 1 });
    }

    #[test]
    fn everything_counts_reads_events_lists_and_watches_of_one_client_since_an_earlier_count() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let line = |agent: &str, verb: &str, resource: &str| {
            format!(
                r#"{{"verb":"{verb}","userAgent":"{agent}","objectRef":{{"resource":"{resource}"}},"responseStatus":{{"code":200}}}}"#
            )
        };
        let first = [line("a", "list", "nodes"), line("a", "create", "events"), line("b", "get", "nodes")];
        fs::write(&log, first.join("\n")).unwrap();
        let earlier = everything(&log, "a").unwrap();
        let rows = |rows: &[(&str, u64)]| -> BTreeMap<String, u64> {
            rows.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect()
        };
        assert_eq!(earlier, rows(&[("list nodes 200", 1), ("create events 200", 1)]));
        let all = [&first[..], &[line("a", "create", "events"), line("a", "watch", "nodes")]].concat();
        fs::write(&log, all.join("\n")).unwrap();
        let news = since(&earlier, &everything(&log, "a").unwrap());
        assert_eq!(news, rows(&[("create events 200", 1), ("watch nodes 200", 1)]));
    }

    #[test]
    fn denials_of_a_user_are_reported_with_verb_and_path_also_of_watches() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        fs::write(
            &log,
            r#"{"verb":"watch","user":{"username":"m"},"requestURI":"/api/v1/secrets?watch=1","responseStatus":{"code":403}}
{"verb":"watch","user":{"username":"m"},"requestURI":"/api/v1/secrets?watch=2","responseStatus":{"code":403}}
{"verb":"get","user":{"username":"m"},"requestURI":"/api/v1/nodes","responseStatus":{"code":200}}
{"verb":"get","user":{"username":"n"},"requestURI":"/api/v1/pods","responseStatus":{"code":403}}
"#,
        )
        .unwrap();
        assert_eq!(denied(&log, "m").unwrap(), ["       2 watch /api/v1/secrets"]);
        assert_eq!(
            denied(&log, "o").unwrap_err().to_string(),
            format!("o asked nothing by {}", log.display())
        );
    }

    #[test]
    fn the_embedded_server_is_counted_alike() {
        let request = |user_agent: &str, verb: &str, resource: &str| RequestCount {
            user_agent: user_agent.to_owned(),
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            code: 200,
            count: 2,
        };
        let requests = [
            request("a", "patch", "metal3.io/baremetalhosts"),
            request("a", "create", "/events"),
            request("a", "get", "/secrets"),
            request("a", "list", "/secrets"),
            request("b", "create", "/secrets"),
        ];
        assert_eq!(Counts::embedded(&requests, "a"), Counts { writes: 2, reads: 2 });
        assert!(between(&requests, &requests).is_empty());
        assert_eq!(between(&requests[1..], &requests), requests[..1]);
        assert_eq!(
            embedded_by_kind(&requests, "a"),
            ["       2 create events 200", "       2 get secrets 200", "       2 patch baremetalhosts 200"]
        );
    }
}

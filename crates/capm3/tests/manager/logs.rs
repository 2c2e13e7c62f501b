//! What a manager logs at each level, as text and as JSON.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use capm3_engine::ResourceKind;
use serde_json::{Value, json};

use crate::{
    common::capm3,
    process::Manager,
    site::{Site, TOKEN},
};

/// A cluster with something to reconcile; without an object there may be nothing for minutes.
fn site_with_a_cluster() -> Site {
    let site = Site::start();
    let clusters = ResourceKind::of::<capm3_api::v1beta2::Metal3Cluster>();
    let endpoint = json!({"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}});
    site.create(&clusters, "default", json!({"metadata": {"name": "a"}, "spec": endpoint}));
    site
}

/// Whether a log entry has members of one request, and none that could be a secret.
fn is_request(entry: &Value) -> bool {
    let fields = entry["fields"].as_object().unwrap();
    let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
    names.sort_unstable();
    let has = |name: &str| fields[name].as_str().is_some_and(|text| !text.is_empty());
    let path = fields["path"].as_str().unwrap();
    assert_eq!(names, ["duration", "message", "path", "server", "status", "verb"], "{entry}");
    ["duration", "server", "verb"].into_iter().all(has) && path.starts_with('/') && !path.contains('?')
}

/// Logs have the levels 0 (info), 4 (debug) and 5 (trace), as text or as one JSON document a line. Level 5 shows each request,
/// without what is sent and answered.
#[test]
fn op145_logs_have_levels_and_two_formats() {
    let site = site_with_a_cluster();
    for (flag, most) in [("-v=0", "INFO"), ("-v=4", "DEBUG"), ("--v=5", "TRACE")] {
        let manager = Manager::start_at(site.kubeconfig(), &["--webhook-port=0", flag]);
        manager.until_readyz(200, flag);
        manager.until_entry(most, |entry| entry["level"] == most);
        let logs = manager.logs.lock().unwrap();
        let has = |level: &str| logs.iter().any(|entry| entry["level"] == level);
        assert_eq!(has("DEBUG"), most != "INFO", "{flag}: {logs:#?}");
        assert_eq!(has("TRACE"), most == "TRACE", "{flag}: {logs:#?}");
        let requests: Vec<&Value> =
            logs.iter().filter(|entry| entry["fields"]["message"] == "request").collect();
        assert_eq!(requests.is_empty(), most != "TRACE", "{flag}");
        assert!(requests.iter().all(|entry| entry["level"] == "TRACE" && is_request(entry)), "{requests:#?}");
        let is_logged = |what: &str| logs.iter().any(|entry| entry.to_string().contains(what));
        assert!(!is_logged(TOKEN), "{flag}: a token is logged");
        let is_entry =
            |entry: &Value| entry["timestamp"].is_string() && entry["fields"]["message"].is_string();
        assert!(logs.iter().all(is_entry), "{flag}: {logs:#?}");
    }
    let text = capm3(&["manager", "--sync-period=10m0s"], "");
    assert!(text.stderr.contains(" WARN ") && !text.stderr.contains('{'), "{}", text.text());
}

/// Whether it is what JSON logs say at the end of a reconcile: how long it took, and in its span which one it was.
fn is_reconciled(entry: &Value) -> bool {
    let (fields, span) = (&entry["fields"], &entry["span"]);
    fields["message"] == "reconciled"
        && entry["level"] == "DEBUG"
        && fields["duration"].as_str().is_some_and(|duration| duration.ends_with('s'))
        && (&span["name"], &span["controller"], &span["object"])
            == (&json!("reconcile"), &json!("metal3cluster"), &json!("default/a"))
        && span["reconcile_id"].as_u64().is_some_and(|id| id > 0)
}

/// The same of a line of text.
fn is_reconciled_line(line: &str) -> bool {
    let Some((_, span)) = line.split_once(" DEBUG reconcile{") else { return false };
    let Some((span, event)) = span.split_once('}') else { return false };
    let id = span.split_once("reconcile_id=").and_then(|(_, id)| id.parse::<u64>().ok());
    span.contains("metal3cluster")
        && span.contains("object=default/a")
        && id.is_some_and(|id| id > 0)
        && event.contains("reconciled duration=")
}

/// The id of a reconcile, and how long it took, are in the logs of both formats.
#[test]
fn the_end_of_a_reconcile_is_logged_with_its_id_and_its_duration_as_text_and_as_json() {
    let site = site_with_a_cluster();
    let manager = Manager::start_at(site.kubeconfig(), &["--webhook-port=0", "-v=4"]);
    manager.until_entry("a reconcile in JSON", is_reconciled);
    drop(manager);
    let mut child = Command::new(env!("CARGO_BIN_EXE_capm3"))
        .args(["manager", "--health-addr=127.0.0.1:0", "--diagnostics-address=0", "--webhook-port=0", "-v=4"])
        .env("KUBECONFIG", site.kubeconfig())
        .env_remove("CAPM3_LOG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let (sender, logged) = mpsc::channel();
    std::thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
    let mut seen = Vec::new();
    while !seen.last().is_some_and(|line: &String| is_reconciled_line(line)) {
        match logged.recv_timeout(Duration::from_secs(90)) {
            Ok(line) => seen.push(line),
            Err(error) => {
                child.kill().unwrap();
                panic!("no reconcile in the text ({error}): {seen:#?}");
            }
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

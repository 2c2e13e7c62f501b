//! Queries of the dashboard and of the alert rules, against what a run exports.

use std::{collections::BTreeSet, path::Path};

use capm3_engine::metrics::{SERIES, Series};
use regex::Regex;
use serde_json::Value;

use crate::{common::*, scrape};

/// Every series of the tables; the lab has all sources.
fn series() -> impl Iterator<Item = &'static Series> {
    capm3_provider::metrics::SERIES.iter().chain(SERIES)
}

#[tokio::test(start_paused = true)]
async fn every_series_is_announced_with_its_help_and_type() {
    let lab = settled(&three_racks()).await;
    let text = scrape(&lab).0;
    for series in series() {
        let name = &series.names()[0];
        let name = name.trim_end_matches("_bucket");
        assert!(text.contains(&format!("# HELP {name} {}\n", series.help)), "{name}");
        assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
    }
    let announced = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
    assert_eq!(announced, series().count());
}

/// Queries of the dashboard and of the alert rules, with where they stand.
fn queries() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/monitoring");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            queries.push((text(panel, "/title"), text(target, "/expr")));
        }
    }
    let panels = queries.len();
    assert!(panels > 20, "{panels}");
    let rules: Value = serde_saphyr::from_str(&read("alerts.yaml")).unwrap();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        queries.push((text(rule, "/alert"), text(rule, "/expr")));
    }
    assert!(queries.len() >= panels + 6);
    queries
}

/// Labels that Prometheus gives to everything that it scrapes, and that of the buckets of a histogram.
const OF_THE_SCRAPE: [&str; 3] = ["instance", "pod", "le"];

/// Every label that a query names: in matchers, and in what it groups or joins by.
fn labels_of(query: &str) -> BTreeSet<String> {
    let [text, matchers, groupings, label] = [
        r#""[^"]*""#,
        r"\{([^}]*)\}",
        r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)",
        r"[a-zA-Z_][a-zA-Z0-9_]*",
    ]
    .map(|pattern| Regex::new(pattern).unwrap());
    // What is compared with is no label.
    let query = text.replace_all(query, "");
    let lists = matchers.captures_iter(&query).chain(groupings.captures_iter(&query));
    let names = lists.flat_map(|list| {
        let names: Vec<String> = label.find_iter(&list[1]).map(|it| it.as_str().to_owned()).collect();
        names
    });
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn dashboard_and_alerts_ask_only_for_series_and_labels_that_a_run_exports() {
    let lab = settled(&three_racks()).await;
    let scrape = scrape(&lab);
    // A series that counts troubles has no values while there are none.
    let without_troubles =
        ["capm3_machines_waiting", "capm3_machine_longest_wait_seconds", "capm3_render_errors"];
    let exported = scrape.names();
    let name = Regex::new(
        r"\b(?:capm3|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z0-9_]+",
    )
    .unwrap();
    for (place, query) in queries() {
        let asked: Vec<&str> = name.find_iter(&query).map(|it| it.as_str()).collect();
        assert!(!asked.is_empty(), "{place}: {query}");
        let mut labels: BTreeSet<&str> = BTreeSet::new();
        for asked in asked {
            let found = series().find(|it| it.names().iter().any(|name| name == asked));
            let found = found.unwrap_or_else(|| panic!("{place}: there is no {asked}"));
            let is_exported = exported.contains(asked) || without_troubles.contains(&asked);
            let refused = "capm3_refused_writes_total";
            assert!(is_exported || asked == refused, "{place}: {asked} is not exported");
            labels.extend(found.labels);
        }
        labels.extend(OF_THE_SCRAPE);
        for used in labels_of(&query) {
            assert!(labels.contains(used.as_str()), "{place}: no series of {query} has the label {used}");
        }
    }
}

#[test]
fn labels_stand_in_matchers_and_in_groupings() {
    let query =
        r#"sum by (a, b) (max without (c) (x{d="1",e=~"by (z)"})) * on (f) group_left (g) y / ignoring(h) y"#;
    let labels = ["a", "b", "c", "d", "e", "f", "g", "h"].map(str::to_owned);
    assert_eq!(labels_of(query), labels.into());
    assert_eq!(
        labels_of("process_resident_memory_bytes * on (instance) group_left capm3_build_info"),
        ["instance".to_owned()].into()
    );
}

//! `cargo xtask promtool`: has Prometheus' own tool check a scrape of a running manager, the alert rules, their tests, and the
//! queries of the dashboard.
//!
//! The tool is that of Debian's package `prometheus`, unpacked below `target/`; nothing is installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    debian::{self, finish},
    repo,
};

const PACKAGE: &str = "prometheus";

/// Why it cannot run here at all; unpacks the tool if it is not there.
pub fn obstacle() -> Option<String> {
    tool().err().map(|error| format!("{error:#}"))
}

/// Runs every check.
pub fn run() -> Result<()> {
    let (tool, monitoring) = (tool()?, repo::root().join("config/monitoring"));
    let work = repo::root().join("target/promtool");
    let scrape = work.join("scrape.txt");
    // An earlier one must not be taken for this one.
    if scrape.exists() {
        fs::remove_file(&scrape)?;
    }
    let test = "test -p capm3 --test manager metrics_are_shown";
    finish(
        Command::new("cargo").args(test.split(' ')).current_dir(repo::root()).env("CAPM3_SCRAPE", &scrape),
    )?;
    let text = fs::File::open(&scrape).context("the test has written no scrape")?;
    finish(Command::new(&tool).args(["check", "metrics"]).stdin(Stdio::from(text)))?;
    finish(Command::new(&tool).args(["check", "rules"]).arg(monitoring.join("alerts.yaml")))?;
    finish(Command::new(&tool).args(["test", "rules"]).arg(monitoring.join("alerts_test.yaml")))?;
    let queries = work.join("dashboard.yaml");
    fs::write(&queries, dashboard_as_rules(&monitoring.join("dashboard.json"))?)?;
    finish(Command::new(&tool).args(["check", "rules"]).arg(&queries))
}

/// The queries of the dashboard as recording rules, because the tool reads no dashboards. JSON is YAML.
fn dashboard_as_rules(file: &Path) -> Result<String> {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let panels = dashboard.get("panels").and_then(Value::as_array).into_iter().flatten();
    let targets = panels.filter_map(|panel| panel.get("targets")?.as_array()).flatten();
    let queries: Vec<&Value> = targets.filter_map(|target| target.get("expr")).collect();
    ensure!(!queries.is_empty(), "{} has no queries", file.display());
    let rules: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(number, query)| json!({"record": format!("query:{number}"), "expr": query}))
        .collect();
    Ok(json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string())
}

/// The tool, which is fetched once.
fn tool() -> Result<PathBuf> {
    let tool = debian::unpacked("promtool", &[PACKAGE.to_owned()])?.join("usr/bin/promtool");
    let version = Command::new(&tool).arg("--version").output();
    let version = version.with_context(|| format!("starting {}", tool.display()))?;
    ensure!(version.status.success(), "{} does not run: {}", tool.display(), version.status);
    Ok(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_of_the_dashboard_becomes_a_rule() {
        let file = repo::root().join("config/monitoring/dashboard.json");
        let rules: Value = serde_json::from_str(&dashboard_as_rules(&file).unwrap()).unwrap();
        let queries = fs::read_to_string(file).unwrap().matches("\"expr\"").count();
        assert!(queries > 20);
        assert_eq!(rules["groups"][0]["rules"].as_array().unwrap().len(), queries);
    }
}

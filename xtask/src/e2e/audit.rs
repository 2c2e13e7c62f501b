//! Requests as the real API server recorded them.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    #[serde(default)]
    user_agent: String,
}

/// How often a client wrote within a time from now.
pub async fn writes_during(log: &Path, user_agent: &str, time: Duration) -> Result<usize> {
    let before = writes(log, user_agent)?;
    tokio::time::sleep(time).await;
    Ok(writes(log, user_agent)? - before)
}

/// How often a client has written.
pub fn writes(log: &Path, user_agent: &str) -> Result<usize> {
    let file = File::open(log).with_context(|| format!("reading {}", log.display()))?;
    let mut count = 0;
    for line in BufReader::new(file).lines() {
        // The last line may be half written.
        let Ok(line) = serde_json::from_str::<Line>(&line?) else { continue };
        if line.user_agent == user_agent && !matches!(line.verb.as_str(), "get" | "list" | "watch") {
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_writes_of_that_client_count_and_half_a_line_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        fs::write(
            &log,
            "{\"verb\":\"patch\",\"userAgent\":\"a\"}\n{\"verb\":\"get\",\"userAgent\":\"a\"}\n\
             {\"verb\":\"create\",\"userAgent\":\"b\"}\n{\"verb\":\"del",
        )
        .unwrap();
        assert_eq!(writes(&log, "a").unwrap(), 1);
    }
}

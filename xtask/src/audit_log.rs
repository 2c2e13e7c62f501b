//! The audit log of a real API server, one JSON object per line.
//!
//! Gives the lines in their order; it judges none of them.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// A request, as the server answered it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Line {
    pub verb: String,
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    pub request_received_timestamp: String,
    pub stage_timestamp: String,
    pub user: User,
    pub user_agent: String,
    pub object_ref: ObjectRef,
    pub response_status: ResponseStatus,
}

/// Who asked.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct User {
    pub username: String,
    pub extra: Value,
}

/// What was asked for.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ObjectRef {
    pub resource: String,
    pub subresource: String,
    pub name: String,
}

/// How it was answered.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ResponseStatus {
    pub code: u16,
}

/// Reads a log. The last line may be half written and is left out then.
pub fn lines(log: &Path) -> Result<impl Iterator<Item = Result<Line>>> {
    let reading = || format!("reading {}", log.display());
    let file = File::open(log).with_context(reading)?;
    let parsed = BufReader::new(file).lines().map(|line| anyhow::Ok(serde_json::from_str(&line?).ok()));
    Ok(parsed.filter_map(Result::transpose))
}

//! The files `tests/seeds/rows/*.yaml`: rows of the acceptance list that no printed block shows whole, and what servers must
//! say to the documents that do.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use capm3_api::v1beta2;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::{put_into_namespace, text};
use crate::repo;

/// One row of the acceptance list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Such as `S18`.
    #[serde(rename = "row")]
    pub id: String,
    /// What it requires, in our words.
    pub sentence: String,
    /// What the tries have in common.
    #[serde(default)]
    document: Value,
    pub tries: Vec<Try>,
}

/// A document that is created, and what is done with it then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// What it shows.
    pub it: String,
    /// A printed block that is given in place of the row's document.
    block: Option<String>,
    /// Merged into the document.
    #[serde(default)]
    with: Value,
    /// Then once with each of these values in its place.
    each: Option<Each>,
    /// Once in each of these; as the document says if there are none.
    #[serde(default)]
    versions: Vec<String>,
    /// Whether the client lets the server drop members that the schema does not know; kubectl does not.
    #[serde(default)]
    pub lenient: bool,
    #[serde(default)]
    pub expect: Expect,
    /// Edits of what was created, in order.
    #[serde(default)]
    pub then: Vec<Edit>,
}

/// Values that take turns in one place of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Each {
    /// Pointer to a member that is there.
    at: String,
    of: Vec<Value>,
}

impl Each {
    /// The document with each value.
    fn turns(&self, base: &Value) -> Result<Vec<Value>> {
        let turn = |value: &Value| {
            let mut turn = base.clone();
            let place = turn.pointer_mut(&self.at);
            *place.with_context(|| format!("nothing is at {}", self.at))? = value.clone();
            Ok(turn)
        };
        self.of.iter().map(turn).collect()
    }
}

/// A change of an object that is there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// What it shows.
    pub it: String,
    pub by: Change,
    #[serde(default)]
    pub expect: Expect,
}

/// How it is changed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// A merge patch in the version of the document.
    Patch(Value),
    /// A merge patch of the status, in a version.
    Status {
        #[serde(rename = "in")]
        version: String,
        with: Value,
    },
    /// The object is read in a version, changed, and written back whole.
    Put {
        #[serde(rename = "in")]
        version: String,
        with: Value,
    },
}

/// The expected answer, and what must be stored then.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Words of the refusal; without them it must be accepted.
    pub refused: Option<String>,
    /// Words of warnings, each in one of them.
    #[serde(default)]
    pub warns: Vec<String>,
    /// By version: a part of what is read back; null stands for what must not be there.
    #[serde(default)]
    pub reads: BTreeMap<String, Value>,
    /// The one version in which the server stores objects of the kind.
    pub stored: Option<String>,
}

/// The whole name of a version of the provider's own kinds.
pub fn api_version(version: &str) -> String {
    format!("{}/{version}", v1beta2::GROUP)
}

/// Every row, in order of numbers.
pub fn read() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(folder()).context("reading tests/seeds/rows")? {
        let path = entry?.path();
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let row: Row = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_uppercase();
        ensure!(row.id == stem, "{} is about {}", path.display(), row.id);
        ensure!(!row.tries.is_empty(), "{} tries nothing", row.id);
        rows.push(row);
    }
    rows.sort_by_key(|row| row.id.trim_start_matches('S').parse::<u32>().unwrap_or_default());
    Ok(rows)
}

fn folder() -> PathBuf {
    repo::root().join("tests/seeds/rows")
}

impl Row {
    /// What a try gives to the server, each with the version that it is about. Documents without a name get one of their
    /// own.
    pub fn documents(&self, number: usize) -> Result<Vec<(String, Value)>> {
        let one = self.tries.get(number).context("no such try")?;
        let mut base = match &one.block {
            Some(block) => printed(block)?,
            None => self.document.clone(),
        };
        if !one.with.is_null() {
            json_patch::merge(&mut base, &one.with);
        }
        put_into_namespace(&mut base);
        let given = text(&base, "/apiVersion").rsplit('/').next().unwrap_or_default().to_owned();
        let versions = if one.versions.is_empty() { vec![given] } else { one.versions.clone() };
        let turns = one.each.as_ref().map_or_else(|| Ok(vec![base.clone()]), |each| each.turns(&base))?;
        let mut documents = Vec::new();
        for (turn, base) in turns.iter().enumerate() {
            for version in &versions {
                let mut document = json!({"apiVersion": api_version(version)});
                let name = format!("{}-{}-{}-{version}", self.id.to_lowercase(), number + 1, turn + 1);
                json_patch::merge(&mut document, &json!({"metadata": {"name": name}}));
                let mut base = base.clone();
                base.as_object_mut().and_then(|members| members.remove("apiVersion"));
                json_patch::merge(&mut document, &base);
                documents.push((version.clone(), document));
            }
        }
        Ok(documents)
    }
}

fn printed(block: &str) -> Result<Value> {
    let path = repo::root().join(format!("tests/seeds/{block}.yaml"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_saphyr::from_str(&text)?)
}

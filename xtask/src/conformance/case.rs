//! The cases: files of YAML, in order of their names.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

/// The kinds that cases use are installed from this file.
const CRDS: &str = "crds.yaml";

/// Requests that follow each other, in a namespace of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence.
    #[serde(rename = "case")]
    name: String,
    /// File of the case.
    #[serde(skip)]
    subject: String,
    pub steps: Vec<Step>,
}

/// One request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Method and path. `$NS` is the case's namespace, `${name}` what an earlier step kept.
    pub ask: String,
    /// Content type: `merge`, `json-patch`, `strategic`, or a whole one.
    #[serde(rename = "as")]
    pub content_type: Option<String>,
    /// What is accepted: `table`, `metadata`, `metadata-list`, or a whole type.
    pub accept: Option<String>,
    /// Sent as JSON, a text as it is.
    pub body: Option<Value>,
    /// What later steps can say: name and JSON pointer into the answer.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Ask again until the answer has this code: what a server does by itself takes a moment.
    pub until: Option<u16>,
    /// Ask again until the answer has this JSON pointer.
    pub until_has: Option<String>,
}

impl Case {
    /// File and name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.subject, self.name)
    }
}

/// Reads the CRDs and the cases of a folder.
pub fn read(folder: &Path) -> Result<(Vec<Value>, Vec<Case>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        files.push(entry?.path());
    }
    files.sort();
    let (mut crds, mut cases) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "yaml")) {
        let context = || file.display().to_string();
        let text = fs::read_to_string(file).with_context(context)?;
        if file.file_name().is_some_and(|name| name == CRDS) {
            crds = serde_saphyr::from_str(&text).with_context(context)?;
            continue;
        }
        let subject = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let read: Vec<Case> = serde_saphyr::from_str(&text).with_context(context)?;
        cases.extend(read.into_iter().map(|case| Case { subject: subject.clone(), ..case }));
    }
    ensure!(!cases.is_empty(), "{} holds no cases", folder.display());
    Ok((crds, cases))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_can_be_read_and_has_a_name_of_its_own() {
        let (crds, cases) = read(&super::super::folder()).unwrap();
        assert!(!crds.is_empty());
        let titles: BTreeSet<String> = cases.iter().map(Case::title).collect();
        assert_eq!(titles.len(), cases.len());
        let known = super::super::known::Known::read(&super::super::folder()).unwrap();
        for entry in known.entries() {
            assert!(titles.iter().any(|t| entry.starts_with(&format!("{t}: step "))), "no case: {entry}");
        }
        for step in cases.iter().flat_map(|case| &case.steps) {
            assert!(step.ask.split_once(' ').is_some_and(|(_, path)| path.starts_with('/')), "{}", step.ask);
        }
    }
}

//! Reads golden cases from YAML files.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// One pair of input and output.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// Family that the case belongs to, the stem of its file.
    #[serde(skip)]
    pub family: String,
    /// Name of the case.
    pub id: String,
    /// What the case shows.
    #[serde(default)]
    pub description: String,
    /// Whether the reference's answer is a defect.
    #[serde(default)]
    pub quirk: bool,
    /// What would be better than a quirk.
    #[serde(default)]
    pub note: String,
    /// Where the schema refuses the input, so that it is reachable below admission only.
    #[serde(default)]
    pub schema_errors: Vec<String>,
    /// What is given.
    #[serde(default)]
    pub input: Value,
    /// What must come out.
    #[serde(default)]
    pub expected: Value,
}

impl Case {
    /// `family/id`, as in the list of open cases.
    pub fn path(&self) -> String {
        format!("{}/{}", self.family, self.id)
    }

    /// A member of the input as a typed value; the default when it is absent or null.
    pub fn input<T: Default + serde::de::DeserializeOwned>(&self, member: &str) -> Result<T, String> {
        Ok(self.optional_input(member)?.unwrap_or_default())
    }

    /// A member of the input as a typed value; none when it is absent or null.
    pub fn optional_input<T: serde::de::DeserializeOwned>(&self, member: &str) -> Result<Option<T>, String> {
        let value = self.input.get(member).cloned().unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|error| format!("input {member} is unreadable: {error}"))
    }
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// Every case in the files `<family>*.yaml` of a folder, files in name order.
pub fn load(folder: &Path, family: &str) -> Vec<Case> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| unreachable!("golden folder {}: {error}", folder.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(family) && name.ends_with(".yaml")
        })
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path, family)).collect()
}

fn read(path: &Path, family: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("golden file is readable");
    let file: File = serde_json::from_value(parse_yaml(&text).expect("golden file is YAML"))
        .expect("golden file has the shape of golden files");
    let mut cases = file.cases;
    for case in &mut cases {
        family.clone_into(&mut case.family);
    }
    cases
}

/// YAML as JSON, read as YAML 1.1 readers do where the versions differ on numbers.
pub fn parse_yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

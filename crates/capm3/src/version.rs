//! `capm3 version`: which program this is, and which API versions it serves.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::exit::{self, Failure};

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit from which it was built, or `unknown`.
pub const COMMIT: &str = env!("CAPM3_COMMIT");
const TARGET: &str = env!("CAPM3_TARGET");

/// What `version` is given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    capm3 version                                   what to write in a bug report\n  \
    capm3 version -o json | jq -r .commit           the commit, for a script\n  \
    kubectl exec -n capm3-system deploy/capm3-controller-manager -- /capm3 version    of a manager in a cluster\n\
    The commit is `unknown` in a development build. A static program looks names up itself, by /etc/hosts and /etc/resolv.conf;\n\
    any other asks the C library. Stored: the version in which objects are kept; the others are converted.")]
pub struct VersionArgs {
    /// Form of the output
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// One document, for scripts
    Json,
}

/// Versions of the kinds of one group.
#[derive(Debug, Default, PartialEq, Eq)]
struct Versions {
    /// In which objects are kept.
    stored: String,
    /// All that are served, newest first.
    served: Vec<String>,
    kinds: Vec<String>,
}

/// Prints it.
pub fn run(args: &VersionArgs) -> Result<(), Failure> {
    let groups = groups(&capm3_api::crd::all());
    match args.output {
        Output::Text => exit::print(&text(&groups)),
        Output::Json => exit::print_json(serde_json::to_string_pretty(&document(&groups))),
    }
}

fn text(groups: &BTreeMap<String, Versions>) -> String {
    let linked = if is_static() { ", static" } else { "" };
    let mut text = format!("capm3 {VERSION}\ncommit:        {COMMIT}\ntarget:        {TARGET}{linked}\n");
    let mut label = "API versions:";
    for (group, versions) in groups {
        let served: Vec<String> = versions.served.iter().map(|it| versions.named(it)).collect();
        text.push_str(&format!("{label:<14} {group}: {}\n", served.join(", ")));
        label = "";
    }
    text
}

fn document(groups: &BTreeMap<String, Versions>) -> Value {
    let group = |(group, of): (&String, &Versions)| json!({"group": group, "served": of.served, "stored": of.stored, "kinds": of.kinds});
    json!({
        "version": VERSION, "commit": COMMIT, "target": TARGET, "static": is_static(),
        "apiVersions": groups.iter().map(group).collect::<Vec<Value>>(),
    })
}

fn is_static() -> bool {
    cfg!(target_feature = "crt-static")
}

impl Versions {
    fn named(&self, version: &str) -> String {
        if version == self.stored { format!("{version} (stored)") } else { version.to_owned() }
    }
}

/// What the definitions say, by group.
fn groups(definitions: &[Value]) -> BTreeMap<String, Versions> {
    let mut groups = BTreeMap::<String, Versions>::new();
    for definition in definitions {
        let word = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = groups.entry(word("/spec/group").to_owned()).or_default();
        group.kinds.push(word("/spec/names/kind").to_owned());
        for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
            let is = |member: &str| version.get(member).and_then(Value::as_bool).unwrap_or_default();
            let name = version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            if is("storage") {
                group.stored.clone_from(&name);
            }
            if is("served") && !group.served.contains(&name) {
                group.served.push(name);
            }
        }
    }
    groups.values_mut().for_each(|group| group.served.sort_by(|a, b| b.cmp(a)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_served_version_is_named_once_and_the_stored_one_is_marked() {
        let definition = |kind: &str, old_is_served: bool| {
            json!({"spec": {"group": "g.io", "names": {"kind": kind}, "versions": [
                {"name": "v1beta1", "served": old_is_served, "storage": false},
                {"name": "v1beta2", "served": true, "storage": true}]}})
        };
        let table = [(true, "g.io: v1beta2 (stored), v1beta1\n"), (false, "g.io: v1beta2 (stored)\n")];
        for (old_is_served, expected) in table {
            let groups = groups(&[definition("A", old_is_served), definition("B", old_is_served)]);
            assert!(text(&groups).ends_with(expected), "{}", text(&groups));
            assert_eq!(document(&groups)["apiVersions"][0]["kinds"], json!(["A", "B"]));
        }
    }
}

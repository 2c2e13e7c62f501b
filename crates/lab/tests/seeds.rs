//! Every YAML block of the design documents, one row a block: what the embedded server says to it as printed. The
//! table is `tests/seeds/table.txt` of the repository.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/wire.rs"]
// This test only tries.
#[allow(dead_code)]
mod wire;

use std::{fs, path::Path};

use capm3_lab::{Lab, Options};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/seeds");
const ACCEPTED: &str = "accepted";

/// What a user of kubectl is told about one document.
async fn verdict(lab: &Lab, mut document: Value) -> String {
    for member in ["apiVersion", "kind"] {
        if document[member].as_str().is_none() {
            let other = if document["kind"].is_null() { "kind" } else { member };
            return format!("{other} not set");
        }
    }
    if document["metadata"]["namespace"].is_null() {
        document["metadata"]["namespace"] = json!("default");
    }
    let collection = wire::path_of(&document);
    let group_version = collection.split("/namespaces/").next().unwrap();
    if wire::send(lab, "GET", group_version, None).await.code == 404 {
        return format!("no matches for kind {} in version {}", document["kind"], document["apiVersion"]);
    }
    let answer = wire::try_create(lab, &document).await;
    if answer.code == 201 { ACCEPTED.to_owned() } else { answer.message().to_owned() }
}

async fn verdicts(lab: &Lab, text: &str) -> Vec<String> {
    let documents: Vec<Value> = match serde_saphyr::from_multiple(text) {
        Ok(documents) => documents,
        Err(error) => return vec![format!("not valid YAML: {error}")],
    };
    let mut told = Vec::new();
    for document in documents {
        told.push(verdict(lab, document).await);
    }
    told
}

#[tokio::test(start_paused = true)]
async fn every_block_as_printed_is_accepted_or_refused_with_the_words_of_its_row() {
    let lab = Lab::start(&Options::default()).await.unwrap();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metal3"}});
    assert_eq!(wire::send(&lab, "POST", "/api/v1/namespaces", Some(&namespace)).await.code, 201);
    let table = fs::read_to_string(Path::new(FOLDER).join("table.txt")).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let blocks = fs::read_dir(FOLDER).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        Path::new(&name).extension().is_some_and(|extension| extension == "yaml")
    });
    assert_eq!((rows.len(), blocks.count()), (33, 33), "one row a block");
    let mut differences = Vec::new();
    for row in rows {
        let [block, id, expected, _] = row.as_slice() else { panic!("four columns: {row:?}") };
        let text = fs::read_to_string(Path::new(FOLDER).join(format!("{block}.yaml"))).unwrap();
        for told in verdicts(&lab, &text).await {
            if !told.contains(expected) {
                differences.push(format!("{block} ({id}): expected {expected:?}, told {told:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

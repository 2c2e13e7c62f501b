//! The embedded server is asked what the real one is asked.

use capm3_lab::Lab;
use serde_json::json;

use super::*;

/// What single rows are asked for; of these, taking one away is a decision.
const ROWS: [&str; 29] = [
    "S14", "S18", "S36", "S41", "S50", "S70", "S78", "S85", "S87", "S88", "S92", "S94", "S99", "S103",
    "S109", "S114", "S115", "S116", "S125", "S137", "S138", "S161", "S171", "S172", "S186", "S195", "S199",
    "S212", "S217",
];

fn embedded(lab: &Lab) -> Server {
    Server::new(Client::from(kube::Client::new(lab.server().clone(), "default")))
}

#[tokio::test(start_paused = true)]
async fn every_block_is_accepted_or_refused_with_the_words_of_its_row_as_printed_and_after_migrate() {
    let rows = table::read().unwrap();
    assert_eq!(rows.len(), 33);
    let lab = Lab::start(&capm3_lab::Options::default()).await.unwrap();
    let tried = try_all(&embedded(&lab), &rows).await.unwrap();
    let differences: Vec<String> = tried.iter().flat_map(Tried::differences).collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    assert!(
        tried.iter().all(|one| !one.as_printed.verdicts.is_empty() && !one.after_migrate.verdicts.is_empty())
    );
}

/// Without the provider, as on the real server: nobody but us writes.
#[tokio::test(start_paused = true)]
async fn every_row_is_answered_stored_and_read_back_as_it_says() {
    let mut lab = Lab::start(&capm3_lab::Options::default()).await.unwrap();
    lab.stop_providers();
    let server = embedded(&lab);
    ensure_namespaces(&server).await.unwrap();
    let rows = rows::read().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ROWS);
    let mut differences = Vec::new();
    for row in &rows {
        differences.extend(play::play(&server, row).await.unwrap().differences);
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// The parts of a Metal3Machine lack nothing but what they leave out: with a name and an image they are accepted.
#[tokio::test(start_paused = true)]
async fn the_migrated_parts_of_a_machine_are_accepted_once_they_are_whole() {
    let lab = Lab::start(&capm3_lab::Options::default()).await.unwrap();
    let server = embedded(&lab);
    server.ensure_namespace("metal3").await.unwrap();
    for row in table::read().unwrap().iter().filter(|row| ["S66", "S67", "S68", "S69"].contains(&&*row.id)) {
        let file = format!("{}.yaml", row.block);
        let mut migration = migrate::migrate_texts(&[(file, row.text.clone())], Options::default());
        let machine = migration.documents.first_mut().unwrap();
        machine["metadata"]["name"] = json!("whole");
        machine["spec"]["image"] = json!({"url": "http://images/i", "checksum": "http://images/i.sha256"});
        let verdicts = server.verdicts(&migrate::to_yaml(&migration.documents)).await.unwrap();
        assert_eq!(verdicts, [Verdict::Accepted], "{}", row.block);
    }
}

/// Given the printed Metal3Data with the line that is indented by one space, once that is corrected it is accepted.
#[tokio::test(start_paused = true)]
async fn s149_the_printed_data_is_accepted_once_its_line_is_indented() {
    let lab = Lab::start(&capm3_lab::Options::default()).await.unwrap();
    let server = embedded(&lab);
    let mut rows = table::read().unwrap();
    let row = rows.iter_mut().find(|row| row.id == "S149").unwrap();
    row.text = row.text.replace("\n claim:", "\n  claim:");
    assert_eq!(after_migrate(&server, row).await.unwrap(), [Verdict::Accepted]);
}

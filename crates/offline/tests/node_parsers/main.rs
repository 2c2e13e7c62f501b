//! What the model says of a node and what the node's own programs say: cloud-init with every renderer, netplan's
//! `generate`, NetworkManager's `nmcli --offline`, and a JSON schema validator.
//!
//! The documents are those that `render` emits for generated templates, half of them spoiled afterwards as people spoil
//! documents of their own. Equal seeds give equal documents, and each document is made from its own number, so that one can
//! be tried alone.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod choice;
mod documents;
mod driver;
mod faults;
mod judge;
mod links;
mod templates;

use std::{env, path::PathBuf};

use driver::Driver;
use judge::Tally;

const DOCUMENTS: u64 = 60;
const SEED: u64 = 1;

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
#[ignore = "needs Debian's packages: run by cargo xtask node-parsers"]
fn the_model_says_of_every_document_what_the_programs_of_a_node_make_of_it() {
    let root =
        PathBuf::from(env::var_os("CAPM3_NODE_PARSERS").expect("cargo xtask node-parsers names the folder"));
    let driver = Driver::new(root);
    let seed = number("CAPM3_SEED", SEED);
    let numbers: Vec<u64> = match env::var("CAPM3_DOCUMENT") {
        Ok(only) => vec![only.parse().unwrap()],
        Err(_) => (1..=number("CAPM3_DOCUMENTS", DOCUMENTS)).collect(),
    };
    let tasks: Vec<_> = numbers.iter().map(|number| documents::make(seed, *number)).collect();
    let results = driver.run(&tasks);
    let mut tally = Tally::new(driver.version().parse().expect("the model knows the version of the package"));
    for (task, result) in tasks.iter().zip(&results) {
        tally.judge(task, result);
    }
    println!("{}", tally.summary());
    assert_eq!(results.len(), tasks.len(), "documents that the programs were asked about");
    assert!(tally.disagreements.is_empty(), "{}", tally.complaints(seed));
}

#[test]
fn equal_seeds_give_equal_documents_and_most_templates_are_rendered() {
    let made = |seed| (1..=40).map(|number| documents::make(seed, number).document).collect::<Vec<_>>();
    let first = made(1);
    assert_eq!(first, made(1));
    assert_ne!(first, made(2));
    let kinds = |key: &str| {
        let lists = first.iter().filter_map(|document| document[key].as_array());
        lists.flatten().filter_map(|entry| entry["type"].as_str()).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(kinds("links").is_superset(&["bond", "phy", "vlan"].into()), "{:?}", kinds("links"));
    let networks = ["ipv4", "ipv4_dhcp", "ipv6", "ipv6_dhcp", "ipv6_slaac"];
    assert!(kinds("networks").is_superset(&networks.into()), "{:?}", kinds("networks"));
}

//! From a number to a document: generated template, rendering, and for every second one a fault.

use capm3_engine::manifests::Document;
use capm3_offline::render::{Options, render};
use serde_json::{Value, json};

use crate::{choice::Choice, faults::spoil, links::NICS, templates::objects};

/// A document and the number that it was made from.
pub struct Task {
    pub number: u64,
    pub document: Value,
}

impl Task {
    /// The NICs of the host, MAC and name.
    pub fn nics() -> impl Iterator<Item = (String, String)> {
        NICS.iter().map(|(mac, name)| ((*mac).to_owned(), (*name).to_owned()))
    }
}

/// Templates that are tried before a number is given up.
const TRIES: u64 = 50;

/// The document of a number.
pub fn make(seed: u64, number: u64) -> Task {
    // Odd, so that different numbers lead to different generators.
    let base = seed.wrapping_mul(0x1_0000_0001).wrapping_add(number).wrapping_mul(0x2545_F491_4F6C_DD1D);
    for attempt in 0..TRIES {
        let choice = Choice::seeded(base.wrapping_add(attempt));
        if let Some(mut document) = rendered(&objects(&choice)) {
            if number.is_multiple_of(2) {
                spoil(&mut document, &choice);
            }
            return Task { number, document };
        }
    }
    panic!("none of {TRIES} templates is rendered");
}

/// The document that the host operator stores: JSON of the YAML that is rendered. None where the template cannot be rendered.
fn rendered(objects: &[Value]) -> Option<Value> {
    let documents: Vec<Document> =
        objects.iter().map(|object| Document::made("generated", object.clone())).collect();
    let rendering = render(&documents, &Options { machines: Some(1), ..Options::default() });
    let [machine] = rendering.machines.as_slice() else { return None };
    let text = machine.network_data.as_ref()?;
    let document: Value = serde_saphyr::from_str(text).unwrap();
    assert_ne!(document, json!(null), "{text}");
    Some(document)
}

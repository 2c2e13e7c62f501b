//! Compares what the model says with what the programs say, and counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use capm3_domain::{
    cloud_init::{Nics, Outcome, Renderer, Target, Version, configure},
    nova,
};
use serde_json::{Value, json};

use crate::documents::Task;

/// Disagreements that are printed in full.
const SHOWN: usize = 8;
/// The name under which the schema of Nova is counted.
const NOVA: &str = "Nova schema";

/// Agreements by program, and every disagreement.
pub struct Tally {
    version: Version,
    documents: usize,
    agreed: BTreeMap<String, usize>,
    pub disagreements: Vec<Disagreement>,
}

pub struct Disagreement {
    number: u64,
    who: String,
    document: Value,
    differences: String,
}

impl Tally {
    pub fn new(version: Version) -> Self {
        Self { version, documents: 0, agreed: BTreeMap::new(), disagreements: Vec::new() }
    }

    pub fn judge(&mut self, task: &Task, result: &Value) {
        self.documents += 1;
        let nics = Nics::new(Task::nics());
        for renderer in Renderer::ALL {
            let outcome = configure(&task.document, &nics, Target { renderer, version: self.version });
            self.count(task, renderer.name(), &modelled(&outcome), &seen(result, renderer));
        }
        let ours: BTreeSet<String> =
            nova::faults(&task.document).into_iter().map(|fault| fault.place).collect();
        self.count(task, NOVA, &json!({ "faults": ours }), &json!({ "faults": result["nova"] }));
    }

    fn count(&mut self, task: &Task, who: &str, ours: &Value, theirs: &Value) {
        let mut differences = String::new();
        for (member, ours) in ours.as_object().unwrap() {
            if *ours != theirs[member] {
                writeln!(
                    differences,
                    "  {member}: the model   {ours}\n  {member}: the program {}",
                    theirs[member]
                )
                .unwrap();
            }
        }
        if differences.is_empty() {
            *self.agreed.entry(who.to_owned()).or_default() += 1;
        } else {
            let (number, document) = (task.number, task.document.clone());
            self.disagreements.push(Disagreement { number, who: who.to_owned(), document, differences });
        }
    }

    /// A line for each program, and how many disagreements there are.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let renderers = Renderer::ALL.into_iter().map(Renderer::name);
        for who in renderers.chain([NOVA]) {
            let agreed = self.agreed.get(who).copied().unwrap_or(0);
            let version = if who == NOVA { String::new() } else { format!("cloud-init {} ", self.version) };
            writeln!(text, "live, {version}{who}: {agreed} of {}", self.documents).unwrap();
        }
        write!(text, "disagreements {}", self.disagreements.len()).unwrap();
        text
    }

    /// The first disagreements in full, each with the command that replays it.
    pub fn complaints(&self, seed: u64) -> String {
        let mut text = format!("{} disagreements", self.disagreements.len());
        for Disagreement { number, who, document, differences } in self.disagreements.iter().take(SHOWN) {
            write!(
                text,
                "\n\n{who}:\n{differences}  document: {document}\n  replay: cargo xtask node-parsers --seed {seed} --document {number}"
            )
            .unwrap();
        }
        text
    }
}

fn modelled(outcome: &Outcome) -> Value {
    let stages: Vec<_> = outcome.refused.iter().map(|refusal| refusal.stage).collect();
    let lost: BTreeSet<String> = outcome.lost.iter().map(|loss| loss.what.to_string()).collect();
    let profiles: BTreeSet<String> = outcome
        .profile_faults
        .iter()
        .map(|fault| format!("{} {}", fault.interface, fault.key.as_deref().unwrap_or("refused")))
        .collect();
    json!({
        "refused": stages,
        "devices": outcome.devices,
        "lost": lost,
        "interfaces": outcome.configuration.interfaces,
        "profiles": profiles,
    })
}

/// What the programs say, in the same form.
fn seen(result: &Value, renderer: Renderer) -> Value {
    let rendered = &result["renderers"][renderer.name()];
    let stages = [&result["refused"], &rendered["refused"]]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .map(|refusal| refusal["stage"].clone())
        .collect::<Vec<Value>>();
    let or = |value: &Value, otherwise: Value| if value.is_null() { otherwise } else { value.clone() };
    json!({
        "refused": stages,
        "devices": result["devices"],
        "lost": or(&rendered["lost"], json!([])),
        "interfaces": or(&rendered["interfaces"], json!({})),
        "profiles": or(&rendered["profiles"], json!([])),
    })
}

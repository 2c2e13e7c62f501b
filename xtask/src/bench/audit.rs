//! How long `capm3 audit` takes for many machines on one core: from the text of their objects to the findings.
//!
//! The objects are those of a healthy fleet, so every rule looks at all of them and finds nothing. They are made one machine at a
//! time, as a server gives them page by page; making them is not counted.

use anyhow::{Context, Result, ensure};
use capm3_engine::Clock;
use capm3_lab::finished;
use capm3_provider::audit::{GRACE, Inventory, Options, audit};
use serde_json::{Value, json};

use crate::{memory, processor};

/// Seconds of processor time for [`FULL`] machines on one core.
const BUDGET: f64 = 3.0;
/// Megabytes of the whole process with [`FULL`] machines.
const MEGABYTES: u64 = 700;
const FULL: usize = 10_000;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    ensure!(size > 0, "--size 0 audits nothing");
    let mut inventory = Inventory::default();
    let mut seconds = add(&mut inventory, &finished::shared(size))?;
    for number in 0..size {
        seconds += add(&mut inventory, &finished::machine(number))?;
    }
    for (kind, _) in Inventory::kinds() {
        inventory.mark_complete(&kind.group, &kind.kind);
    }
    let read = seconds;
    let start = processor::used()?;
    let report = audit(&inventory, &Options { now: Clock::system().now(), grace: GRACE });
    seconds += (processor::used()? - start).as_secs_f64();
    let megabytes = memory::peak_mb("self")?;
    let objects = inventory.len();
    if as_json {
        let rounded = |seconds: f64| (seconds * 1000.0).round() / 1000.0;
        println!(
            "{}",
            json!({"bench": "audit", "size": size, "objects": objects, "seconds": rounded(seconds), "secondsToRead": rounded(read),
                "megabytes": megabytes, "budget": {"seconds": BUDGET, "megabytes": MEGABYTES, "size": FULL}})
        );
    } else {
        println!(
            "{size} machines, {objects} objects in {seconds:.2} s ({read:.2} s of them to read)   budget {BUDGET} s for {FULL}"
        );
        println!("{megabytes} MB   budget {MEGABYTES} MB for {FULL}");
    }
    let first = report.findings.first().map(|finding| format!("{} {}", finding.object, finding.message));
    ensure!(first.is_none(), "a healthy fleet has a finding: {}", first.unwrap_or_default());
    ensure!(seconds * FULL as f64 <= BUDGET * size.max(FULL / 10) as f64, "slower than the budget");
    ensure!(size > FULL || megabytes <= MEGABYTES, "{size} machines take {megabytes} MB");
    Ok(())
}

/// Adds objects from text, as they come from a server; gives the seconds that took.
fn add(inventory: &mut Inventory, objects: &[Value]) -> Result<f64> {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let start = processor::used()?;
    for text in &texts {
        let object: Value = serde_json::from_str(text)?;
        inventory.add(&object).context("an object that cannot be read")?;
    }
    Ok((processor::used()? - start).as_secs_f64())
}

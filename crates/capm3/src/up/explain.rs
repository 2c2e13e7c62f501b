//! Whether everything came up and, if not, why.

use capm3_engine::{ObjectKey, manifests::Document};
use capm3_lab::{
    Lab,
    expected::{Expected, KINDS, Owner, expected},
    report::Report,
    stuck::{self, StuckMachine},
};
use capm3_offline::explain::{self as offline, Advice, Site};

use super::naming::Naming;
use crate::exit::{self, Failure};

/// Ends well when every machine that is asked for is ready; otherwise explains on stderr. What cannot be counted is a
/// warning.
pub fn judge(lab: &Lab, report: &Report, stuck: &[StuckMachine], is_quiet: bool) -> Result<(), Failure> {
    let twice = report.duplicates();
    for mark in &twice {
        exit::say(format_args!("error: {mark} is used twice"));
    }
    let expected = expected(&lab.server().objects_of(&KINDS));
    let naming = Naming::of(report, &expected);
    warnings(&expected).into_iter().for_each(exit::say);
    let short = stuck::short_owners(lab);
    if is_quiet && short.is_empty() && stuck.is_empty() && twice.is_empty() {
        exit::say(format_args!(
            "{} of {} machines are ready after {}",
            expected.ready(),
            expected.wanted(),
            time(report.elapsed_ms)
        ));
        return Ok(());
    }
    exit::say("");
    if !is_quiet {
        exit::say("gave up: a controller keeps retrying; set CAPM3_LOG=warn to see why");
    }
    for owner in &short {
        let Owner { kind, key, wanted, ready } = &owner.owner;
        exit::say(format_args!("{kind} {}: {ready} of {wanted} machines are ready", naming.name(key)));
        for missing in &owner.missing {
            exit::say(format_args!("  {missing}"));
        }
    }
    let objects = lab.server().objects(None).into_iter();
    let documents: Vec<Document> =
        objects.map(|object| Document::made("the server", object.as_ref().clone())).collect();
    let site = Site::read(&documents, true);
    for machine in stuck {
        explain(machine, &naming);
        let advice = offline::explain(&site, &machine.key).map(|explanation| explanation.what_to_do);
        advise(&advice.unwrap_or_default());
    }
    Err(Failure::Problems)
}

/// What is asked for and not counted.
fn warnings(expected: &Expected) -> Vec<String> {
    let topology = |cluster: &ObjectKey| {
        format!(
            "warning: Cluster {cluster}: spec.topology is not simulated: its machines are neither created nor counted as requested"
        )
    };
    let mut warnings: Vec<String> = expected.uncounted.iter().map(topology).collect();
    if expected.wanted() == 0 && !expected.clusters.is_empty() {
        warnings.push(
            "warning: no machine was counted: no control plane, MachineDeployment, MachineSet or Machine asks for one"
                .to_owned(),
        );
    }
    warnings
}

/// Real time as people say it.
fn time(milliseconds: u128) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
    }
}

fn explain(machine: &StuckMachine, naming: &Naming) {
    let (name, code, text) = (naming.name(&machine.key), machine.reported.code, &machine.reported.text);
    exit::say(format_args!("\nmachine {name} ({code}): {text}"));
    for host in &machine.hosts {
        exit::say(format_args!("  {host}"));
    }
}

/// What would help, as `capm3 explain` says it.
fn advise(advice: &[Advice]) {
    for (number, advice) in advice.iter().enumerate() {
        let label = if number == 0 { "what to do:" } else { "or:" };
        exit::say(format_args!("  {label:<11} {}", advice.text));
        if let Some(command) = &advice.command {
            exit::say(format_args!("  {:<11}   {command}", ""));
        }
    }
}

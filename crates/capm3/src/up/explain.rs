//! Whether everything came up and, if not, why.

use capm3_lab::{
    Lab,
    report::Report,
    stuck::{self, StuckMachine},
};

use crate::exit::{self, Failure};

/// Ends well when every control plane and deployment has its machines; otherwise explains on stderr.
pub fn judge(lab: &Lab, report: &Report, is_quiet: bool) -> Result<(), Failure> {
    let twice = report.duplicates();
    for mark in &twice {
        exit::say(format_args!("error: {mark} is used twice"));
    }
    let short = stuck::short_owners(lab);
    let stuck = stuck::stuck_machines(lab);
    if is_quiet && short.is_empty() && stuck.is_empty() && twice.is_empty() {
        let ready = report.machines.iter().filter(|m| m.ready).count();
        exit::say(format_args!(
            "{ready} of {} machines are ready after {}",
            report.machines.len(),
            time(report.elapsed_ms)
        ));
        return Ok(());
    }
    exit::say("");
    if !is_quiet {
        exit::say("gave up: something is still being tried again and again; CAPM3_LOG=warn shows it");
    }
    for owner in &short {
        exit::say(format_args!("{}: {} of {} machines are ready", owner.owner, owner.ready, owner.wanted));
        for missing in &owner.missing {
            exit::say(format_args!("  {missing}"));
        }
    }
    for machine in &stuck {
        explain(machine);
    }
    Err(Failure::Problems)
}

/// Real time as people say it.
fn time(milliseconds: u128) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
    }
}

fn explain(machine: &StuckMachine) {
    let (code, text) = (machine.reported.code, &machine.reported.text);
    exit::say(format_args!("
machine {} ({code}): {text}", machine.name));
    for host in &machine.hosts {
        exit::say(format_args!("  {host}"));
    }
}

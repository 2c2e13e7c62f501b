//! What is shown before a host is released, and why it is not.

use capm3_engine::ObjectKey;
use capm3_offline::explain::{Advice, Release};
use jiff::Timestamp;

use crate::{
    explain::{
        host_text::{painted, rows},
        text::{one_line, since},
    },
    stop::StopSignal,
};

/// The host and what will happen. `now` is given where ages are printed.
pub fn render_text(host: &ObjectKey, release: &Release, now: Option<Timestamp>) -> String {
    let since = since(release.since.as_deref(), now);
    let mut facts = vec![("Why:", release.why.clone())];
    facts.extend(rows(&release.facts));
    let facts: String = painted(facts).iter().map(|line| format!("{}\n", line.text(false))).collect();
    let steps: String = release
        .steps
        .iter()
        .enumerate()
        .map(|(number, step)| format!("  {}. {}\n", number + 1, one_line(step)))
        .collect();
    format!(
        "BareMetalHost {host} is orphaned{since}\n{facts}\nOnce the manager has proven that the machine is gone:\n{steps}\n"
    )
}

/// That a host is not released, why, and what to do instead.
pub fn refusal(host: &ObjectKey, why: &str, way_out: &[Advice]) -> String {
    let mut text = format!("host {host} is not released: {}", one_line(why));
    for advice in way_out {
        text.push_str(&format!("\n  {}", one_line(&advice.text)));
        if let Some(command) = &advice.command {
            text.push_str(&format!("\n    {command}"));
        }
    }
    text
}

/// What goes on after a signal, and how to follow it again.
pub fn stopped(signal: StopSignal, host: &ObjectKey) -> String {
    let (name, namespace) = (&host.name, &host.namespace);
    format!(
        "{signal}: host {host} is no longer followed, but its release continues; to see its progress: capm3 explain \
         host/{name} -n {namespace}; {}",
        withdraw(host)
    )
}

/// How a request is withdrawn.
pub fn withdraw(host: &ObjectKey) -> String {
    format!(
        "the request remains; to withdraw it: kubectl annotate baremetalhost {} -n {} {}-",
        host.name,
        host.namespace,
        capm3_api::vocabulary::annotation::RELEASE_HOST
    )
}

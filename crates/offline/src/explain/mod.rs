//! Where a machine stands, what it waits for, who must act, and every host with the reason that it was taken or not; and
//! where a host stands, and whether it may be released.
//!
//! Takes objects, of files or of a cluster, as documents; gives data. What a machine waits for and which host it takes
//! are the decisions of the controllers themselves, made again from the same objects, so an explanation cannot
//! disagree with them. Nothing is written, workload clusters are not asked, and of Secrets only the metadata is read.

mod advice;
mod data_summary;
mod events;
mod host;
mod host_advice;
mod host_facts;
mod host_summary;
mod host_use;
mod host_verdicts;
mod machine_summary;
mod objects;
mod paused;
mod placement;
mod pool_usage;
mod pools;
mod prerequisites;
mod relabel;
mod release;
mod releasing;
mod remediations;
mod reserved;
mod returning;
mod steps;
mod target;

use capm3_api::{metadata::MetadataExt, neighbours::Cluster};
pub use capm3_domain::wait::Actor;
use capm3_domain::wait::Code;
use capm3_engine::ObjectKey;
use capm3_provider::metal3machine::{self, Preview, Stage};
use serde::Serialize;

pub use self::{
    advice::Advice,
    events::{HostEvent, event_kind, events_about},
    host::{HostExplanation, HostState, explain_host, is_orphaned},
    host_facts::HostFacts,
    host_verdicts::{HostLine, Taken},
    objects::{Site, is_relevant, wanted, wanted_for_host},
    placement::Placement,
    pools::{PoolLine, Stock},
    release::{Releasable, Release, releasable},
    releasing::{Progress, ReleaseLine, progress},
    steps::{StepLine, StepState},
    target::{FindError, Target, TargetError, find},
};
use self::{machine_summary::Known, steps::Arrow};

/// A machine explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Namespace of the machine.
    pub namespace: String,
    /// Name of the Metal3Machine.
    pub metal3_machine: String,
    /// Name of the Machine that owns it.
    pub machine: Option<String>,
    /// Name of its Cluster.
    pub cluster: Option<String>,
    /// Where it is to stand, and where it stands.
    pub failure_domain: Placement,
    /// The step at which it stands.
    pub stage: &'static str,
    /// Where it stands, for people.
    pub stands: String,
    /// Since when, as far as the status tells.
    pub since: Option<String>,
    /// The stable code of what it waits for.
    pub code: Option<Code>,
    /// What it waits for.
    pub why: Option<String>,
    /// Who must act.
    pub who: Actor,
    /// Who could act sooner, where the machine makes progress by itself.
    pub or_who: Option<Actor>,
    /// What would help.
    pub what_to_do: Vec<Advice>,
    /// What else should be checked.
    pub remarks: Vec<String>,
    /// The way of the machine.
    pub steps: Vec<StepLine>,
    /// The pools that it takes addresses from.
    pub pools: Vec<PoolLine>,
    /// How many hosts were not taken for which kind of reason, where it has to choose one.
    pub host_counts: Option<String>,
    /// Every host of the namespace.
    pub hosts: Vec<HostLine>,
}

/// Explains a Metal3Machine; `None` if it is not there.
pub fn explain(site: &Site, key: &ObjectKey) -> Option<Explanation> {
    let preview = metal3machine::preview(&site.objects, key, &site.host_lacks, site.knows_secrets)?;
    let hosts = host_verdicts::hosts(site, &preview);
    let data =
        preview.snapshot.data.as_ref().map(|data| ObjectKey::new(&key.namespace, data.metadata.name_str()));
    let pools = data.map(|data| pools::pools(site, &data)).unwrap_or_default();
    let known = Known { site, preview: &preview, choice: hosts.choice.as_ref(), pools: &pools };
    let summary = machine_summary::summarize(&known);
    let remarks = remarks(&known);
    let (snapshot, stage) = (&preview.snapshot, preview.decision.stage);
    Some(Explanation {
        namespace: key.namespace.clone(),
        metal3_machine: key.name.clone(),
        machine: snapshot.machine.as_ref().map(|m| m.metadata.name_str().to_owned()),
        cluster: snapshot.cluster.as_deref().map(|c: &Cluster| c.metadata.name_str().to_owned()),
        failure_domain: placement::placement(snapshot),
        stage: word(stage),
        stands: summary.stands,
        since: preview.since(),
        code: summary.code,
        why: summary.why,
        who: summary.actor,
        or_who: summary.or_actor,
        what_to_do: summary.advice,
        remarks,
        steps: steps::steps(
            snapshot,
            Arrow { stage, cause: summary.cause.unwrap_or(stage) },
            &pools,
            machine_summary::missing_bootstrap_secret(&known).as_deref(),
        ),
        host_counts: hosts.choice.as_ref().map(|choice| choice.counts().to_string()),
        hosts: hosts.lines,
        pools,
    })
}

fn remarks(known: &Known<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    let Preview { snapshot, decision, .. } = known.preview;
    if decision.stage < Stage::Provisioning
        && let Some(secret) = machine_summary::missing_bootstrap_secret(known)
    {
        remarks.push(machine_summary::absent(&secret));
    }
    let others = || snapshot.surplus.iter().chain(&snapshot.held);
    if others().next().is_some() {
        let names: Vec<&str> = others().map(|host| host.metadata.name_str()).collect();
        remarks.push(format!("hosts beyond the one in use name this machine: {}", names.join(", ")));
    }
    remarks.extend(placement::remarks(snapshot, decision.stage));
    let machine = snapshot.machine.as_deref();
    remarks.extend(
        machine.into_iter().flat_map(|machine| remediations::sentences(&known.site.objects, machine)),
    );
    remarks
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Owner => "Owner",
        Stage::Cluster => "Cluster",
        Stage::Pause => "Pause",
        Stage::Infrastructure => "Infrastructure",
        Stage::Bootstrap => "Bootstrap",
        Stage::Host => "Host",
        Stage::Data => "Data",
        Stage::Provisioning => "Provisioning",
        Stage::Node => "Node",
        Stage::Ready => "Ready",
        Stage::Deletion => "Deletion",
    }
}

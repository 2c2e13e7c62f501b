//! Whether a person may ask for the release of a host, and what happens then.
//!
//! Takes the objects of a namespace; gives a verdict as data. The rule is the controller's own: only a host whose
//! Metal3Machine is not found, and that no other machine knows, can be released. Must not write anything.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP},
    v1beta2::{Metal3DataClaim, Metal3Machine},
    vocabulary::annotation,
};
use capm3_domain::{
    host::has_image,
    release::{clear, must_wait},
};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::baremetalhost::{HostSnapshot, Orphan, consumer_machine, known_to_another};
use serde_json::Value;

use super::{
    Site,
    advice::Advice,
    host_facts::{HostFacts, orphaned_since, snapshot},
    paused,
};

/// Whether a host may be released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Releasable {
    /// Nobody has it.
    IsFree,
    /// It may.
    Yes(Box<Release>),
    /// It may not.
    No {
        /// Why not.
        why: String,
        /// What to do instead.
        way_out: Vec<Advice>,
    },
    /// It cannot be known.
    Unknown(String),
}

/// A release that may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The machine that the host names and that is not found: the value of the request.
    pub machine: ObjectKey,
    /// What is reported about the host.
    pub facts: HostFacts,
    /// Why the host is orphaned.
    pub why: String,
    /// Since when, as far as objects show it.
    pub since: Option<String>,
    /// What happens, step by step.
    pub steps: Vec<String>,
    /// Whether it is requested already.
    pub is_requested: bool,
    /// The version of the host that was judged.
    pub version: Option<String>,
}

/// Judges whether a host may be released; `None` if the host is not there.
pub fn releasable(site: &Site, key: &ObjectKey) -> Option<Releasable> {
    let snapshot = snapshot(site, key)?;
    let host = snapshot.host.as_ref();
    Some(match (&snapshot.orphan, consumer_machine(host)) {
        (Some(orphan @ Orphan::Unreadable { .. }), _) => {
            Releasable::Unknown(format!("{orphan}; cannot check whether the machine is gone"))
        }
        _ if host.metadata.is_deleting() => {
            no("the host is being deleted: its operator deprovisions it by itself", [])
        }
        (_, None) => without_machine(&snapshot),
        (_, Some(machine)) => match in_use(site, &snapshot, &machine).or_else(|| at_rest(&snapshot)) {
            Some(refusal) => refusal,
            None => Releasable::Yes(Box::new(Release {
                facts: HostFacts::of(host),
                why: snapshot.orphan.as_ref().map(ToString::to_string).unwrap_or_default(),
                since: snapshot.orphan.as_ref().and_then(|orphan| orphaned_since(site, host, orphan)),
                steps: steps(site, host, &machine),
                is_requested: host.metadata.annotation(annotation::RELEASE_HOST)
                    == Some(machine.to_string().as_str()),
                version: host.metadata.resource_version.clone(),
                machine,
            })),
        },
    })
}

fn no(why: impl Into<String>, way_out: impl Into<Vec<Advice>>) -> Releasable {
    Releasable::No { why: why.into(), way_out: way_out.into() }
}

/// A host that no Metal3Machine of its namespace consumes.
fn without_machine(snapshot: &HostSnapshot) -> Releasable {
    let host = snapshot.host.as_ref();
    let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
    let Some(consumer) = &host.spec.consumer_ref else {
        if !has_image(host) {
            return Releasable::IsFree;
        }
        let patch = "'{\"spec\":{\"image\":null,\"customDeploy\":null}}'";
        let text =
            "remove its image, if nobody needs the data on the disk: its operator then deprovisions it";
        let command = format!("kubectl patch baremetalhost {name} -n {namespace} --type=merge -p {patch}");
        let why = "the host has no consumer, but an image that no machine put there";
        return no(why, [Advice::run(text, command)]);
    };
    let facts = HostFacts::of(host).consumer.unwrap_or_default();
    let version = consumer.api_version.as_deref().unwrap_or_default();
    if version.starts_with(&format!("{CAPI_GROUP}/")) && consumer.kind.as_deref() == Some("Cluster") {
        let text = "nothing: the reservation ends by itself once its owner is gone";
        let why = format!("the host is reserved for the next machine of an owner in {facts}");
        return no(why, [Advice::run(text, format!("capm3 explain host/{name} -n {namespace}"))]);
    }
    let why = format!("the host is consumed by {facts}, which is no Metal3Machine of its namespace");
    no(why, [Advice::text("ask whoever made that consumer to give the host back")])
}

/// Why a host is in use, if it is.
fn in_use(site: &Site, snapshot: &HostSnapshot, machine: &ObjectKey) -> Option<Releasable> {
    let host = snapshot.host.as_ref();
    let explain =
        |name: &str| format!("capm3 explain metal3machine/{name} -n {}", host.metadata.namespace_str());
    let found = site.objects.get::<Metal3Machine>(machine);
    if found.as_ref().is_some_and(|found| found.metadata.is_deleting()) {
        let why =
            format!("Metal3Machine {machine} still exists: it is being deleted and will release the host");
        let text = "wait for it, and see what it waits for";
        return Some(no(why, [Advice::run(text, explain(&machine.name))]));
    }
    if let (Some(orphan @ Orphan::NotRecorded(_)), Some(found)) = (&snapshot.orphan, &found) {
        return Some(no(orphan.to_string(), keep_or_delete(host, found)));
    }
    if let Some(found) = &found {
        let why = format!("Metal3Machine {machine} is there and uses the host");
        return Some(no(why, [delete_machine(found)]));
    }
    let other = known_to_another(&site.objects, host)?;
    let why =
        format!("Metal3Machine {machine} is not found, but Metal3Machine {other} knows the host as its own");
    let text = "check that Metal3Machine: its conditions show why the provider does not correct the host";
    Some(no(why, [Advice::run(text, explain(&other))]))
}

/// The two ways out where a machine has no record of a host in use.
pub(super) fn keep_or_delete(host: &BareMetalHost, machine: &Metal3Machine) -> Vec<Advice> {
    let (name, namespace) = (machine.metadata.name_str(), machine.metadata.namespace_str());
    let command = format!(
        "kubectl annotate metal3machine {name} -n {namespace} {}={namespace}/{}",
        annotation::HOST,
        host.metadata.name_str()
    );
    let keep = Advice::run("to keep what runs on the host, record the host on the machine", command);
    vec![keep, delete_machine(machine)]
}

/// To delete the Machine that owns a machine, or the machine itself if nobody owns it.
pub(super) fn delete_machine(machine: &Metal3Machine) -> Advice {
    let namespace = machine.metadata.namespace_str();
    let (its, kind, name) = match machine.metadata.owner(CAPI_GROUP, "Machine") {
        Some(owner) => ("its Machine", "machine", owner.name.as_str()),
        None => ("the Metal3Machine", "metal3machine", machine.metadata.name_str()),
    };
    let text = format!("to release the host, delete {its}: the data on the disk of the host is then lost");
    Advice::run(text, format!("kubectl delete {kind} {name} -n {namespace}"))
}

/// A paused host is left alone.
fn at_rest(snapshot: &HostSnapshot) -> Option<Releasable> {
    let host = snapshot.host.as_ref();
    snapshot.rests.then(|| no(paused::sentence(host), [unpause(host)]))
}

/// To end the pause of a host.
pub(super) fn unpause(host: &BareMetalHost) -> Advice {
    let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
    let text = "unpause it, if whoever paused it agrees: a paused host may be on its way to another cluster";
    let command =
        format!("kubectl annotate baremetalhost {name} -n {namespace} {}-", annotation::HOST_PAUSED);
    Advice::run(text, command)
}

/// What a release does with a host, as the controller does it.
fn steps(site: &Site, host: &BareMetalHost, machine: &ObjectKey) -> Vec<String> {
    // Whether hosts stay on for the next machine is a setting of the manager: without it they are powered off.
    let patch = clear(&stand_in(machine), host, false).unwrap_or_default();
    let goes = |member: &str| patch.pointer(&format!("/spec/{member}")).is_some_and(Value::is_null);
    let mut steps = Vec::new();
    if goes("image") || goes("customDeploy") {
        steps.push("the image is removed from the spec".to_owned());
    }
    let data: Vec<&str> =
        [("userData", "user data"), ("metaData", "metadata"), ("networkData", "network data")]
            .into_iter()
            .filter_map(|(member, words)| goes(member).then_some(words))
            .collect();
    if !data.is_empty() {
        steps.push(format!("its references to {} are removed", data.join(" and ")));
    }
    steps.push(match patch.pointer("/spec/online").and_then(Value::as_bool) {
        Some(false) => "the host is powered off".to_owned(),
        _ if host.spec.disable_power_off => "the host stays powered on (spec.disablePowerOff)".to_owned(),
        _ => "the host stays powered off".to_owned(),
    });
    if has_image(host) || must_wait(host) {
        steps.push(match host.spec.automated_cleaning_mode.as_deref() {
            Some("disabled") => {
                "its disk is deprovisioned, but not cleaned (spec.automatedCleaningMode is disabled)"
                    .to_owned()
            }
            _ => "its disk is deprovisioned: what is on it is lost".to_owned(),
        });
    }
    if site.objects.get::<Metal3DataClaim>(machine).is_some() {
        steps.push(format!("Metal3DataClaim {machine} is deleted: its index and addresses are free again"));
    }
    steps.push("the host is free for any machine".to_owned());
    steps
}

/// A machine of that name of which nothing else is known.
pub(super) fn stand_in(machine: &ObjectKey) -> Metal3Machine {
    let mut stand_in = Metal3Machine::default();
    stand_in.metadata.name = Some(machine.name.clone());
    stand_in.metadata.namespace = Some(machine.namespace.clone());
    stand_in
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;

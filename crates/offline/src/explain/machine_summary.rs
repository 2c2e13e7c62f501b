//! Where a machine stands in a few words, who must act and what would help.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Machine,
    v1beta2::{Metal3Data, Metal3Machine},
};
use capm3_domain::{
    host::HostChoice,
    wait::{Code, Text},
};
use capm3_provider::{
    Cause,
    metal3machine::{MachineSnapshot, Preview, Stage},
};

use super::{Actor, Site, advice::Advice, data_summary, host_summary, pools::PoolLine, prerequisites};

/// The summary itself.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) stands: String,
    pub(super) why: Option<String>,
    /// The stable code of the wait.
    pub(super) code: Option<Code>,
    pub(super) actor: Actor,
    /// Who could act sooner.
    pub(super) or_actor: Option<Actor>,
    /// Where the cause is, if not at the stage of the machine.
    pub(super) cause: Option<Stage>,
    pub(super) advice: Vec<Advice>,
}

impl Summary {
    pub(super) fn new(stands: impl Into<String>, actor: Actor, advice: impl Into<Vec<Advice>>) -> Self {
        Self {
            stands: stands.into(),
            why: None,
            code: None,
            actor,
            or_actor: None,
            cause: None,
            advice: advice.into(),
        }
    }

    /// Nothing to do but to see that the provider runs.
    pub(super) fn going_on(stands: impl Into<String>) -> Self {
        let advice = Advice::text("nothing; if it lasts, check whether the provider runs");
        Self::new(stands, Actor::Nobody, [advice])
    }
}

/// What there is to know of a machine.
pub(super) struct Known<'a> {
    pub(super) site: &'a Site,
    pub(super) preview: &'a Preview<'a>,
    pub(super) choice: Option<&'a HostChoice>,
    pub(super) pools: &'a [PoolLine],
}

impl Known<'_> {
    pub(super) fn snapshot(&self) -> &MachineSnapshot<'_> {
        &self.preview.snapshot
    }

    pub(super) fn machine(&self) -> &Metal3Machine {
        &self.preview.snapshot.metal3_machine
    }

    pub(super) fn namespace(&self) -> &str {
        self.machine().metadata.namespace_str()
    }

    /// A command about an object of the machine's namespace.
    pub(super) fn kubectl(&self, verb: &str, what: &str) -> String {
        format!("kubectl {verb} {what} -n {}", self.namespace())
    }
}

pub(super) fn summarize(known: &Known<'_>) -> Summary {
    let stage = known.preview.decision.stage;
    let mut summary = match stage {
        Stage::Owner => prerequisites::owner(known),
        Stage::Cluster => prerequisites::cluster(known),
        Stage::Pause => prerequisites::pause(known),
        Stage::Infrastructure => prerequisites::infrastructure(known),
        Stage::Bootstrap => prerequisites::bootstrap(known),
        Stage::Host => host_summary::choice(known),
        Stage::Data => data_summary::summarize(known),
        Stage::Provisioning => host_summary::provisioning(known),
        Stage::Node => node(known),
        Stage::Ready => ready(known),
        Stage::Deletion => host_summary::deletion(known),
    };
    if let Some(cause) = known.preview.cause(&known.site.objects) {
        of_cause(known, &mut summary, &cause);
    }
    if let Some(refused) = known.preview.refused() {
        refusal(&mut summary, &refused);
    }
    let reported = known.preview.reported(&known.site.objects);
    if summary.why.is_none() {
        summary.why = reported.as_ref().map(|reported| reported.text.to_string());
    }
    if let Some(reported) = reported {
        summary.code = Some(reported.code);
        // Only the condition reports such a wait, and says what to do.
        if known.preview.wait().is_none() && summary.actor != reported.actor {
            summary.actor = reported.actor;
            summary.advice.clear();
        }
    }
    summary
}

/// Where another object than the data of the machine keeps it waiting, that one is to be looked at.
fn of_cause(known: &Known<'_>, summary: &mut Summary, cause: &Cause) {
    if cause.kind == Metal3Data::API.kind {
        return;
    }
    let Cause { kind, name, wait, .. } = cause;
    let inspect = known.kubectl("describe", &format!("{} {name}", kind.to_lowercase()));
    summary.actor = wait.facts().actor;
    summary.advice.insert(0, Advice::run(format!("inspect {kind} {name}, which reports: {wait}"), inspect));
}

/// The server does not take what the controller writes: nothing else matters until it does.
fn refusal(summary: &mut Summary, refused: &Text) {
    summary.why = Some(refused.to_string());

    (summary.actor, summary.or_actor, summary.cause) = (Actor::PlatformEngineer, None, None);
    summary.advice = vec![Advice::run(
        "find what refuses it from the message: a webhook, a policy, or missing permissions of the provider; it is retried \
             once it is allowed",
        "kubectl get validatingwebhookconfigurations,validatingadmissionpolicies".to_owned(),
    )];
}

/// The Secret with the bootstrap data, if it is named and known not to be there.
pub(super) fn missing_bootstrap_secret(known: &Known<'_>) -> Option<String> {
    let machine: &Machine = known.snapshot().machine.as_deref()?;
    let name = machine.spec.bootstrap.data_secret_name.clone().filter(|_| known.site.knows_secrets)?;
    known.site.has_no_secret(known.namespace(), &name).then_some(name)
}

/// That such a Secret is not there, in words.
pub(super) fn absent(secret: &str) -> String {
    format!("Secret {secret}, which the Machine names as its bootstrap data, does not exist")
}

fn node(known: &Known<'_>) -> Summary {
    let code = known.preview.reported(&known.site.objects).map(|reported| reported.code);
    let cluster = known.snapshot().cluster.as_ref().map(|c| c.metadata.name_str()).unwrap_or_default();
    let stands = "waits for its Node";
    if code == Some(Code::WORKLOAD_CLUSTER) {
        let advice = format!(
            "check whether the API of the workload cluster runs, and whether Secret {cluster}-kubeconfig fits it"
        );
        return Summary::new(stands, Actor::PlatformEngineer, [Advice::text(advice)]);
    }
    if code != Some(Code::AMBIGUOUS_NODE) && code != Some(Code::NODE_CONFLICT) {
        let advice = "nothing while the node boots; if it lasts, read the console of the host: did it get its network and join?";
        return Summary::new(stands, Actor::Nobody, [Advice::text(advice)]);
    }
    let inspect =
        Advice::run("inspect the Nodes of the workload cluster", "kubectl get nodes -o wide".to_owned());
    let delete = Advice::text(
        "if an earlier machine has left one of them there, delete that Node: its provider ID cannot be changed",
    );
    Summary::new("cannot tell which Node it is", Actor::PlatformEngineer, [inspect, delete])
}

fn ready(known: &Known<'_>) -> Summary {
    let host = known.snapshot().host.as_ref().map(|host| format!(" on host {}", host.metadata.name_str()));
    Summary::new(format!("is ready{}", host.unwrap_or_default()), Actor::Nobody, [])
}

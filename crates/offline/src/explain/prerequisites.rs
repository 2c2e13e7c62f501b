//! The summary of a machine before it may take a host.

use capm3_api::{
    conditions::{find, is_true_legacy},
    metadata::MetadataExt,
    neighbours::Cluster,
    vocabulary::{annotation, condition, label},
};

use super::{
    Actor,
    advice::Advice,
    machine_summary::{Known, Summary},
};

pub(super) fn owner(known: &Known<'_>) -> Summary {
    let text = match &known.snapshot().owner {
        Some(name) => format!("the owner reference names Machine {name}, which does not exist"),
        None => {
            "a Machine must name this Metal3Machine in spec.infrastructureRef; Cluster API then makes it the owner".to_owned()
        }
    };
    let advice = Advice::run(text, known.kubectl("get", "machines"));
    Summary::new("waits for its Machine", Actor::ClusterApi, [advice])
}

pub(super) fn cluster(known: &Known<'_>) -> Summary {
    let name = known.snapshot().machine.as_ref().map(|m| m.spec.cluster_name.clone()).unwrap_or_default();
    let text = format!(
        "create Cluster {name}, or correct spec.clusterName and label cluster.x-k8s.io/cluster-name of the Machine"
    );
    let advice = Advice::run(text, known.kubectl("get", "clusters"));
    Summary::new("waits for its Cluster", Actor::ClusterAuthor, [advice])
}

pub(super) fn pause(known: &Known<'_>) -> Summary {
    let machine = &known.machine().metadata;
    let (mut advice, mut causes) = (Vec::new(), Vec::new());
    if let Some(cluster) = known.snapshot().cluster.as_ref().filter(|cluster| cluster.is_paused()) {
        let name = cluster.metadata.name_str();
        let what = format!("cluster {name} --type merge -p '{{\"spec\":{{\"paused\":false}}}}'");
        causes.push(format!("spec.paused of Cluster {name} is true"));
        advice.push(Advice::run("end the pause of the Cluster", known.kubectl("patch", &what)));
    }
    if machine.annotation(annotation::PAUSED).is_some() {
        let what = format!("metal3machine {} {}-", machine.name_str(), annotation::PAUSED);
        causes.push(format!("the Metal3Machine has annotation {}", annotation::PAUSED));
        advice.push(Advice::run("end the pause of the machine", known.kubectl("annotate", &what)));
    }
    if causes.is_empty() {
        let text = format!("correct annotation {} of the Metal3Machine", annotation::HOST);
        return Summary::new(
            "has a host, but it is not known which one",
            Actor::PlatformEngineer,
            [Advice::text(text)],
        );
    }
    let stands = if machine.is_deleting() { "is to be deleted, but is paused" } else { "is paused" };
    Summary { why: Some(causes.join(", and ")), ..Summary::new(stands, Actor::PlatformEngineer, advice) }
}

pub(super) fn infrastructure(known: &Known<'_>) -> Summary {
    let stands = "waits for the infrastructure of its Cluster";
    let by_author = |text: String| Summary::new(stands, Actor::ClusterAuthor, [Advice::text(text)]);
    let cluster = known.snapshot().cluster.as_ref();
    let Some(name) = cluster.and_then(|cluster| cluster.spec.infrastructure_ref.as_ref()?.name.clone())
    else {
        return by_author("name a Metal3Cluster in spec.infrastructureRef of the Cluster".to_owned());
    };
    let Some(metal3_cluster) = &known.snapshot().metal3_cluster else {
        return by_author(format!("create Metal3Cluster {name}, which the Cluster names"));
    };
    let ready = find(&metal3_cluster.status.conditions, condition::READY);
    let report = ready.filter(|ready| ready.status != "True" && !ready.message.is_empty());
    let report = report.map(|ready| format!(", which reports: {}", ready.message)).unwrap_or_default();
    let inspect = known.kubectl("describe", &format!("metal3cluster {name}"));
    Summary::new(
        stands,
        Actor::ClusterApi,
        [Advice::run(format!("inspect Metal3Cluster {name}{report}"), inspect)],
    )
}

pub(super) fn bootstrap(known: &Known<'_>) -> Summary {
    let stands = "waits for its bootstrap data";
    let Some((kind, name)) = bootstrap_object(known) else {
        let text = format!(
            "set spec.bootstrap.configRef or spec.bootstrap.dataSecretName of the Machine, which names neither, or \
             spec.userData of Metal3Machine {}",
            known.machine().metadata.name_str()
        );
        return Summary::new(stands, Actor::ClusterAuthor, [Advice::text(text)]);
    };
    let is_of_control_plane = known.machine().metadata.label(label::CONTROL_PLANE).is_some()
        || known
            .snapshot()
            .machine
            .as_ref()
            .is_some_and(|m| m.metadata.label(label::CONTROL_PLANE).is_some());
    let cluster = known.snapshot().cluster.as_deref();
    let rest = match (cluster.is_some_and(control_plane_runs), is_of_control_plane) {
        (true, _) => "; its conditions show why it has not",
        (false, true) => {
            "; until the control plane runs, only its first machine gets one: check that machine first"
        }
        (false, false) => {
            "; workers get one only when the control plane runs: check the machines of the control plane first"
        }
    };
    let text = format!("{kind} {name} must make the Secret{rest}");
    let inspect = known.kubectl("describe", &format!("{} {name}", kind.to_lowercase()));
    Summary::new(stands, Actor::BootstrapProvider, [Advice::run(text, inspect)])
}

/// Kind and name of the object that makes the bootstrap data.
pub(super) fn bootstrap_object(known: &Known<'_>) -> Option<(String, String)> {
    let config = known.snapshot().machine.as_ref()?.spec.bootstrap.config_ref.clone()?;
    Some((config.kind.unwrap_or_default(), config.name?))
}

/// Whether the control plane was reachable once, as either generation of the Cluster says it.
fn control_plane_runs(cluster: &Cluster) -> bool {
    let flag = cluster.status.initialization.as_ref().and_then(|i| i.control_plane_initialized);
    let legacy = cluster.status.deprecated.as_ref().and_then(|d| d.v1beta1.as_ref());
    flag.unwrap_or(false) || legacy.is_some_and(|v| is_true_legacy(&v.conditions, "ControlPlaneInitialized"))
}

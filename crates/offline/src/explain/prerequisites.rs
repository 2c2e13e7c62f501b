//! The story of a machine before it may take a host.

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    vocabulary::{annotation, condition},
};

use super::{
    advice::{Actor, Advice},
    story::{Known, Story},
};

pub(super) fn owner(known: &Known<'_>) -> Story {
    let text = match &known.snapshot().owner {
        Some(name) => format!("the owner reference names Machine {name}, which is not there"),
        None => {
            "a Machine must name this Metal3Machine in spec.infrastructureRef; Cluster API then makes it the owner".to_owned()
        }
    };
    let advice = Advice::run(text, known.kubectl("get", "machines"));
    Story::new("waits for its Machine", Actor::ClusterApi, [advice])
}

pub(super) fn cluster(known: &Known<'_>) -> Story {
    let name = known.snapshot().machine.as_ref().map(|m| m.spec.cluster_name.clone()).unwrap_or_default();
    let text = format!(
        "create Cluster {name}, or correct spec.clusterName and label cluster.x-k8s.io/cluster-name of the Machine"
    );
    let advice = Advice::run(text, known.kubectl("get", "clusters"));
    Story::new("waits for its Cluster", Actor::ClusterAuthor, [advice])
}

pub(super) fn pause(known: &Known<'_>) -> Story {
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
        return Story::new("has a host that cannot be told", Actor::PlatformEngineer, [Advice::say(text)]);
    }
    let stands = if machine.is_deleting() { "is to be deleted, but is paused" } else { "is paused" };
    Story { why: Some(causes.join(", and ")), ..Story::new(stands, Actor::PlatformEngineer, advice) }
}

pub(super) fn infrastructure(known: &Known<'_>) -> Story {
    let stands = "waits for the infrastructure of its Cluster";
    let by_author = |text: String| Story::new(stands, Actor::ClusterAuthor, [Advice::say(text)]);
    let cluster = known.snapshot().cluster.as_ref();
    let Some(name) = cluster.and_then(|cluster| cluster.spec.infrastructure_ref.as_ref()?.name.clone())
    else {
        return by_author("name a Metal3Cluster in spec.infrastructureRef of the Cluster".to_owned());
    };
    let Some(metal3_cluster) = &known.snapshot().metal3_cluster else {
        return by_author(format!("create Metal3Cluster {name}, which the Cluster names"));
    };
    let ready = find(&metal3_cluster.status.conditions, condition::READY);
    let said = ready.filter(|ready| ready.status != "True" && !ready.message.is_empty());
    let said = said.map(|ready| format!(", which says: {}", ready.message)).unwrap_or_default();
    let look = known.kubectl("describe", &format!("metal3cluster {name}"));
    Story::new(stands, Actor::ClusterApi, [Advice::run(format!("look at Metal3Cluster {name}{said}"), look)])
}

pub(super) fn bootstrap(known: &Known<'_>) -> Story {
    let stands = "waits for its bootstrap data";
    let machine = known.snapshot().machine.as_ref();
    let config = machine.and_then(|machine| machine.spec.bootstrap.config_ref.clone());
    let Some((kind, name)) = config.and_then(|config| Some((config.kind.unwrap_or_default(), config.name?)))
    else {
        let text =
            "set spec.bootstrap.configRef or spec.bootstrap.dataSecretName of the Machine: it names neither";
        return Story::new(stands, Actor::ClusterAuthor, [Advice::say(text)]);
    };
    let text = format!(
        "{kind} {name} must make the Secret; only the first machine of a control plane gets it before the control plane runs"
    );
    let look = known.kubectl("describe", &format!("{} {name}", kind.to_lowercase()));
    Story::new(stands, Actor::BootstrapProvider, [Advice::run(text, look)])
}

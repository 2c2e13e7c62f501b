//! A host is reserved for an owner that does not exist.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, KubeadmControlPlane, MachineDeployment},
    vocabulary::label,
};
use capm3_domain::{
    host::{deployment_of_label, has_image},
    release::remove_reservation,
};
use capm3_engine::{Object, ObjectKey};

use super::{Finding, Repair, Rule, Severity, Step, View};
use crate::baremetalhost::{Absent, observe};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C015",
    severity: Severity::Error,
    title: "host reserved for an owner that does not exist",
    why: "With nodeReuse a host is kept for the next machine of its control plane or MachineDeployment. If that owner is \
          deleted, nobody takes the host any more. The Go provider never ends such a reservation.",
    repair: "The reservation is removed if the host has no image. With an image a person looks at the host first.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let hosts = view.not_deleting::<BareMetalHost>();
    let reserved = hosts.iter().filter(|host| host.spec.consumer_ref.is_some());
    reserved.filter_map(|host| dead(view, host)).collect()
}

fn dead(view: &View<'_>, host: &BareMetalHost) -> Option<Finding> {
    let absent = observe(view.reader(), &host.key())?.absent?;
    let reserved = host.metadata.label(label::NODE_REUSE).unwrap_or("not set");
    let finding = Finding::on(host, format!("is reserved for {absent}, which does not exist"))
        .fact(host, "spec.consumerRef.kind", "Cluster")
        .fact(host, &format!("metadata.labels[{}]", label::NODE_REUSE), reserved);
    let finding = match absent {
        Absent::Cluster(key) => view.is_gone::<Cluster>(&key).then(|| finding.absent::<Cluster>(&key))?,
        Absent::ControlPlane(owner) if owner.is_watched() => {
            let key = &owner.key;
            view.is_gone::<KubeadmControlPlane>(key).then(|| finding.absent::<KubeadmControlPlane>(key))?
        }
        Absent::ControlPlane(_) => return None,
        Absent::Deployment(reservation) => {
            let name = deployment_of_label(&reservation.name)?;
            let key = ObjectKey::new(&reservation.namespace, name);
            view.is_gone::<MachineDeployment>(&key).then(|| finding.absent::<MachineDeployment>(&key))?
        }
    };
    let explain = Step::explain("host", &host.key());
    Some(finding.repair(match remove_reservation(host).filter(|_| !has_image(host)) {
        Some(patch) => {
            Repair::fix("end the reservation: the host is free for any machine", [Step::patch(host, patch)])
        }
        None => {
            Repair::person("look at the host: it is not reserved in the usual way or has an image", [explain])
        }
    }))
}

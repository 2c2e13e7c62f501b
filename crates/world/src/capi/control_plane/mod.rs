//! KubeadmControlPlane: control-plane machines one after the other, spread over failure domains, and the kubeconfig.
//!
//! Woken by itself, its Machines, its Cluster's flags, its template and its kubeconfig Secret.

mod decide;
mod domains;
mod remediation;
mod status;

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, SecretMetadata},
    v1beta2::Metal3Machine,
};
use capm3_engine::{Caches, Controller, ObjectKey, Outcome, Reader};

pub(crate) use self::decide::{Snapshot, decide};
use super::{KUBECONFIG_SUFFIX, make};
use crate::{
    context::{self, Context},
    indexes::MACHINES_BY_OWNER,
    kinds::{Cluster, KubeadmControlPlane, Machine},
    metadata::beside,
};

const FINALIZER: &str = "kubeadm.controlplane.cluster.x-k8s.io";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("control planes", &context.queues.control_planes, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let observe = |caches: &Caches, now: &str| {
        let mut snapshot = observe(caches, &key, now)?;
        if let Some(cluster) = &snapshot.cluster {
            let cluster = beside(&**cluster, cluster.metadata.name_str());
            snapshot.kubeconfig = context.workloads.apis.kubeconfig(&cluster);
        }
        Some(snapshot)
    };
    context.reconcile(observe, decide).await
}

pub(crate) fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let control_plane = reader.get::<KubeadmControlPlane>(key)?;
    let beside = |name: &str| ObjectKey::new(key.namespace.clone(), name);
    let owner = control_plane.metadata.owner(CAPI_GROUP, "Cluster").map(|o| o.name.clone());
    let cluster = owner.and_then(|name| reader.get::<Cluster>(&beside(&name)));
    let uid = control_plane.metadata.uid_str();
    let machines = reader.by_index(&MACHINES_BY_OWNER, uid);
    let source = |machine: &Machine| {
        let infrastructure = reader.get::<Metal3Machine>(&beside(machine.infrastructure_name()?))?;
        let name = capm3_api::vocabulary::annotation::CLONED_FROM_NAME;
        infrastructure.metadata.annotation(name).map(str::to_owned)
    };
    Some(Snapshot {
        sources: machines.iter().map(|m| source(m)).collect(),
        template: control_plane.template_name().and_then(|name| reader.get(&beside(name))),
        begun: make::begun(reader, uid),
        has_kubeconfig: cluster.as_ref().is_some_and(|cluster| {
            let name = format!("{}{KUBECONFIG_SUFFIX}", cluster.metadata.name_str());
            reader.get::<SecretMetadata>(&beside(&name)).is_some()
        }),
        kubeconfig: String::new(),
        now: now.to_owned(),
        control_plane,
        cluster,
        machines,
    })
}

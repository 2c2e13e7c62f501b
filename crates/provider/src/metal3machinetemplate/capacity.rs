//! The capacity of machines to come stands in the template's status, so that a cluster autoscaler can scale from zero.
//!
//! Woken by the template, its own write included, and by hosts of its namespace, but only by one whose labels or hardware
//! changed so that what all hosts have may be another. That is judged against the status as it stands: a host that
//! changes during a pass may be judged against what is about to be replaced, and the pass that follows the write
//! finds it.

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3MachineTemplate, vocabulary::annotation,
};
use capm3_domain::capacity::{Candidates, may_change, read_status, resources_of, write_status};
use capm3_engine::{
    ActError, Controller, Object, ObjectKey, Outcome, Queue, Reader, ResourceKind, drive, informer::Change,
};

use tracing::warn;

use crate::{
    batch::GATHER,
    context::{self, Context},
    indexes::{HOSTS_BY_NAMESPACE, MACHINE_TEMPLATES_BY_NAMESPACE},
};

/// A Metal3MachineTemplate and the hosts of its namespace.
#[derive(Debug, Clone)]
pub struct CapacitySnapshot {
    /// The template.
    pub template: Arc<Metal3MachineTemplate>,
    /// The hosts, whether they match or not.
    pub hosts: Vec<Arc<BareMetalHost>>,
}

/// Reads the snapshot; `None` when the template is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<CapacitySnapshot> {
    let template = reader.get::<Metal3MachineTemplate>(key)?;
    let hosts = reader.by_index(&HOSTS_BY_NAMESPACE, &key.namespace);
    Some(CapacitySnapshot { template, hosts })
}

/// Decides: the status is written if it differs, unless the template is paused or being deleted.
pub fn decide(snapshot: &CapacitySnapshot) -> Plan {
    let template = snapshot.template.as_ref();
    let mut plan = Plan::done();
    if template.metadata.annotation(annotation::PAUSED).is_some() || template.metadata.is_deleting() {
        return plan;
    }
    let mut new = template.clone();
    let hosts = snapshot.hosts.iter().map(AsRef::as_ref);
    write_status(&mut new.status, Candidates::of(template).common(hosts));
    plan.update_status(template, &new);
    plan
}

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let work = |context, key| async move { reconcile(&context, &key).await };
    context::controller(context, "metal3machinetemplate-capacity", queue, work)
}

async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    let kind = ResourceKind::of::<Metal3MachineTemplate>();
    let plan = || observe(&*context.caches, key).map(|snapshot| decide(&snapshot)).unwrap_or_default();
    match drive(&context.executor, plan).await {
        // The template is there, but the installed CRD is one without a status: trying on would help nobody.
        Outcome::Failed(ActError { source, .. }) if source.is_absence_of(&kind, key) => {
            warn!(template = %key, "Metal3MachineTemplates have no status to write capacity to; install the CRDs of this version");
            Outcome::Settled
        }
        outcome => outcome,
    }
}

fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = context.caches.store::<Metal3MachineTemplate>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(template) = &change.new {
                queue.add_after(template.key(), GATHER);
            }
        });
    }
    if let Some(store) = context.caches.store::<BareMetalHost>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(&context.caches));
        store.subscribe(move |change| {
            let (Some(host), Some(caches)) = (changed_resources(change), caches.upgrade()) else { return };
            let namespace = host.metadata.namespace_str();
            for template in caches.by_index(&MACHINE_TEMPLATES_BY_NAMESPACE, namespace) {
                if concerns(change, &template) {
                    queue.add_after(template.key(), GATHER);
                }
            }
        });
    }
}

/// The host, if its labels or its resources changed. Most changes of a host are of another kind and end here.
fn changed_resources(change: &Change<BareMetalHost>) -> Option<&BareMetalHost> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            let same = old.metadata.labels == new.metadata.labels && resources_of(old) == resources_of(new);
            (!same).then_some(new)
        }
        (old, new) => new.as_deref().or(old.as_deref()),
    }
}

/// Whether the status of a template may have to change.
fn concerns(change: &Change<BareMetalHost>, template: &Metal3MachineTemplate) -> bool {
    let candidates = Candidates::of(template);
    let resources =
        |host: &Option<Arc<BareMetalHost>>| host.as_ref().and_then(|host| candidates.resources_of(host));
    may_change(read_status(&template.status), resources(&change.old), resources(&change.new))
}

#[cfg(test)]
mod tests {
    use capm3_engine::Write;
    use serde_json::{Value, json};

    use super::*;

    fn host(name: &str, cpus: i64) -> Arc<BareMetalHost> {
        let hardware = json!({"cpu": {"arch": "x86_64", "count": cpus}, "ramMebibytes": 1024});
        let metadata = json!({"name": name, "namespace": "ns", "labels": {"size": "m"}});
        Arc::new(
            serde_json::from_value(json!({"metadata": metadata, "status": {"hardware": hardware}})).unwrap(),
        )
    }

    fn template(annotations: Value, status: Value) -> Arc<Metal3MachineTemplate> {
        let metadata = json!({"name": "t", "namespace": "ns", "annotations": annotations});
        let selector = json!({"matchLabels": {"size": "m"}});
        let spec = json!({"template": {"spec": {"hostSelector": selector}}});
        let object = json!({"metadata": metadata, "spec": spec, "status": status});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn known() -> Value {
        json!({"capacity": {"cpu": "8", "memory": "1024Mi"}, "nodeInfo": {"architecture": "amd64"}})
    }

    fn writes(template: Arc<Metal3MachineTemplate>, hosts: &[Arc<BareMetalHost>]) -> Vec<String> {
        let plan = decide(&CapacitySnapshot { template, hosts: hosts.to_vec() });
        plan.writes.iter().map(Write::to_string).collect()
    }

    #[test]
    fn the_status_is_written_only_where_it_differs() {
        let patch = |status: Value| {
            vec![format!("patch Metal3MachineTemplate/status ns/t {}", json!({"status": status}))]
        };
        let (big, small) = (host("a", 32), host("b", 8));
        assert_eq!(writes(template(json!({}), json!({})), &[big.clone(), small.clone()]), patch(known()));
        assert!(writes(template(json!({}), known()), &[big.clone(), small]).is_empty());
        let grown = patch(json!({"capacity": {"cpu": "32"}}));
        assert_eq!(writes(template(json!({}), known()), &[big]), grown);
        let gone = patch(json!({"capacity": null, "nodeInfo": null}));
        assert_eq!(writes(template(json!({}), known()), &[]), gone);
        assert!(writes(template(json!({}), json!({})), &[]).is_empty());
    }

    #[test]
    fn a_template_under_pause_is_left_alone() {
        assert!(writes(template(json!({annotation::PAUSED: ""}), json!({})), &[host("a", 32)]).is_empty());
    }

    #[test]
    fn a_host_wakes_a_template_only_with_news() {
        let template = template(json!({}), known());
        let with = |host: &Arc<BareMetalHost>, change: fn(&mut BareMetalHost)| {
            let mut host = host.as_ref().clone();
            change(&mut host);
            Some(Arc::new(host))
        };
        let (big, small) = (host("a", 32), host("b", 4));
        for (old, new, expected) in [
            (Some(big.clone()), with(&big, |host| host.spec.online = true), false),
            (Some(big.clone()), with(&big, |host| host.status.error_message = Some("e".into())), false),
            (None, Some(big.clone()), false),
            (None, Some(small.clone()), true),
            (Some(small.clone()), None, true),
            (Some(small.clone()), with(&small, |host| host.metadata.labels = None), true),
            (with(&small, |host| host.metadata.labels = None), None, false),
        ] {
            let change = Change { old, new };
            let wakes = changed_resources(&change).is_some() && concerns(&change, &template);
            assert_eq!(wakes, expected, "{change:?}");
        }
    }
}

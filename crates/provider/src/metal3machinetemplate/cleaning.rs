//! A changed cleaning mode of a template reaches the machines that were made from it.
//!
//! Woken by itself and by machines that come, or that have another cleaning mode than before.

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
    vocabulary::annotation,
};
use capm3_domain::data_template::machine_template_name;
use capm3_engine::{Controller, Object, ObjectKey, Outcome, Queue, Reader};

use crate::{
    context::{self, Context},
    indexes::MACHINES_BY_TEMPLATE,
};

/// A Metal3MachineTemplate and the machines that were made from it.
#[derive(Debug, Clone)]
pub struct CleaningSnapshot {
    /// The template.
    pub template: Arc<Metal3MachineTemplate>,
    /// The machines; none where the template has nothing to set on them.
    pub machines: Vec<Arc<Metal3Machine>>,
}

/// Reads the snapshot; `None` when the template is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<CleaningSnapshot> {
    let template = reader.get::<Metal3MachineTemplate>(key)?;
    if mode(&template).is_none() {
        return Some(CleaningSnapshot { template, machines: Vec::new() });
    }
    let mut machines = reader.by_index(&MACHINES_BY_TEMPLATE, &key.to_string());
    machines.retain(|machine| machine_template_name(machine) == Some(key.name.as_str()));
    Some(CleaningSnapshot { template, machines })
}

/// The cleaning mode that machines are to have, unless the template has none or rests.
fn mode(template: &Metal3MachineTemplate) -> Option<&String> {
    let mode = template.spec.template.spec.automated_cleaning_mode.as_ref();
    let rests = template.metadata.annotation(annotation::PAUSED).is_some();
    mode.filter(|mode| !mode.is_empty() && !rests)
}

/// Decides: one plan per machine, and only for machines that differ, so that one that cannot be written holds up nobody.
pub fn decide(snapshot: &CleaningSnapshot) -> Vec<Plan> {
    let Some(mode) = mode(&snapshot.template) else { return Vec::new() };
    let differs = |machine: &&Arc<Metal3Machine>| {
        machine.spec.automated_cleaning_mode.as_ref() != Some(mode) && !machine.metadata.is_deleting()
    };
    let changed = snapshot.machines.iter().filter(differs).map(|machine| {
        let mut new = machine.as_ref().clone();
        new.spec.automated_cleaning_mode = Some(mode.clone());
        let mut plan = Plan::done();
        plan.update_object(machine.as_ref(), &new);
        plan
    });
    changed.collect()
}

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let work = |context, key| async move { reconcile(&context, &key).await };
    context::controller(context, "metal3machinetemplate", queue, work)
}

/// How often the machines are reconciled again because some had changed in between.
const ROUNDS: usize = 4;

async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    let mut failed = None;
    for _ in 0..ROUNDS {
        let plans = observe(&*context.caches, key).map(|snapshot| decide(&snapshot)).unwrap_or_default();
        failed = None;
        for plan in plans {
            // On a conflict the machine is read again; the next round sees it.
            if let Err(error) = context.executor.act(&plan).await {
                failed = Some(error);
            }
        }
        if !failed.as_ref().is_some_and(|error| error.source.is_outdated_view()) {
            break;
        }
    }
    failed.map_or(Outcome::Settled, Outcome::Failed)
}

fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = context.caches.store::<Metal3MachineTemplate>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(template) = &change.new {
                queue.add(template.key());
            }
        });
    }
    if let Some(store) = context.caches.store::<Metal3Machine>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            let Some(new) = &change.new else { return };
            let of = |machine: &Metal3Machine| {
                let template = machine_template_name(machine).map(str::to_owned);
                (template, machine.spec.automated_cleaning_mode.clone())
            };
            if change.old.as_ref().is_some_and(|old| of(old) == of(new)) {
                return;
            }
            if let Some(template) = machine_template_name(new) {
                queue.add(ObjectKey::new(new.metadata.namespace_str(), template));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use capm3_engine::Write;
    use serde_json::{Value, json};

    use super::*;

    fn snapshot(template: Value, machines: &[Option<&str>]) -> CleaningSnapshot {
        let machine = |(n, mode): (usize, &Option<&str>)| {
            let metadata = json!({"name": format!("m{n}"), "namespace": "ns", "resourceVersion": "1"});
            let machine = json!({"metadata": metadata, "spec": {"automatedCleaningMode": mode}});
            Arc::new(serde_json::from_value(machine).unwrap())
        };
        CleaningSnapshot {
            template: Arc::new(serde_json::from_value(template).unwrap()),
            machines: machines.iter().enumerate().map(machine).collect(),
        }
    }

    fn template(mode: Option<&str>, annotations: Value) -> Value {
        json!({"metadata": {"name": "t", "namespace": "ns", "annotations": annotations},
            "spec": {"template": {"spec": {"automatedCleaningMode": mode}}}})
    }

    /// A changed cleaning mode of the template is written to the machines made from it, and only to those that differ.
    #[test]
    fn mt131_only_machines_that_differ_are_written() {
        let modes = [Some("metadata"), Some("disabled"), None];
        let plans = decide(&snapshot(template(Some("disabled"), json!({})), &modes));
        let texts: Vec<String> = plans.iter().flat_map(|plan| &plan.writes).map(Write::to_string).collect();
        let patch = |name: &str| {
            format!("patch Metal3Machine ns/{name} {{\"spec\":{{\"automatedCleaningMode\":\"disabled\"}}}}")
        };
        assert_eq!(texts, [patch("m0"), patch("m2")]);
    }

    #[test]
    fn a_template_without_mode_or_under_pause_changes_nobody() {
        assert!(decide(&snapshot(template(None, json!({})), &[Some("metadata")])).is_empty());
        let paused = template(Some("disabled"), json!({annotation::PAUSED: ""}));
        assert!(decide(&snapshot(paused, &[Some("metadata")])).is_empty());
    }
}

//! Hosts that are kept off for a Metal3Remediation that is gone, as where a person removed its finalizer.
//!
//! The annotation is ours, and nobody else takes it off, so the host would stay off for ever. It is removed only with proof that no
//! Metal3Remediation has it. An orphaned host and one that is on its way to another management cluster are left as they are.

use std::{collections::BTreeMap, time::Duration};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation::POWER_OFF_PREFIX, event},
};
use capm3_engine::{ActError, EventNote, Object, ObjectKey, Outcome, Reader, absence::Verdict};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::info;

use super::{HostSnapshot, observe};
use crate::{context::Context, host_patch::push_annotations, indexes::REMEDIATIONS_BY_POWER_OFF, plan::Plan};

/// How long a remediation may be missing: a backup that is restored brings objects in any order.
const GRACE: Duration = Duration::from_secs(60);

/// Since when hosts are kept off for a remediation that is not there.
pub(super) type LeftOff = Mutex<BTreeMap<ObjectKey, Instant>>;

/// The annotations of a host with which a remediation that is not there keeps it off.
pub(super) fn annotations(reader: &impl Reader, host: &BareMetalHost) -> Vec<String> {
    let keys = host.metadata.annotations.iter().flat_map(|annotations| annotations.keys());
    let is_left = |key: &&String| {
        key.starts_with(POWER_OFF_PREFIX)
            && reader.by_index(&REMEDIATIONS_BY_POWER_OFF, &indexed(host, key)).is_empty()
    };
    keys.filter(is_left).cloned().collect()
}

fn indexed(host: &BareMetalHost, key: &str) -> String {
    format!("{}/{key}", host.metadata.namespace_str())
}

/// Waits for the remediation for a while, then proves that it is gone and lets the host have power.
pub(super) async fn reconcile(context: &Context, left_off: &LeftOff, snapshot: &HostSnapshot) -> Outcome {
    let host = snapshot.host.as_ref();
    if !is_due(snapshot) {
        left_off.lock().remove(&host.key());
        return Outcome::Settled;
    }
    let since = *left_off.lock().entry(host.key()).or_insert_with(Instant::now);
    let left = GRACE.saturating_sub(since.elapsed());
    if !left.is_zero() {
        return Outcome::After(left);
    }
    for key in &snapshot.left_off {
        let namespace = host.metadata.namespace_str();
        let proven = context.prove_none(namespace, &REMEDIATIONS_BY_POWER_OFF, &indexed(host, key)).await;
        match proven {
            Ok(Verdict::Gone | Verdict::Present) => {}
            Ok(Verdict::Unknown(doubt)) => {
                info!(host = %host.key(), "keeps annotation {key}: cannot confirm that its Metal3Remediation is gone: {doubt}; retries");
                return Outcome::After(doubt.retry_after());
            }
            Err(source) => {
                let what = format!("list Metal3Remediations of namespace {namespace}");
                return Outcome::Failed(ActError::reading(what, source));
            }
        }
    }
    // What was found is in the cache now. An annotation that came since is not proven to be left over.
    let plan = observe(&*context.caches, &host.key()).map(|mut again| {
        again.left_off.retain(|key| snapshot.left_off.contains(key));
        if is_due(&again) { power_on(&again) } else { Plan::done() }
    });
    match context.executor.act(&plan.unwrap_or_else(Plan::done)).await {
        Ok(()) => Outcome::Settled,
        Err(error) => Outcome::Failed(error),
    }
}

fn is_due(snapshot: &HostSnapshot) -> bool {
    let is_left_alone = snapshot.rests || snapshot.orphan.is_some() || snapshot.host.metadata.is_deleting();
    !snapshot.left_off.is_empty() && !is_left_alone
}

/// Takes the annotations off.
fn power_on(snapshot: &HostSnapshot) -> Plan {
    let (host, mut plan) = (snapshot.host.as_ref(), Plan::done());
    let nulls = snapshot.left_off.iter().map(|key| (key.clone(), Value::Null));
    push_annotations(&mut plan, host, Map::from_iter(nulls));
    let message =
        "the host may be powered on again: the Metal3Remediation that kept it off is gone".to_owned();
    plan.event(EventNote::warning(host, event::POWER_ON_REQUESTED, message));
    plan
}

#[cfg(test)]
mod tests {
    use capm3_api::v1beta2::Metal3Remediation;
    use capm3_engine::Caches;
    use serde_json::json;

    use super::*;
    use crate::kinds;

    fn put<K: Object>(caches: &Caches, value: Value) {
        caches.store::<K>().unwrap().apply(serde_json::from_value(value).unwrap());
    }

    fn seen(remediation: Option<Value>) -> HostSnapshot {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        if let Some(remediation) = remediation {
            put::<Metal3Remediation>(&caches, remediation);
        }
        let annotations = json!({format!("{POWER_OFF_PREFIX}u"): "{}", "reboot.metal3.io/mine": "{}"});
        put::<BareMetalHost>(
            &caches,
            json!({"metadata": {"name": "h", "namespace": "ns", "resourceVersion": "1", "annotations": annotations}}),
        );
        observe(&caches, &ObjectKey::new("ns", "h")).unwrap()
    }

    #[test]
    fn only_the_annotation_of_a_remediation_that_is_not_there_is_taken_off() {
        let of = |namespace: &str, uid: &str, annotations: Value| {
            json!({"metadata": {"name": "r", "namespace": namespace, "uid": uid, "resourceVersion": "1",
                "annotations": annotations}})
        };
        let record = format!("{{\"phase\":\"Running\",\"powerOffAnnotation\":\"{POWER_OFF_PREFIX}u\"}}");
        let recorded = json!({"capm3.metal3.io/remediation-progress": record});
        for (what, remediation, is_left) in [
            ("none", None, true),
            ("its own", Some(of("ns", "u", json!({}))), false),
            ("after a move, with another uid", Some(of("ns", "new", recorded)), false),
            ("another one", Some(of("ns", "v", json!({}))), true),
            ("a namesake elsewhere", Some(of("other", "u", json!({}))), true),
        ] {
            let snapshot = seen(remediation);
            assert_eq!(is_due(&snapshot), is_left, "{what}");
            if is_left {
                let plan = power_on(&snapshot).to_string();
                let expected = format!("\"{POWER_OFF_PREFIX}u\":null");
                assert!(plan.contains(&expected) && !plan.contains("mine"), "{what}: {plan}");
            }
        }
    }

    #[test]
    fn a_host_that_is_paused_orphaned_or_deleted_is_left_as_it_is() {
        let machine = ObjectKey::new("ns", "m");
        let snapshot = seen(None);
        assert!(is_due(&snapshot));
        assert!(!is_due(&HostSnapshot { rests: true, ..snapshot.clone() }));
        let orphan = Some(super::super::Orphan::NotFound(machine));
        assert!(!is_due(&HostSnapshot { orphan, ..snapshot.clone() }));
        let mut deleted = snapshot;
        let mut host = BareMetalHost::clone(&deleted.host);
        host.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        deleted.host = std::sync::Arc::new(host);
        assert!(!is_due(&deleted));
    }
}

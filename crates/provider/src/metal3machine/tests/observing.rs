//! What is found around a machine.

use std::collections::BTreeMap;

use capm3_engine::{Aggregate, Index, Object, ObjectKey, Reader, ResourceKind};

use super::*;
use crate::metal3machine::{Inputs, observe};

/// Objects by kind, namespace and name.
#[derive(Default)]
pub(super) struct TestReader(BTreeMap<(String, ObjectKey), Value>);

impl TestReader {
    pub(super) fn with(mut self, kind: &str, object: Value) -> Self {
        let name = object["metadata"]["name"].as_str().unwrap();
        self.0.insert((kind.to_owned(), ObjectKey::new("metal3", name)), object);
        self
    }

    pub(super) fn snapshot(&self) -> crate::metal3machine::MachineSnapshot<'_> {
        let live = Live::trusting_the_reader();
        observe(self, &Inputs::trusting(&live), &ObjectKey::new("metal3", "m")).unwrap()
    }
}

impl Reader for TestReader {
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get(&(ResourceKind::of::<K>().kind, key.clone())).cloned().map(read)
    }

    fn aggregate<K: Object, A: Aggregate<K>>(&self, _: &str) -> Arc<A> {
        Arc::default()
    }

    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        let kind = ResourceKind::of::<K>().kind;
        let of_kind = self.0.iter().filter(|((k, _), _)| *k == kind).map(|(_, object)| read(object.clone()));
        of_kind.filter(|object: &Arc<K>| (index.values)(object).iter().any(|v| v == value)).collect()
    }
}

fn owned() -> Value {
    let mut machine = machine();
    machine["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "uid-o"}]);
    machine
}

#[test]
fn a_deletion_is_held_up_by_a_paused_cluster_also_when_the_machine_is_gone() {
    let cluster = json!({"metadata": {"namespace": "metal3", "name": "c"}, "spec": {"paused": true}});
    let mut goes = owned();
    goes["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let paused = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: "metal3.io/capm3"}}});
    let mut held = host("h", consumed_by("m"));
    merge(&mut held, &paused);
    let reader = TestReader::default()
        .with("Metal3Machine", goes)
        .with("BareMetalHost", held)
        .with("Cluster", cluster);
    let decision = decide(&reader.snapshot(), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    assert_eq!(condition_of(&decision, condition::PAUSED), ("True".into(), "Paused".into()));
    // A Machine that is there has the last word.
    let machine = json!({"metadata": {"namespace": "metal3", "name": "m"}});
    assert!(reader.with("Machine", machine).snapshot().cluster.is_none());
}

/// Whether there is user data is one rule for observe and decide.
#[test]
fn a_machine_with_user_data_of_its_own_takes_a_host_although_the_machine_names_none() {
    let mut machine = owned();
    machine["spec"]["userData"] = json!({"name": "own", "namespace": "metal3"});
    let capi = json!({"metadata": {"namespace": "metal3", "name": "m", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {"clusterName": "c", "bootstrap": {}}});
    let cluster = json!({"metadata": {"namespace": "metal3", "name": "c"},
        "spec": {"infrastructureRef": {"name": "c"}},
        "status": {"initialization": {"infrastructureProvisioned": true}}});
    let reader = TestReader::default()
        .with("Metal3Machine", machine)
        .with("Machine", capi)
        .with("Cluster", cluster)
        .with("Metal3Cluster", json!({"metadata": {"namespace": "metal3", "name": "c"}}))
        .with("Secret", json!({"metadata": {"namespace": "metal3", "name": "own"}}))
        .with("BareMetalHost", host("h", json!({})));
    let decision = decide(&reader.snapshot(), "t");
    assert_eq!(kinds(&decision), ["patch BareMetalHost h"], "{}", decision.plan);
}

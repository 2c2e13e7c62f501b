//! What is asked for, as tables.

use serde_json::json;

use super::*;

fn object(kind: &str, name: &str, owner: &str, spec: Value) -> Value {
    let owners = (!owner.is_empty()).then(|| json!([{"uid": owner, "controller": true}]));
    let mut metadata = json!({"namespace": "n", "name": name, "uid": name});
    if let Some(owners) = owners {
        metadata["ownerReferences"] = owners;
    }
    json!({"kind": kind, "metadata": metadata, "spec": spec})
}

/// A Machine and its Metal3Machine, of which either may be ready.
fn machine(name: &str, owner: &str, machine_is_ready: bool, infrastructure_is_ready: bool) -> [Value; 2] {
    let status = |ready: bool| json!({"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]});
    let mut machine = object("Machine", name, owner, json!({"infrastructureRef": {"name": name}}));
    machine["status"] = status(machine_is_ready);
    let mut infrastructure = object("Metal3Machine", name, name, json!({"providerID": "metal3://x"}));
    infrastructure["status"] = status(infrastructure_is_ready);
    [machine, infrastructure]
}

fn counted(objects: Vec<Value>) -> Expected {
    expected(&objects.into_iter().map(Arc::new).collect::<Vec<_>>())
}

fn owners_of(found: &Expected) -> Vec<String> {
    found.owners.iter().map(|o| format!("{} {} {}/{}", o.kind, o.key.name, o.ready, o.wanted)).collect()
}

#[test]
fn every_machine_counts_once_for_the_one_who_asks_for_it() {
    let mut objects = vec![
        object("KubeadmControlPlane", "cp", "", json!({"replicas": 3})),
        object("MachineDeployment", "md", "", json!({})),
        object("MachineSet", "md-1", "md", json!({"replicas": 1})),
        object("MachineSet", "alone", "", json!({"replicas": 2})),
    ];
    objects.extend(machine("cp-1", "cp", true, true));
    objects.extend(machine("md-1-1", "md-1", true, true));
    objects.extend(machine("alone-1", "alone", true, true));
    objects.extend(machine("bare", "", true, true));
    // Its owner is nowhere, so nobody else asks for it.
    objects.extend(machine("lost", "gone", false, false));
    let found = counted(objects);
    let expected = [
        "KubeadmControlPlane cp 1/3",
        "MachineDeployment md 1/1",
        "MachineSet alone 1/2",
        "Machine bare 1/1",
        "Machine lost 0/1",
    ];
    assert_eq!(owners_of(&found), expected);
    assert_eq!((found.ready(), found.wanted()), (4, 8));
}

#[test]
fn a_machine_is_ready_when_both_halves_say_so() {
    for (machine_is_ready, infrastructure_is_ready) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let found = counted(machine("m", "", machine_is_ready, infrastructure_is_ready).into());
        assert_eq!(found.ready(), usize::from(machine_is_ready && infrastructure_is_ready));
    }
    let [machine, _] = machine("m", "", true, true);
    assert_eq!(counted(vec![machine]).ready(), 0, "its Metal3Machine is not there");
}

#[test]
fn a_metal3machine_that_no_machine_names_is_asked_for_and_never_ready() {
    let found = counted(vec![object("Metal3Machine", "x", "", json!({}))]);
    assert_eq!(owners_of(&found), ["Metal3Machine x 0/1"]);
    let made = counted(vec![object("Metal3Machine", "x", "cp", json!({}))]);
    assert_eq!(owners_of(&made), [""; 0], "its maker is about to make its Machine");
}

#[test]
fn machines_beyond_what_is_asked_for_stand_for_no_others() {
    let mut objects = vec![
        object("MachineDeployment", "a", "", json!({"replicas": 1})),
        object("MachineSet", "a-1", "a", json!({"replicas": 2})),
        object("MachineDeployment", "b", "", json!({"replicas": 1})),
    ];
    objects.extend(machine("a-1-1", "a-1", true, true));
    objects.extend(machine("a-1-2", "a-1", true, true));
    let found = counted(objects);
    assert_eq!((found.ready(), found.wanted()), (1, 2));
}

#[test]
fn what_goes_is_not_asked_for_any_more() {
    let mut going = object("MachineDeployment", "md", "", json!({"replicas": 3}));
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(owners_of(&counted(vec![going])), [""; 0]);
}

#[test]
fn a_topology_is_reported_as_far_as_no_object_asks_for_its_machines() {
    let deployment = || object("MachineDeployment", "md", "", json!({"clusterName": "c"}));
    let workers = json!({"machineDeployments": [{"class": "x"}]});
    let pools = json!({"machinePools": [{"class": "x"}]});
    let named = json!({"name": "cp"});
    let table = [
        (json!({"controlPlaneRef": named}), vec![], false),
        (json!({"topology": {}}), vec![], true),
        (json!({"topology": {}, "controlPlaneRef": named}), vec![], false),
        (json!({"topology": {"workers": workers}, "controlPlaneRef": named}), vec![], true),
        (json!({"topology": {"workers": workers}, "controlPlaneRef": named}), vec![deployment()], false),
        (json!({"topology": {"workers": pools}, "controlPlaneRef": named}), vec![deployment()], true),
    ];
    for (spec, others, expected) in table {
        let mut objects = vec![object("Cluster", "c", "", spec.clone())];
        objects.extend(others);
        let found = counted(objects);
        assert_eq!(found.clusters.len(), 1);
        assert_eq!(!found.uncounted.is_empty(), expected, "{spec}");
    }
}

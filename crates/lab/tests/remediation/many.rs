//! Many remediations at once, beside an API server that fails every tenth call.

use std::sync::Arc;

use capm3_lab::{
    Options,
    faults::{Faults, RandomFaults},
    fleet::fleet,
};
use serde_json::{Value, json};

use crate::{
    common::{hosts::*, *},
    site::*,
};

const MACHINES: usize = 50;

/// A remediation as a MachineHealthCheck makes it, of each machine.
fn remediation(machine: &Value) -> Value {
    let owner = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name(machine),
        "uid": machine["metadata"]["uid"]});
    let strategy = json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 600});
    json!({"metadata": {"name": name(machine), "namespace": machine["metadata"]["namespace"], "ownerReferences": [owner]},
        "spec": {"strategy": strategy}})
}

#[tokio::test(start_paused = true)]
async fn fifty_remediations_at_once_beside_failing_calls_cycle_each_host_and_leave_nothing_behind() {
    let faults = Arc::new(RandomFaults::new(7, 10));
    faults.over();
    let options = Options {
        faults: Arc::clone(&faults) as Arc<dyn Faults>,
        remembered: Some(100_000),
        ..Options::default()
    };
    let lab = up_with(&options, &fleet(MACHINES - 1)).await;
    let machines = lab.objects("Machine");
    assert_eq!(machines.len(), MACHINES);
    faults.resume();
    for machine in &machines {
        let namespace = text(machine, "/metadata/namespace");
        lab.client().create(&metal3("Metal3Remediation"), &namespace, remediation(machine)).await.unwrap();
    }
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    faults.over();
    let (hits, lost) = (faults.hits(), faults.replies_lost());
    println!("{MACHINES} remediations, {hits} calls went wrong, of {lost} of them the reply was lost");
    assert!(hits - lost > 30 && lost > 10, "{hits} faults, {lost} lost replies");
    // They are healthy, so what made the remediations deletes them.
    for machine in &machines {
        let namespace = text(machine, "/metadata/namespace");
        let key = capm3_engine::ObjectKey::new(namespace, name(machine));
        lab.client().delete(&metal3("Metal3Remediation"), &key, None).await.unwrap();
    }
    rest(&lab).await;
    assert!(lab.objects("Metal3Remediation").is_empty());
    assert_eq!(leftovers_of(&lab, "metal3/fleet"), Vec::<String>::new());
    let hosts: Vec<String> = lab.objects("Metal3Machine").iter().map(|it| host_of(it)).collect();
    assert_eq!(hosts.len(), MACHINES);
    let cycled = hosts.iter().filter(|host| power_cycles(&lab, host) == 1).count();
    assert_eq!(cycled, MACHINES, "each once");
}

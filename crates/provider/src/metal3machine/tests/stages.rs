//! How far a pass came is part of the decision.

use super::*;
use crate::metal3machine::Stage;

#[test]
fn a_decision_names_the_stage_at_which_it_stopped() {
    let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let paused = || Some(read(json!({"metadata": {"name": "c"}, "spec": {"paused": true}})));
    let with_data = json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}});
    let provisioned = || with_host(json!({"status": {"provisioning": {"state": "provisioned"}}}));
    let table = [
        (Stage::Owner, MachineSnapshot { machine: None, ..ready_to_choose() }),
        (Stage::Cluster, MachineSnapshot { cluster: None, ..ready_to_choose() }),
        (Stage::Pause, MachineSnapshot { cluster: paused(), ..ready_to_choose() }),
        (Stage::Infrastructure, MachineSnapshot { cluster: Some(read(json!({}))), ..ready_to_choose() }),
        (Stage::Infrastructure, MachineSnapshot { metal3_cluster: None, ..ready_to_choose() }),
        (Stage::Bootstrap, MachineSnapshot { machine: Some(read(json!({}))), ..ready_to_choose() }),
        (Stage::Host, MachineSnapshot { candidates: vec![].into(), ..ready_to_choose() }),
        (Stage::Host, ready_to_choose()),
        (Stage::Data, with_machine(with_host(json!({})), with_data)),
        (Stage::Provisioning, with_host(json!({"status": {"provisioning": {"state": "provisioning"}}}))),
        (Stage::Node, MachineSnapshot { nodes: Nodes::NotConnected, ..provisioned() }),
        (Stage::Ready, provisioned()),
        (Stage::Deletion, with_machine(provisioned(), deleting.clone())),
        (Stage::Pause, with_machine(MachineSnapshot { cluster: paused(), ..ready_to_choose() }, deleting)),
    ];
    for (number, (stage, snapshot)) in table.into_iter().enumerate() {
        assert_eq!(decide(&snapshot, "t").stage, stage, "row {number}");
    }
}

/// A machine whose Node is known goes by the same steps.
#[test]
fn a_provisioned_machine_reports_what_went_wrong_with_it() {
    let provisioned = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}},
        "spec": {"providerID": "metal3://metal3/h/m"}, "status": {"initialization": {"provisioned": true}}});
    let joined = |snapshot: MachineSnapshot| {
        let machine =
            json!({"spec": {"bootstrap": {"dataSecretName": "m"}}, "status": {"nodeRef": {"name": "n"}}});
        with_machine(MachineSnapshot { machine: Some(read(machine)), ..snapshot }, provisioned.clone())
    };
    let state = |state: &str| joined(with_host(json!({"status": {"provisioning": {"state": state}}})));
    let lost_data = json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}});
    let table = [
        (Stage::Ready, state("provisioned")),
        (Stage::Provisioning, state("deprovisioning")),
        (Stage::Data, with_machine(state("provisioned"), lost_data)),
        (Stage::Host, joined(MachineSnapshot { candidates: vec![].into(), ..ready_to_choose() })),
    ];
    for (number, (stage, snapshot)) in table.into_iter().enumerate() {
        assert_eq!(decide(&snapshot, "t").stage, stage, "row {number}");
    }
}

//! The data that a host gets with its image.

use super::*;

#[test]
fn a_claim_on_a_template_that_is_held_carries_both_finalizers_from_the_start() {
    let finalizers = |held: &[&str]| {
        let mut snapshot = with_machine(
            with_host(json!({})),
            json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
        );
        snapshot.held_data_templates = held.iter().map(|name| (*name).to_owned()).collect();
        let writes = decide(&snapshot, "t").plan.writes;
        let created = writes.iter().find_map(|write| match write {
            Write::Create { object, .. } => Some(object["metadata"]["finalizers"].clone()),
            _ => None,
        });
        created.unwrap()
    };
    assert_eq!(finalizers(&["dt"]), json!([finalizer::MACHINE, finalizer::DATA_CLAIM]));
    assert_eq!(finalizers(&["other"]), json!([finalizer::MACHINE]), "nobody would take it off");
}

#[test]
fn after_the_claim_the_template_of_the_hosts_rack_is_stored_before_the_data_claim_is_made() {
    let mut snapshot = with_machine(
        with_host(
            json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": "rack2"}}}),
        ),
        json!({"spec": {"dataTemplate": {"name": "dt1", "namespace": "metal3"}, "failureDomain": "rack1"}}),
    );
    snapshot.template = Some(rack_template());
    let mut capi = snapshot.machine.as_deref().unwrap().clone();
    capi.spec.failure_domain = Some("rack1".into());
    snapshot.machine = Some(Arc::new(capi));
    let decision = decide(&snapshot, "t");
    assert_eq!(
        kinds(&decision),
        ["patch Metal3Machine m", "create Metal3DataClaim m", "patch Metal3Machine/status m"]
    );
    assert_eq!(patched(&decision, "Metal3Machine", "/spec/dataTemplate/name"), "dt2");
    assert_eq!(
        patched(&decision, "Metal3Machine", "/metadata/annotations/metal3.io~1BareMetalHost"),
        "metal3/h"
    );
    let reasons: Vec<&str> = decision.plan.events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, ["DataTemplateChanged", "WaitingForMetal3Data"]);
    assert!(decision.plan.events[0].message.contains("dt2"), "{:?}", decision.plan.events);
}

/// An update in place writes the template's spec over the machine; what the machine claimed stands. Without a mapping, or
/// without a claim, the spec of a running machine is the user's.
#[test]
fn a_running_machine_keeps_the_template_that_it_claimed() {
    let table = [
        ("mapped", json!({"name": "dt1"}), true, true, json!("dt")),
        ("taken off", Value::Null, true, true, json!("dt")),
        ("as claimed", json!({"name": "dt"}), true, true, Value::Null),
        (
            "as claimed, with its namespace",
            json!({"name": "dt", "namespace": "metal3"}),
            true,
            true,
            Value::Null,
        ),
        ("no mapping", json!({"name": "dt1"}), false, true, Value::Null),
        ("no claim", json!({"name": "dt1"}), true, false, Value::Null),
    ];
    for (what, held, is_mapped, is_claimed, written) in table {
        let running = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}},
            "spec": {"providerID": "metal3://metal3/h/m", "dataTemplate": held},
            "status": {"initialization": {"provisioned": true}}});
        let machine = json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"}},
            "spec": {"clusterName": "c"}, "status": {"nodeRef": {"name": "n"}}});
        let snapshot = MachineSnapshot {
            template: is_mapped.then(rack_template),
            claim: is_claimed.then(|| read(own_claim(json!({})))),
            machine: Some(read(machine)),
            ..with_machine(with_host(json!({"status": {"provisioning": {"state": "provisioned"}}})), running)
        };
        let decision = decide(&snapshot, "t");
        assert_eq!(patched(&decision, "Metal3Machine", "/spec/dataTemplate/name"), written, "{what}");
        let reasons: Vec<_> = decision.plan.events.iter().map(|event| event.reason).collect();
        assert_eq!(reasons.contains(&"DataTemplateChanged"), !written.is_null(), "{what}: {reasons:?}");
        let writes_machine = kinds(&decision).contains(&"patch Metal3Machine m".to_owned());
        assert_eq!(writes_machine, !written.is_null(), "{what}");
    }
}

#[test]
fn no_image_is_written_before_the_data_is_ready_and_then_image_and_data_together() {
    let templated = || {
        let snapshot = with_machine(
            with_host(json!({})),
            json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
        );
        MachineSnapshot {
            claim: Some(read(own_claim(json!({"renderedData": {"name": "dt-0", "namespace": "metal3"}})))),
            ..snapshot
        }
    };
    let data = |ready: bool| {
        read(
            json!({"metadata": {"name": "dt-0", "namespace": "metal3"}, "spec": {"networkData": {"name": "m-networkdata"}},
            "status": {"ready": ready, "errorMessage": "no NIC"}}),
        )
    };
    let waiting = decide(&MachineSnapshot { data: Some(data(false)), ..templated() }, "t");
    assert_eq!(kinds(&waiting), ["patch Metal3Machine m", "patch Metal3Machine/status m"]);
    assert_eq!(
        condition_of(&waiting, condition::DATA_READY),
        ("False".into(), "WaitingForMetal3Data".into())
    );
    assert!(waiting.plan.to_string().contains("no NIC"), "the cause is passed on");
    let ready = decide(&MachineSnapshot { data: Some(data(true)), ..templated() }, "t");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/networkData/name"), "m-networkdata");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/metaData"), Value::Null);
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/userData/name"), "m");
    assert_eq!(patched(&ready, "Metal3Machine", "/status/networkData/name"), "m-networkdata");
}

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
    assert_eq!(decision.plan.events.len(), 1);
    assert!(decision.plan.events[0].message.contains("dt2"), "{:?}", decision.plan.events);
}

#[test]
fn no_image_is_written_before_the_data_is_ready_and_then_image_and_data_together() {
    let templated = || {
        let snapshot = with_machine(
            with_host(json!({})),
            json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
        );
        Snapshot {
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
    let waiting = decide(&Snapshot { data: Some(data(false)), ..templated() }, "t");
    assert_eq!(kinds(&waiting), ["patch Metal3Machine m", "patch Metal3Machine/status m"]);
    assert_eq!(
        condition_of(&waiting, condition::DATA_READY),
        ("False".into(), "WaitingForMetal3Data".into())
    );
    assert!(waiting.plan.to_string().contains("no NIC"), "the cause is passed on");
    let ready = decide(&Snapshot { data: Some(data(true)), ..templated() }, "t");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/networkData/name"), "m-networkdata");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/metaData"), Value::Null);
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/userData/name"), "m");
    assert_eq!(patched(&ready, "Metal3Machine", "/status/networkData/name"), "m-networkdata");
}

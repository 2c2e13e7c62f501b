//! The state machine as tables.

use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-01T00:00:00Z";

fn host(state: &str, spec: Value, annotations: Value) -> BareMetalHost {
    let mut host: BareMetalHost = serde_json::from_value(json!({
        "metadata": {"namespace": "metal3", "name": "host-1", "uid": "u-1", "resourceVersion": "5",
            "finalizers": [FINALIZER], "annotations": annotations},
        "spec": spec,
        "status": {"operationalStatus": "OK", "errorMessage": "", "poweredOn": false,
            "provisioning": {"state": state, "ID": "id"}},
    }))
    .unwrap();
    if state == PROVISIONED {
        host.status.as_mut().unwrap().provisioning.image.clone_from(&host.spec.image);
    }
    host
}

fn bmc() -> Value {
    json!({"online": true, "bmc": {"address": "redfish://1", "credentialsName": "c"}})
}

fn with_image() -> Value {
    json!({"online": true, "bmc": {"address": "redfish://1", "credentialsName": "c"}, "image": {"url": "http://i"}})
}

fn decided(host: BareMetalHost, drive: Drive) -> Plan {
    decide(&Snapshot { host: Arc::new(host), now: NOW.into(), left: Duration::ZERO, drive })
}

/// The member of the status that the plan writes.
fn written(plan: &Plan, pointer: &str) -> Option<Value> {
    plan.writes.iter().find_map(|write| match write {
        capm3_engine::Write::Patch { subresource: Some("status"), patch, .. } => {
            patch.pointer(&format!("/status{pointer}")).cloned()
        }
        _ => None,
    })
}

fn next_state(plan: &Plan) -> Option<String> {
    written(plan, "/provisioning/state")?.as_str().map(str::to_owned)
}

#[test]
fn a_host_goes_through_its_states() {
    let external = json!({"online": true, "bmc": {"address": "a", "credentialsName": "c"}, "externallyProvisioned": true});
    let off = json!({"online": false, "bmc": {"address": "a", "credentialsName": "c"}, "image": {"url": "http://i"}});
    let deploy = json!({"online": true, "customDeploy": {"method": "m"}});
    let rows: Vec<(&str, Value, Value, Option<&str>)> = vec![
        (UNMANAGED, json!({"online": true}), json!({}), None),
        (UNMANAGED, bmc(), json!({}), Some(REGISTERING)),
        (REGISTERING, bmc(), json!({}), Some(INSPECTING)),
        (REGISTERING, bmc(), json!({"inspect.metal3.io": "disabled"}), Some(PREPARING)),
        (REGISTERING, external.clone(), json!({}), Some(EXTERNALLY_PROVISIONED)),
        (INSPECTING, bmc(), json!({}), Some(PREPARING)),
        (PREPARING, bmc(), json!({}), Some(AVAILABLE)),
        (AVAILABLE, external, json!({}), Some(EXTERNALLY_PROVISIONED)),
        (AVAILABLE, bmc(), json!({"inspect.metal3.io": ""}), Some(INSPECTING)),
        (AVAILABLE, with_image(), json!({}), Some(PROVISIONING)),
        (AVAILABLE, off, json!({}), None),
        (AVAILABLE, deploy, json!({}), Some(PROVISIONING)),
        (AVAILABLE, json!({"online": true, "image": {"url": ""}}), json!({}), None),
        (PROVISIONING, with_image(), json!({}), Some(PROVISIONED)),
        (PROVISIONING, bmc(), json!({}), Some(DEPROVISIONING)),
        (PROVISIONED, with_image(), json!({}), None),
        (PROVISIONED, bmc(), json!({}), Some(DEPROVISIONING)),
        (DEPROVISIONING, bmc(), json!({}), Some(AVAILABLE)),
        (EXTERNALLY_PROVISIONED, bmc(), json!({}), Some(PROVISIONED)),
    ];
    for (state, spec, annotations, expected) in rows {
        let plan = decided(host(state, spec.clone(), annotations), Drive::Made);
        assert_eq!(next_state(&plan).as_deref(), expected, "{state} {spec}");
    }
}

#[test]
fn another_url_on_a_provisioned_host_cleans_it_first() {
    let mut host = host(PROVISIONED, with_image(), json!({}));
    host.spec.image.as_mut().unwrap().url = "http://other".into();
    assert_eq!(next_state(&decided(host, Drive::NotNeeded)).as_deref(), Some(DEPROVISIONING));
}

#[test]
fn a_new_host_gets_the_finalizer_and_then_a_complete_status() {
    let mut fresh = host("", bmc(), json!({}));
    fresh.status = None;
    let status = decided(fresh.clone(), Drive::NotNeeded);
    for member in
        ["/operationalStatus", "/errorMessage", "/errorCount", "/provisioningFailCount", "/poweredOn"]
    {
        assert!(written(&status, member).is_some(), "{member} is required by the API");
    }
    assert_eq!(next_state(&status).as_deref(), Some(REGISTERING));
    fresh.metadata.finalizers = None;
    assert_eq!(
        decided(fresh, Drive::NotNeeded).to_string(),
        "patch BareMetalHost metal3/host-1 {\"metadata\":{\"finalizers\":[\"baremetalhost.metal3.io\"]}}\ndone"
    );
}

#[test]
fn a_paused_host_is_left_alone_even_in_deletion() {
    let mut paused = host(PROVISIONING, bmc(), json!({"baremetalhost.metal3.io/paused": ""}));
    assert!(decided(paused.clone(), Drive::NotNeeded).is_quiet());
    paused.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    assert!(decided(paused, Drive::NotNeeded).is_quiet());
}

#[test]
fn a_detached_host_says_so_and_rests_until_it_is_attached() {
    let annotation = json!({"baremetalhost.metal3.io/detached": ""});
    let mut detached = host(PROVISIONED, bmc(), annotation.clone());
    assert_eq!(
        written(&decided(detached.clone(), Drive::NotNeeded), "/operationalStatus"),
        Some(json!("detached"))
    );
    detached.status.as_mut().unwrap().operational_status = "detached".into();
    assert!(decided(detached.clone(), Drive::NotNeeded).is_quiet());
    detached.metadata.annotations = None;
    detached.spec = serde_json::from_value(with_image()).unwrap();
    assert_eq!(written(&decided(detached, Drive::NotNeeded), "/operationalStatus"), Some(json!("OK")));
    let early = host(INSPECTING, bmc(), annotation);
    assert_eq!(
        next_state(&decided(early, Drive::NotNeeded)).as_deref(),
        Some(PREPARING),
        "too early to detach"
    );
}

#[test]
fn a_missing_secret_is_an_error_on_the_host_until_it_appears() {
    let refused = Drive::Refused("the metaData Secret metal3/x does not exist".into());
    let mut waiting = host(PROVISIONING, with_image(), json!({}));
    let plan = decided(waiting.clone(), refused.clone());
    assert_eq!(written(&plan, "/errorMessage"), Some(json!("the metaData Secret metal3/x does not exist")));
    assert_eq!(written(&plan, "/errorType"), Some(json!("provisioning error")));
    assert_eq!(next_state(&plan), None);
    waiting.status.as_mut().unwrap().fail(
        "provisioning error",
        "the metaData Secret metal3/x does not exist",
        NOW,
    );
    assert!(decided(waiting.clone(), refused).is_quiet(), "the same error again is no change");
    let plan = decided(waiting, Drive::Made);
    assert_eq!(next_state(&plan).as_deref(), Some(PROVISIONED));
    assert_eq!(written(&plan, "/errorMessage"), Some(json!("")));
}

#[test]
fn power_follows_online_and_reboot_annotations_where_an_image_runs() {
    let reboot = json!({"reboot.metal3.io": ""});
    let stay_off = json!({"reboot.metal3.io/metal3-remediation-1": "{}"});
    let off = json!({"online": false, "image": {"url": "http://i"}});
    let rows = [
        (with_image(), json!({}), false, Some(true)),
        (with_image(), json!({}), true, None),
        (off, json!({}), true, Some(false)),
        (with_image(), reboot, true, Some(false)),
        (with_image(), stay_off.clone(), true, Some(false)),
        (with_image(), stay_off, false, None),
    ];
    for (spec, annotations, powered_on, expected) in rows {
        let mut host = host(PROVISIONED, spec.clone(), annotations.clone());
        host.status.as_mut().unwrap().powered_on = powered_on;
        let plan = decided(host, Drive::NotNeeded);
        assert_eq!(
            written(&plan, "/poweredOn"),
            expected.map(Value::from),
            "{spec} {annotations} {powered_on}"
        );
    }
}

#[test]
fn a_reboot_request_goes_once_the_host_is_off() {
    let plan = decided(host(PROVISIONED, with_image(), json!({"reboot.metal3.io": ""})), Drive::NotNeeded);
    assert_eq!(
        plan.to_string(),
        "patch BareMetalHost metal3/host-1 {\"metadata\":{\"annotations\":{\"reboot.metal3.io\":null}}}\ndone"
    );
}

#[test]
fn deletion_takes_the_way_that_the_state_demands() {
    let rows = [
        ("", Some(DELETING)),
        (REGISTERING, Some(DELETING)),
        (INSPECTING, Some(POWERING_OFF)),
        (AVAILABLE, Some(POWERING_OFF)),
        (PROVISIONING, Some(DEPROVISIONING)),
        (PROVISIONED, Some(DEPROVISIONING)),
        (DEPROVISIONING, Some(POWERING_OFF)),
        (POWERING_OFF, Some(DELETING)),
        (DELETING, None),
    ];
    for (state, expected) in rows {
        let mut host = host(state, with_image(), json!({}));
        host.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
        let plan = decided(host, Drive::NotNeeded);
        assert_eq!(next_state(&plan).as_deref(), expected, "{state}");
        if expected.is_none() {
            assert!(plan.to_string().contains("\"finalizers\":[]"), "{plan}");
        }
    }
}

#[test]
fn a_phase_that_is_not_over_is_waited_out() {
    let host = Arc::new(host(INSPECTING, bmc(), json!({})));
    let left = Duration::from_secs(2);
    let plan = decide(&Snapshot { host, now: NOW.into(), left, drive: Drive::NotNeeded });
    assert_eq!(plan, Plan::done().ending(End::After(left)));
}

#[test]
fn a_moved_status_is_restored_and_its_annotation_dropped() {
    let saved = json!({"operationalStatus": "OK", "errorMessage": "", "poweredOn": true,
        "provisioning": {"state": PROVISIONED, "ID": "old", "image": {"url": "http://i"}}});
    let mut moved = host("", with_image(), json!({"baremetalhost.metal3.io/status": saved.to_string()}));
    moved.status = None;
    let plan = decided(moved.clone(), Drive::NotNeeded);
    assert_eq!(next_state(&plan).as_deref(), Some(PROVISIONED));
    moved.status = serde_json::from_value(saved).unwrap();
    let plan = decided(moved, Drive::NotNeeded);
    assert!(plan.to_string().contains("\"baremetalhost.metal3.io/status\":null"), "{plan}");
}

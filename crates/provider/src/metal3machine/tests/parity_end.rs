//! Capabilities of the reference for a machine that is being deleted, one test each, decided from a snapshot.

use capm3_api::vocabulary::label;

use super::{
    parity::{label_written, writes_host},
    *,
};

fn release(spec: Value, state: &str) -> Decision {
    let mut extra = json!({"status": {"provisioning": {"state": state}}});
    extra["spec"] = spec;
    decide(&deleting(with_host(extra)), "t")
}

/// A deleted machine takes image, deploy step and its data off the host.
#[test]
fn de68_image_and_data_are_taken_off_the_host() {
    let full = json!({"image": {"url": "i"}, "customDeploy": {"method": "d"}, "userData": {"name": "m"},
        "metaData": {"name": "m-metadata"}, "networkData": {"name": "m-networkdata"}});
    let text = release(full, "provisioned").plan.to_string();
    for part in ["image", "customDeploy", "userData", "metaData", "networkData"] {
        assert!(text.contains(&format!("\"{part}\":null")), "{part}: {text}");
    }
}

/// The power of a released host follows the table of power-off, fast track and cleaning.
#[test]
fn de69_the_power_of_a_released_host_follows_the_table() {
    for (spec, fast_track, online) in [
        (json!({"disablePowerOff": true}), false, true),
        (json!({}), true, true),
        (json!({"automatedCleaningMode": "disabled"}), true, false),
        (json!({}), false, false),
    ] {
        let mut extra = json!({"spec": {"image": {"url": "i"}, "online": !online}});
        merge(&mut extra, &json!({ "spec": spec }));
        let snapshot = MachineSnapshot { fast_track, ..deleting(with_host(extra)) };
        assert_eq!(
            patched(&decide(&snapshot, "t"), "BareMetalHost", "/spec/online"),
            online,
            "{spec} {fast_track}"
        );
    }
}

/// The machine stays while its host is provisioned or being wiped, and while an externally provisioned one is on.
#[test]
fn de70_the_machine_stays_until_its_host_is_wiped() {
    for state in ["provisioned", "deprovisioning", "provisioning", "preparing", "deleting"] {
        assert!(matches!(release(json!({"online": false}), state).plan.end, End::WaitFor(_)), "{state}");
    }
    for state in ["available", "ready", "inspecting", "registering"] {
        assert!(
            kinds(&release(json!({"online": false}), state)).contains(&"patch Metal3Machine m".to_owned())
        );
    }
    for (on, waits) in [(true, true), (false, false)] {
        let extra = json!({"spec": {"online": false}, "status": {"poweredOn": on, "provisioning": {"state": "externally provisioned"}}});
        let decision = decide(&deleting(with_host(extra)), "t");
        assert_eq!(matches!(decision.plan.end, End::WaitFor(_)), waits);
    }
}

/// Consumer and cluster label go at the end; a host of another machine is not touched.
#[test]
fn de71_consumer_and_label_go_at_the_end_and_hosts_of_others_are_not_touched() {
    let decision = release(json!({"online": false}), "available");
    assert!(writes_host(&decision.plan, "\"consumerRef\":null"));
    assert!(writes_host(&decision.plan, "cluster-name\":null"));
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let taken = MachineSnapshot { host: Some(read(host("h", consumed_by("other")))), ..ready_to_choose() };
    let decision = decide(&deleting(with_machine(taken, recorded)), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine m"]);
}

/// The data claim is released and deleted; index and addresses are not handed out while the old node still runs.
#[test]
fn de72_the_claim_is_released_after_the_host() {
    let full = MachineSnapshot {
        claim: Some(read(own_claim(json!({})))),
        ..with_host(
            json!({"spec": {"online": false}, "status": {"provisioning": {"state": "deprovisioning"}}}),
        )
    };
    assert!(!kinds(&decide(&deleting(full), "t")).iter().any(|w| w.contains("Claim")));
    let clean = MachineSnapshot {
        claim: Some(read(own_claim(json!({})))),
        ..with_host(json!({"spec": {"online": false}}))
    };
    let kinds = kinds(&decide(&deleting(clean), "t"));
    assert_eq!(kinds[1..3], ["patch Metal3DataClaim m", "delete Metal3DataClaim m"]);
}

/// The bootstrap Secret is never deleted, nor is that of the management controller, which only loses its label.
#[test]
fn de73_secrets_are_never_deleted() {
    for spec in [json!({"online": false}), json!({"online": false, "userData": {"name": "m"}})] {
        let bmc =
            json!({"metadata": {"name": "bmc", "namespace": "metal3", "labels": {label::CLUSTER_NAME: "c"}}});
        let snapshot =
            deleting(MachineSnapshot { bmc_secret: Some(read(bmc)), ..with_host(json!({ "spec": spec })) });
        let decision = decide(&snapshot, "t");
        assert!(!kinds(&decision).iter().any(|w| w.contains("Secret")), "{}", decision.plan);
        assert_eq!(label_written(&decision.best_effort), Some(Value::Null));
    }
}

/// A host or a Secret that has vanished does not hold up deletion.
#[test]
fn de74_a_vanished_host_or_secret_does_not_hold_up_deletion() {
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let vanished = MachineSnapshot { candidates: vec![].into(), ..with_machine(ready_to_choose(), recorded) };
    assert_eq!(kinds(&decide(&deleting(vanished), "t")), ["patch Metal3Machine m"]);
    let no_secret = MachineSnapshot { bmc_secret: None, ..with_host(json!({"spec": {"online": false}})) };
    assert_eq!(kinds(&decide(&deleting(no_secret), "t")), ["patch BareMetalHost h", "patch Metal3Machine m"]);
}

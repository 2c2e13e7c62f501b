//! Capabilities of the reference that a machine has too, one test each, decided from a snapshot.

use crate::plan::Plan;
use capm3_api::vocabulary::label;
use capm3_domain::validation::review;

use super::*;

fn with_capi(mut snapshot: MachineSnapshot, extra: Value) -> MachineSnapshot {
    let mut value = serde_json::to_value(snapshot.machine.as_deref().unwrap()).unwrap();
    merge(&mut value, &extra);
    snapshot.machine = Some(read(value));
    snapshot
}

fn reason_of(snapshot: &MachineSnapshot) -> String {
    condition_of(&decide(snapshot, "t"), condition::ASSOCIATE_HOST).1
}

pub(super) fn writes_host(plan: &Plan, part: &str) -> bool {
    plan.to_string().lines().any(|line| line.starts_with("patch BareMetalHost") && line.contains(part))
}

/// The machine waits, in this order, for owner Machine, Cluster, infrastructure and Metal3Cluster, each with a reason
/// of its own.
#[test]
fn ma14_each_prerequisite_is_waited_for_in_order_with_its_own_reason() {
    let nothing = MachineSnapshot {
        owner: None,
        machine: None,
        cluster: None,
        metal3_cluster: None,
        ..ready_to_choose()
    };
    assert_eq!(reason_of(&nothing), "WaitingForMetal3MachineOwnerRef");
    let owned = MachineSnapshot { cluster: None, metal3_cluster: None, ..ready_to_choose() };
    assert_eq!(reason_of(&owned), "WaitingForClusterInfrastructureReady");
    let unready =
        MachineSnapshot { cluster: Some(read(json!({}))), metal3_cluster: None, ..ready_to_choose() };
    assert_eq!(reason_of(&unready), "WaitingForClusterInfrastructureReady");
    assert_eq!(
        reason_of(&MachineSnapshot { metal3_cluster: None, ..ready_to_choose() }),
        "WaitingforMetal3Cluster"
    );
    let older = json!({"metadata": {"name": "c"}, "status": {"deprecated": {"v1beta1": {"conditions": [
        {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": "t"}]}}}});
    let by_older_signal = MachineSnapshot { cluster: Some(read(older)), ..ready_to_choose() };
    assert_eq!(
        kinds(&decide(&by_older_signal, "t")),
        ["patch BareMetalHost h"],
        "the older signal counts too"
    );
}

/// No host is taken before the bootstrap data is there; the reason is `WaitingForBootstrapData`.
#[test]
fn ma15_no_host_is_taken_before_the_bootstrap_data_is_there() {
    let config = json!({"spec": {"bootstrap": {"dataSecretName": null, "configRef": {"kind": "KubeadmConfig", "name": "m"}}}});
    let waits = with_capi(ready_to_choose(), config);
    assert_eq!(reason_of(&waits), "WaitingForBootstrapData");
    assert_eq!(kinds(&decide(&waits, "t")), ["patch Metal3Machine/status m"]);
    let signalled =
        with_capi(waits, json!({"status": {"initialization": {"bootstrapDataSecretCreated": true}}}));
    assert_eq!(kinds(&decide(&signalled, "t")), ["patch BareMetalHost h"]);
}

/// User data: the Machine's Secret wins, then the name of the bootstrap object, then, where the Machine names neither,
/// `spec.userData`; the choice is kept in the status.
#[test]
fn ma16_the_machines_secret_wins_over_the_bootstrap_object_and_the_own_field() {
    let own = json!({"spec": {"userData": {"name": "own"}}});
    let config = json!({"spec": {"bootstrap": {"dataSecretName": null, "configRef": {"kind": "K", "name": "config"}}},
        "status": {"initialization": {"bootstrapDataSecretCreated": true}}});
    let chosen = |snapshot: MachineSnapshot| {
        patched(&decide(&snapshot, "t"), "Metal3Machine", "/status/userData/name")
    };
    assert_eq!(chosen(with_machine(with_host(json!({})), own.clone())), "m");
    assert_eq!(chosen(with_capi(with_machine(with_host(json!({})), own.clone()), config)), "config");
    let none = json!({"spec": {"bootstrap": {"dataSecretName": null}}});
    let alone = with_capi(with_machine(with_host(json!({})), own.clone()), none.clone());
    assert_eq!(patched(&decide(&alone, "t"), "BareMetalHost", "/spec/userData/name"), "own");
    assert_eq!(chosen(alone), "own");
    let takes = decide(&with_capi(with_machine(ready_to_choose(), own.clone()), none.clone()), "t");
    assert_eq!(
        kinds(&takes),
        ["patch BareMetalHost h"],
        "the Machine will have none: there is nothing to wait for"
    );
    assert_eq!(
        reason_of(&with_capi(ready_to_choose(), none)),
        "WaitingForBootstrapData",
        "no user data at all"
    );
    let later = json!({"spec": {"bootstrap": {"dataSecretName": null, "configRef": {"kind": "K", "name": "config"}}}});
    let waits = with_capi(with_machine(ready_to_choose(), own), later);
    assert_eq!(reason_of(&waits), "WaitingForBootstrapData", "the bootstrap object will make it, and wins");
    let kept = json!({"status": {"userData": {"name": "kept", "namespace": "metal3"}}});
    let decision = decide(&with_machine(with_host(json!({})), kept), "t");
    assert_eq!(patched(&decision, "BareMetalHost", "/spec/userData/name"), "kept");
}

/// A MachineSet that the cache does not show, by which hosts are kept for the machine, is asked for before a host is taken:
/// an error of the server is tried again, and only one that is not there means that nothing is kept.
#[test]
fn nr53_an_owner_that_the_cache_does_not_show_is_asked_for_before_a_host_is_taken() {
    let owner =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms", "uid": "u"}]);
    let owned = || with_capi(ready_to_choose(), json!({"metadata": {"ownerReferences": owner}}));
    let asks = decide(&owned(), "t");
    assert_eq!(asks.ask, Some(Question::MachineSet("ms".into())));
    assert!(asks.plan.is_quiet(), "{}", asks.plan);
    let mut gone = owned();
    gone.live.answer(Question::MachineSet("ms".into()), None);
    assert_eq!(kinds(&decide(&gone, "t")), ["patch BareMetalHost h"]);
    let known = MachineSnapshot { machine_set: Some(read(json!({"metadata": {"name": "ms"}}))), ..owned() };
    assert_eq!(kinds(&decide(&known, "t")), ["patch BareMetalHost h"]);
}

/// Association writes the consumer and the cluster label on the host, and the host's name on the machine.
#[test]
fn ma17_association_is_written_on_host_and_machine() {
    let claims = decide(&ready_to_choose(), "t");
    assert_eq!(
        patched(&claims, "BareMetalHost", "/spec/consumerRef"),
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m", "namespace": "metal3"})
    );
    assert_eq!(patched(&claims, "BareMetalHost", "/metadata/labels/cluster.x-k8s.io~1cluster-name"), "c");
    let records = decide(&with_host(json!({})), "t");
    assert_eq!(
        patched(&records, "Metal3Machine", "/metadata/annotations/metal3.io~1BareMetalHost"),
        "metal3/h"
    );
}

/// The Secret of the host's management controller gets the cluster label after the claim, and loses it at release.
#[test]
fn ma18_the_credentials_of_the_host_carry_the_cluster_label_while_it_is_in_use() {
    let secret = |labels: Value| {
        Some(read(json!({"metadata": {"name": "bmc", "namespace": "metal3", "labels": labels}})))
    };
    let before = MachineSnapshot { bmc_secret: secret(json!({})), ..ready_to_choose() };
    assert!(decide(&before, "t").best_effort.is_quiet(), "not before the claim");
    let labels =
        decide(&MachineSnapshot { bmc_secret: secret(json!({})), ..with_host(json!({})) }, "t").best_effort;
    assert_eq!(label_written(&labels), Some(json!("c")));
    let labelled = || secret(json!({label::CLUSTER_NAME: "c"}));
    let kept = MachineSnapshot { bmc_secret: labelled(), ..with_host(json!({})) };
    assert!(decide(&kept, "t").best_effort.is_quiet(), "not twice");
    let released = deleting(MachineSnapshot { bmc_secret: labelled(), ..with_host(json!({})) });
    assert_eq!(label_written(&decide(&released, "t").best_effort), Some(Value::Null));
    let of_other = deleting(MachineSnapshot {
        bmc_secret: secret(json!({label::CLUSTER_NAME: "other"})),
        ..with_host(json!({}))
    });
    assert!(decide(&of_other, "t").best_effort.is_quiet(), "the label of another cluster");
}

/// What the one write of a plan, which must be a patch of the Secret `bmc`, makes of the cluster label.
pub(super) fn label_written(plan: &Plan) -> Option<Value> {
    let [Write::Patch { kind, key, patch, .. }] = plan.writes.as_slice() else { panic!("{plan}") };
    assert_eq!((kind.kind.as_str(), key.name.as_str()), ("Secret", "bmc"));
    patch.pointer("/metadata/labels")?.get(label::CLUSTER_NAME).cloned()
}

/// The image is written only to a host that has neither image nor deploy step.
#[test]
fn ma19_an_image_is_written_once() {
    let full = json!({"spec": {"image": {"url": "http://image", "checksum": "abc", "checksumType": "sha256", "diskFormat": "qcow2"}}});
    let decision = decide(&with_machine(with_host(json!({})), full.clone()), "t");
    assert_eq!(
        patched(&decision, "BareMetalHost", "/spec/image"),
        json!({"url": "http://image", "checksum": "abc", "checksumType": "sha256", "format": "qcow2"})
    );
    for there in [json!({"image": {"url": "other"}}), json!({"customDeploy": {"method": "x"}})] {
        let decision = decide(&with_machine(with_host(json!({ "spec": there })), full.clone()), "t");
        assert!(!writes_host(&decision.plan, "image"), "{}", decision.plan);
    }
}

/// A deploy step is passed to the host, alone or beside an image.
#[test]
fn ma20_a_deploy_step_is_passed_on_alone_or_beside_an_image() {
    for (image, has_image) in [(Value::Null, false), (json!({"url": "http://image", "checksum": "c"}), true)]
    {
        let mut snapshot =
            with_machine(with_host(json!({})), json!({"spec": {"customDeploy": {"method": "install"}}}));
        let mut value = serde_json::to_value(snapshot.metal3_machine.as_ref()).unwrap();
        value["spec"]["image"] = image;
        snapshot.metal3_machine = read(value);
        let decision = decide(&snapshot, "t");
        assert_eq!(patched(&decision, "BareMetalHost", "/spec/customDeploy/method"), "install");
        assert_eq!(patched(&decision, "BareMetalHost", "/spec/image/url").is_string(), has_image);
    }
}

fn image_of(image: Value) -> Value {
    let mut snapshot = with_host(json!({}));
    let mut value = serde_json::to_value(snapshot.metal3_machine.as_ref()).unwrap();
    value["spec"]["image"] = image;
    snapshot.metal3_machine = read(value);
    patched(&decide(&snapshot, "t"), "BareMetalHost", "/spec/image")
}

/// A live ISO needs no checksum.
#[test]
fn ma21_a_live_iso_needs_no_checksum() {
    let image = image_of(json!({"url": "http://iso", "diskFormat": "live-iso"}));
    assert_eq!(image, json!({"url": "http://iso", "checksum": "", "format": "live-iso"}));
}

/// An image from an OCI registry needs no checksum.
#[test]
fn ma22_an_image_from_a_registry_needs_no_checksum() {
    let image = image_of(json!({"url": "oci://registry.example.com/image:1"}));
    assert_eq!(image, json!({"url": "oci://registry.example.com/image:1", "checksum": ""}));
}

/// The host is switched on while it is associated and provisioned, and gets the machine's cleaning mode where one is
/// set; the power of a provisioned host is its operator's.
#[test]
fn ma23_power_and_cleaning_mode_follow_the_machine() {
    let off = json!({"spec": {"online": false}});
    let mode = json!({"spec": {"automatedCleaningMode": "disabled"}});
    let decision = decide(&with_machine(with_host(off.clone()), mode), "t");
    assert_eq!(patched(&decision, "BareMetalHost", "/spec/online"), true);
    assert_eq!(patched(&decision, "BareMetalHost", "/spec/automatedCleaningMode"), "disabled");
    let mut running = off;
    merge(
        &mut running,
        &json!({"spec": {"image": {"url": "i"}}, "status": {"provisioning": {"state": "provisioned"}}}),
    );
    assert!(!writes_host(&decide(&with_host(running), "t").plan, "online"));
}

fn templated(data: Option<Value>) -> MachineSnapshot {
    let snapshot = with_machine(
        with_host(json!({})),
        json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
    );
    let claim = own_claim(json!({"renderedData": {"name": "dt-0", "namespace": "metal3"}}));
    MachineSnapshot { claim: Some(read(claim)), data: data.map(read), ..snapshot }
}

fn ready_data() -> Value {
    json!({"metadata": {"name": "dt-0", "namespace": "metal3"}, "status": {"ready": true},
        "spec": {"metaData": {"name": "m-metadata"}, "networkData": {"name": "m-networkdata"}}})
}

/// With a data template the host is written only after the data is ready.
#[test]
fn ma24_nothing_is_put_on_the_host_before_the_data_is_ready() {
    assert!(!writes_host(&decide(&templated(None), "t").plan, "image"));
    let ready = decide(&templated(Some(ready_data())), "t");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/metaData/name"), "m-metadata");
    assert!(writes_host(&ready.plan, "image"));
}

/// Secrets that the user names win over rendered ones, each by itself.
#[test]
fn ma25_secrets_of_the_user_win() {
    let hybrid = with_machine(templated(Some(ready_data())), json!({"spec": {"metaData": {"name": "mine"}}}));
    let decision = decide(&hybrid, "t");
    assert_eq!(patched(&decision, "BareMetalHost", "/spec/metaData/name"), "mine");
    assert_eq!(patched(&decision, "BareMetalHost", "/spec/networkData/name"), "m-networkdata");
}

/// Secrets of another namespace are refused by the webhook, and by the controller where one came past it: nothing of them
/// is put on the host.
#[test]
fn ma26_secrets_of_another_namespace_are_refused() {
    let none = json!({"spec": {"bootstrap": {"dataSecretName": null}}});
    for field in ["userData", "metaData", "networkData"] {
        let named = |namespace: &str| {
            let machine = with_machine(
                with_host(json!({})),
                json!({"spec": {field: {"name": "x", "namespace": namespace}}}),
            );
            if field == "userData" { with_capi(machine, none.clone()) } else { machine }
        };
        let verdict = |snapshot: &MachineSnapshot| {
            let machine = serde_json::to_value(snapshot.metal3_machine.as_ref()).unwrap();
            format!("{:?}", review("Metal3Machine", None, &machine).refusal)
        };
        let words = verdict(&named("other"));
        assert!(words.contains(&format!("spec.{field}.namespace")), "{words}");
        assert!(words.contains("cross-namespace secret references are not allowed"), "{words}");
        assert_eq!(verdict(&named("metal3")), "None", "{field}");
        let decision = decide(&named("other"), "t");
        assert!(!writes_host(&decision.plan, field), "{}", decision.plan);
        let End::WaitFor(what) = &decision.plan.end else { panic!("{field} waits") };
        let what = what.to_string();
        assert!(what.contains(field) && what.contains("namespace"), "{what}");
        assert!(writes_host(&decide(&named("metal3"), "t").plan, field), "one of its own namespace is used");
    }
}

/// Addresses: one internal IP a network card that has one, then host name and internal DNS name.
#[test]
fn ma27_addresses_come_from_the_network_cards() {
    let hardware = json!({"status": {"hardware": {"hostname": "n", "nics": [{"ip": "10.0.0.7"}, {"ip": ""}, {"ip": "fd00::7"}]}}});
    let decision = decide(&with_host(hardware), "t");
    let addresses = patched(&decision, "Metal3Machine", "/status/addresses");
    let texts: Vec<String> = addresses
        .as_array()
        .unwrap()
        .iter()
        .map(|a| format!("{} {}", a["type"].as_str().unwrap(), a["address"].as_str().unwrap()))
        .collect();
    assert_eq!(texts, ["InternalIP 10.0.0.7", "InternalIP fd00::7", "Hostname n", "InternalDNS n"]);
}

fn finished() -> Decision {
    let node = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let known = NodeCandidates { with_id_of_host: vec![node], ..NodeCandidates::default() };
    decide(&provisioned(Nodes::Known(known)), "t")
}

/// `Ready` sums up the other conditions, in both generations.
#[test]
fn ma28_ready_sums_up_the_others_in_both_generations() {
    let done = finished();
    assert_eq!(condition_of(&done, condition::READY), ("True".into(), "Ready".into()));
    let legacy = patched(&done, "Metal3Machine", "/status/deprecated/v1beta1/conditions");
    let types: Vec<_> = legacy.as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["Ready", "AssociateBMH", "KubernetesNodeReady", "Metal3DataReady"]);
    assert_eq!(legacy_ready_of(&done), "True");
    let waits = decide(&MachineSnapshot { cluster: None, ..ready_to_choose() }, "t");
    assert_eq!(condition_of(&waits, condition::READY), ("False".into(), "NotReady".into()));
    assert_eq!(legacy_ready_of(&waits), "False");
    let provisions = decide(
        &with_machine(
            with_host(
                json!({"spec": {"image": {"url": "http://image"}}, "status": {"provisioning": {"state": "provisioning"}}}),
            ),
            json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}}),
        ),
        "t",
    );
    let without_node = decide(&provisioned(Nodes::Known(NodeCandidates::default())), "t");
    let gone = decide(&MachineSnapshot { host: None, ..provisioned(Nodes::NotNeeded) }, "t");
    for (what, decision) in
        [("provisioning", provisions), ("without Node", without_node), ("without host", gone)]
    {
        assert_eq!(condition_of(&decision, condition::READY).0, "False", "{what}");
        assert_eq!(legacy_ready_of(&decision), "False", "{what}");
    }
}

fn legacy_ready_of(decision: &Decision) -> String {
    let legacy = patched(decision, "Metal3Machine", "/status/deprecated/v1beta1/conditions");
    let ready = legacy.as_array().into_iter().flatten().find(|c| c["type"] == "Ready");
    ready.and_then(|ready| ready["status"].as_str()).unwrap_or_default().to_owned()
}

/// Without a data template `Metal3DataReady` is true with the reason `SecretsSetExternally`.
#[test]
fn ma29_without_data_template_the_data_is_ready() {
    let decision = decide(&with_host(json!({})), "t");
    assert_eq!(
        condition_of(&decision, condition::DATA_READY),
        ("True".into(), "SecretsSetExternally".into())
    );
}

/// The machine is provisioned once its provider ID is settled, also without a data template.
#[test]
fn ma30_provisioned_with_the_provider_id() {
    let done = finished();
    assert_eq!(patched(&done, "Metal3Machine", "/spec/providerID"), "metal3://metal3/h/m");
    assert_eq!(patched(&done, "Metal3Machine", "/status/initialization/provisioned"), true);
}

/// Without a free host the machine waits; nothing is terminal, and the older condition is no error.
#[test]
fn ma31_without_a_free_host_the_machine_waits() {
    let none = MachineSnapshot { candidates: vec![].into(), ..ready_to_choose() };
    let decision = decide(&none, "t");
    assert!(matches!(decision.plan.end, End::WaitFor(_)));
    assert_eq!(decision.awaits, crate::metal3machine::Awaits::AnyHost);
    let legacy = patched(&decision, "Metal3Machine", "/status/deprecated/v1beta1");
    assert_eq!(legacy["failureReason"], Value::Null);
    assert!(legacy["conditions"].as_array().unwrap().iter().all(|c| c["severity"] != "Error"), "{legacy}");
}

/// A host that is being claimed carries the version that was looked at, so that of two machines one wins.
#[test]
fn ma32_a_claim_is_a_compare_and_swap() {
    let decision = decide(&ready_to_choose(), "t");
    let claims = |w: &&Write| matches!(w, Write::Patch { kind, .. } if kind.kind == "BareMetalHost");
    let claims: Vec<&Write> = decision.plan.writes.iter().filter(claims).collect();
    let [Write::Patch { key, version, patch, .. }] = claims.as_slice() else { panic!("{}", decision.plan) };
    assert_eq!((key.name.as_str(), version.as_deref()), ("h", Some("9")));
    assert_eq!(patch["spec"]["consumerRef"]["name"], "m");
}

/// After a lost race the next pass takes another host and reports no failure.
#[test]
fn ma33_the_pass_after_a_lost_race_takes_another_host() {
    let lost = MachineSnapshot {
        candidates: vec![read(host("h", consumed_by("other"))), read(host("i", json!({})))].into(),
        ..ready_to_choose()
    };
    let decision = decide(&lost, "t");
    assert_eq!(kinds(&decision), ["patch BareMetalHost i"]);
    assert!(!matches!(decision.plan.end, End::WaitFor(_)), "it goes on at once");
}

/// A host whose consumer already is this machine is taken again when the record of it was lost.
#[test]
fn ma34_the_own_host_is_found_again_without_record() {
    let running =
        json!({"spec": {"image": {"url": "i"}}, "status": {"provisioning": {"state": "provisioned"}}});
    let decision = decide(&with_host(running), "t");
    assert_eq!(
        patched(&decision, "Metal3Machine", "/metadata/annotations/metal3.io~1BareMetalHost"),
        "metal3/h"
    );
}

/// The failure domain follows the owner Machine's, also back to none.
#[test]
fn ma36_the_failure_domain_follows_the_machine() {
    let assigned = with_capi(with_host(json!({})), json!({"spec": {"failureDomain": "rack2"}}));
    assert_eq!(patched(&decide(&assigned, "t"), "Metal3Machine", "/spec/failureDomain"), "rack2");
    let left = with_machine(with_host(json!({})), json!({"spec": {"failureDomain": "rack2"}}));
    let text = decide(&left, "t").plan.to_string();
    assert!(text.contains("\"failureDomain\":null"), "{text}");
}

/// Cluster API copies the domain of what is provisioned to the Machine; the other way round it is copied before only.
#[test]
fn the_failure_domain_of_a_provisioned_machine_is_not_copied_any_more() {
    let finished = json!({"spec": {"failureDomain": "rack1", "providerID": "metal3://metal3/h/m"},
        "status": {"initialization": {"provisioned": true}}});
    let running = with_machine(provisioned(Nodes::NotNeeded), finished);
    let reassigned = with_capi(running, json!({"spec": {"failureDomain": "rack2"}}));
    let text = decide(&reassigned, "t").plan.to_string();
    assert!(!text.contains("rack2"), "{text}");
}

/// A reserved host that is taken loses its label, and the condition reports that it was used again.
#[test]
fn nr51_a_reserved_host_that_is_taken_has_a_reason_of_its_own() {
    let owner = json!({"metadata": {"labels": {label::CONTROL_PLANE: ""}, "ownerReferences": [
        {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "name": "kcp", "uid": "k"}]}});
    let reserved = host("h", json!({"metadata": {"labels": {label::NODE_REUSE: "cp-kcp"}}}));
    let snapshot =
        with_capi(MachineSnapshot { candidates: vec![read(reserved)].into(), ..ready_to_choose() }, owner);
    let decision = decide(&snapshot, "t");
    assert!(writes_host(&decision.plan, "node-reuse\":null"), "{}", decision.plan);
    assert_eq!(
        condition_of(&decision, condition::ASSOCIATE_HOST),
        ("True".into(), "AssociateBareMetalHostViaNodeReuseSuccess".into())
    );
}

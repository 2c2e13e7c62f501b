//! Secrets: rendered, given by the user, or both; never rewritten, never taken from somebody else.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{sync::Arc, time::Duration};

use capm3_lab::{Lab, manifests::Manifest};
use common::{data::*, *};
use serde_json::{Value, json};

fn both() -> Value {
    json!({
        "metaData": {"strings": [{"key": "abc", "value": "def"}], "indexes": [{"key": "local-hostname", "prefix": "worker-np1-"}]},
        "networkData": {"networks": {"ipv4": [{"id": "n", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}})
}

/// One worker whose machine template names these Secrets of the user.
fn with_secrets(spec: Value, given: &Value, data_template: bool) -> Vec<Manifest> {
    let mut manifests = workers(1, spec);
    let mut machine = given.clone();
    if !data_template {
        machine["dataTemplate"] = Value::Null;
    }
    change(
        &mut manifests,
        "Metal3MachineTemplate",
        "workers",
        &json!({"spec": {"template": {"spec": machine}}}),
    );
    manifests
}

fn user_secret(name: &str, key: &str, document: &str) -> Manifest {
    manifest(
        "v1",
        "Secret",
        name,
        &json!({"stringData": {key: document}, "type": "infrastructure.cluster.x-k8s.io/secret"}),
    )
}

fn both_given() -> Value {
    json!({"metaData": {"name": "my-metadata"}, "networkData": {"name": "my-networkdata"}})
}

fn both_secrets() -> [Manifest; 2] {
    [
        user_secret("my-metadata", "metaData", "mine: \"yes\"\n"),
        user_secret("my-networkdata", "networkData", "links: []\nnetworks: []\nservices: []\n"),
    ]
}

fn machine(lab: &Lab) -> String {
    name(&worker_machines(lab)[0])
}

/// The Secrets that the worker's host was given.
fn of_host(lab: &Lab) -> (String, String) {
    let machine = get(lab, "Metal3Machine", &machine(lab));
    let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "");
    let host = get(lab, "BareMetalHost", &host);
    (text(&host, "/spec/metaData/name"), text(&host, "/spec/networkData/name"))
}

/// A rendered Secret is named after its machine and what it holds. It is owned by its data, has a type of its own, carries the
/// label of its Cluster and one key.
#[tokio::test(start_paused = true)]
async fn s176_dt82_a_rendered_secret_hangs_in_the_clusters_tree() {
    let lab = settled(&workers(1, both())).await;
    let machine = machine(&lab);
    let data = data_of(&lab, &machine);
    for (suffix, key) in [("metadata", "metaData"), ("networkdata", "networkData")] {
        let secret = get(&lab, "Secret", &format!("{machine}-{suffix}"));
        assert_eq!(secret["type"], "infrastructure.cluster.x-k8s.io/secret");
        assert_eq!(secret["metadata"]["labels"], json!({"cluster.x-k8s.io/cluster-name": "fleet"}));
        let owner = &secret["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["uid"]), (&json!("Metal3Data"), &data["metadata"]["uid"]));
        assert_eq!(owner["controller"], json!(true));
        let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
        assert_eq!(keys, [key]);
    }
}

/// The text of the printed example is in the Secret.
#[tokio::test(start_paused = true)]
async fn s177_the_printed_lines_are_in_the_secret() {
    let lab = settled(&workers(1, both())).await;
    assert!(rendered(&lab)[0].1.starts_with("abc: def\nlocal-hostname: worker-np1-0\nproviderid: "));
}

/// A name that the data carries already is used as it is.
#[tokio::test(start_paused = true)]
async fn s174_preset_names_of_secrets_are_used() {
    let mut lab = settled(&workers(1, both())).await;
    let machine = machine(&lab);
    let before = rendered(&lab);
    lab.stop_providers();
    let kind = manifest("v1", "Secret", "", &json!({})).resource();
    lab.client().delete(&kind, &here(&format!("{machine}-metadata")), None).await.unwrap();
    let patch = json!({"spec": {"metaData": {"name": "nodepool-1-metadata-0", "namespace": HOME}}});
    lab.patch(&metal3("Metal3Data"), &here("fleet-0"), &patch).await.unwrap();
    lab.start_provider();
    rest(&lab).await;
    assert_eq!(secret(&lab, "nodepool-1-metadata-0", "metaData").unwrap(), before[0].1);
}

/// A Secret of the name that belongs to somebody else is left alone, and the data says so; once it is gone, all goes on.
#[tokio::test(start_paused = true)]
async fn a_foreign_secret_is_refused_until_it_is_gone() {
    let mut lab = settled(&workers(1, both())).await;
    let machine = machine(&lab);
    let kind = manifest("v1", "Secret", "", &json!({})).resource();
    let taken = format!("{machine}-metadata");
    lab.stop_providers();
    lab.client().delete(&kind, &here(&taken), None).await.unwrap();
    lab.apply(&[user_secret(&taken, "metaData", "planted: \"yes\"\n")]).await.unwrap();
    lab.start_provider();
    rest(&lab).await;
    let data = get(&lab, "Metal3Data", "fleet-0");
    assert_eq!(condition(&data, "Ready"), ("False".into(), "SecretNotOurs".into()));
    assert!(text(&data, "/status/errorMessage").contains(&format!("Secret {taken} has another owner")));
    assert_eq!(data.pointer("/status/ready"), Some(&json!(false)));
    let waits = get(&lab, "Metal3Machine", &machine);
    assert_eq!(condition(&waits, "Metal3DataReady").0, "False");
    assert_eq!(secret(&lab, &taken, "metaData").unwrap(), "planted: \"yes\"\n");
    lab.client().delete(&kind, &here(&taken), None).await.unwrap();
    rest(&lab).await;
    assert_eq!(condition(&get(&lab, "Metal3Data", "fleet-0"), "Ready").0, "True");
    assert_eq!(condition(&get(&lab, "Metal3Machine", &machine), "Metal3DataReady").0, "True");
    assert!(secret(&lab, &taken, "metaData").unwrap().starts_with("abc: def\n"));
}

/// Without a data template, Secrets that are there are used at once.
#[tokio::test(start_paused = true)]
async fn s178_named_secrets_are_used_at_once() {
    for (given, expected) in [
        (both_given(), ("my-metadata", "my-networkdata")),
        (json!({"metaData": {"name": "my-metadata"}}), ("my-metadata", "")),
    ] {
        let mut manifests = with_secrets(json!({}), &given, false);
        manifests.splice(1..1, both_secrets());
        let lab = settled(&manifests).await;
        assert!(all_ready(&lab));
        let (meta_data, network_data) = of_host(&lab);
        assert_eq!((meta_data.as_str(), network_data.as_str()), expected);
        assert!(lab.objects("Metal3DataClaim").is_empty());
    }
}

/// A Secret that is not there yet is waited for with a condition.
#[tokio::test(start_paused = true)]
async fn s179_a_missing_secret_is_waited_for() {
    let mut manifests = with_secrets(json!({}), &both_given(), false);
    let [meta_data, network_data] = both_secrets();
    manifests.insert(1, meta_data);
    let lab = settled(&manifests).await;
    let machine = get(&lab, "Metal3Machine", &machine(&lab));
    assert_eq!(condition(&machine, "Metal3DataReady").0, "False");
    assert!(machine.to_string().contains("Secret my-networkdata, which spec.networkData names"), "{machine}");
    assert_eq!(of_host(&lab), (String::new(), String::new()), "nothing was put on the host");
    tokio::time::sleep(Duration::from_secs(60)).await;
    lab.apply(&[network_data]).await.unwrap();
    rest(&lab).await;
    assert!(all_ready(&lab));
    assert_eq!(of_host(&lab), ("my-metadata".into(), "my-networkdata".into()));
}

/// With neither, the host gets image and user data only.
#[tokio::test(start_paused = true)]
async fn s180_without_template_and_secrets_nothing_is_made() {
    let lab = settled(&with_secrets(json!({}), &json!({}), false)).await;
    assert!(all_ready(&lab));
    assert_eq!(of_host(&lab), (String::new(), String::new()));
    assert!(lab.objects("Metal3DataClaim").is_empty() && lab.objects("Metal3Data").is_empty());
}

/// A data template that does not exist yet is waited for.
#[tokio::test(start_paused = true)]
async fn s182_a_template_that_comes_later_is_waited_for() {
    let mut manifests = workers(2, both());
    let template = take_out(&mut manifests, "Metal3DataTemplate", "fleet");
    let lab = settled(&manifests).await;
    assert!(!all_ready(&lab));
    let machine = get(&lab, "Metal3Machine", &machine(&lab)).to_string();
    assert!(machine.contains("waiting for Metal3DataTemplate fleet"), "{machine}");
    lab.apply(&[template]).await.unwrap();
    rest(&lab).await;
    assert!(all_ready(&lab));
}

/// One half given by the user, the other rendered: the given half is neither rendered nor does it cost an address.
#[tokio::test(start_paused = true)]
async fn s183_one_half_may_be_the_users_own() {
    for (given, rendered, claims) in [("metaData", "networkdata", 1), ("networkData", "metadata", 0)] {
        let lower = given.to_lowercase();
        let mut manifests = with_secrets(both(), &json!({given: {"name": format!("my-{lower}")}}), true);
        manifests.splice(1..1, both_secrets());
        let lab = settled(&manifests).await;
        assert!(all_ready(&lab));
        let machine = machine(&lab);
        let (meta_data, network_data) = of_host(&lab);
        let expected = if given == "metaData" {
            ("my-metadata".to_owned(), format!("{machine}-networkdata"))
        } else {
            (format!("{machine}-metadata"), "my-networkdata".to_owned())
        };
        assert_eq!((meta_data, network_data), expected);
        assert!(lab.object("Secret", &format!("{machine}-{rendered}")).is_some());
        assert!(lab.object("Secret", &format!("{machine}-{lower}")).is_none(), "{given} is not rendered");
        assert_eq!(lab.objects("IPClaim").len(), claims, "{given} given");
    }
}

/// Both documents given beside a template: nothing is rendered and no address is claimed.
#[tokio::test(start_paused = true)]
async fn s184_with_both_secrets_nothing_is_rendered() {
    let mut manifests = with_secrets(both(), &both_given(), true);
    manifests.splice(1..1, both_secrets());
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    assert_eq!(of_host(&lab), ("my-metadata".into(), "my-networkdata".into()));
    assert!(lab.objects("IPClaim").is_empty());
    let machine = machine(&lab);
    assert!(lab.object("Secret", &format!("{machine}-metadata")).is_none());
    assert_eq!(data_of(&lab, &machine)["status"]["ready"], json!(true));
}

/// Demonstration 7: the four combinations of template and own Secrets, one of which comes a minute late.
#[tokio::test(start_paused = true)]
async fn demonstration_7_manual_hybrid_and_late_secrets() {
    for (given, data_template) in [
        (json!({}), true),
        (json!({"metaData": {"name": "my-metadata"}}), true),
        (json!({"networkData": {"name": "my-networkdata"}}), true),
        (both_given(), false),
    ] {
        let lab = settled(&with_secrets(both(), &given, data_template)).await;
        let waits = given.as_object().is_some_and(|given| !given.is_empty());
        assert_eq!(all_ready(&lab), !waits, "{given}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        lab.apply(&both_secrets()).await.unwrap();
        rest(&lab).await;
        assert!(all_ready(&lab), "{given}");
    }
}

/// When a template changes after its data was rendered, as where the webhook that refuses it is away, the Secrets keep
/// their bytes, and a host that is provisioned again gets the data that it had.
#[tokio::test(start_paused = true)]
async fn s185_dt83_existing_secrets_keep_their_bytes_when_the_template_changes() {
    let mut lab = settled(&workers(1, both())).await;
    let (before, machine) = (rendered(&lab), machine(&lab));
    let host = name(&host_of(&lab, &machine));
    let node = |lab: &Lab| {
        let data = lab.world().node_data(&here(&host)).unwrap();
        (data.meta_data.clone(), data.network_data)
    };
    let booted = node(&lab);
    lab.server().set_admission(Arc::new(NoWebhook));
    let edit = json!({"spec": {"metaData": {"strings": [{"key": "abc", "value": "changed"}]},
        "networkData": {"networks": {"ipv4": [{"id": "changed", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}}});
    lab.patch(&metal3("Metal3DataTemplate"), &here("fleet"), &edit).await.unwrap();
    rest(&lab).await;
    let template = get(&lab, "Metal3DataTemplate", "fleet");
    assert_eq!(text(&template, "/spec/metaData/strings/0/value"), "changed", "the template has changed");
    assert_eq!(rendered(&lab), before);
    lab.start_provider();
    rest(&lab).await;
    assert_eq!(rendered(&lab), before, "a provider that knows the new template alone changes nothing");
    let provisioned =
        |lab: &Lab| text(&get(lab, "BareMetalHost", &host), "/status/operationHistory/provision/end");
    let first = provisioned(&lab);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let kind = manifest("metal3.io/v1alpha1", "BareMetalHost", "", &json!({})).resource();
    lab.patch(&kind, &here(&host), &json!({"spec": {"image": null}})).await.unwrap();
    rest(&lab).await;
    assert!(provisioned(&lab) > first, "the host is provisioned again");
    assert_eq!(node(&lab), booted);
    assert_eq!(rendered(&lab), before);
}

/// A node is changed by a new template and a rollout: new nodes get the new data.
#[tokio::test(start_paused = true)]
async fn s187_a_new_template_reaches_new_nodes_by_a_rollout() {
    let mut manifests = workers(2, both());
    manifests.extend(capm3_lab::fleet::fleet(3).into_iter().filter(|m| m.key().name == "host-00003"));
    let lab = settled(&manifests).await;
    let mut next = both();
    next["metaData"]["strings"][0]["value"] = json!("next");
    next["metaData"]["indexes"][0]["prefix"] = json!("worker-np2-");
    let machine_template =
        manifests.iter().find(|m| m.kind() == "Metal3MachineTemplate" && m.key().name == "workers");
    let mut machine_template = machine_template.unwrap().clone();
    machine_template.object["metadata"]["name"] = json!("workers-2");
    machine_template.object["spec"]["template"]["spec"]["dataTemplate"]["name"] = json!("next");
    lab.apply(&[ours("Metal3DataTemplate", "next", &next), machine_template]).await.unwrap();
    let patch = json!({"spec": {"template": {"spec": {"infrastructureRef": {"name": "workers-2"}}}}});
    lab.patch(&capi("MachineDeployment"), &here("workers"), &patch).await.unwrap();
    rest(&lab).await;
    assert_eq!(values(&lab, "abc"), ["next", "next"]);
    assert!(all_ready(&lab));
}

/// A Secret of the older form, rewritten as the new one demands, serves as metadata of the user.
#[tokio::test(start_paused = true)]
async fn s175_a_secret_with_string_data_serves_as_the_users_own() {
    let mut manifests =
        with_secrets(json!({}), &json!({"metaData": {"name": "nodepool-1-metadata-0"}}), false);
    manifests.insert(
        1,
        user_secret("nodepool-1-metadata-0", "metaData", "abc: def\nlocal-hostname: worker-np1-0\n"),
    );
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    let machine = get(&lab, "Metal3Machine", &machine(&lab));
    let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "");
    let given = lab.world().node_data(&here(&host)).unwrap();
    assert_eq!(given.text("local-hostname").as_deref(), Some("worker-np1-0"));
}

/// Demonstration 10: a node is reproducible. Its Secret comes back with the same bytes, and a host that is provisioned
/// again gets the same data.
#[tokio::test(start_paused = true)]
async fn demonstration_10_a_node_is_reproducible() {
    let lab = settled(&workers(1, both())).await;
    let before = rendered(&lab);
    let machine = machine(&lab);
    let kind = manifest("v1", "Secret", "", &json!({})).resource();
    for suffix in ["metadata", "networkdata"] {
        lab.client().delete(&kind, &here(&format!("{machine}-{suffix}")), None).await.unwrap();
    }
    rest(&lab).await;
    assert_eq!(rendered(&lab), before);
    assert_eq!(of_host(&lab), (format!("{machine}-metadata"), format!("{machine}-networkdata")));
    for digest in ["content-digest", "inputs-digest"] {
        let secret = get(&lab, "Secret", &format!("{machine}-metadata"));
        assert_eq!(
            secret["metadata"]["annotations"][format!("capm3.metal3.io/{digest}")].as_str().unwrap().len(),
            64
        );
    }
}

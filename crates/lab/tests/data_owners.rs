//! Who owns data and data templates, and what becomes of owners that older designs asked for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use capm3_lab::Lab;
use common::{data::*, *};
use serde_json::{Value, json};

/// Data is owned by its claim, as controller, and by its machine, never by the template. Lists of owners of older releases
/// and designs, with the template or the machine as controller, are brought to this form.
#[tokio::test(start_paused = true)]
async fn s160_data_that_its_template_owns_is_handed_to_the_claim_and_the_machine() {
    let lab = settled(&workers(1, with_index())).await;
    let machine = name(&worker_machines(&lab)[0]);
    let owners = || {
        let data = get(&lab, "Metal3Data", "fleet-0");
        let owners = data["metadata"]["ownerReferences"].as_array().unwrap().clone();
        owners.iter().map(|o| (text(o, "/kind"), o["controller"] == json!(true))).collect::<Vec<_>>()
    };
    let expected = [("Metal3DataClaim".to_owned(), true), ("Metal3Machine".to_owned(), false)];
    assert_eq!(owners(), expected, "new data");
    let owner = |kind: &str, name: &str, controller: bool| {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "name": name,
            "uid": get(&lab, kind, name)["metadata"]["uid"], "controller": controller})
    };
    let template = || owner("Metal3DataTemplate", "fleet", true);
    for older in [
        json!([template()]),
        json!([template(), owner("Metal3DataClaim", &machine, false)]),
        json!([template(), owner("Metal3Machine", &machine, false)]),
        json!([
            template(),
            owner("Metal3DataClaim", &machine, false),
            owner("Metal3Machine", &machine, false)
        ]),
        json!([owner("Metal3Machine", &machine, true)]),
    ] {
        let patch = json!({"metadata": {"ownerReferences": older}});
        lab.patch(&metal3("Metal3Data"), &here("fleet-0"), &patch).await.unwrap();
        rest(&lab).await;
        assert_eq!(owners(), expected, "{older}");
    }
}

/// A template whose only owner is a machine, as the first design asked for data.
async fn owned_by_a_machine() -> Lab {
    let mut manifests = workers(1, with_index());
    let template = take_out(&mut manifests, "Metal3DataTemplate", "fleet");
    manifests.push(ours("Metal3Machine", "old", &json!({"customDeploy": {"method": "install"}})));
    let mut lab = settled(&manifests).await;
    lab.stop_providers();
    let uid = text(&get(&lab, "Metal3Machine", "old"), "/metadata/uid");
    let mut template = template;
    template.object["metadata"]["ownerReferences"] = json!([{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": "old", "uid": uid}]);
    lab.apply(&[template]).await.unwrap();
    lab
}

async fn take_away_old(lab: &Lab) {
    let (kind, old) = (metal3("Metal3Machine"), here("old"));
    lab.client().delete(&kind, &old, None).await.unwrap();
    if lab.object("Metal3Machine", "old").is_some() {
        lab.patch(&kind, &old, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    }
    assert!(lab.object("Metal3Machine", "old").is_none());
}

/// Machines that owned the template, as the first design asked for data, are struck from its owners, so that the collector
/// of garbage does not take the template away when they go; deletion works by claim.
#[tokio::test(start_paused = true)]
async fn s49_machines_do_not_own_the_template() {
    // What would happen: nobody strikes the owner, and the collector takes the template with it.
    let lab = owned_by_a_machine().await;
    take_away_old(&lab).await;
    let template = lab.object("Metal3DataTemplate", "fleet");
    let is_going = |t: &Value| t.pointer("/metadata/deletionTimestamp").is_some();
    assert!(template.is_none_or(|t| is_going(&t)), "the collector does its work");

    let mut lab = owned_by_a_machine().await;
    lab.start_provider();
    rest(&lab).await;
    assert!(all_ready(&lab));
    let template = get(&lab, "Metal3DataTemplate", "fleet");
    assert!(template.pointer("/metadata/ownerReferences").is_none_or(|o| *o == json!([])), "{template}");
    take_away_old(&lab).await;
    rest(&lab).await;
    let template = get(&lab, "Metal3DataTemplate", "fleet");
    assert!(!is_going(&template), "{template}");
    let worker = name(&worker_machines(&lab)[0]);
    let data = name(&data_of(&lab, &worker));
    scale(&lab, 0).await;
    assert!(lab.object("Metal3DataClaim", &worker).is_none());
    assert!(lab.object("Metal3Data", &data).is_none());
    assert!(lab.object("Secret", &format!("{worker}-metadata")).is_none());
    let template = get(&lab, "Metal3DataTemplate", "fleet");
    assert!(template.pointer("/status/indexes").is_none_or(|i| *i == json!([])), "{template}");
}

/// Other owners of the template stay when a machine is struck, one of a version that nobody serves any more.
#[tokio::test(start_paused = true)]
async fn s49_other_owners_of_the_template_stay() {
    let other = manifest("v1", "ConfigMap", "keeps", &json!({}));
    let mut manifests = workers(1, with_index());
    let home = manifests.iter().position(|m| m.kind() == "Namespace").map(|at| manifests.remove(at));
    let lab = started(&home.into_iter().chain([other]).collect::<Vec<_>>()).await;
    let uid = text(&get(&lab, "ConfigMap", "keeps"), "/metadata/uid");
    let machine = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha4", "kind": "Metal3Machine", "name": "old", "uid": "gone"});
    let keeps = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "keeps", "uid": uid});
    let owners = json!({"metadata": {"ownerReferences": [machine, keeps]}});
    change(&mut manifests, "Metal3DataTemplate", "fleet", &owners);
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    assert!(all_ready(&lab));
    let template = get(&lab, "Metal3DataTemplate", "fleet");
    assert_eq!(template["metadata"]["ownerReferences"], json!([keeps]));
}

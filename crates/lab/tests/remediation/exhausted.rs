//! A node that is dead: the attempts end, the host is kept out, and another one takes its place.

use capm3_engine::ObjectKey;
use serde_json::{Value, json};

use crate::{
    common::{hosts::*, *},
    site::*,
};

const UNHEALTHY: &str = "/metadata/annotations/capm3.metal3.io~1unhealthy";

/// `retryLimit` N gives at most N+1 power cycles, each limited by `timeoutSeconds`.
#[tokio::test(start_paused = true)]
async fn re125_a_limit_of_n_means_n_and_one_power_cycles_within_the_timeout_of_each() {
    for limit in [1, 3] {
        let strategy = json!({"type": "Reboot", "retryLimit": limit, "timeoutSeconds": 100});
        let lab = settled(&with_strategy(&strategy)).await;
        let (node, host) = worker(&lab);
        fail(&lab, &node, "dead").await;
        rest(&lab).await;
        assert_eq!(power_cycles(&lab, &host), limit + 1, "limit {limit}");
        assert_eq!(leftovers(&lab), Vec::<String>::new());
    }
}

/// After the last attempt the Machine has condition `OwnerRemediated` False in both generations, and the host
/// annotation `capm3.metal3.io/unhealthy`.
#[tokio::test(start_paused = true)]
async fn re126_after_the_last_attempt_the_host_is_marked_and_the_machine_has_both_conditions() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    fail(&lab, &node, "dead").await;
    rest(&lab).await;
    assert_eq!(text(&get(&lab, "BareMetalHost", &host), UNHEALTHY), "capm3/UnhealthyNode");
    let history = lab.server().history(None, "cluster.x-k8s.io", "machines").unwrap();
    let given_up: Vec<&Value> = history
        .iter()
        .map(|it| &it.object)
        .filter(|it| name(it) == node && condition(it, "OwnerRemediated").0 == "False")
        .collect();
    assert!(!given_up.is_empty());
    let legacy = given_up[0].pointer("/status/deprecated/v1beta1/conditions").unwrap().as_array().unwrap();
    let older = legacy.iter().find(|it| it["type"] == "OwnerRemediated").unwrap();
    assert_eq!((&older["status"], &older["severity"]), (&json!("False"), &json!("Warning")));
    assert_eq!(condition(given_up[0], "HealthCheckSucceeded").0, "False", "conditions of others stay");
}

/// A machine that remediation gives up is replaced, on another host: the broken one is kept out.
#[tokio::test(start_paused = true)]
async fn s79_a_machine_that_remediation_gives_up_is_replaced_on_another_host() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    fail(&lab, &node, "dead").await;
    rest(&lab).await;
    assert!(lab.object("Machine", &node).is_none());
    let now = machines(&lab, "my-cluster-workers");
    assert_eq!(now.len(), 2);
    assert!(now.iter().all(|machine| ready(&lab, &name(machine)) == "True"));
    assert!(now.iter().all(|machine| host_of(machine) != host), "the broken host is kept out");
    assert!(get(&lab, "BareMetalHost", &host)["spec"]["consumerRef"].is_null());
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_machine_that_is_given_up_is_replaced_while_the_others_keep_a_majority() {
    let lab = up().await;
    let machine = machines(&lab, "my-cluster-cp").remove(0);
    let (node, host) = (name(&machine), host_of(&machine));
    fail(&lab, &node, "dead").await;
    rest(&lab).await;
    assert!(lab.object("Machine", &node).is_none());
    let now = machines(&lab, "my-cluster-cp");
    assert_eq!(now.len(), 3);
    assert!(now.iter().all(|machine| host_of(machine) != host && ready(&lab, &name(machine)) == "True"));
}

#[tokio::test(start_paused = true)]
async fn each_choice_after_the_last_attempt_does_its_part_only() {
    for (choice, is_marked, is_replaced) in [("MarkUnhealthyOnly", true, false), ("ReplaceOnly", false, true)]
    {
        let strategy =
            json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 100, "onExhausted": choice});
        let lab = settled(&with_strategy(&strategy)).await;
        let (node, host) = worker(&lab);
        fail(&lab, &node, "dead").await;
        rest(&lab).await;
        assert_eq!(!text(&get(&lab, "BareMetalHost", &host), UNHEALTHY).is_empty(), is_marked, "{choice}");
        assert_eq!(lab.object("Machine", &node).is_none(), is_replaced, "{choice}");
        if !is_replaced {
            let remediation = get(&lab, "Metal3Remediation", &node);
            assert_eq!(condition(&remediation, "Remediated"), ("False".into(), "Exhausted".into()));
            assert_eq!(text(&remediation, "/status/phase"), "Deleting machine");
        }
        assert_eq!(leftovers(&lab), Vec::<String>::new(), "{choice}");
    }
}

/// A remediation that is given up and stays ends with the Machine, and nothing holds it.
#[tokio::test(start_paused = true)]
async fn a_remediation_does_not_outlive_its_machine() {
    let lab = up().await;
    let (node, _) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    // While the Node is drained, somebody deletes the Machine.
    until_drained(&lab, &node).await;
    lab.client().delete(&capi("Machine"), &ObjectKey::new("metal3", &node), None).await.unwrap();
    rest(&lab).await;
    assert!(lab.object("Machine", &node).is_none());
    assert!(lab.objects("Metal3Remediation").is_empty());
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

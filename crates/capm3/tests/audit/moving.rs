//! What is reported before a move.

use capm3_provider::audit::{before_move, moving};
use serde_json::{Value, json};

use crate::site::{Site, options};

fn found(site: &Site) -> Vec<String> {
    let report = before_move(&site.inventory(), &options());
    report.findings.iter().map(|finding| format!("{} {}", finding.code, finding.object)).collect()
}

fn labelled() -> Site {
    let mut site = Site::healthy(3);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "baremetalhosts.metal3.io", "labels": {"clusterctl.cluster.x-k8s.io/move-hierarchy": ""}}});
    site.0.push(definition);
    let label = json!({"metadata": {"labels": {"clusterctl.cluster.x-k8s.io/move": ""}}});
    site.change("Metal3DataTemplate", "t", label);
    site
}

#[test]
fn a_healthy_fleet_can_be_moved() {
    assert_eq!(found(&labelled()), [""; 0]);
}

#[test]
fn each_obstacle_of_a_move_is_found_and_no_rule_is_without_one() {
    type Change = fn(&mut Site);
    let rows: [(&str, Change); 10] = [
        ("CAPM3-M001 Metal3Machine metal3/m-1", |site| {
            site.change("Metal3Machine", "m-1", json!({"status": {"initialization": null}}));
        }),
        ("CAPM3-M002 BareMetalHost metal3/h-1", |site| {
            site.change(
                "BareMetalHost",
                "h-1",
                json!({"status": {"provisioning": {"state": "deprovisioning"}}}),
            );
        }),
        ("CAPM3-M003 Secret metal3/bmc-1", |site| {
            site.change("Secret", "bmc-1", json!({"metadata": {"labels": null}}));
        }),
        ("CAPM3-M004 Metal3MachineTemplate metal3/mt", |site| {
            site.change("Metal3MachineTemplate", "mt", json!({"metadata": {"ownerReferences": null}}));
        }),
        ("CAPM3-M005 Secret metal3/mine", |site| {
            site.add("v1", "Secret", "mine", json!({}), json!({}));
            site.change("Metal3Machine", "m-1", json!({"spec": {"userData": {"name": "mine"}}}));
        }),
        ("CAPM3-M006 Metal3Remediation metal3/r", |site| {
            let owner = json!({"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m-1",
                "uid": "<uid of Machine m-1>"}]});
            let running = json!({"status": {"phase": "Running"}});
            site.add("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Remediation", "r", owner, running);
        }),
        ("CAPM3-M007 BareMetalHost metal3/h-1", |site| {
            site.change(
                "BareMetalHost",
                "h-1",
                json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "me"}}}),
            );
        }),
        ("CAPM3-M008 BareMetalHost metal3/h-0", |site| {
            site.change(
                "CustomResourceDefinition",
                "baremetalhosts.metal3.io",
                json!({"metadata": {"labels": null}}),
            );
        }),
        ("CAPM3-M009 Cluster metal3/c", |site| {
            site.change("Cluster", "c", json!({"spec": {"paused": true}}));
        }),
        ("CAPM3-C050 IPAddress metal3/stray", |site| {
            site.change("IPPool", "p", json!({"status": {"indexes": {"gone": "10.9.9.9"}}}));
            let spec = json!({"address": "10.9.9.9", "pool": {"name": "p"}, "claim": {"name": "gone"}});
            let owner = json!({"ownerReferences": [{"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "p", "uid": "<uid of IPPool p>"}]});
            site.add("ipam.metal3.io/v1alpha1", "IPAddress", "stray", owner, json!({ "spec": spec }));
        }),
    ];
    for (expected, change) in &rows {
        let mut site = labelled();
        change(&mut site);
        assert_eq!(found(&site), [*expected]);
    }
    for rule in moving::RULES {
        assert!(rows.iter().any(|(expected, _)| expected.starts_with(rule.code)), "{}", rule.code);
    }
}

/// What a move does not take along is named with the command that helps.
#[test]
fn a_secret_without_label_is_named_with_the_command_that_labels_it() {
    let mut site = labelled();
    site.change("Secret", "bmc-1", json!({"metadata": {"labels": Value::Null}}));
    let report = before_move(&site.inventory(), &options());
    let commands: Vec<String> = report.findings[0].repair.steps.iter().map(|step| step.command()).collect();
    let expected = r#"kubectl patch secret bmc-1 -n metal3 --type=merge -p '{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"c"}}}'"#;
    assert_eq!(commands, [expected]);
}

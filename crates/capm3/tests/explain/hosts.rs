//! The explanation of the host that a machine has, had, or may get back.

use serde_json::{Value, json};

use crate::objects::Objects;

/// A machine that was assigned to a failure domain names it, in use and while it waits.
#[test]
fn the_assigned_failure_domain_is_reported_beside_that_of_the_host() {
    let assigned = |machine: &str, domain: &str| {
        Objects::of_site().with("Machine", machine, "/spec/failureDomain", json!(domain))
    };
    let elsewhere = assigned("cp-0", "rack9");
    let text = elsewhere.explain("cp-0").stdout;
    assert!(text.contains("Machine cp-0, Cluster my-cluster, failure domain rack9\n"), "{text}");
    let remark =
        "Mind:         host host-1 is in failure domain rack1, but the machine was assigned to rack9\n";
    assert!(text.contains(remark), "{text}");
    let json = elsewhere.explain_as("cp-0", "json").json();
    assert_eq!(json["failureDomain"], json!({"assigned": "rack9", "ofHost": "rack1"}));
    let home = assigned("cp-0", "rack1").explain("cp-0").stdout;
    assert!(home.contains("failure domain rack1\n") && !home.contains("Mind:"), "{home}");
    let unlabelled = assigned("worker-3", "rack9").explain("worker-3").stdout;
    assert!(
        unlabelled.contains("host host-4 has no failure domain, but the machine was assigned to rack9"),
        "{unlabelled}"
    );
    let waits = assigned("worker-0", "rack9").explain("worker-0").stdout;
    assert!(waits.contains("waits for a host") && waits.contains("failure domain rack9\n"), "{waits}");
}

/// A node may run on a host with which something is wrong: nobody must act for the machine, but it is worth a word.
#[test]
fn a_problem_with_the_host_of_a_ready_machine_is_reported() {
    let host =
        |pointer: &str, value: Value| Objects::of_site().with("BareMetalHost", "host-1", pointer, value);
    let table = [
        (host("/status/errorMessage", json!("fan failed")), "host host-1 is in error: fan failed"),
        (
            host("/metadata/annotations", json!({"baremetalhost.metal3.io/detached": ""})),
            "host host-1 is detached from its operator",
        ),
        (
            host("/metadata/annotations", json!({"baremetalhost.metal3.io/paused": ""})),
            "host host-1 is paused",
        ),
    ];
    for (objects, part) in table {
        let text = objects.explain("cp-0").stdout;
        assert!(text.contains("is ready on host host-1"), "{part}: {text}");
        assert!(text.contains(&format!("Mind:         {part}")), "{part}: {text}");
    }
}

/// A machine's own host may be paused by a person, by a tool that says its name, or by the provider itself.
#[test]
fn the_own_host_of_a_machine_that_is_paused_is_reported_with_who_paused_it() {
    let paused = |value: &str| {
        Objects::of_site().with(
            "BareMetalHost",
            "host-4",
            "/metadata/annotations",
            json!({"baremetalhost.metal3.io/paused": value}),
        )
    };
    let text = paused("").both_are_expected("own-host-paused", "worker-3").stdout;
    assert!(text.contains("Who must act: the platform engineer\n"), "{text}");
    assert!(text.contains("it was not this provider\n"), "{text}");
    let text = paused("maintenance").explain("worker-3").stdout;
    assert!(text.contains("if whoever paused it agrees: annotation"), "{text}");
    assert!(text.contains("has the value \"maintenance\"\n"), "{text}");
    let ours = || paused("metal3.io/capm3");
    let text = ours().explain("worker-3").stdout;
    assert!(text.contains("label cluster.x-k8s.io/cluster-name does not name the Cluster"), "{text}");
    let labels = json!({"cluster.x-k8s.io/cluster-name": "my-cluster"});
    let labelled = ours().with("BareMetalHost", "host-4", "/metadata/labels", labels);
    let text = labelled.both_are_expected("own-host-paused-by-provider", "worker-3").stdout;
    assert!(text.contains("Who must act: nobody\n"), "{text}");
    assert!(text.contains("nothing: this provider paused host host-4 together with its Cluster"), "{text}");
    let free = Objects::of_site().with(
        "BareMetalHost",
        "host-paused",
        "/metadata/annotations",
        json!({"baremetalhost.metal3.io/paused": "maintenance"}),
    );
    let text = free.explain("worker-0").stdout;
    assert!(
        text.contains(
            "paused by annotation baremetalhost.metal3.io/paused, whose value is \"maintenance\"\n"
        ),
        "{text}"
    );
}

/// A host that is being deleted will not stay: the machine is not ready any more.
#[test]
fn a_host_that_is_being_deleted_is_reported_with_the_way_out() {
    let text = Objects::of_site()
        .with("BareMetalHost", "host-1", "/metadata/deletionTimestamp", json!("2026-01-01T12:00:00Z"))
        .with("BareMetalHost", "host-1", "/metadata/finalizers", json!(["baremetalhost.metal3.io"]))
        .explain("cp-0")
        .stdout;
    assert!(text.contains("is about to lose host host-1"), "{text}");
    assert!(text.contains("Why:          host host-1 is being deleted\n"), "{text}");
    assert!(text.contains("Who must act: the platform engineer\n"), "{text}");
    assert!(text.contains("kubectl delete machine cp-0 -n metal3\n"), "{text}");
}

/// A host that another machine gives back is worth a wait, if it suits.
#[test]
fn a_host_on_its_way_back_is_waited_for() {
    let suits =
        Objects::of_site().with("BareMetalHost", "host-3", "/metadata/labels", json!({"size": "large"}));
    let text = suits.explain("worker-0").stdout;
    assert!(text.contains("wait until host-3 (deprovisioning for worker-2) is available again\n"), "{text}");
    assert!(text.contains("host-1, host-2 and host-4 are in use"), "{text}");
    assert!(text.contains("consumed by Metal3Machine metal3/worker-2, which is being deleted"), "{text}");
    let small = suits.with("BareMetalHost", "host-3", "/metadata/labels", json!({"size": "small"}));
    let text = small.explain("worker-0").stdout;
    assert!(!text.contains("is available again"), "{text}");
}

/// No advice names a host that is not there.
#[test]
fn a_host_that_is_gone_is_not_to_be_looked_at() {
    let failed = json!([{"type": "AssociateMetal3MachineMetaData", "status": "False", "reason": "UpdateMachineError",
        "lastTransitionTime": "2026-01-01T11:30:00Z", "message": "gone"}]);
    let gone = Objects::of_site().without("BareMetalHost", "host-4");
    let gone = gone.with("Metal3Machine", "worker-3", "/status/conditions", failed);
    let text = gone.explain("worker-3").stdout;
    assert!(text.contains("has lost its host, since 2026-01-01T11:30:00Z\n"), "{text}");
    assert!(text.contains("create BareMetalHost host-4 again as it was"), "{text}");
    assert!(text.contains("kubectl delete machine worker-3 -n metal3"), "{text}");
    assert!(!text.contains("describe baremetalhost"), "{text}");
}

//! The explanation of one host.

use serde_json::{Value, json};

use crate::{
    common::{Run, capm3, is_expected},
    objects::Objects,
};

/// Text and JSON of a host that name what a person needs.
fn both(objects: &Objects, name: &str, host: &str) -> (Run, Value) {
    let target = format!("host/{host}");
    let json = is_expected(&format!("explain/{name}-json"), objects.explain_as(&target, "json"));
    let text = is_expected(&format!("explain/{name}"), objects.explain(&target));
    assert_eq!((json.code, text.code), (0, 0), "{}", text.text());
    let json = json.json();
    assert_eq!(json["host"], host);
    assert!(
        text.stdout.starts_with(&format!("BareMetalHost metal3/{host} {}", json["stands"].as_str().unwrap()))
    );
    (text, json)
}

fn annotated(objects: Objects, host: &str, annotations: Value) -> Objects {
    objects.with("BareMetalHost", host, "/metadata/annotations", annotations)
}

/// The machine of host-1 is gone.
fn orphaned() -> Objects {
    Objects::of_site().without("Metal3Machine", "cp-0")
}

#[test]
fn an_orphaned_host_comes_with_the_command_that_releases_it() {
    let mut objects = orphaned();
    objects.0.push(json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "metal3"},
        "involvedObject": {"kind": "BareMetalHost", "namespace": "metal3", "name": "host-1"},
        "reason": "HostOrphaned", "firstTimestamp": "2026-01-01T11:00:00Z", "lastTimestamp": "2026-01-01T12:00:00Z",
        "message": "Metal3Machine metal3/cp-0, which consumes this host, is not found; the host is not changed"}));
    let (text, json) = both(&objects, "host-orphaned", "host-1");
    for part in [
        "is orphaned and left as it is, since 2026-01-01T11:00:00Z\n",
        "Why:          Metal3Machine metal3/cp-0, which consumes this host, is not found\n",
        "Who must act: the platform engineer\n",
        "  capm3 release host/host-1 -n metal3\n",
    ] {
        assert!(text.stdout.contains(part), "{part}: {}", text.text());
    }
    assert_eq!(json["orphaned"], "Metal3Machine metal3/cp-0, which consumes this host, is not found");
    assert_eq!((&json["standing"], &json["isFree"]), (&json!("Orphaned"), &json!(false)));
}

#[test]
fn the_deleted_claim_of_its_machine_shows_since_when_a_host_is_orphaned() {
    let objects = orphaned()
        .with("Metal3DataClaim", "cp-0", "/metadata/deletionTimestamp", json!("2026-01-01T10:30:00Z"))
        .with(
            "Metal3DataClaim",
            "cp-0",
            "/metadata/finalizers",
            json!(["metal3dataclaim.infrastructure.cluster.x-k8s.io"]),
        );
    let json = objects.explain_as("bmh/host-1", "json").json();
    assert_eq!(json["since"], "2026-01-01T10:30:00Z");
}

/// How far a release is comes from the rule that carries it out.
#[test]
fn a_requested_release_reports_how_far_it_is() {
    let asked = || annotated(orphaned(), "host-1", json!({"capm3.metal3.io/release": "metal3/cp-0"}));
    let cleared = || {
        let cleared = asked().with("BareMetalHost", "host-1", "/spec/image", Value::Null);
        cleared.with("BareMetalHost", "host-1", "/spec/online", json!(false))
    };
    let state = |objects: Objects, state: &str| {
        objects.with("BareMetalHost", "host-1", "/status/provisioning/state", json!(state))
    };
    let failed = state(cleared(), "deprovisioning").with(
        "BareMetalHost",
        "host-1",
        "/status/errorMessage",
        json!("no power"),
    );
    let paused = annotated(
        orphaned(),
        "host-1",
        json!({"capm3.metal3.io/release": "metal3/cp-0", "baremetalhost.metal3.io/paused": ""}),
    );
    let elsewhere = annotated(orphaned(), "host-1", json!({"capm3.metal3.io/release": "metal3/other"}));
    let table = [
        (asked(), "Releasing", "Clear", "Nobody", "the manager proves that the machine is gone"),
        (
            state(cleared(), "deprovisioning"),
            "Releasing",
            "Wait",
            "HostOperator",
            "to be deprovisioned, now deprovisioning",
        ),
        (failed, "Releasing", "Wait", "PlatformEngineer", "now deprovisioning; the host reports: no power"),
        (state(cleared(), "available"), "Releasing", "LetGo", "Nobody", "the manager releases it"),
        (paused, "Releasing", "Paused", "PlatformEngineer", "waits for the end of the pause"),
        (
            elsewhere,
            "Orphaned",
            "Refused",
            "PlatformEngineer",
            "the request names metal3/other, but the host",
        ),
    ];
    for (objects, state, step, who, part) in table {
        let json = objects.explain_as("host/host-1", "json").json();
        assert_eq!(
            (&json["standing"], &json["release"]["step"], &json["who"]),
            (&json!(state), &json!(step), &json!(who))
        );
        let text = objects.explain("host/host-1").stdout;
        assert!(text.contains(part), "{part}: {text}");
    }
    both(&state(cleared(), "deprovisioning"), "host-releasing", "host-1");
}

#[test]
fn a_machine_without_a_record_of_its_host_comes_with_the_command_that_adopts_the_host() {
    let objects = Objects::of_site()
        .with("Metal3Machine", "cp-0", "/metadata/annotations", json!({}))
        .with("Metal3Machine", "cp-0", "/spec/providerID", Value::Null)
        .with("Metal3Machine", "cp-0", "/status", json!({}))
        .given_out("Metal3Machine", "cp-0");
    let (text, _) = both(&objects, "host-not-recorded", "host-1");
    for part in [
        "has no record of it\n",
        "kubectl annotate metal3machine cp-0 -n metal3 metal3.io/BareMetalHost=metal3/host-1\n",
        "kubectl delete machine cp-0 -n metal3\n",
    ] {
        assert!(text.stdout.contains(part), "{part}: {}", text.text());
    }
}

/// Files without any machine, and a server that does not serve machines, are no sign that a machine is gone.
#[test]
fn where_no_machine_is_known_at_all_a_host_is_not_called_orphaned() {
    let mut objects = Objects::of_site();
    objects.0.retain(|object| object["kind"] != "Metal3Machine");
    let run = objects.explain("host/host-1");
    assert!(run.stdout.contains("names a machine that cannot be read\n"), "{}", run.text());
    assert!(
        run.stdout.contains("the kind is not in the files; cannot check whether the machine is gone\n"),
        "{}",
        run.text()
    );
    assert!(!run.stdout.contains("capm3 release"), "{}", run.text());
    assert_eq!(objects.explain_as("host/host-1", "json").json()["orphaned"], Value::Null);
}

/// A host of a MachineDeployment, kept for its next machine.
fn reserved() -> Objects {
    let consumer = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "my-cluster", "namespace": "metal3"});
    Objects::of_site().with("BareMetalHost", "host-small", "/spec/consumerRef", consumer).with(
        "BareMetalHost",
        "host-small",
        "/metadata/labels",
        json!({"infrastructure.cluster.x-k8s.io/node-reuse": "md-workers"}),
    )
}

#[test]
fn a_reserved_host_says_for_whom() {
    let text = reserved().explain("host/host-small").stdout;
    assert!(
        text.contains(
            "is reserved for the next machine of MachineDeployment workers of Cluster my-cluster\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("MachineDeployment metal3/workers is not found; the reservation ends once the manager"),
        "{text}"
    );
    let mut kept = reserved();
    kept.0.push(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": "metal3", "resourceVersion": "1"}, "spec": {"clusterName": "my-cluster"}}));
    let (text, json) = both(&kept, "host-booked", "host-small");
    assert!(!text.stdout.contains("is not found"), "{}", text.text());
    assert_eq!(json["booking"], "MachineDeployment workers of Cluster my-cluster");
}

#[test]
fn hosts_in_use_on_their_way_back_free_or_unusable_are_reported_as_such() {
    let free = Objects::of_site().with("BareMetalHost", "host-small", "/metadata/labels", json!({}));
    let table = [
        (
            "host-1",
            "InUse",
            "is in use by Metal3Machine metal3/cp-0\n",
            "capm3 explain metal3machine/cp-0 -n metal3",
        ),
        (
            "host-3",
            "Returning",
            "which is being deleted\n",
            "kubectl describe baremetalhost host-3 -n metal3",
        ),
        ("host-small", "Free", "is free\n", "Free:           yes\n"),
        ("host-paused", "Unusable", "no machine can take it\n", "baremetalhost.metal3.io/paused-\n"),
        (
            "host-with-an-image",
            "Unusable",
            "no machine can take it\n",
            "remove spec.image and spec.customDeploy of",
        ),
        (
            "host-deleted",
            "Deleting",
            "is being deleted, since 2026-01-01T09:00:00Z\n",
            "the Baremetal Operator, by itself",
        ),
    ];
    for (host, state, stands, part) in table {
        let target = format!("baremetalhost/{host}");
        assert_eq!(free.explain_as(&target, "json").json()["standing"], state, "{host}");
        let text = free.explain(&target).stdout;
        assert!(text.contains(stands) && text.contains(part), "{host}: {text}");
    }
    both(&free, "host-in-use", "host-1");
    both(&free, "host-free", "host-small");
}

#[test]
fn an_example_of_the_repository_explains_a_host() {
    let run = capm3(&["explain", "host/host-1", "-f", "examples/explain"], "");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.text());
}

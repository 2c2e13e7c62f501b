//! Machines in files, explained.

use std::fs;

use serde_json::{Value, json};

use crate::{
    common::repository,
    objects::{Objects, SITE, from_files},
};

/// Given a machine that no host suits, `explain` lists every host with what stands in its way.
#[test]
fn s65_a_machine_without_a_host_has_the_counts_and_one_reason_for_each_host() {
    let text = Objects::of_site().both_are_expected("no-host", "machine/worker-0").stdout;
    assert!(text.contains("13 hosts: 4 consumed, 1 not available"), "{text}");
    assert!(text.contains("does not match hostSelector: size=large, but the value is \"small\""), "{text}");
}

/// Given a host that is marked as unhealthy, `explain` names the key of the annotation, the older one likewise.
#[test]
fn s12_an_unhealthy_host_is_reported_with_the_key_of_its_annotation() {
    let text = from_files("worker-0", &[]).stdout;
    assert!(text.contains("marked as unhealthy by annotation capm3.metal3.io/unhealthy"), "{text}");
    let older = Objects::of_site().with(
        "BareMetalHost",
        "host-unhealthy",
        "/metadata/annotations",
        json!({"capi.metal3.io/unhealthy": ""}),
    );
    let text = older.explain("worker-0").stdout;
    assert!(text.contains("marked as unhealthy by annotation capi.metal3.io/unhealthy"), "{text}");
    let cured = older.with("BareMetalHost", "host-unhealthy", "/metadata/annotations", json!({}));
    let text = cured.explain("worker-0").stdout;
    assert!(text.contains("is about to take host host-unhealthy"), "{text}");
}

#[test]
fn a_paused_host_comes_with_the_command_that_unpauses_it() {
    let mut objects = Objects::of_site();
    for name in
        ["deleted", "detached", "external", "failed", "inspected", "small", "unhealthy", "with-an-image"]
    {
        objects = objects.without("BareMetalHost", &format!("host-{name}"));
    }
    let run = objects.both_are_expected("paused-host", "worker-0");
    assert!(
        run.stdout
            .contains("kubectl annotate baremetalhost host-paused -n metal3 baremetalhost.metal3.io/paused-")
    );
}

#[test]
fn missing_bootstrap_data_is_the_bootstrap_providers_business() {
    let text = Objects::of_site().both_are_expected("no-bootstrap-data", "machine/worker-1").stdout;
    assert!(text.contains("kubectl describe kubeadmconfig worker-1 -n metal3"), "{text}");
    assert!(!text.contains("control plane"), "it runs: {text}");
}

#[test]
fn a_bootstrap_secret_that_is_named_but_not_there_is_reported() {
    let gone = Objects::of_site().without("Secret", "worker-3");
    let run = gone.both_are_expected("bootstrap-secret-gone", "worker-3");
    assert!(run.stdout.contains("kubectl describe kubeadmconfig worker-3 -n metal3\n"), "{}", run.text());
    assert!(run.stdout.contains("[>] bootstrap data  Secret worker-3 does not exist\n"), "{}", run.text());
    assert!(run.stdout.contains("[ ] image\n"), "{}", run.text());
    let before = Objects::of_site().without("Secret", "worker-0").explain("worker-0").stdout;
    assert!(
        before.contains("Secret worker-0, which the Machine names as its bootstrap data, does not exist"),
        "{before}"
    );
}

#[test]
fn a_machine_that_is_ready_needs_nobody() {
    let text = Objects::of_site().both_are_expected("ready", "cp-0").stdout;
    assert!(text.contains("is ready on host host-1, since 2026-01-01T10:04:00Z\n"), "{text}");
}

#[test]
fn a_machine_that_goes_waits_for_its_host_to_be_wiped() {
    let text = Objects::of_site().both_are_expected("deleting", "machine/worker-2").stdout;
    assert!(text.contains("is being deleted, since 2026-01-01T11:00:00Z\n"), "{text}");
    assert!(text.contains("waiting for host host-3 to be deprovisioned, now deprovisioning\n"), "{text}");
}

/// One row per situation: what is changed, and what the explanation then contains.
#[test]
fn the_explanation_follows_the_order_of_waiting() {
    let site = Objects::of_site;
    let paused = || site().with("Cluster", "my-cluster", "/spec/paused", json!(true));
    let starting = || {
        site().with("Cluster", "my-cluster", "/status/initialization/controlPlaneInitialized", json!(false))
    };
    let no_hosts = || {
        let mut objects = site();
        objects.0.retain(|object| object["kind"] != "BareMetalHost");
        objects
    };
    let conflict = json!([{"type": "AssociateMetal3MachineMetaData", "status": "False", "reason": "CreateError",
        "lastTransitionTime": "2026-01-01T10:40:00Z",
        "message": "several Nodes are labelled with the uid of this host: old, new"}]);
    let refused = |type_: &str, reason: &str| {
        json!([{"type": type_, "status": "False", "reason": reason, "lastTransitionTime": "2026-01-01T10:40:00Z",
            "message": "the API server refuses to patch BareMetalHost metal3/host-3: admission webhook \"x\" denied the request"}])
    };
    let table: [(&str, Objects, &str, &[&str]); 28] = [
        (
            "release refused",
            site()
                .with(
                    "Metal3Machine",
                    "worker-2",
                    "/status",
                    json!({"conditions": refused("AssociateMetal3MachineMetaData", "WriteRefused")}),
                )
                .with("BareMetalHost", "host-3", "/spec/image", json!({"url": "http://192.0.2.1/image"})),
            "worker-2",
            &[
                "is being deleted",
                "refuses to patch BareMetalHost metal3/host-3: admission webhook",
                "the platform engineer",
                "a webhook, a policy, or missing permissions",
            ],
        ),
        (
            "no owner",
            site().with("Metal3Machine", "worker-3", "/metadata/ownerReferences", json!([])),
            "worker-3",
            &["waits for its Machine", "Cluster API", "spec.infrastructureRef"],
        ),
        (
            "owner gone",
            site().without("Machine", "worker-3"),
            "worker-3",
            &["names Machine worker-3, which does not exist"],
        ),
        (
            "no Cluster",
            site().without("Cluster", "my-cluster"),
            "worker-3",
            &["waits for its Cluster", "the cluster author", "create Cluster my-cluster"],
        ),
        (
            "Cluster paused",
            paused(),
            "cp-0",
            &[
                "is paused",
                "spec.paused of Cluster my-cluster is true",
                "kubectl patch cluster my-cluster",
                "[x] Node",
            ],
        ),
        (
            "machine paused",
            site().with(
                "Metal3Machine",
                "worker-1",
                "/metadata/annotations",
                json!({"cluster.x-k8s.io/paused": ""}),
            ),
            "worker-1",
            &["is paused", "kubectl annotate metal3machine worker-1 cluster.x-k8s.io/paused- -n metal3"],
        ),
        ("deleted while paused", paused(), "worker-2", &["is to be deleted, but is paused"]),
        (
            "infrastructure not ready",
            site().with("Cluster", "my-cluster", "/status/initialization", json!({})),
            "worker-3",
            &["waits for the infrastructure of its Cluster", "inspect Metal3Cluster my-cluster"],
        ),
        (
            "no Metal3Cluster",
            site().without("Metal3Cluster", "my-cluster"),
            "worker-3",
            &["create Metal3Cluster my-cluster"],
        ),
        (
            "no bootstrap at all",
            site().with("Machine", "worker-1", "/spec/bootstrap", json!({})),
            "worker-1",
            &["the cluster author", "set spec.bootstrap.configRef or spec.bootstrap.dataSecretName"],
        ),
        (
            "no bootstrap data before the control plane runs",
            starting(),
            "worker-1",
            &[
                "must make the Secret; workers get one only when the control plane runs: check the machines of the control plane first",
            ],
        ),
        (
            "no bootstrap data for a later machine of the control plane",
            starting().with(
                "Machine",
                "worker-1",
                "/metadata/labels",
                json!({"cluster.x-k8s.io/cluster-name": "my-cluster", "cluster.x-k8s.io/control-plane": ""}),
            ),
            "worker-1",
            &["until the control plane runs, only its first machine gets one"],
        ),
        (
            "bootstrap Secret of a person gone",
            site().without("Secret", "worker-3").with(
                "Machine",
                "worker-3",
                "/spec/bootstrap",
                json!({"dataSecretName": "worker-3"}),
            ),
            "worker-3",
            &[
                "create Secret worker-3 in namespace metal3 again",
                "kubectl delete machine worker-3 -n metal3",
            ],
        ),
        (
            "no hosts",
            no_hosts(),
            "worker-0",
            &[
                "no host is available: the namespace has no BareMetalHost",
                "add BareMetalHosts to namespace metal3",
                "no BareMetalHosts in namespace metal3",
            ],
        ),
        (
            "bad selector",
            site()
                .with(
                    "Metal3Machine",
                    "worker-0-metal",
                    "/spec/hostSelector",
                    json!({"matchExpressions": [{"key": "size", "operator": "above", "values": ["x"]}]}),
                )
                .given_out("Metal3Machine", "worker-0-metal"),
            "worker-0",
            &[
                "cannot choose a host",
                "not checked: spec.hostSelector cannot be used",
                "holds for new machines only, so delete this Machine afterwards",
                "kubectl delete machine worker-0 -n metal3",
            ],
        ),
        (
            "recorded host gone",
            site().without("BareMetalHost", "host-4"),
            "worker-3",
            &["has lost its host", "BareMetalHost host-4 of this machine is not found"],
        ),
        (
            "host of another",
            site().with("BareMetalHost", "host-4", "/spec/consumerRef/name", json!("stranger")),
            "worker-3",
            &["is consumed by Metal3Machine metal3/stranger; this machine does not take it over"],
        ),
        (
            "provisioning",
            site(),
            "worker-3",
            &[
                "is being provisioned on host host-4, since 2026-01-01T10:30:00Z",
                "the Baremetal Operator, by itself",
                "[>] image",
            ],
        ),
        (
            "host in error",
            site().with("BareMetalHost", "host-4", "/status/errorMessage", json!("image\nnot found")),
            "worker-3",
            &[
                "cannot be provisioned on host host-4",
                "host host-4 is provisioning: image not found",
                "the platform engineer",
            ],
        ),
        (
            "own host paused",
            site().with(
                "BareMetalHost",
                "host-4",
                "/metadata/annotations",
                json!({"baremetalhost.metal3.io/paused": ""}),
            ),
            "worker-3",
            &["unpause host host-4", "baremetalhost.metal3.io/paused-"],
        ),
        (
            "own host externally provisioned",
            site().with(
                "BareMetalHost",
                "host-4",
                "/status/provisioning/state",
                json!("externally provisioned"),
            ),
            "worker-3",
            &[
                "cannot be provisioned on host host-4",
                "host host-4 is not being provisioned: the host is externally provisioned",
                "the platform engineer",
                "-p '{\"spec\":{\"externallyProvisioned\":false}}' -n metal3",
            ],
        ),
        (
            "own host detached by its operator",
            site().with("BareMetalHost", "host-4", "/status/operationalStatus", json!("detached")),
            "worker-3",
            &["the host is detached from its operator", "kubectl describe baremetalhost host-4"],
        ),
        (
            "no data template",
            site()
                .with("Metal3DataClaim", "cp-1", "/status", json!({}))
                .with("Metal3Machine", "cp-1", "/status/renderedData", Value::Null)
                .without("Metal3DataTemplate", "my-data"),
            "cp-1",
            &["create Metal3DataTemplate my-data in namespace metal3"],
        ),
        (
            "no pool",
            site().without("IPPool", "my-pool"),
            "cp-1",
            &["create IPPool my-pool in namespace metal3", "there is no such pool"],
        ),
        (
            "Secret of the user missing",
            site().with("Metal3Machine", "worker-3", "/spec/metaData", json!({"name": "mine"})).with(
                "BareMetalHost",
                "host-4",
                "/spec/image",
                Value::Null,
            ),
            "worker-3",
            &["waiting for Secret mine, which spec.metaData names", "create Secret mine in namespace metal3"],
        ),
        (
            "Node not there",
            site().with("BareMetalHost", "host-4", "/status/provisioning/state", json!("provisioned")),
            "worker-3",
            &["waits for its Node", "[>] Node"],
        ),
        (
            "Node of an earlier machine",
            site().with("BareMetalHost", "host-4", "/status/provisioning/state", json!("provisioned")).with(
                "Metal3Machine",
                "worker-3",
                "/status/conditions",
                conflict,
            ),
            "worker-3",
            &[
                "cannot tell which Node it is",
                "several Nodes are labelled with the uid of this host: old, new",
                "the platform engineer",
                "if an earlier machine has left one of them there, delete that Node",
            ],
        ),
        (
            "finalizer of another",
            site().with("Metal3Machine", "worker-2", "/metadata/finalizers", json!(["example.com/held"])),
            "worker-2",
            &["waiting for others to remove their finalizers: example.com/held"],
        ),
    ];
    for (what, objects, machine, parts) in table {
        let run = objects.explain(machine);
        assert_eq!(run.code, 0, "{what}: {}", run.text());
        for part in parts {
            assert!(run.stdout.contains(part), "{what}: {part:?} is not in\n{}", run.text());
        }
    }
}

/// A mistake in a file would make the explanation wrong, so it is reported instead; what a server delivers is there all the
/// same.
#[test]
fn manifests_that_no_server_would_take_are_reported_with_the_field() {
    let mistake = Objects::of_site().with("Metal3Machine", "worker-0-metal", "/spec/hostSelectr", json!({}));
    let run = mistake.explain("worker-0");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.text());
    assert!(
        run.stderr.contains("error: stdin:1: Metal3Machine metal3/worker-0-metal: spec.hostSelectr: unknown")
    );
    let run = mistake.given_out("Metal3Machine", "worker-0-metal").explain("worker-0");
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stderr.contains("warning: stdin:1: Metal3Machine metal3/worker-0-metal: spec.hostSelectr"));
}

/// A Metal3MachineTemplate maps a hundred failure domains and no more.
#[test]
fn a_template_with_more_than_a_hundred_failure_domains_is_refused() {
    let entry = |number: usize| json!({"failureDomain": format!("rack{number}"), "dataTemplate": {"name": "my-data"}});
    for (count, code) in [(100, 0), (101, 1)] {
        let mapping: Vec<Value> = (0..count).map(entry).collect();
        let image = json!({"url": "https://example.com/i.qcow2", "checksum": "https://example.com/i.sha256"});
        let mut objects = Objects::of_site();
        objects.0.push(
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3MachineTemplate",
            "metadata": {"name": "workers", "namespace": "metal3"},
            "spec": {"template": {"spec": {"image": image}}, "failureDomainDataTemplates": mapping}}),
        );
        let run = objects.explain("cp-0");
        assert_eq!(run.code, code, "{count}: {}", run.text());
        let reported = run.stderr.contains("spec.failureDomainDataTemplates");
        assert_eq!(reported, code == 1, "{count}: {}", run.text());
    }
}

/// A host operator that is too old has no field for the network data: whoever installed it must act.
#[test]
fn a_host_that_could_not_take_the_data_is_reported() {
    let crd = |fields: Value| {
        let schema = json!({"properties": {"spec": {"properties": fields}}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "baremetalhosts.metal3.io"},
            "spec": {"versions": [{"name": "v1alpha1", "schema": {"openAPIV3Schema": schema}}]}})
    };
    for (fields, lacks) in
        [(json!({"metaData": {}, "networkData": {}}), false), (json!({"metaData": {}}), true)]
    {
        let mut objects = Objects::of_site()
            .with("BareMetalHost", "host-1", "/spec/image", Value::Null)
            .with("BareMetalHost", "host-1", "/status/provisioning/state", json!("available"));
        objects.0.push(crd(fields));
        let run = objects.explain("cp-0");
        assert_eq!(run.code, 0, "{}", run.text());
        for part in [
            "has no field spec.networkData",
            "the platform engineer",
            "install a newer Baremetal Operator with its CRDs",
        ] {
            assert_eq!(run.stdout.contains(part), lacks, "{part}: {}", run.text());
        }
    }
}

#[test]
fn another_name_or_count_in_the_files_is_another_name_or_count_in_the_output() {
    let renamed = Objects::of_site().with("BareMetalHost", "host-paused", "/metadata/name", json!("spare"));
    let text = renamed.explain("worker-0").stdout;
    assert!(text.contains("baremetalhost spare") && !text.contains("host-paused"), "{text}");
    let fewer = Objects::of_site().without("BareMetalHost", "host-small").explain("worker-0").stdout;
    assert!(fewer.contains("12 hosts: 4 consumed") && !fewer.contains("host-small"), "{fewer}");
    let wider = Objects::of_site().with("IPPool", "my-pool", "/spec/pools/0/end", json!("10.0.0.14"));
    let text = wider.explain("cp-1").stdout;
    assert!(text.contains("IPPool my-pool  3 of 5"), "{text}");
}

/// Files may be gathered with kubectl by kind and by category, and without the addresses.
#[test]
fn files_that_have_objects_twice_or_no_addresses_are_explained_alike() {
    let site = Objects::of_site();
    let twice = Objects(site.0.iter().chain(&site.0).cloned().collect());
    assert_eq!(twice.explain("cp-1").text(), site.explain("cp-1").text());
    let other = json!([{"start": "10.0.0.10", "end": "10.0.0.99"}]);
    let mut differing = Objects::of_site().with("IPPool", "my-pool", "/spec/pools", other).0;
    differing.retain(|object| object["kind"] == "IPPool");
    let run = Objects(site.0.iter().chain(&differing).cloned().collect()).explain("cp-1");
    assert!(run.stderr.contains("IPPool metal3/my-pool: is defined twice"), "{}", run.text());
    assert!(run.stdout.contains("IPPool my-pool  0 of 2"), "{}", run.text());
    let bare = site.without("IPAddress", "my-pool-10-0-0-10").explain("cp-1").stdout;
    assert!(bare.contains("IPPool my-pool  0 of 2"), "{bare}");
}

/// The names are kept and the contents are not, wherever the explanation depends on a Secret.
#[test]
fn contents_of_secrets_are_never_printed() {
    let site = fs::read_to_string(repository().join(SITE)).unwrap();
    assert!(site.contains("bmV2ZXItcHJpbnQtbWU="));
    for machine in ["cp-0", "cp-1", "worker-0", "worker-1", "worker-2", "worker-3"] {
        for output in ["text", "json"] {
            let run = from_files(machine, &["-o", output]);
            assert!(
                !run.text().contains("bmV2ZXI") && !run.text().contains("never-print-me"),
                "{}",
                run.text()
            );
        }
    }
}

#[test]
fn without_secrets_in_the_files_nothing_is_reported_as_missing() {
    let mut objects =
        Objects::of_site().with("Metal3Machine", "worker-3", "/spec/metaData", json!({"name": "mine"}));
    objects.0.retain(|object| object["kind"] != "Secret");
    let run = objects.with("BareMetalHost", "host-4", "/spec/image", Value::Null).explain("worker-3");
    assert!(!run.stdout.contains("Secret mine"), "{}", run.text());
    assert!(run.stderr.contains("no Secrets in the files"), "{}", run.text());
}

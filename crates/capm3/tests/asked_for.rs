//! `capm3 up --once` ends with 0 only when every machine that is asked for is ready, whoever asks for it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

mod common;

use common::{Run, capm3};

const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: default}
spec:
  controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: c, namespace: default}
spec:
  controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}
---";

const TOPOLOGY: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: classy, namespace: default}
spec:
  topology: {classRef: {name: quick}, version: v1.34.0}
---";

const BARE_MACHINE: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: bare, namespace: NAMESPACE}
spec:
  clusterName: CLUSTER
  bootstrap: {dataSecretName: user-data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: bare}
---";

const ITS_PARTS: &str = r#"
apiVersion: v1
kind: Secret
metadata: {name: user-data, namespace: NAMESPACE}
stringData: {value: hello}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: bare, namespace: NAMESPACE}
spec:
  image: {url: "http://example.com/a.qcow2", checksum: "http://example.com/a.sha256", checksumType: sha256, diskFormat: qcow2}
  hostSelector: {matchLabels: {cluster-role: worker}}
---"#;

const MACHINE_SET: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineSet
metadata: {name: set, namespace: NAMESPACE}
spec:
  clusterName: CLUSTER
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      clusterName: CLUSTER
      bootstrap: {dataSecretName: user-data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: TEMPLATE}
---";

/// Brings up texts, and folders of the repository beside them.
fn up(texts: &[&str], folders: &[&str], namespace: &str, cluster: &str) -> Run {
    let input = texts.concat().replace("NAMESPACE", namespace).replace("CLUSTER", cluster);
    let input = input.replace("TEMPLATE", "my-cluster-workers");
    let mut arguments = vec!["up", "--once", "-f", "-"];
    arguments.extend(folders.iter().flat_map(|folder| ["-f", folder]));
    capm3(&arguments, &input)
}

fn has(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!(run.code, code, "{}", run.text());
    for part in parts {
        assert!(run.stderr.contains(part), "{part:?} is not in:\n{}", run.text());
    }
}

#[test]
fn machines_and_sets_of_their_own_count_like_those_of_a_deployment() {
    let run = up(&[BARE_MACHINE, ITS_PARTS, MACHINE_SET], &["examples/three-racks"], "metal3", "my-cluster");
    has(&run, 0, &["9 of 9 machines are ready after "]);
    assert_eq!(run.stdout.lines().count(), 10, "{}", run.text());
}

#[test]
fn a_machine_without_infrastructure_is_not_up() {
    let run = up(&[CLUSTER, BARE_MACHINE], &[], "default", "c");
    let parts = [
        "Machine bare: 0 of 1 machines are ready\n",
        "  Metal3Machine bare, which it names, does not exist\n",
    ];
    has(&run, 1, &parts);
}

#[test]
fn a_machine_set_without_its_template_is_not_up() {
    let run = up(&[CLUSTER, MACHINE_SET], &[], "default", "c");
    let missing =
        "  Metal3MachineTemplate my-cluster-workers, from which its machines are made, does not exist\n";
    has(&run, 1, &["MachineSet set: 0 of 2 machines are ready\n", missing]);
}

#[test]
fn a_pause_is_reported() {
    let paused =
        MACHINE_SET.replace("{name: set,", "{name: set, annotations: {cluster.x-k8s.io/paused: ''},");
    let run = up(&[CLUSTER, &paused], &[], "default", "c");
    let why = "MachineSet set: 0 of 2 machines are ready\n  it is paused: it has the annotation cluster.x-k8s.io/paused\n";
    has(&run, 1, &[why]);
}

#[test]
fn a_metal3machine_without_machine_is_not_up() {
    let run = up(&[CLUSTER, ITS_PARTS], &[], "default", "c");
    let parts = [
        "Metal3Machine bare: 0 of 1 machines are ready\n",
        "  no Machine names it in spec.infrastructureRef\n",
    ];
    has(&run, 1, &parts);
}

const NOT_COUNTED: &str = "warning: no machine was counted: ";

#[test]
fn a_topology_is_reported_as_not_counted() {
    let warning = "warning: Cluster default/classy: spec.topology is not simulated: its machines are \
                   neither created nor counted as requested\n";
    let alone = up(&[TOPOLOGY], &[], "default", "c");
    has(&alone, 0, &[warning, NOT_COUNTED, "0 of 0 machines are ready after "]);
    let beside = up(&[TOPOLOGY], &["examples/three-racks"], "default", "c");
    has(&beside, 0, &[warning, "6 of 6 machines are ready after "]);
    assert!(!beside.stderr.contains(NOT_COUNTED), "{}", beside.text());
}

#[test]
fn a_cluster_for_which_nothing_is_counted_is_reported_and_hosts_alone_are_not() {
    has(&up(&[CLUSTER], &[], "default", "c"), 0, &[NOT_COUNTED]);
    let hosts = capm3(
        &[
            "up",
            "--once",
            "-f",
            "examples/three-racks/20-hosts.yaml",
            "-f",
            "examples/three-racks/00-namespace.yaml",
        ],
        "",
    );
    has(&hosts, 0, &["0 of 0 machines are ready after "]);
    assert!(!hosts.stderr.contains("warning"), "{}", hosts.text());
}

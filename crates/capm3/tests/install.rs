//! `capm3 manifests`: its files, and that the cluster templates come up on simulated hosts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use capm3_install::variables;
use serde_json::Value;

/// What clusterctl or a user gives.
const VALUES: [(&str, &str); 14] = [
    ("CLUSTER_NAME", "c1"),
    ("NAMESPACE", "metal3"),
    ("KUBERNETES_VERSION", "v1.34.1"),
    ("CONTROL_PLANE_MACHINE_COUNT", "3"),
    ("WORKER_MACHINE_COUNT", "2"),
    ("CLUSTER_APIENDPOINT_HOST", "10.0.0.100"),
    ("CLUSTER_APIENDPOINT_PORT", "6443"),
    ("IMAGE_URL", "https://images.example.com/a.qcow2"),
    ("IMAGE_CHECKSUM", "https://images.example.com/a.sha256sum"),
    ("IMAGE_CHECKSUM_TYPE", "sha256"),
    ("IMAGE_FORMAT", "qcow2"),
    ("CTLPLANE_KUBEADM_EXTRA_CONFIG", "preKubeadmCommands: [echo pre]\n    postKubeadmCommands: []"),
    ("WORKERS_KUBEADM_EXTRA_CONFIG", "preKubeadmCommands: [echo pre]\n      postKubeadmCommands: []"),
    ("NODE_DRAIN_TIMEOUT", "10"),
];

/// Writes a release and gives one of its templates with every variable replaced.
fn template(name: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("infrastructure-metal3/v1.14.99");
    let run =
        common::capm3(&["manifests", "--format", "clusterctl", "--output", folder.to_str().unwrap()], "");
    assert_eq!(run.code, 0, "{}", run.text());
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let replaced = variables::replace(&text, &BTreeMap::from(VALUES));
    assert!(!replaced.contains("${"), "{replaced}");
    replaced
}

/// A folder with a template and the hosts of the three racks.
fn site(template: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let example = common::repository().join("examples/three-racks");
    for file in ["00-namespace.yaml", "20-hosts.yaml"] {
        fs::copy(example.join(file), folder.path().join(file)).unwrap();
    }
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    folder
}

fn up(folder: &Path) -> common::Run {
    common::capm3(&["up", "--once", "-f", folder.to_str().unwrap()], "")
}

/// The default template and that of three racks bring up every machine; the template of a ClusterClass is accepted.
#[test]
fn pk148_cluster_templates_create_a_working_cluster() {
    for name in ["cluster-template.yaml", "cluster-template-three-racks.yaml"] {
        let folder = site(&template(name));
        let run = up(folder.path());
        assert_eq!(run.code, 0, "{name}: {}", run.text());
        assert!(run.stderr.contains("5 of 5 machines are ready"), "{name}: {}", run.text());
    }
    let run = up(site(&template("cluster-template-three-racks.yaml")).path());
    for network in ["rack1", "rack2", "rack3", "100", "200", "300"] {
        assert!(run.stdout.contains(network), "{network}: {}", run.stdout);
    }
}

#[test]
fn templates_of_a_cluster_class_pass_validation() {
    for name in ["clusterclass-metal3.yaml", "cluster-template-topology.yaml"] {
        let run = up(site(&template(name)).path());
        assert_eq!(run.code, 0, "{name}: {}", run.text());
    }
}

/// Every value that a Cluster gives reaches a field of a template that is there.
#[test]
fn patches_of_the_cluster_class_replace_fields_that_their_templates_have() {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&template("clusterclass-metal3.yaml")).unwrap();
    let class = objects.iter().find(|object| object["kind"] == "ClusterClass").unwrap();
    let words = |list: &Value, at: &str| -> BTreeSet<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|it| it.pointer(at).unwrap().as_str().unwrap().to_owned())
            .collect()
    };
    let patches = class["spec"]["patches"].as_array().unwrap();
    assert!(!patches.is_empty());
    let mut given = BTreeSet::new();
    for definition in patches.iter().flat_map(|patch| patch["definitions"].as_array().unwrap()) {
        let kind = &definition["selector"]["kind"];
        let templates: Vec<&Value> = objects.iter().filter(|object| object["kind"] == *kind).collect();
        assert!(!templates.is_empty(), "{definition}");
        for path in words(&definition["jsonPatches"], "/path") {
            assert!(templates.iter().all(|template| template.pointer(&path).is_some()), "{kind} {path}");
        }
        given.extend(words(&definition["jsonPatches"], "/valueFrom/variable"));
    }
    assert_eq!(given, words(&class["spec"]["variables"], "/name"));
    let cluster: Vec<Value> =
        serde_saphyr::from_multiple(&template("cluster-template-topology.yaml")).unwrap();
    assert_eq!(given, words(&cluster[0]["spec"]["topology"]["variables"], "/name"));
}

#[test]
fn components_go_to_stdout_and_a_base_for_kustomize_needs_a_folder() {
    let run = common::capm3(&["manifests", "--image", "registry.example.com/capm3:v2"], "");
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stdout.contains("image: registry.example.com/capm3:v2") && run.stderr.is_empty());
    let run = common::capm3(&["manifests", "--format", "kustomize"], "");
    assert_eq!(run.code, 2, "{}", run.text());
    assert!(run.stderr.contains("set --output DIR"), "{}", run.text());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let run = common::capm3(&["manifests", "--output", "/proc/nowhere"], "");
    assert_eq!(run.code, 3, "{}", run.text());
    assert!(run.stderr.contains("--output /proc/nowhere/infrastructure-components.yaml: "), "{}", run.text());
}

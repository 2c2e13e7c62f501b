//! Kinds that the simulation does not know do not keep the others from coming up.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

mod common;

use common::{Run, capm3};

/// Kinds of Cluster API, of the host operator and of others that are often in the same folder: version and kind.
const KINDS: [(&str, &str); 23] = [
    ("addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet"),
    ("apps/v1", "Deployment"),
    ("cert-manager.io/v1", "Certificate"),
    ("cert-manager.io/v1", "Issuer"),
    ("cluster.x-k8s.io/v1beta1", "ClusterClass"),
    ("cluster.x-k8s.io/v1beta2", "ClusterClass"),
    ("cluster.x-k8s.io/v1beta2", "MachineDrainRule"),
    ("cluster.x-k8s.io/v1beta2", "MachinePool"),
    ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlaneTemplate"),
    ("infrastructure.cluster.x-k8s.io/v1beta1", "DockerMachineTemplate"),
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
    ("machine.openshift.io/v1beta1", "Machine"),
    ("metal3.io/v1alpha1", "DataImage"),
    ("metal3.io/v1alpha1", "FirmwareSchema"),
    ("metal3.io/v1alpha1", "HardwareData"),
    ("metal3.io/v1alpha1", "HostFirmwareSettings"),
    ("metal3.io/v1alpha1", "PreprovisioningImage"),
    ("metallb.io/v1beta1", "IPAddressPool"),
    ("postgresql.cnpg.io/v1", "Cluster"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig"),
    ("storage.k8s.io/v1", "StorageClass"),
];

fn up(input: &str, folders: &[&str]) -> Run {
    let mut arguments = vec!["up", "--once", "-f", "-"];
    arguments.extend(folders.iter().flat_map(|folder| ["-f", folder]));
    capm3(&arguments, input)
}

fn document(version: &str, kind: &str, metadata: &str) -> String {
    format!("---\napiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\nspec: {{anything: [goes]}}\n")
}

#[test]
fn every_kind_of_others_is_left_out_with_a_warning_and_the_rest_comes_up() {
    let foreign: String = KINDS.iter().map(|(version, kind)| document(version, kind, "{name: x}")).collect();
    let run = up(&foreign, &["examples/three-racks"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stderr.contains("6 of 6 machines are ready after "), "{}", run.text());
    for (number, (_, kind)) in KINDS.iter().enumerate() {
        let warning =
            format!("warning: stdin:{}: {kind} x: is not simulated and is left out\n", 5 * number + 2);
        assert!(run.stderr.contains(&warning), "{warning} is not in:\n{}", run.text());
    }
}

#[test]
fn the_warning_names_a_namespace_as_it_is_written() {
    let rule = document("cluster.x-k8s.io/v1beta2", "MachineDrainRule", "{name: rule, namespace: metal3}");
    let run = up(&rule, &["examples/three-racks"]);
    assert_eq!(run.code, 0, "{}", run.text());
    let warning = "warning: stdin:2: MachineDrainRule metal3/rule: is not simulated and is left out\n";
    assert!(run.stderr.starts_with(warning), "{}", run.text());
}

#[test]
fn a_kind_that_the_manifests_define_themselves_is_put() {
    let definition = "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinedrainrules.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: MachineDrainRule, listKind: MachineDrainRuleList, plural: machinedrainrules, singular: machinedrainrule}
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let rule = document("cluster.x-k8s.io/v1beta2", "MachineDrainRule", "{name: rule}");
    let run = up(&format!("{rule}{definition}"), &["examples/three-racks"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(!run.stderr.contains("left out"), "{}", run.text());
}

#[test]
fn when_everything_is_left_out_there_is_nothing_to_bring_up() {
    let run = up(&document("cluster.x-k8s.io/v1beta2", "MachineDrainRule", "{name: rule}"), &[]);
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(
        run.stderr.ends_with("error: every object is left out: there is nothing to bring up\n"),
        "{}",
        run.text()
    );
}

#[test]
fn standard_input_of_an_older_version_is_migrated_from_standard_input() {
    let run = up(&document("infrastructure.cluster.x-k8s.io/v1alpha4", "Metal3Cluster", "{name: old}"), &[]);
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(run.stderr.contains("`capm3 migrate -f -` "), "{}", run.text());
}

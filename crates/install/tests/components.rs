//! `infrastructure-components.yaml` and `metadata.yaml`, read back from their text.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use capm3_install::{Certificates, Install, files, variables};
use serde_json::{Value, json};

fn install(ipam: bool, certificates: Certificates) -> Install {
    Install { ipam, certificates, ..Install::default() }
}

fn variants() -> Vec<Install> {
    let certificates = [Certificates::CertManager, Certificates::SelfManaged];
    certificates.into_iter().flat_map(|it| [install(false, it), install(true, it)]).collect()
}

fn objects(text: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    assert!(objects.len() > 15, "{} objects", objects.len());
    objects
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn names(objects: &[Value]) -> BTreeSet<String> {
    let name = |object: &Value| {
        format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    };
    objects.iter().map(name).collect()
}

/// One namespace, the provider's label on everything, and the contract labels of both versions on every CRD.
#[test]
fn pk146_one_namespace_the_provider_label_and_the_contract_labels_are_what_clusterctl_asks_for() {
    for install in variants() {
        let objects = objects(&files::plain(&install));
        assert_eq!(of_kind(&objects, "Namespace").len(), 1);
        for object in &objects {
            let metadata = &object["metadata"];
            assert_eq!(
                metadata["labels"]["cluster.x-k8s.io/provider"], "infrastructure-metal3",
                "{metadata}"
            );
            let namespace = metadata.get("namespace").and_then(Value::as_str);
            assert!(namespace.is_none_or(|namespace| namespace == "capm3-system"), "{metadata}");
        }
        let crds = of_kind(&objects, "CustomResourceDefinition");
        assert_eq!(crds.len(), if install.ipam { 12 } else { 9 });
        for crd in crds.iter().filter(|crd| crd["spec"]["group"] == "infrastructure.cluster.x-k8s.io") {
            let labels = &crd["metadata"]["labels"];
            assert_eq!(labels["cluster.x-k8s.io/v1beta1"], "v1beta1");
            assert_eq!(labels["cluster.x-k8s.io/v1beta2"], "v1beta2");
        }
        let deployment = of_kind(&objects, "Deployment")[0];
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["name"], "manager");
    }
}

#[test]
fn objects_have_the_names_of_the_go_provider() {
    let names = names(&objects(&files::plain(&Install::default())));
    for name in [
        "Namespace capm3-system",
        "ServiceAccount capm3-manager",
        "Role capm3-leader-election-role",
        "RoleBinding capm3-leader-election-rolebinding",
        "ClusterRole capm3-manager-role",
        "ClusterRoleBinding capm3-manager-rolebinding",
        "ConfigMap capm3-capm3fasttrack-configmap",
        "Service capm3-webhook-service",
        "Deployment capm3-controller-manager",
        "Issuer capm3-selfsigned-issuer",
        "Certificate capm3-serving-cert",
        "MutatingWebhookConfiguration capm3-mutating-webhook-configuration",
        "ValidatingWebhookConfiguration capm3-validating-webhook-configuration",
    ] {
        assert!(names.contains(name), "{name} is not in {names:#?}");
    }
}

#[test]
fn variables_and_their_defaults_are_those_of_the_go_provider() {
    for install in variants() {
        let text = files::components(&install);
        let expected = BTreeMap::from([
            ("CAPM3_DIAGNOSTICS_ADDRESS", Some(":8443")),
            ("CAPM3_FAST_TRACK", Some("'false'")),
            ("CAPM3_INSECURE_DIAGNOSTICS", Some("false")),
            ("ENABLE_BMH_NAME_BASED_PREALLOCATION", Some("false")),
        ]);
        assert_eq!(variables::names(&text), expected);
        assert!(!files::plain(&install).contains("${"));
    }
}

#[test]
fn fast_track_is_text_whether_its_value_has_quotes_or_not() {
    for value in ["true", "'true'", "\"true\""] {
        let values = BTreeMap::from([("CAPM3_FAST_TRACK", value)]);
        let objects = objects(&variables::replace(&files::components(&Install::default()), &values));
        assert_eq!(of_kind(&objects, "ConfigMap")[0]["data"]["CAPM3_FAST_TRACK"], "true", "{value}");
    }
}

#[test]
fn without_cert_manager_nothing_waits_for_it() {
    let with = files::plain(&install(true, Certificates::CertManager));
    let without = files::plain(&install(true, Certificates::SelfManaged));
    assert!(with.contains("cert-manager.io") && with.contains("secretName: capm3-webhook-service-cert"));
    assert!(!without.contains("cert-manager") && !without.contains("secretName"), "{without}");
    assert!(without.contains("- --self-managed-certs") && !with.contains("--self-managed-certs"));
}

#[test]
fn the_address_manager_comes_with_its_flag_its_crds_and_its_rights_or_not_at_all() {
    let with = files::plain(&install(true, Certificates::CertManager));
    let without = files::plain(&Install::default());
    for text in ["- --enable-ipam", "name: ippools.ipam.metal3.io", "- ippools/status"] {
        assert!(with.contains(text) && !without.contains(text), "{text}");
    }
}

#[test]
fn two_replicas_elect_a_leader_and_run_without_privileges() {
    let objects = objects(&files::plain(&Install::default()));
    let spec = &of_kind(&objects, "Deployment")[0]["spec"];
    assert_eq!(spec["replicas"], 2);
    assert_eq!(of_kind(&objects, "PodDisruptionBudget")[0]["spec"]["selector"], spec["selector"]);
    assert_eq!(spec["template"]["metadata"]["labels"], spec["selector"]["matchLabels"]);
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    assert!(container["args"].as_array().unwrap().contains(&json!("--leader-elect")));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert!(container["resources"]["limits"].get("cpu").is_none(), "a throttled leader loses its Lease");
    let service = &of_kind(&objects, "Service")[0]["spec"];
    assert_eq!(service["publishNotReadyAddresses"], true);
}

/// Minor versions 13 and 14, and our own, fulfil contract v1beta2, older ones v1beta1, as in the CRDs' labels.
#[test]
fn pk147_metadata_maps_versions_to_contracts() {
    let files = files::clusterctl(&Install::default());
    let metadata: Value = serde_saphyr::from_str(&files["metadata.yaml"]).unwrap();
    assert_eq!(metadata["apiVersion"], "clusterctl.cluster.x-k8s.io/v1alpha3");
    let series = metadata["releaseSeries"].as_array().unwrap();
    let contract = |major: u64, minor: u64| {
        let found: Vec<_> = series.iter().filter(|it| it["major"] == major && it["minor"] == minor).collect();
        assert_eq!(found.len(), 1, "{major}.{minor}");
        found[0]["contract"].as_str().unwrap().to_owned()
    };
    for (major, minor) in [(0, 1), (1, 13), (1, 14)] {
        assert_eq!(contract(major, minor), "v1beta2");
    }
    assert!((1..=12).all(|minor| contract(1, minor) == "v1beta1"));
    let (major, rest) = env!("CARGO_PKG_VERSION").split_once('.').unwrap();
    let minor = rest.split('.').next().unwrap();
    contract(major.parse().unwrap(), minor.parse().unwrap());
}

#[test]
fn a_base_for_kustomize_lists_exactly_its_files() {
    for install in variants() {
        let files = files::kustomize(&install);
        let list: Value = serde_saphyr::from_str(&files["kustomization.yaml"]).unwrap();
        let listed: Vec<&str> =
            list["resources"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let written: Vec<&str> =
            files.keys().map(String::as_str).filter(|it| *it != "kustomization.yaml").collect();
        assert_eq!(listed, written);
        let in_files: usize = written
            .iter()
            .map(|path| serde_saphyr::from_multiple::<Value>(&files[*path]).unwrap().len())
            .sum();
        assert_eq!(in_files, install.objects().len());
    }
}

//! Webhooks of the provider's kinds, and the Service through which the API server calls them.

use capm3_api::{crd::SERVING_CERTIFICATE, ipam, v1beta2};
use serde_json::{Value, json};

use crate::{
    Certificates, Install,
    names::{INJECT_CA, MUTATING, NAMESPACE, PROVIDER_LABEL, PROVIDER_NAME, VALIDATING, WEBHOOK_SERVICE},
};

/// Kinds with defaults of their own.
const DEFAULTED: &[&str] = &["Metal3Cluster", "Metal3RemediationTemplate"];

/// The Service and both configurations.
pub(crate) fn webhooks(install: &Install) -> Vec<Value> {
    let kinds = kinds(install);
    let defaulted = kinds.iter().filter(|it| DEFAULTED.contains(&it.kind.as_str()));
    let mutating = defaulted.map(|it| webhook(it, "default", "mutate", &[&it.version])).collect();
    // As it was written: some rules are about what only the older version can say, and conversion loses that.
    let validating = kinds.iter().map(|it| webhook(it, "validation", "validate", &it.served)).collect();
    vec![
        service(),
        configuration(install, "MutatingWebhookConfiguration", MUTATING, mutating),
        configuration(install, "ValidatingWebhookConfiguration", VALIDATING, validating),
    ]
}

/// A kind that has rules.
struct Kind {
    group: String,
    /// That is stored.
    version: String,
    served: Vec<String>,
    kind: String,
    plural: String,
}

/// Kinds of the provider; with the built-in address manager, those of addresses too. Where
/// Metal3 IPAM is installed, its own webhooks have the same rules.
fn kinds(install: &Install) -> Vec<Kind> {
    let crds = capm3_api::crd::all();
    let word =
        |crd: &Value, path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = |crd: &Value| Kind {
        group: word(crd, "/spec/group"),
        version: versions(crd, "storage").next().unwrap_or_default(),
        served: versions(crd, "served").collect(),
        kind: word(crd, "/spec/names/kind"),
        plural: word(crd, "/spec/names/plural"),
    };
    let is_judged = |it: &Kind| it.group == v1beta2::GROUP || (install.ipam && it.group == ipam::GROUP);
    crds.iter().map(kind).filter(is_judged).collect()
}

/// Names of the versions of which this is true.
fn versions<'a>(crd: &'a Value, property: &'static str) -> impl Iterator<Item = String> + 'a {
    let all = crd.pointer("/spec/versions").and_then(Value::as_array);
    let wanted = all.into_iter().flatten().filter(move |version| version[property] == true);
    wanted.filter_map(|version| version["name"].as_str().map(str::to_owned))
}

/// Replicas answer before they are ready too: a kind that is not served keeps a manager from being ready, and conversion of
/// another kind must not wait for that.
fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEBHOOK_SERVICE, "namespace": NAMESPACE},
        "spec": {
            "ports": [{"port": 443, "targetPort": "webhook-server"}],
            "publishNotReadyAddresses": true,
            "selector": {PROVIDER_LABEL: PROVIDER_NAME},
        },
    })
}

fn configuration(install: &Install, kind: &str, name: &str, webhooks: Vec<Value>) -> Value {
    let mut metadata = json!({"name": name});
    if install.certificates == Certificates::CertManager
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.insert("annotations".to_owned(), json!({INJECT_CA: SERVING_CERTIFICATE}));
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "webhooks": webhooks,
    })
}

fn webhook(of: &Kind, prefix: &str, verb: &str, versions: &[impl AsRef<str>]) -> Value {
    let Kind { group, version, plural, .. } = of;
    let kind = of.kind.to_lowercase();
    let versions: Vec<&str> = versions.iter().map(AsRef::as_ref).collect();
    let path = format!("/{verb}-{}-{version}-{kind}", group.replace('.', "-"));
    json!({
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": WEBHOOK_SERVICE, "namespace": NAMESPACE, "path": path}},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "name": format!("{prefix}.{kind}.{group}"),
        "rules": [{
            "apiGroups": [group],
            "apiVersions": versions,
            "operations": ["CREATE", "UPDATE"],
            "resources": [plural],
        }],
        "sideEffects": "None",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_and_paths(configuration: &Value) -> Vec<(String, String)> {
        let webhooks = configuration["webhooks"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        webhooks.iter().map(|it| (text(&it["name"]), text(&it["clientConfig"]["service"]["path"]))).collect()
    }

    #[test]
    fn names_and_paths_are_those_of_the_go_provider() {
        let objects = webhooks(&Install::default());
        let mutating = names_and_paths(&objects[1]);
        let expected = [
            (
                "default.metal3cluster.infrastructure.cluster.x-k8s.io",
                "/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster",
            ),
            (
                "default.metal3remediationtemplate.infrastructure.cluster.x-k8s.io",
                "/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3remediationtemplate",
            ),
        ];
        assert_eq!(mutating, expected.map(|(name, path)| (name.to_owned(), path.to_owned())));
        let validating = names_and_paths(&objects[2]);
        assert_eq!(validating.len(), 9);
        let data = validating.iter().find(|(name, _)| name.contains(".metal3data.")).unwrap();
        assert_eq!(data.0, "validation.metal3data.infrastructure.cluster.x-k8s.io");
        assert_eq!(data.1, "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3data");
        let rule = &objects[2]["webhooks"].as_array().unwrap();
        let rule = rule.iter().find(|it| it["name"] == data.0.as_str()).unwrap();
        assert_eq!(rule["rules"][0]["resources"], json!(["metal3datas"]));
    }

    #[test]
    fn objects_are_judged_in_the_version_in_which_they_are_written() {
        let objects = webhooks(&Install::default());
        let versions = |configuration: &Value| {
            let webhooks = configuration["webhooks"].as_array().unwrap();
            webhooks.iter().map(|it| it["rules"][0]["apiVersions"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(versions(&objects[1]), [json!(["v1beta2"]), json!(["v1beta2"])]);
        assert_eq!(versions(&objects[2]), vec![json!(["v1beta2", "v1beta1"]); 9]);
    }

    #[test]
    fn the_built_in_address_manager_brings_the_webhooks_of_metal3_ipam() {
        let objects = webhooks(&Install { ipam: true, ..Install::default() });
        let validating = names_and_paths(&objects[2]);
        assert_eq!(validating.len(), 12);
        let (name, path) = validating.iter().find(|(name, _)| name.contains(".ippool.")).unwrap();
        assert_eq!(name, "validation.ippool.ipam.metal3.io");
        assert_eq!(path, "/validate-ipam-metal3-io-v1alpha1-ippool");
        let rules = objects[2]["webhooks"].as_array().unwrap();
        let rule = &rules.iter().find(|it| it["name"] == name.as_str()).unwrap()["rules"][0];
        assert_eq!(rule["apiGroups"], json!(["ipam.metal3.io"]));
        assert_eq!((&rule["apiVersions"], &rule["resources"]), (&json!(["v1alpha1"]), &json!(["ippools"])));
    }
}

//! Webhooks of the provider's kinds, and the Service through which the API server calls them.

use capm3_api::{crd::SERVING_CERTIFICATE, v1beta2};
use serde_json::{Value, json};

use crate::{
    Certificates, Install,
    names::{INJECT_CA, MUTATING, NAMESPACE, PROVIDER_LABEL, PROVIDER_NAME, VALIDATING, WEBHOOK_SERVICE},
};

/// Kinds with defaults of their own.
const DEFAULTED: &[&str] = &["Metal3Cluster", "Metal3RemediationTemplate"];

/// The Service and both configurations.
pub(crate) fn webhooks(install: &Install) -> Vec<Value> {
    let kinds = kinds();
    let defaulted = kinds.iter().filter(|(kind, _)| DEFAULTED.contains(&kind.as_str()));
    let mutating = defaulted.map(|kind| webhook(kind, "default", "mutate")).collect();
    let validating = kinds.iter().map(|kind| webhook(kind, "validation", "validate")).collect();
    vec![
        service(),
        configuration(install, "MutatingWebhookConfiguration", MUTATING, mutating),
        configuration(install, "ValidatingWebhookConfiguration", VALIDATING, validating),
    ]
}

/// Kinds and plurals of the provider.
fn kinds() -> Vec<(String, String)> {
    let crds = capm3_api::crd::all();
    let word =
        |crd: &Value, path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let own = crds.iter().filter(|crd| word(crd, "/spec/group") == v1beta2::GROUP);
    own.map(|crd| (word(crd, "/spec/names/kind"), word(crd, "/spec/names/plural"))).collect()
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

fn webhook((kind, plural): &(String, String), prefix: &str, verb: &str) -> Value {
    let (kind, group, version) = (kind.to_lowercase(), v1beta2::GROUP, v1beta2::VERSION);
    let path = format!("/{verb}-{}-{version}-{kind}", group.replace('.', "-"));
    json!({
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": WEBHOOK_SERVICE, "namespace": NAMESPACE, "path": path}},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "name": format!("{prefix}.{kind}.{group}"),
        "rules": [{
            "apiGroups": [group],
            "apiVersions": [version],
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
}

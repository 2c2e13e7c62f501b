//! Tells the API server which authority to trust: `caBundle` of the webhook configurations and of the conversion of CRDs.
//!
//! Only objects with the product's names are looked at, and in them only what calls the product's Service.

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::crd;
use serde_json::{Value, json};

use crate::kinds::text;

/// The Service through which an API server reaches the webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Service {
    /// Names by which it is called.
    pub fn host_names(&self) -> Vec<String> {
        let short = format!("{}.{}.svc", self.name, self.namespace);
        let long = format!("{short}.cluster.local");
        vec![short, long]
    }

    fn is_called_by(&self, client_config: &Value) -> bool {
        let service = |member| text(client_config, member);
        (service("/service/namespace"), service("/service/name")) == (&self.namespace, &self.name)
    }
}

/// A kind of webhook configuration, and the name of the product's.
#[derive(Debug, Clone, Copy)]
pub struct Configuration {
    /// Kind.
    pub kind: &'static str,
    /// Plural used in URLs.
    pub plural: &'static str,
    /// Name of the object.
    pub name: &'static str,
}

/// The product's webhook configurations.
pub fn configurations() -> [Configuration; 2] {
    [
        Configuration {
            kind: "MutatingWebhookConfiguration",
            plural: "mutatingwebhookconfigurations",
            name: "capm3-mutating-webhook-configuration",
        },
        Configuration {
            kind: "ValidatingWebhookConfiguration",
            plural: "validatingwebhookconfigurations",
            name: "capm3-validating-webhook-configuration",
        },
    ]
}

/// Names of the product's CRDs whose versions a webhook converts.
pub fn definitions() -> Vec<String> {
    let all = crd::all();
    let converted = all.iter().filter(|crd| crd.pointer("/spec/conversion/webhook").is_some());
    converted.map(|crd| text(crd, "/metadata/name").to_owned()).collect()
}

/// What an object tells the API server about the webhooks.
#[derive(Debug, Clone, PartialEq)]
pub enum Trust {
    /// What it should.
    Current,
    /// Something else: this merge patch puts it right, guarded by the resourceVersion.
    Patch(Value),
    /// Nothing: it calls no webhook of the Service.
    NotOurs,
}

/// Judges a webhook configuration.
pub fn configuration(object: &Value, service: &Service, bundle: &str) -> Trust {
    let bundle = BASE64_STANDARD.encode(bundle);
    let mut webhooks = object.get("webhooks").cloned().unwrap_or_default();
    let (mut is_ours, mut is_changed) = (false, false);
    for webhook in webhooks.as_array_mut().into_iter().flatten() {
        let Some(config) = webhook.get_mut("clientConfig").filter(|it| service.is_called_by(it)) else {
            continue;
        };
        is_ours = true;
        if text(config, "/caBundle") != bundle
            && let Some(members) = config.as_object_mut()
        {
            members.insert("caBundle".to_owned(), bundle.clone().into());
            is_changed = true;
        }
    }
    let patch = || json!({"metadata": version(object), "webhooks": webhooks});
    match (is_ours, is_changed) {
        (false, _) => Trust::NotOurs,
        (true, false) => Trust::Current,
        (true, true) => Trust::Patch(patch()),
    }
}

/// Judges a CRD.
pub fn definition(object: &Value, service: &Service, bundle: &str) -> Trust {
    let bundle = BASE64_STANDARD.encode(bundle);
    let config = object.pointer("/spec/conversion/webhook/clientConfig");
    match config.filter(|config| service.is_called_by(config)) {
        None => Trust::NotOurs,
        Some(config) if text(config, "/caBundle") == bundle => Trust::Current,
        Some(_) => Trust::Patch(json!({
            "metadata": version(object),
            "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}},
        })),
    }
}

fn version(object: &Value) -> Value {
    json!({"resourceVersion": text(object, "/metadata/resourceVersion")})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service { namespace: "capm3-system".to_owned(), name: "capm3-webhook-service".to_owned() }
    }

    fn webhook(namespace: &str, bundle: &str) -> Value {
        let service = json!({"namespace": namespace, "name": "capm3-webhook-service", "path": "/p"});
        json!({"name": "a", "clientConfig": {"service": service, "caBundle": bundle}, "sideEffects": "None"})
    }

    #[test]
    fn only_what_calls_the_service_is_changed_and_only_if_it_differs() {
        let bundle = BASE64_STANDARD.encode("B");
        let object = |webhooks: Value| json!({"metadata": {"resourceVersion": "7"}, "webhooks": webhooks});
        let url = json!({"name": "u", "clientConfig": {"url": "https://h/p"}});
        let (ours, old, other) =
            (webhook("capm3-system", &bundle), webhook("capm3-system", ""), webhook("elsewhere", ""));
        let table = [
            (json!(null), Trust::NotOurs),
            (json!([]), Trust::NotOurs),
            (json!([other, url]), Trust::NotOurs),
            (json!([ours, other]), Trust::Current),
            (
                json!([old, other, url]),
                Trust::Patch(json!({"metadata": {"resourceVersion": "7"}, "webhooks": [ours, other, url]})),
            ),
        ];
        for (webhooks, expected) in table {
            assert_eq!(configuration(&object(webhooks.clone()), &service(), "B"), expected, "{webhooks}");
        }
    }

    #[test]
    fn the_conversion_of_a_crd_gets_the_authority() {
        let all = crd::all();
        let names = definitions();
        assert!(names.len() >= 8 && names.len() < all.len(), "{names:?}");
        for crd in all {
            let name = crd["metadata"]["name"].as_str().unwrap();
            let mut crd = crd.clone();
            let trust = definition(&crd, &service(), "B");
            assert_eq!(names.iter().any(|it| it == name), trust != Trust::NotOurs, "{name}");
            let Trust::Patch(patch) = trust else { continue };
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] =
                patch["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone();
            assert_eq!(definition(&crd, &service(), "B"), Trust::Current, "{name}");
            assert_ne!(definition(&crd, &service(), "C"), Trust::Current, "{name}");
        }
    }

    #[test]
    fn the_service_is_called_by_two_names() {
        let short = "capm3-webhook-service.capm3-system.svc";
        assert_eq!(service().host_names(), [short.to_owned(), format!("{short}.cluster.local")]);
    }
}

//! The certificate of the webhooks, made by cert-manager.

use serde_json::{Value, json};

use crate::{
    Certificates, Install,
    names::{CERTIFICATE_SECRET, NAMESPACE, WEBHOOK_SERVICE},
};

const ISSUER: &str = "capm3-selfsigned-issuer";
const CERTIFICATE: &str = "capm3-serving-cert";

/// Nothing where the manager makes its certificate itself.
pub(crate) fn certificates(install: &Install) -> Vec<Value> {
    if install.certificates == Certificates::SelfManaged {
        return Vec::new();
    }
    let service = format!("{WEBHOOK_SERVICE}.{NAMESPACE}.svc");
    vec![
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": {"name": ISSUER, "namespace": NAMESPACE},
            "spec": {"selfSigned": {}},
        }),
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": CERTIFICATE, "namespace": NAMESPACE},
            "spec": {
                "dnsNames": [service, format!("{service}.cluster.local")],
                "issuerRef": {"kind": "Issuer", "name": ISSUER},
                "secretName": CERTIFICATE_SECRET,
            },
        }),
    ]
}

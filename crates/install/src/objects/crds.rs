//! The CRDs, as `capm3 crds` prints them.

use serde_json::Value;

use crate::{Certificates, Install, names::INJECT_CA};

/// Those of the provider; with the built-in address manager, those of addresses too.
pub(crate) fn crds(install: &Install) -> Vec<Value> {
    let group =
        |crd: &Value| crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = |crd: &Value| install.ipam || group(crd) != capm3_api::ipam::GROUP;
    capm3_api::crd::all().into_iter().filter(wanted).map(|crd| trusted(crd, install.certificates)).collect()
}

/// Without cert-manager nobody must wait for it: the manager writes its own authority into the CRD.
fn trusted(mut crd: Value, certificates: Certificates) -> Value {
    if certificates == Certificates::SelfManaged
        && let Some(annotations) = crd.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(INJECT_CA);
    }
    crd
}

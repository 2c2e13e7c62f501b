//! Metal3Data and Metal3DataClaim: references shrank; what is absent in v1beta2 is the zero value in v1beta1.

use super::{
    json::{Object, child, drop_zero, ensured, set_default},
    reference::narrow,
};

/// v1beta1 to v1beta2.
pub(super) fn up(data: &mut Object) {
    if let Some(spec) = ensured(data, "spec") {
        set_default(spec, "index", 0);
        narrow(spec, "claim");
        narrow(spec, "template");
        drop_zero(spec, &["templateReference"]);
    }
    if let Some(status) = ensured(data, "status") {
        set_default(status, "ready", false);
        drop_zero(status, &["errorMessage", "conditions"]);
    }
}

/// v1beta2 to v1beta1.
pub(super) fn down(data: &mut Object) {
    if let Some(spec) = ensured(data, "spec") {
        drop_zero(spec, &["index"]);
        ensured(spec, "claim");
        ensured(spec, "template");
    }
    if let Some(status) = ensured(data, "status") {
        set_default(status, "ready", false);
        set_default(status, "errorMessage", "");
    }
}

/// v1beta1 to v1beta2.
pub(super) fn claim_up(claim: &mut Object) {
    if let Some(spec) = child(claim, "spec") {
        narrow(spec, "template");
    }
    if let Some(status) = child(claim, "status") {
        narrow(status, "renderedData");
        drop_zero(status, &["errorMessage", "conditions"]);
    }
}

/// v1beta2 to v1beta1.
pub(super) fn claim_down(claim: &mut Object) {
    if let Some(spec) = ensured(claim, "spec") {
        ensured(spec, "template");
    }
    if let Some(status) = ensured(claim, "status") {
        set_default(status, "errorMessage", "");
    }
}

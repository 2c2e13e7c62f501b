//! References: v1beta1 has the wide one of the core API, v1beta2 only name and namespace.

use super::json::{Object, child, drop_zero, take};

/// What the wide reference has more, and what no controller ever read.
const WIDE: [&str; 5] = ["apiVersion", "kind", "uid", "resourceVersion", "fieldPath"];

/// Reduces a wide reference to name and namespace; one that has neither goes away.
pub(super) fn narrow(object: &mut Object, name: &str) {
    if let Some(reference) = child(object, name) {
        for member in WIDE {
            take(reference, member);
        }
        drop_zero(reference, &["name", "namespace"]);
    }
    drop_zero(object, &[name]);
}

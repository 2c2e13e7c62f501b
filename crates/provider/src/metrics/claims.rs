//! Claims of hosts: how many there were, and how many came too late.

use std::fmt;

use capm3_api::neighbours::BareMetalHost;
use capm3_engine::{
    ApiError, ResourceKind, Write,
    metrics::{Counter, Encoder, Series},
};

pub(super) const CLAIMS: Series =
    Series::counter("capm3_host_claims", &[], "BareMetalHosts that were claimed for a machine");
pub(super) const CONFLICTS: Series = Series::counter(
    "capm3_host_claim_conflicts",
    &[],
    "Claims of a BareMetalHost that were refused because it had changed meanwhile; the machine chooses again",
);

/// How many claims of hosts there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostClaims {
    done: Counter,
    lost: Counter,
}

impl HostClaims {
    /// Takes note of a write that was answered.
    pub(crate) fn note(&self, write: &Write, error: Option<&ApiError>) {
        let Write::Patch { kind, patch, .. } = write else { return };
        let is_claim = is_host(kind) && patch.pointer("/spec/consumerRef").is_some_and(|it| !it.is_null());
        match error {
            None if is_claim => self.done.inc(),
            Some(ApiError::Conflict { .. }) if is_claim => self.lost.inc(),
            _ => 0,
        };
    }

    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        encoder.counters(&CLAIMS, [([""; 0], self.done.get())])?;
        encoder.counters(&CONFLICTS, [([""; 0], self.lost.get())])
    }
}

fn is_host(kind: &ResourceKind) -> bool {
    *kind == ResourceKind::of::<BareMetalHost>()
}

#[cfg(test)]
mod tests {
    use capm3_engine::ObjectKey;
    use serde_json::{Value, json};

    use super::*;

    fn patch(kind: &str, patch: Value) -> Write {
        let kind = ResourceKind { kind: kind.to_owned(), ..ResourceKind::of::<BareMetalHost>() };
        Write::Patch { kind, key: ObjectKey::new("n", "h"), subresource: None, version: None, patch }
    }

    #[test]
    fn only_claims_are_counted_and_only_those_that_came_too_late_as_conflicts() {
        let claims = HostClaims::default();
        let (claim, release) =
            (json!({"spec": {"consumerRef": {"name": "m"}}}), json!({"spec": {"consumerRef": null}}));
        let conflict = ApiError::Conflict { message: String::new() };
        claims.note(&patch("BareMetalHost", claim.clone()), None);
        claims.note(&patch("BareMetalHost", claim.clone()), Some(&conflict));
        claims.note(&patch("BareMetalHost", claim.clone()), Some(&conflict));
        claims.note(&patch("BareMetalHost", claim.clone()), Some(&ApiError::GateClosed));
        claims.note(&patch("BareMetalHost", release), Some(&conflict));
        claims.note(&patch("BareMetalHost", json!({"spec": {"online": true}})), None);
        claims.note(&patch("Metal3Machine", claim), Some(&conflict));
        assert_eq!((claims.done.get(), claims.lost.get()), (1, 2));
    }
}

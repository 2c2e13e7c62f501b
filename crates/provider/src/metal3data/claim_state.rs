//! Whether the claim that a Metal3Data was made for is gone, and what must be proven for that.

use capm3_api::{
    ipam::IpPool,
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataClaim},
};
use capm3_engine::{ObjectKey, ResourceKind};

use super::{DataSnapshot, observe::claim_key};

/// The state of the claim that a Metal3Data was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimState {
    /// It is there.
    Held,
    /// It is known to be gone, or uses other data.
    Gone,
    /// It is not seen, which proves nothing: a machine may run on the addresses of this data.
    Unknown,
}

/// The state of the claim that a Metal3Data was made for. `is_gone` shows whether the claim with the uid of the
/// data's owner reference is known to be gone. Any other claim of the name holds the data too: a move or a restore gives
/// new uids.
pub(crate) fn claim_state(data: &Metal3Data, claim: Option<&Metal3DataClaim>, is_gone: bool) -> ClaimState {
    let used = claim.and_then(|claim| claim.status.rendered_data.as_ref());
    let uses_another = used.is_some_and(|used| used.name_str() != data.metadata.name_str());
    let is_owner = |claim: &Metal3DataClaim| data.metadata.is_owned_by_uid(claim.metadata.uid_str());
    match claim {
        _ if uses_another => ClaimState::Gone,
        Some(claim) if is_owner(claim) || !is_gone => ClaimState::Held,
        None if !is_gone => ClaimState::Unknown,
        _ => ClaimState::Gone,
    }
}

/// What must be proven to be gone before a data object that is deleted can go on: kind and key.
pub(super) fn to_prove(snapshot: &DataSnapshot) -> Vec<(ResourceKind, ObjectKey)> {
    let DataSnapshot { data, claim, claim_is_gone, .. } = snapshot;
    if !data.metadata.is_deleting() {
        return Vec::new();
    }
    match claim_state(data, claim.as_deref(), *claim_is_gone) {
        ClaimState::Held => Vec::new(),
        ClaimState::Unknown => {
            let claim = claim_key(data).map(|claim| (ResourceKind::of::<Metal3DataClaim>(), claim));
            claim.into_iter().collect()
        }
        ClaimState::Gone => {
            let pools = snapshot.ip_claims.iter().filter_map(|claim| claim.claim.ip_pool());
            let is_unseen =
                |pool: &&str| !snapshot.pools.contains_key(*pool) && !snapshot.gone_pools.contains(*pool);
            let key = |pool: &str| ObjectKey::new(data.metadata.namespace_str(), pool);
            pools.filter(is_unseen).map(|pool| (ResourceKind::of::<IpPool>(), key(pool))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(uid: &str, data: Option<&str>) -> Metal3DataClaim {
        let rendered: Option<Value> = data.map(|name| json!({"name": name}));
        serde_json::from_value(
            json!({"metadata": {"name": "m", "uid": uid}, "status": {"renderedData": rendered}}),
        )
        .unwrap()
    }

    #[test]
    fn data_is_given_up_only_once_its_claim_is_known_to_be_gone() {
        let data: Metal3Data = serde_json::from_value(json!({"metadata": {"name": "dt-0", "ownerReferences": [
            {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataClaim", "name": "m", "uid": "u"}]}}))
        .unwrap();
        let own = claim("u", None);
        for (what, claim, is_gone, expected) in [
            ("its claim", Some(own.clone()), false, ClaimState::Held),
            ("its claim, which came back", Some(own), true, ClaimState::Held),
            ("a claim with a new uid, as after a restore", Some(claim("new", None)), false, ClaimState::Held),
            ("a later claim of the name", Some(claim("new", None)), true, ClaimState::Gone),
            ("its claim uses other data", Some(claim("u", Some("dt-1"))), false, ClaimState::Gone),
            ("not seen", None, false, ClaimState::Unknown),
            ("known to be gone", None, true, ClaimState::Gone),
        ] {
            assert_eq!(claim_state(&data, claim.as_ref(), is_gone), expected, "{what}");
        }
    }
}

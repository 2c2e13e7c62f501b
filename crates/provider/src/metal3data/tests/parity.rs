//! Capabilities of the Go provider about addresses, decided from a snapshot.

use capm3_domain::address::ClaimKind;

use super::*;

/// The claims that a plan creates.
fn claims(plan: &Plan) -> Vec<&Value> {
    let created = plan.writes.iter().filter_map(|write| match write {
        Write::Create { kind, object, .. } if kind.kind.contains("Claim") => Some(object),
        _ => None,
    });
    created.collect()
}

fn with_template(spec: Value) -> DataSnapshot {
    DataSnapshot {
        template: Some(read(json!({"metadata": {"name": "dt"}, "spec": spec}))),
        pools: BTreeMap::new(),
        ..complete()
    }
}

/// There is one IPClaim for each pool that the template names, however often. It has the name of data and pool, belongs to the
/// data, and the data's finalizer protects it.
#[test]
fn ip108_each_pool_is_claimed_once_by_a_protected_claim_of_the_data() {
    let item = |key: &str, pool: &str| json!({"key": key, "name": pool});
    let plan = decide(&with_template(json!({
        "metaData": {"ipAddressesFromPool": [item("a", "one"), item("b", "two")], "prefixesFromPool": [item("c", "one")]},
        "networkData": {"services": {"dnsFromIPPool": "two"}}})));
    let found = claims(&plan);
    assert_eq!(found.len(), 2, "{plan}");
    for (claim, pool) in found.into_iter().zip(["one", "two"]) {
        let metadata = &claim["metadata"];
        assert_eq!(metadata["name"], format!("dt-0-{pool}"));
        assert_eq!(metadata["finalizers"], json!([finalizer::DATA]));
        assert_eq!(metadata["labels"], json!({"cluster.x-k8s.io/cluster-name": "c"}));
        let owners = metadata["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1);
        assert_eq!((&owners[0]["kind"], &owners[0]["uid"]), (&json!("Metal3Data"), &json!("uid-d")));
        assert_eq!(claim["spec"]["pool"], json!({"name": pool, "namespace": "metal3"}));
    }
}

/// A template with a pool of each kind.
fn of_both_kinds() -> DataSnapshot {
    let foreign = json!({"name": "theirs", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"});
    with_template(json!({"networkData": {"networks": {"ipv4": [
        {"id": "n", "link": "e", "ipAddressFromIPPool": "ours"}, {"id": "m", "link": "e", "fromPoolRef": foreign}]}}}))
}

#[test]
fn a_pool_whose_claims_are_not_served_is_not_asked_and_the_others_are() {
    assert_eq!(claims(&decide(&of_both_kinds())).len(), 2);
    for (kind, other, pool, reason) in [
        (ClaimKind::IpClaim, "dt-0-theirs", "IPPool ours", "IPClaimNotServed"),
        (ClaimKind::IpAddressClaim, "dt-0-ours", "InClusterIPPool theirs", "IPAddressClaimNotServed"),
    ] {
        let plan = decide(&DataSnapshot { kinds_not_served: [kind].into(), ..of_both_kinds() });
        let asked: Vec<&Value> = claims(&plan).into_iter().map(|claim| &claim["metadata"]["name"]).collect();
        assert_eq!(asked, [other], "{kind}");
        let words =
            format!("the API server does not serve {kind}, which is needed for an address of {pool}; ");
        assert!(waits_for(&plan).starts_with(&words), "{}", waits_for(&plan));
        assert!(matches!(plan.end, End::Retry(..)), "no watch tells when it is served");
        let Some(Write::Patch { patch, .. }) = plan.writes.last() else { panic!("a patch") };
        let ready = &patch["status"]["conditions"][0];
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!(reason)));
        let message = ready["message"].as_str().unwrap();
        assert!(message.starts_with(&words), "{message}");
    }
}

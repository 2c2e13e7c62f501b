//! How each quirk case is answered: where the reference is known to be defective, this project either stays
//! compatible or gives a better answer, and this table says which and what.

/// How a quirk case is answered.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// Like the reference: a user or another program may depend on it.
    AsTheReference,
    /// Better: a JSON merge patch that turns the reference's `expected` into ours.
    Instead(&'static str),
    /// Better: the reference's document with these texts replaced.
    Edited(&'static [(&'static str, &'static str)]),
    /// Better: the reference's objects without the members of these names that are empty, or hold nothing but empty
    /// members.
    LeaveOut(&'static [&'static str]),
}

use Answer::{AsTheReference, Edited, Instead, LeaveOut};

/// The answer to a quirk case, if the table knows the case.
pub fn answer(id: &str) -> Option<Answer> {
    QUIRKS.iter().find(|(known, _)| *known == id).map(|(_, answer)| *answer)
}

/// A hash policy that is unset is left out.
const NO_EMPTY_POLICY: (&str, &str) = ("  bond_xmit_hash_policy: \"\"\n", "");

/// A host that must not be taken is not taken.
const NO_HOST: &str = r#"{"outcome": "none", "hosts": null, "reason": null}"#;

/// A failure domain that no label can have is a domain without hosts.
const ANY_OF_FOUR: &str = r#"{"outcome": "chosen", "hosts": ["h1", "h2", "h3", "h4"],
    "reason": "AssociateBareMetalHostSuccess", "error": null}"#;

/// Sources of addresses that say nothing, and a hash policy that is unset: the older schema refuses them.
const EMPTY_SOURCES: &[&str] = &["fromPoolRef", "string", "fromHostInterface", "bondXmitHashPolicy"];

/// Admission lets it pass.
const ACCEPTED: &str = r#"{"allowed": true, "schema_errors": null,
    "validating_webhook": {"allowed": true, "code": null, "errors": null, "message": null}}"#;

/// Case, answer. By family.
#[rustfmt::skip]
const QUIRKS: &[(&str, Answer)] = &[
    // convert
    ("c-cluster-up-nocloud", Instead(r#"{
        "converted": {"spec": {"cloudProviderEnabled": true}},
        "back": {
            "metadata": {"annotations": {"cluster.x-k8s.io/conversion-data": "{\"apiVersion\":\"infrastructure.cluster.x-k8s.io/v1beta2\",\"kind\":\"Metal3Cluster\",\"spec\":{\"cloudProviderEnabled\":true,\"controlPlaneEndpoint\":{\"host\":\"h\",\"port\":2}},\"status\":{}}"}},
            "spec": {"cloudProviderEnabled": true, "noCloudProvider": false}}}"#)),
    ("c-cluster-down-order", Instead(r#"{"back": {"spec": {"failureDomains": [{"name": "z"}, {"name": "a"}]}}}"#)),
    ("c-machine-up-custom", Instead(r#"{
        "converted": {"spec": {"image": null}},
        "back": {
            "metadata": {"annotations": {"cluster.x-k8s.io/conversion-data": "{\"apiVersion\":\"infrastructure.cluster.x-k8s.io/v1beta2\",\"kind\":\"Metal3Machine\",\"spec\":{\"customDeploy\":{\"method\":\"install\"}},\"status\":{}}"}}}}"#)),
    ("c-datatemplate-up-networkdata", LeaveOut(EMPTY_SOURCES)),
    ("c-datatemplate-up-mac-empty", LeaveOut(EMPTY_SOURCES)),
    ("c-datatemplate-down-networkdata", LeaveOut(EMPTY_SOURCES)),
    ("c-datatemplate-down-dup-params", LeaveOut(EMPTY_SOURCES)),
    ("c-datatemplate-down-status-nil", Instead(r#"{"error": null,
        "converted": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3DataTemplate",
            "metadata": {"name": "obj", "namespace": "ns1"}, "spec": {"clusterName": ""}, "status": {"indexes": {"a": 0}}},
        "back": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataTemplate",
            "metadata": {"name": "obj", "namespace": "ns1"}, "status": {"indexes": [{"name": "a", "index": 0}]}}}"#)),
    // index-allocation
    ("idx-deleting-then-new", Instead(r#"{"error": null, "has_data": true, "has_claims": true,
        "status_indexes": [{"name": "m-b", "index": 1}],
        "datas": [
            {"name": "workers-0", "namespace": "ns1", "created": false, "deleting": true,
             "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io"],
             "spec": {"index": 0, "claim": {"name": "m-a", "namespace": "ns1"}, "template": {"name": "workers", "namespace": "ns1"}}},
            {"name": "workers-1", "namespace": "ns1", "created": true,
             "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io"],
             "ownerReferences": [
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "controller": true, "kind": "Metal3DataClaim", "name": "m-b", "uid": "uid-m-b"},
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m-b", "uid": "muid-m-b"}],
             "spec": {"index": 1, "claim": {"name": "m-b", "namespace": "ns1"}, "template": {"name": "workers", "namespace": "ns1"}}}],
        "claims": [{"name": "m-b", "namespace": "ns1",
            "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"],
            "status": {"renderedData": {"name": "workers-1", "namespace": "ns1"}}}]}"#)),
    ("idx-no-owner", Instead(r#"{"has_claims": true, "status_indexes": [{"name": "m-b", "index": 0}],
        "datas": [{"name": "workers-0", "namespace": "ns1", "created": true,
             "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io"],
             "ownerReferences": [
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "controller": true, "kind": "Metal3DataClaim", "name": "m-b", "uid": "uid-m-b"},
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m-b", "uid": "muid-m-b"}],
             "spec": {"index": 0, "claim": {"name": "m-b", "namespace": "ns1"}, "template": {"name": "workers", "namespace": "ns1"}}}],
        "claims": [
            {"name": "m-a", "namespace": "ns1",
             "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"]},
            {"name": "m-b", "namespace": "ns1",
             "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"],
             "status": {"renderedData": {"name": "workers-0", "namespace": "ns1"}}}]}"#)),
    ("idx-paused-no-cluster", Instead(r#"{"error": {"class": "transient"}, "status_indexes": [], "datas": [],
        "claims": [{"name": "m-a", "namespace": "ns1", "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io"]}]}"#)),
    ("idx-name-taken", Instead(r#"{"error": null, "has_claims": true, "status_indexes": [{"name": "m-a", "index": 1}],
        "datas": [
            {"name": "workers-0", "namespace": "ns1", "created": false,
             "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io"],
             "spec": {"index": 0, "claim": {"name": "m-z", "namespace": "ns1"}, "template": {"name": "other", "namespace": "ns1"}}},
            {"name": "workers-1", "namespace": "ns1", "created": true,
             "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io"],
             "ownerReferences": [
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "controller": true, "kind": "Metal3DataClaim", "name": "m-a", "uid": "uid-m-a"},
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m-a", "uid": "muid-m-a"}],
             "spec": {"index": 1, "claim": {"name": "m-a", "namespace": "ns1"}, "template": {"name": "workers", "namespace": "ns1"}}}],
        "claims": [{"name": "m-a", "namespace": "ns1",
            "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"],
            "status": {"renderedData": {"name": "workers-1", "namespace": "ns1"}}}]}"#)),
    ("idx-data-no-claim", Instead(r#"{"error": null, "has_claims": true, "status_indexes": [{"name": "m-a", "index": 1}],
        "datas": [
            {"name": "workers-0", "namespace": "ns1", "created": false,
             "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io"],
             "spec": {"index": 0, "template": {"name": "workers", "namespace": "ns1"}}},
            {"name": "workers-1", "namespace": "ns1", "created": true,
             "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io"],
             "ownerReferences": [
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "controller": true, "kind": "Metal3DataClaim", "name": "m-a", "uid": "uid-m-a"},
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m-a", "uid": "muid-m-a"}],
             "spec": {"index": 1, "claim": {"name": "m-a", "namespace": "ns1"}, "template": {"name": "workers", "namespace": "ns1"}}}],
        "claims": [{"name": "m-a", "namespace": "ns1",
            "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"],
            "status": {"renderedData": {"name": "workers-1", "namespace": "ns1"}}}]}"#)),
    ("idx-data-nil-index", Instead(r#"{"error": null, "has_data": true, "has_claims": false, "claims": [],
        "status_indexes": [{"name": "m-b", "index": 1}]}"#)),
    // ipam
    ("ip-exhausted-sticky", Instead(r#"{"count": 1, "status_indexes": {"b": "10.0.0.1"},
        "ip_claims": [{"name": "b", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-10-0-0-1"}],
        "ip_addresses": [{"name": "px-10-0-0-1", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "b", "uid": "uid-b"}],
             "spec": {"address": "10.0.0.1", "claim": {"name": "b", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    ("ip-exhausted-enlarged", Instead(r#"{"count": 3, "status_indexes": {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"},
        "ip_claims": [{"name": "a", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-10-0-0-1"},
            {"name": "b", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-10-0-0-2"},
            {"name": "c", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-10-0-0-3"}],
        "ip_addresses": [{"name": "px-10-0-0-1", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "a", "uid": "uid-a"}],
             "spec": {"address": "10.0.0.1", "claim": {"name": "a", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}},
            {"name": "px-10-0-0-2", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "b", "uid": "uid-b"}],
             "spec": {"address": "10.0.0.2", "claim": {"name": "b", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}},
            {"name": "px-10-0-0-3", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "c", "uid": "uid-c"}],
             "spec": {"address": "10.0.0.3", "claim": {"name": "c", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    ("ip-failed-before", Instead(r#"{"count": 1, "status_indexes": {"b": "192.168.0.10"},
        "ip_claims": [{"name": "b", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-192-168-0-10"}],
        "ip_addresses": [{"name": "px-192-168-0-10", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "b", "uid": "uid-b"}],
             "spec": {"address": "192.168.0.10", "claim": {"name": "b", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    ("ip-name-collision", Instead(r#"{"count": 1, "reconcile_errors": null, "status_indexes": {"a": "192.168.0.11"},
        "ip_claims": [{"name": "a", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-192-168-0-11"}],
        "ip_addresses": [{"name": "px-192-168-0-10", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"],
             "spec": {"address": "192.168.0.10", "prefix": 24, "claim": {"name": "x"}, "pool": {"name": "other"}}},
            {"name": "px-192-168-0-11", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "a", "uid": "uid-a"}],
             "spec": {"address": "192.168.0.11", "claim": {"name": "a", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    ("ip-range-subnet-end", Instead(r#"{"count": 1, "status_indexes": {"c1": null, "c2": null},
        "reconcile_errors": [{"class": "plain"}, {"class": "plain"}],
        "ip_claims": [{"name": "c0", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-192-168-0-1"},
            {"name": "c1", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "error": "Exhausted IP Pools"},
            {"name": "c2", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "error": "Exhausted IP Pools"}],
        "ip_addresses": [{"name": "px-192-168-0-1", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "c0", "uid": "uid-c0"}],
             "spec": {"address": "192.168.0.1", "claim": {"name": "c0", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    // Admission refuses such a range; where one is stored already it still yields nothing.
    ("ip-range-end-only", AsTheReference),
    ("ip-range-gateway", Instead(r#"{"count": 1, "status_indexes": {"c0": "10.0.0.2", "c1": null},
        "reconcile_errors": [{"class": "plain"}],
        "ip_claims": [{"name": "c0", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-10-0-0-2"},
            {"name": "c1", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "error": "Exhausted IP Pools"}],
        "ip_addresses": [{"name": "px-10-0-0-2", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "c0", "uid": "uid-c0"}],
             "spec": {"address": "10.0.0.2", "gateway": "10.0.0.1", "claim": {"name": "c0", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    ("ip-pre-taken", Instead(r#"{"count": 1, "reconcile_errors": [{"class": "plain"}],
        "ip_claims": [{"name": "b", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "error": "Pre-allocated IP 192.168.0.10 is held by IPClaim x"}]}"#)),
    ("ip-pre-v6-spelling", Instead(r#"{"count": 2, "reconcile_errors": null,
        "status_indexes": {"a": "2001:db8::2", "b": "2001:db8::1"},
        "ip_claims": [{"name": "a", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-2001-db8--2"},
            {"name": "b", "namespace": "ns1", "finalizers": ["ipclaim.ipam.metal3.io"], "address": "px-2001-db8--1"}],
        "ip_addresses": [{"name": "px-2001-db8--1", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "b", "uid": "uid-b"}],
             "spec": {"address": "2001:db8::1", "claim": {"name": "b", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}},
            {"name": "px-2001-db8--2", "namespace": "ns1", "finalizers": ["ipaddress.ipam.metal3.io"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "a", "uid": "uid-a"}],
             "spec": {"address": "2001:db8::2", "claim": {"name": "a", "namespace": "ns1"}, "pool": {"name": "pool", "namespace": "ns1"}}}]}"#)),
    // A condition always has a reason.
    ("ip-capi", Instead(r#"{"ip_address_claims": [{"address": "px-192-168-0-10", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "a", "namespace": "ns1"}]}"#)),
    ("ip-capi-mixed", Instead(r#"{"ip_address_claims": [{"address": "px-192-168-0-11", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "b", "namespace": "ns1"},
            {"address": "px-192-168-0-13", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "d", "namespace": "ns1"},
            {"conditions": [{"message": "Exhausted IP Pools", "reason": "PoolExhausted", "status": "False", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "e", "namespace": "ns1"}]}"#)),
    ("ip-capi-exhausted", Instead(r#"{"ip_address_claims": [{"address": "px-10-0-0-1", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "a", "namespace": "ns1"},
            {"conditions": [{"message": "Exhausted IP Pools", "reason": "PoolExhausted", "status": "False", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "b", "namespace": "ns1"}]}"#)),
    ("ip-capi-release", Instead(r#"{"ip_address_claims": [{"address": "px-192-168-0-11", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "b", "namespace": "ns1"},
            {"address": "px-192-168-0-10", "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}], "finalizers": ["ipam.metal3.io/ipaddressclaim"], "name": "c", "namespace": "ns1"}]}"#)),
    ("ip-capi-same-name", Instead(r#"{"count": 2, "status_indexes": {"a": "192.168.0.10"},
        "ip_address_claims": [{"name": "a", "namespace": "ns1", "finalizers": ["ipam.metal3.io/ipaddressclaim"], "address": "px-192-168-0-11",
            "conditions": [{"message": "", "reason": "Ready", "status": "True", "type": "Ready"}]}],
        "capi_ip_addresses": [{"name": "px-192-168-0-11", "namespace": "ns1", "finalizers": ["ipam.metal3.io/ipaddress"], "owners": [
                {"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "name": "pool", "uid": "pool-uid"},
                {"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim", "name": "a", "uid": "uid-a"}],
             "spec": {"address": "192.168.0.11", "prefix": 0, "claimRef": {"name": "a"},
                "poolRef": {"name": "pool", "kind": "IPPool", "apiGroup": "ipam.metal3.io"}}}]}"#)),
    ("ip-capi-other-kind", Instead(r#"{"count": 0, "status_indexes": {"a": null}, "capi_ip_addresses": [],
        "ip_address_claims": [{"name": "a", "namespace": "ns1"}]}"#)),
    // provider-id-addresses
    ("addr-dup", Instead(r#"{"addresses": [{"type": "InternalIP", "address": "10.0.0.7"},
        {"type": "Hostname", "address": "n"}, {"type": "InternalDNS", "address": "n"}]}"#)),
    ("pid-empty-host", Instead(r#"{"providerID": null, "error": {"class": "plain"}}"#)),

    // render-metadata
    ("md-all-kinds", Edited(&[("gw: ", "dns: 10.20.30.2,10.20.30.3\ngw: ")])),
    ("md-index-overflow", Edited(&[("-2147483646", "2147483650"), ("-1073741824", "3221225472")])),
    ("md-pool-dns-unknown", Instead(r#"{"metaData": null, "expected_b64": null, "error": {"text":
        "pool not found in cache: spec.metaData.dnsServersFromPool[0].name, pool nope gave no address"}}"#)),
    ("md-pool-capi-kind", Instead(r#"{"claims": [
        {"pool": "pool-v4", "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool"}]}"#)),
    ("md-pool-capi-conflict", Instead(r#"{"claims": null, "claims_error": {"text":
        "multiple references with the same name but different resource types: spec.metaData.prefixesFromPool[0]"}}"#)),
    ("md-yaml-unserialisable-007f", Instead(r#"{"error": null,
        "metaData": "providerid: metal3/node-7/m3m-a\nv00: \"a\\x7Fb\"\nv01: ok\n"}"#)),
    ("md-yaml-unserialisable-0080", Instead(r#"{"error": null,
        "metaData": "providerid: metal3/node-7/m3m-a\nv00: \"a\\x80b\"\nv01: ok\n"}"#)),
    ("md-yaml-unserialisable-009f", Instead(r#"{"error": null,
        "metaData": "providerid: metal3/node-7/m3m-a\nv00: \"a\\x9Fb\"\nv01: ok\n"}"#)),
    ("md-yaml-unserialisable-fffe", Instead(r#"{"error": null,
        "metaData": "providerid: metal3/node-7/m3m-a\nv00: \"a\\uFFFEb\"\nv01: ok\n"}"#)),
    ("md-yaml-unserialisable-ffff", Instead(r#"{"error": null,
        "metaData": "providerid: metal3/node-7/m3m-a\nv00: \"a\\uFFFFb\"\nv01: ok\n"}"#)),
    ("md-yaml-nel", Instead(r#"{"expected_b64": null, "metaData":
        "providerid: metal3/node-7/m3m-a\nv00: \"\\N\"\nv01: \"a\\Nb\"\nv02: \"a\\N\\Nb\"\nv03: \"\\Na\"\nv04: \"a\\N\"\nv05: \"a \\N b\"\nv06: \"a\\N\\nb\"\n"}"#)),
    ("md-key-merge", Edited(&[("<<: v", "\"<<\": v")])),
    ("md-keys-cycle", AsTheReference),
    // render-networkdata
    ("nd-bond-modes", Edited(&[NO_EMPTY_POLICY])),
    ("nd-bond-hash", Edited(&[NO_EMPTY_POLICY])),
    ("nd-bond-no-links", Edited(&[NO_EMPTY_POLICY, ("bond_links: null", "bond_links: []")])),
    ("nd-bond-params-scalars", AsTheReference),
    ("nd-v4-pool-precedence", AsTheReference),
    ("nd-v4-mask-too-big", Instead(r#"{"networkData": null, "expected_b64": null, "error": {"text":
        "2001:db8:42::7 is not an IPv4 address: spec.networkData.networks.ipv4[0], pool pool-v6"}}"#)),
    ("nd-v6-mask-v4-pool", Instead(r#"{"networkData": null, "expected_b64": null, "error": {"text":
        "10.20.30.40 is not an IPv6 address: spec.networkData.networks.ipv6[0], pool pool-v4"}}"#)),
    ("nd-v6-mask-too-big", Instead(r#"{"networkData": null, "expected_b64": null, "error": {"text":
        "::2 is not an IPv4 address: spec.networkData.networks.ipv4[0], pool y"}}"#)),
    ("nd-route-gateways", AsTheReference),
    ("nd-route-gateway-precedence", Instead(r#"{"networkData": null, "expected_b64": null, "error": {"text":
        "no gateway: spec.networkData.networks.ipv4[0].routes[3].gateway, pool pool-c has none"}}"#)),
    ("nd-route-empty-gateway", Instead(r#"{"networkData": null, "expected_b64": null, "error": {"text":
        "no gateway: spec.networkData.networks.ipv4DHCP[0].routes[0].gateway, no source is given"}}"#)),
    ("nd-claims-all", Instead(r#"{"networkData": null, "expected_b64": null,
        "error": {"text": "10.0.0.5 is not an IPv6 address: spec.networkData.networks.ipv6[0], pool p5"},
        "claims": [
            {"pool": "p1", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p10", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p12", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p2", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p3", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p5", "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool"},
            {"pool": "p6", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p7", "apiGroup": "ipam.metal3.io", "kind": "IPPool"},
            {"pool": "p9", "apiGroup": "ipam.metal3.io", "kind": "IPPool"}
        ]}"#)),
    // select-host
    ("sel-detached", Instead(NO_HOST)),
    ("sel-opstatus", Instead(NO_HOST)),
    ("sel-own-consumer-hidden", Instead(r#"{"hosts": ["h1"]}"#)),
    ("sel-op-doesnotexist", Instead(r#"{"outcome": "chosen", "hosts": ["h3", "h4"], "reason": "AssociateBareMetalHostSuccess", "error": null}"#)),
    ("sel-op-exists-values", Instead(r#"{"outcome": "chosen", "hosts": ["h1", "h2"], "reason": "AssociateBareMetalHostSuccess", "error": null}"#)),
    ("sel-op-not-values", Instead(r#"{"outcome": "chosen", "hosts": ["h3", "h4"], "reason": "AssociateBareMetalHostSuccess", "error": null}"#)),
    ("sel-fd-invalid", Instead(ANY_OF_FOUR)),
    ("sel-fd-long", Instead(ANY_OF_FOUR)),
    ("sel-reuse-mixed", Instead(r#"{"outcome": "chosen", "hosts": ["h1"], "reason": "AssociateBareMetalHostViaNodeReuseSuccess", "error": null}"#)),
    ("sel-reuse-mixed-first", Instead(r#"{"outcome": "chosen", "hosts": ["h2"], "reason": "AssociateBareMetalHostViaNodeReuseSuccess", "error": null}"#)),
    ("sel-reuse-last", Instead(r#"{"hosts": ["h1", "h2", "h3"]}"#)),
    ("sel-reuse-fd", Instead(r#"{"hosts": ["h1"]}"#)),
    ("sel-reuse-consumer-foreign", Instead(NO_HOST)),
    // webhook
    ("w-clustertemplate-upd-repair", Instead(ACCEPTED)),
    ("w-machine-selector-dup", Instead(ACCEPTED)),
    ("w-machinetemplate-secrets", Instead(r#"{"allowed": false, "validating_webhook": {"allowed": false, "code": 422,
        "errors": [{"field": "spec.template.spec.userData.namespace", "type": "Forbidden"}]}}"#)),
    ("w-datatemplate-empty-string", Instead(ACCEPTED)),
    ("w-datatemplate-bond-noparams", Instead(ACCEPTED)),
    ("w-datatemplate-bond-scalar", Instead(ACCEPTED)),
    ("w-datatemplate-vlan-dup", Instead(ACCEPTED)),
    ("w-datatemplate-route-dup", Instead(ACCEPTED)),
    ("w-dataclaim-notemplate", Instead(r#"{"validating_webhook": {"code": 422,
        "errors": [{"field": "spec.template.name", "type": "Invalid"}]}}"#)),
    ("w-dataclaim-upd-ns", Instead(ACCEPTED)),
    ("w-remediationtemplate-none", Instead(r#"{"allowed": true, "mutating_webhook": null,
        "validating_webhook": {"allowed": true}, "defaulted": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3RemediationTemplate", "metadata": {"name": "obj", "namespace": "ns1"},
            "spec": {"template": {"spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 600}}}}}}"#)),
    ("w-ippool-mixed", Instead(r#"{"allowed": false, "validating_webhook": {"allowed": false, "code": 422,
        "errors": [{"field": "spec.pools[0]", "type": "Invalid"}]}}"#)),
    ("w-ippool-prealloc-network", Instead(r#"{"allowed": false, "validating_webhook": {"allowed": false, "code": 422,
        "errors": [{"field": "spec.preAllocations", "type": "Invalid"}]}}"#)),
];

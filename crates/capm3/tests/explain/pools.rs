//! The explanation of pools that have nothing left.

use serde_json::{Value, json};

use crate::objects::Objects;

#[test]
fn an_exhausted_pool_is_named_with_its_counts_and_how_to_grow_it() {
    let text = Objects::of_site().both_are_expected("exhausted-pool", "m3m/cp-1").stdout;
    assert!(text.contains("IPPool my-pool  0 of 2"), "{text}");
    assert!(text.contains("kubectl edit ippool my-pool -n metal3"), "{text}");
    assert!(text.contains("it has 2 addresses, 1 in use and 1 reserved in spec.preAllocations\n"), "{text}");
    assert!(text.contains("what nobody needs: kept-for-the-router (10.0.0.11)\n"), "{text}");
    assert!(
        text.contains("delete a machine that uses an address of this pool: Machine cp-0 (10.0.0.10)\n"),
        "{text}"
    );
}

/// A pool may have thousands of addresses: a few of those that have them are named, and the others counted.
#[test]
fn a_few_of_those_that_have_the_addresses_of_a_pool_are_named() {
    let taken: Vec<String> = (0..5).map(|number| format!("10.0.0.1{number}")).collect();
    let indexes: Value = taken.iter().map(|address| (format!("claim-{address}"), json!(address))).collect();
    let site = Objects::of_site()
        .without("IPAddress", "my-pool-10-0-0-10")
        .with("IPPool", "my-pool", "/spec/pools/0/end", json!("10.0.0.14"))
        .with("IPPool", "my-pool", "/spec/preAllocations", json!({}))
        .with("IPPool", "my-pool", "/status/indexes", indexes);
    let text = site.explain("cp-1").stdout;
    assert!(text.contains("it has 5 addresses, 5 in use\n"), "{text}");
    assert!(text.contains("IPClaim claim-10.0.0.12 (10.0.0.12) and 2 more\n"), "{text}");
    assert!(!text.contains("preAllocations"), "{text}");
}

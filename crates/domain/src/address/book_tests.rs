use proptest::prelude::*;

use super::*;
use crate::{
    address::{
        ClaimKind::{IpAddressClaim, IpClaim},
        count_addresses,
    },
    wait::FreeAddresses,
};

fn spec(json: serde_json::Value) -> IpPoolSpec {
    serde_json::from_value(json).unwrap()
}

fn ask(name: &str) -> AddressRequest {
    AddressRequest::new(IpClaim, name)
}

fn ask_for(name: &str, address: &str) -> AddressRequest {
    AddressRequest { requested: Some(address.into()), ..ask(name) }
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn given(book: &mut AddressBook, request: &AddressRequest) -> String {
    match book.allocate(request, 0) {
        Ok(allocation) => allocation.address.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Each pool once in IPv4 and once in IPv6.
fn twins() -> [(IpPoolSpec, [&'static str; 4]); 2] {
    [
        (
            spec(serde_json::json!({"pools": [{"start": "10.0.0.10", "end": "10.0.0.13"}]})),
            ["10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"],
        ),
        (
            spec(serde_json::json!({"pools": [{"start": "2001:db8::a", "end": "2001:db8::d"}]})),
            ["2001:db8::a", "2001:db8::b", "2001:db8::c", "2001:db8::d"],
        ),
    ]
}

#[test]
fn claims_get_ascending_addresses_until_the_pool_is_used_up() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        for (n, expected) in addresses.iter().enumerate() {
            assert_eq!(given(&mut book, &ask(&format!("c{n}"))), *expected);
        }
        assert_eq!(given(&mut book, &ask("late")), "Exhausted IP Pools");
        assert_eq!(book.count(), 4);
    }
}

#[test]
fn a_claim_keeps_the_address_it_has() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        book.record(address(addresses[2]), Some(ClaimKey::new(IpClaim, "a")));
        assert_eq!(given(&mut book, &ask("a")), addresses[2]);
        assert_eq!(book.count(), 1);
    }
}

#[test]
fn a_released_address_is_the_lowest_free_one_again() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        for name in ["a", "b", "c"] {
            given(&mut book, &ask(name));
        }
        assert_eq!(book.release(&ask("b").claim), [address(addresses[1])]);
        assert!(book.release(&ask("b").claim).is_empty());
        assert_eq!(given(&mut book, &ask("d")), addresses[1]);
        assert_eq!(given(&mut book, &ask("e")), addresses[3]);
    }
}

#[test]
fn reservations_are_for_their_claim_only_and_outlive_it() {
    for (mut spec, addresses) in twins() {
        spec.pre_allocations = BTreeMap::from([("b".to_owned(), addresses[0].to_owned())]);
        let mut book = AddressBook::new(&spec);
        assert_eq!(given(&mut book, &ask("a")), addresses[1]);
        assert_eq!(given(&mut book, &ask("b")), addresses[0]);
        assert!(book.release(&ask("b").claim).is_empty());
        assert_eq!(given(&mut book, &ask("c")), addresses[2]);
        assert_eq!(given(&mut book, &ask_for("d", addresses[0])), "Requested IP not available");
        assert_eq!(book.count(), 3);
    }
}

#[test]
fn reservations_of_a_pool_that_goes_do_not_count() {
    for (mut spec, addresses) in twins() {
        spec.pre_allocations = BTreeMap::from([("b".to_owned(), addresses[0].to_owned())]);
        assert_eq!(AddressBook::new(&spec).count(), 1);
        let reserved: Address = addresses[0].parse().unwrap();
        assert!(AddressAllocator::new(&spec, Vec::new()).is_taken(reserved));
        assert!(!AddressAllocator::of_deleting_pool(&spec, Vec::new()).is_taken(reserved));
    }
}

#[test]
fn requested_addresses_and_reservations_that_cannot_be_given_say_why() {
    for (mut spec, addresses) in twins() {
        let [first, second, ..] = addresses;
        spec.pre_allocations = BTreeMap::from([
            ("b".to_owned(), first.to_owned()),
            ("out".to_owned(), "192.0.2.1".to_owned()),
            ("bad".to_owned(), "rubbish".to_owned()),
        ]);
        let mut book = AddressBook::new(&spec);
        book.record(address(second), None);
        let table = [
            (ask_for("a", "x"), "Invalid ipAddress annotation \"x\": not a valid IP address"),
            (ask_for("b", second), "PreAllocation and requested ip address are conflicting"),
            (ask_for("a", first), "Requested IP not available"),
            (ask_for("a", second), "Requested IP not available"),
            (ask_for("a", "198.51.100.1"), "Exhausted IP Pools"),
            (ask("out"), "Pre-allocated IP out of bounds"),
            (ask("bad"), "Pre-allocated IP out of bounds"),
            (ask_for("b", first), first),
            (ask_for("a", ""), addresses[2]),
        ];
        for (request, expected) in table {
            assert_eq!(given(&mut book, &request), expected, "{request:?}");
        }
    }
}

#[test]
fn a_reserved_address_that_somebody_has_names_the_holder() {
    for (mut spec, addresses) in twins() {
        spec.pre_allocations = BTreeMap::from([("b".to_owned(), addresses[0].to_owned())]);
        let mut book = AddressBook::new(&spec);
        book.record(address(addresses[0]), Some(ClaimKey::new(IpAddressClaim, "x")));
        let text = format!("Pre-allocated IP {} is held by IPAddressClaim x", addresses[0]);
        assert_eq!(given(&mut book, &ask("b")), text);
    }
}

#[test]
fn another_spelling_is_the_same_address() {
    let spec = spec(serde_json::json!({
        "pools": [{"start": "2001:db8::1", "end": "2001:db8::9"}],
        "preAllocations": {"b": "2001:DB8:0::0001"}
    }));
    let mut book = AddressBook::new(&spec);
    assert_eq!(given(&mut book, &ask("a")), "2001:db8::2");
    assert_eq!(given(&mut book, &ask_for("b", "2001:db8:0:0:0:0:0:1")), "2001:db8::1");
}

#[test]
fn a_gateway_is_not_given_out_unasked() {
    for (range, asked, unasked) in [
        (serde_json::json!({"subnet": "10.0.0.0/29", "gateway": "10.0.0.1"}), "10.0.0.1", "10.0.0.2"),
        (
            serde_json::json!({"subnet": "2001:db8::/64", "gateway": "2001:db8::1"}),
            "2001:db8::1",
            "2001:db8::2",
        ),
    ] {
        let mut book = AddressBook::new(&spec(serde_json::json!({"pools": [range]})));
        assert_eq!(given(&mut book, &ask("a")), unasked);
        assert_eq!(book.count(), 1);
        assert_eq!(given(&mut book, &ask_for("router", asked)), asked);
        assert_eq!(book.release(&ask("router").claim), [address(asked)]);
        assert_ne!(given(&mut book, &ask("b")), asked, "free, but still a gateway");
    }
}

#[test]
fn neither_gateways_nor_reservations_nor_what_is_given_out_counts_as_free() {
    let pool = serde_json::json!({"pools": [{"start": "10.0.0.1", "end": "10.0.0.6", "gateway": "10.0.0.1"}],
        "preAllocations": {"x": "10.0.0.6", "y": "192.168.0.1"}});
    let count = |used: &[&str]| {
        count_addresses(&spec(pool.clone()), &used.iter().map(|text| address(text).number()).collect())
    };
    assert_eq!(count(&[]), FreeAddresses { free: 4, capacity: 6 });
    assert_eq!(count(&["10.0.0.2", "10.0.0.6", "192.168.0.2"]), FreeAddresses { free: 3, capacity: 6 });
}

#[test]
fn an_address_whose_object_name_is_foreign_is_passed_over() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        book.pass_over(address(addresses[0]));
        assert_eq!(given(&mut book, &ask("a")), addresses[1]);
        assert_eq!(given(&mut book, &ask_for("b", addresses[0])), "Requested IP not available");
        assert_eq!(book.count(), 1);
    }
}

#[test]
fn what_belongs_to_an_address_comes_from_its_range_then_from_the_pool() {
    let spec = spec(serde_json::json!({
        "prefix": 24, "gateway": "10.0.0.254", "dnsServers": ["8.8.8.8", "8.8.4.4"],
        "pools": [
            {"start": "10.0.0.1", "end": "10.0.0.1", "prefix": 0, "dnsServers": []},
            {"start": "2001:db8::1", "end": "2001:db8::1", "prefix": 64, "gateway": "2001:db8::ff", "dnsServers": ["2001:db8::53"]}
        ]
    }));
    let mut book = AddressBook::new(&spec);
    let v4 = book.allocate(&ask("a"), 0).unwrap();
    assert_eq!((v4.prefix, v4.gateway.as_deref()), (Some(24), Some("10.0.0.254")));
    assert_eq!(v4.dns_servers, ["8.8.8.8", "8.8.4.4"]);
    let v6 = book.allocate(&ask("b"), 0).unwrap();
    assert_eq!((v6.prefix, v6.gateway.as_deref()), (Some(64), Some("2001:db8::ff")));
    assert_eq!(v6.dns_servers, ["2001:db8::53"]);
}

#[test]
fn a_prefix_that_the_schema_would_refuse_fails_cluster_api_claims_only() {
    let spec = spec(serde_json::json!({"pools": [{"start": "10.0.0.1", "end": "10.0.0.9", "prefix": 129}]}));
    let book = AddressBook::new(&spec);
    let capi = AddressRequest::new(IpAddressClaim, "a");
    assert_eq!(book.choose(&capi, 0), Err(AddressError::InvalidPrefix));
    assert!(book.choose(&ask("a"), 0).is_ok());
}

#[test]
fn claims_of_both_kinds_may_share_a_name() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        let capi = AddressRequest::new(IpAddressClaim, "a");
        assert_eq!(given(&mut book, &capi), addresses[0]);
        assert_eq!(given(&mut book, &ask("a")), addresses[1]);
    }
}

#[test]
fn an_address_with_two_holders_is_free_when_both_are_gone() {
    for (spec, addresses) in twins() {
        let mut book = AddressBook::new(&spec);
        let (first, other) = (ask("a").claim, ClaimKey::new(IpAddressClaim, "b"));
        let shared = address(addresses[0]);
        book.record(shared, Some(first.clone()));
        book.record(shared, Some(other.clone()));
        assert!(!book.forget(shared, Some(&first)));
        assert!(book.is_taken(shared));
        assert!(book.forget(shared, Some(&other)));
        assert_eq!(book.count(), 0);
        assert_eq!(book.address_of(&first), None);
    }
}

#[test]
fn a_slash_64_with_a_reservation_at_its_end_is_no_work() {
    let last = "2001:db8::ffff:ffff:ffff:ffff";
    let spec = spec(serde_json::json!({
        "pools": [{"subnet": "2001:db8::/64"}], "preAllocations": {"b": last}
    }));
    let mut book = AddressBook::new(&spec);
    for n in 0..5000 {
        book.allocate(&ask(&format!("c{n}")), 0).unwrap();
    }
    assert_eq!(given(&mut book, &ask("b")), last);
    assert_eq!(given(&mut book, &ask_for("x", last)), "Requested IP not available");
    assert_eq!(given(&mut book, &ask("y")), "2001:db8::1389");
}

#[test]
fn random_draws_wrap_around_and_leave_open_ranges_alone() {
    for (mut spec, addresses) in twins() {
        spec.allocation_strategy = Some("random".into());
        let mut book = AddressBook::new(&spec);
        let draw =
            |book: &mut AddressBook, name: &str, draw| book.allocate(&ask(name), draw).unwrap().address;
        assert_eq!(draw(&mut book, "a", 6), address(addresses[2]), "6 mod 4");
        assert_eq!(draw(&mut book, "b", 2), address(addresses[3]), "taken, the next one");
        assert_eq!(draw(&mut book, "c", 3), address(addresses[0]), "round to the first");
        spec.pools.iter_mut().for_each(|range| range.end = None);
        let open = AddressBook::new(&spec).choose(&ask("a"), 0);
        assert_eq!(open, Err(AddressError::Exhausted { requested: false }));
    }
}

/// A step of a random run: claim number, and what it does.
#[derive(Debug, Clone)]
enum Step {
    Allocate(u8, u128),
    Ask(u8, u8),
    Release(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_u8..24, any::<u128>()).prop_map(|(c, d)| Step::Allocate(c, d)),
        1 => (0_u8..24, 0_u8..20).prop_map(|(c, a)| Step::Ask(c, a)),
        2 => (0_u8..24).prop_map(Step::Release),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #[test]
    fn an_address_never_has_two_owners_and_sequential_gives_the_lowest(steps in steps(), v6: bool, random: bool) {
        let base = if v6 { 0x2001_0db8_u128 << 96 } else { 0x0000_ffff_0a00_0000 };
        let nth = |n: u8| Address::from_number(base + u128::from(n));
        let spec = IpPoolSpec {
            pools: [(2, 7), (5, 12), (14, 15)]
                .map(|(first, last)| capm3_api::ipam::IpRange {
                    start: Some(nth(first).to_string()),
                    end: Some(nth(last).to_string()),
                    ..Default::default()
                })
                .to_vec(),
            pre_allocations: BTreeMap::from([("c1".to_owned(), nth(3).to_string())]),
            allocation_strategy: random.then(|| "random".to_owned()),
            ..IpPoolSpec::default()
        };
        let yields = |n: u8| (2..=12).contains(&n) || (14..=15).contains(&n);
        let mut book = AddressBook::new(&spec);
        let mut owners: BTreeMap<Address, String> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Release(c) => {
                    let claim = format!("c{c}");
                    book.release(&ClaimKey::new(IpClaim, claim.clone()));
                    owners.retain(|_, owner| *owner != claim);
                }
                Step::Allocate(c, draw) => {
                    let claim = format!("c{c}");
                    let had = owners.iter().find(|(_, o)| **o == claim).map(|(a, _)| *a);
                    let free: Vec<Address> = (0..20).filter(|n| yields(*n) && *n != 3).map(nth).filter(|a| !owners.contains_key(a)).collect();
                    match book.allocate(&ask(&claim), draw) {
                        Ok(got) => {
                            if let Some(had) = had {
                                prop_assert_eq!(got.address, had);
                            } else if c == 1 {
                                prop_assert_eq!(got.address, nth(3));
                            } else {
                                prop_assert!(free.contains(&got.address));
                                prop_assert!(random || Some(&got.address) == free.first());
                            }
                            let before = owners.insert(got.address, claim.clone());
                            prop_assert!(before.is_none_or(|o| o == claim));
                        }
                        Err(_) => prop_assert!(free.is_empty() && c != 1),
                    }
                }
                Step::Ask(c, n) => {
                    let claim = format!("c{c}");
                    if owners.values().any(|o| *o == claim) || c == 1 { continue }
                    let got = book.allocate(&ask_for(&claim, &nth(n).to_string()), 0);
                    let may = yields(n) && n != 3 && !owners.contains_key(&nth(n));
                    prop_assert_eq!(got.is_ok(), may);
                    if may { owners.insert(nth(n), claim); }
                }
            }
        }
        let reserved_only = usize::from(!owners.contains_key(&nth(3)));
        prop_assert_eq!(book.count(), owners.len() + reserved_only);
    }
}

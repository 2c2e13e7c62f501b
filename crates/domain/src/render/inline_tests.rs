use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn given(range: Value, index: i32) -> String {
    let range: InlineRange = serde_json::from_value(range).unwrap();
    match inline_address(&range, index) {
        Ok(address) => address.to_string(),
        Err(error) => error.to_string(),
    }
}

/// The two ranges that the first design prints.
fn printed() -> [Value; 2] {
    [
        json!({"start": "192.168.0.10", "end": "192.168.0.100", "subnet": "192.168.0.0/24", "step": 1}),
        json!({"start": "2001:0db8:85a3::8a2e:0370:a", "end": "2001:0db8:85a3::8a2e:0370:fff0",
            "subnet": "2001:0db8:85a3::8a2e:0370:0/64", "step": 10}),
    ]
}

/// A range written in the template gives start + index x step, up to its end and no further.
#[test]
fn s133_a_printed_ipv4_range_gives_the_addresses_from_start_to_end() {
    let [v4, _] = printed();
    for (index, expected) in [(0, "192.168.0.10"), (1, "192.168.0.11"), (90, "192.168.0.100")] {
        assert_eq!(given(v4.clone(), index), expected);
    }
    assert_eq!(given(v4, 91), "index 91, step 1 gives 192.168.0.101, end is 192.168.0.100");
}

/// The same in IPv6, in steps of ten.
#[test]
fn s135_a_printed_ipv6_range_gives_the_addresses_from_start_to_end() {
    let [_, v6] = printed();
    for (index, expected) in [
        (0, "2001:db8:85a3::8a2e:370:a"),
        (1, "2001:db8:85a3::8a2e:370:14"),
        (6551, "2001:db8:85a3::8a2e:370:fff0"),
    ] {
        assert_eq!(given(v6.clone(), index), expected);
    }
    assert_eq!(
        given(v6, 6552),
        "index 6552, step 10 gives 2001:db8:85a3::8a2e:370:fffa, end is 2001:db8:85a3::8a2e:370:fff0"
    );
}

/// Without a start, counting begins at the second address of the subnet; host bits that are written count.
#[test]
fn s136_a_subnet_alone_starts_at_its_second_address() {
    for (subnet, index, expected) in [
        ("192.168.0.0/24", 0, "192.168.0.1"),
        ("192.168.0.10/24", 1, "192.168.0.12"),
        ("192.168.0.0/24", 255, "index 255, step 1 gives 192.168.1.0, subnet is 192.168.0.0/24"),
        ("2001:db8::/64", 0, "2001:db8::1"),
        ("2001:db8::10/64", 1, "2001:db8::12"),
        ("2001:db8::/126", 3, "index 3, step 1 gives 2001:db8::4, subnet is 2001:db8::/126"),
    ] {
        assert_eq!(given(json!({"subnet": subnet}), index), expected);
    }
}

/// An end bounds a range that starts at its subnet too; start and end need no subnet.
#[test]
fn s137_start_and_end_need_no_subnet_and_an_end_always_bounds() {
    assert_eq!(given(json!({"start": "10.0.0.1", "end": "10.0.0.9"}), 8), "10.0.0.9");
    assert_eq!(
        given(json!({"subnet": "10.0.0.0/24", "end": "10.0.0.2"}), 2),
        "index 2, step 1 gives 10.0.0.3, end is 10.0.0.2"
    );
    assert_eq!(inline_prefix(&serde_json::from_value(json!({"subnet": "10.0.0.0/24"})).unwrap()), Some(24));
}

/// A range without start and subnet is reported, not guessed.
#[test]
fn s138_a_range_without_start_and_subnet_is_refused() {
    for range in [json!({}), json!({"end": "10.0.0.9"}), json!({"start": "", "subnet": ""})] {
        assert_eq!(given(range, 0), "Either Start or Subnet is required for ipAddress");
    }
}

/// A start inside a subnet may not lead out of it.
#[test]
fn s139_a_result_outside_the_subnet_is_out_of_bounds() {
    for (range, index, expected) in [
        (
            json!({"start": "192.168.0.10", "subnet": "192.168.0.0/24"}),
            250,
            "index 250, step 1 gives 192.168.1.4, subnet is 192.168.0.0/24",
        ),
        (
            json!({"start": "2001:db8::fff0", "subnet": "2001:db8::/112"}),
            16,
            "index 16, step 1 gives 2001:db8::1:0, subnet is 2001:db8::/112",
        ),
    ] {
        assert_eq!(given(range, index), expected);
    }
}

/// A step that is unset or 0 counts as 1.
#[test]
fn s140_steps_of_any_size_are_taken_and_none_is_one() {
    let start = |step: Value| json!({"start": "10.0.0.0", "step": step});
    assert_eq!(given(json!({"start": "10.0.0.0"}), 3), "10.0.0.3");
    assert_eq!(given(start(json!(0)), 3), "10.0.0.3");
    assert_eq!(given(start(json!(10)), 3), "10.0.0.30");
    assert_eq!(given(start(json!(-1)), 3), "step \"-1\" is not 1 or more");
}

#[test]
fn addresses_do_not_leave_their_family() {
    for (range, index, expected) in [
        (json!({"start": "192.168.0.10"}), 1000, "192.168.3.242"),
        (
            json!({"start": "255.255.255.250"}),
            10,
            "index 10, step 1 gives no address, the last one is 255.255.255.255",
        ),
        (json!({"start": "2001::10"}), 10000, "2001::2720"),
        (
            json!({"start": "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0"}),
            100,
            "index 100, step 1 gives no address, the last one is ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ),
        (
            json!({"start": "10.0.0.1", "end": "2001::1"}),
            0,
            "end 2001::1 is not of the same family as 10.0.0.1",
        ),
        (json!({"start": "x"}), 0, "start \"x\" is not an IP address"),
        (
            json!({"subnet": "10.0.0.0"}),
            0,
            "subnet \"10.0.0.0\" is not an address with a prefix length, such as 192.168.0.0/24",
        ),
    ] {
        assert_eq!(given(range, index), expected);
    }
}

fn limit(spec: Value) -> Option<u128> {
    inline_limit(&serde_json::from_value(spec).unwrap())
}

#[test]
fn the_tightest_range_of_a_template_limits_its_indexes() {
    let [v4, v6] = printed();
    assert_eq!(limit(json!({"metaData": {}})), None);
    let network = |range: &Value| json!([{"id": "a", "link": "b", "ipAddress": range}]);
    let both = json!({"networkData": {"networks": {"ipv4": network(&v4), "ipv6": network(&v6)}}});
    assert_eq!(limit(both), Some(90));
    assert_eq!(limit(json!({"networkData": {"networks": {"ipv6": network(&v6)}}})), Some(6551));
}

proptest! {
    #[test]
    fn the_limit_is_the_last_index_that_has_an_address(
        start in 0_u32..200, span in 0_u32..300, step in 1_i32..20, subnet in prop::option::of(24_u32..32),
    ) {
        let mut range = json!({"start": format!("10.0.0.{start}"),
            "end": Ipv4Addr::from_bits(0x0a00_0000 + start + span).to_string(), "step": step});
        if let Some(prefix) = subnet {
            range["subnet"] = json!(format!("10.0.0.{start}/{prefix}"));
        }
        let spec = json!({"metaData": {"ipAddresses": [{"key": "a", "start": range["start"], "end": range["end"],
            "step": step, "subnet": range["subnet"]}]}});
        let range: InlineRange = serde_json::from_value(range).unwrap();
        let last = i32::try_from(limit(spec).unwrap()).unwrap();
        prop_assert!(inline_address(&range, last).is_ok());
        prop_assert!(inline_address(&range, last + 1).is_err());
    }

    #[test]
    fn two_indexes_never_give_one_address(a in 0_i32..2_000_000, b in 0_i32..2_000_000, step in 0_i32..100) {
        let range: InlineRange = serde_json::from_value(json!({"subnet": "2001:db8::/64", "step": step})).unwrap();
        prop_assert_eq!(a == b, inline_address(&range, a) == inline_address(&range, b));
    }
}

#[test]
fn a_range_without_any_address_says_so_whatever_the_index() {
    for (range, expected) in [
        (json!({"start": "10.0.0.9", "end": "10.0.0.5"}), "start 10.0.0.9 is behind end 10.0.0.5"),
        (
            json!({"start": "2001:db8::9", "end": "2001:db8::5"}),
            "start 2001:db8::9 is behind end 2001:db8::5",
        ),
        (
            json!({"subnet": "10.0.0.8/24", "end": "10.0.0.5"}),
            "10.0.0.9, the first address of subnet 10.0.0.8/24, is behind end 10.0.0.5",
        ),
        (
            json!({"start": "10.0.1.1", "subnet": "10.0.0.0/24"}),
            "start 10.0.1.1 is not in subnet 10.0.0.0/24",
        ),
    ] {
        for index in [0, 3] {
            assert_eq!(given(range.clone(), index), expected);
        }
    }
}

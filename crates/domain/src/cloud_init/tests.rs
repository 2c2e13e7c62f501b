//! What running the real programs on generated documents showed, and no vector has.

use serde_json::{Value, json};

use super::{Lost, Nics, Outcome, configure};

fn nics() -> Nics {
    Nics::new([
        ("52:54:00:aa:00:01".to_owned(), "enp1s0".to_owned()),
        ("52:54:00:aa:00:02".to_owned(), "enp2s0".to_owned()),
    ])
}

fn bonded() -> Value {
    json!({
        "links": [
            {"id": "lag", "type": "bond", "bond_mode": "802.3ad", "bond_miimon": 100, "bond_links": ["a", "b"]},
            {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:aa:00:01"},
            {"id": "b", "type": "phy", "ethernet_mac_address": "52:54:00:aa:00:02"},
        ],
        "networks": [],
        "services": [],
    })
}

fn of(document: &Value, target: &str) -> Outcome {
    configure(document, &nics(), target.parse().unwrap())
}

#[test]
fn netplan_finds_bond_options_in_every_mixture_of_dashes_and_underscores() {
    let mut document = bonded();
    document["links"][0]["bond_lacp-rate"] = json!("fast");
    document["links"][0]["bond-miimon"] = json!(50);
    let outcome = of(&document, "netplan@22.4.2");
    let bond = serde_json::to_value(&outcome.configuration.interfaces["bond0"].bond).unwrap();
    assert_eq!(bond, json!({"lacp_rate": "fast", "miimon": 50, "mode": "802.3ad"}));
}

#[test]
fn netplan_reads_no_digits_as_zero() {
    let mut document = bonded();
    document["links"][1]["mtu"] = json!("");
    assert_eq!(of(&document, "netplan@22.4.2").refused, []);
    document["links"][1]["mtu"] = json!("large");
    assert_eq!(of(&document, "netplan@22.4.2").refused.len(), 1);
}

#[test]
fn a_member_of_a_bond_gets_no_dhcp_on_suse() {
    let mut document = bonded();
    document["networks"] = json!([{"id": "n", "link": "b", "type": "ipv6_dhcp"}]);
    let lost = |target: &str| of(&document, target).lost.iter().any(|loss| loss.what == Lost::Dhcp6);
    assert!(lost("sysconfig_suse@22.4.2"));
    assert!(!lost("sysconfig@22.4.2"));
}

#[test]
fn network_manager_does_not_take_what_contradicts_the_mode_or_is_no_mac() {
    let mut document = bonded();
    document["links"][0]["bond_primary"] = json!("enp1s0");
    let faults = |document: &Value| {
        let outcome = of(document, "network_manager@26.2");
        outcome.profile_faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        faults(&document),
        ["NetworkManager refuses the profile of bond0: primary does not work in mode 802.3ad"]
    );
    document["links"][0]["bond_mode"] = json!("active-backup");
    assert_eq!(faults(&document), Vec::<String>::new());
    document["links"][0]["bond_packets_per_slave"] = json!(3);
    assert_eq!(faults(&document), ["NetworkManager drops bond.packets_per_slave of bond0: 3"]);
    let mut named = bonded();
    named["links"][2] = json!({"id": "b", "type": "phy", "name": "enp2s0", "ethernet_mac_address": "junk"});
    assert_eq!(faults(&named), ["NetworkManager drops ethernet.mac-address of enp2s0: junk"]);
}

#[test]
fn addresses_of_a_bond_member_are_not_taken_by_network_manager() {
    let mut document = bonded();
    document["networks"] = json!([{"id": "n", "link": "a", "type": "ipv4", "ip_address": "10.0.0.5", "netmask": "255.255.255.0"}]);
    let faults = of(&document, "network_manager@26.2").profile_faults;
    let keys: Vec<Option<&str>> = faults.iter().map(|fault| fault.key.as_deref()).collect();
    assert_eq!(keys, [Some("ipv4.address1")]);
}

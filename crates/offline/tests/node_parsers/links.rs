//! Links of a generated template: NICs, bonds, VLANs, and where their MACs come from.

use serde_json::{Map, Value, json};

use crate::choice::Choice;

/// NICs of the host.
pub const NICS: [(&str, &str); 4] = [
    ("52:54:00:aa:00:01", "enp1s0"),
    ("52:54:00:aa:00:02", "enp2s0"),
    ("52:54:00:aa:00:03", "eno3"),
    ("52:54:00:aa:00:04", "enp134s0f0np0"),
];
/// Annotation of the host that holds the MAC of its first NIC.
pub const MAC_ANNOTATION: &str = "example.org/mac";

const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb", "802.3ad"];

/// `links` of the template, and the ids that networks may refer to.
pub fn links(choice: &Choice) -> (Value, Vec<String>) {
    let count = choice.between(1, NICS.len());
    let nics: Vec<String> = (0..count).map(|at| format!("nic{}", at + 1)).collect();
    let ethernets: Vec<Value> = nics.iter().enumerate().map(|(at, id)| ethernet(choice, id, at)).collect();
    let bonds = if count > 1 && choice.once_in(2) { bonds(choice, &nics) } else { Vec::new() };
    let mut ids: Vec<String> = bonds.iter().map(|bond| bond["id"].as_str().unwrap().to_owned()).collect();
    let members: Vec<&Value> = bonds.iter().flat_map(|bond| bond["bondLinks"].as_array().unwrap()).collect();
    let is_free = |nic: &&String| choice.once_in(12) || !members.iter().any(|member| *member == *nic);
    ids.extend(nics.iter().filter(is_free).cloned());
    let vlans = vlans(choice, &ids);
    ids.extend(vlans.iter().map(|vlan| vlan["id"].as_str().unwrap().to_owned()));
    let mut links = Map::new();
    for (kind, list) in [("ethernets", ethernets), ("bonds", bonds), ("vlans", vlans)] {
        if !list.is_empty() {
            links.insert(kind.to_owned(), Value::Array(list));
        }
    }
    if ids.is_empty() {
        ids = nics;
    }
    (Value::Object(links), ids)
}

fn ethernet(choice: &Choice, id: &str, at: usize) -> Value {
    let kind = if choice.once_in(6) { choice.of(&["vif", "ovs", "bridge", "dvs", "tap"]) } else { &"phy" };
    let mut link = json!({ "id": id, "type": kind });
    // A NIC with neither MAC nor name cannot be found.
    let is_named = choice.once_in(4);
    if is_named {
        link["name"] = json!(if choice.once_in(2) { format!("lan{at}") } else { NICS[at].1.to_owned() });
    }
    if !choice.once_in(if is_named { 3 } else { 40 }) {
        link["macAddress"] = mac(choice, at);
    }
    mtu(choice, &mut link);
    link
}

fn mtu(choice: &Choice, link: &mut Value) {
    if choice.once_in(3) {
        link["mtu"] = json!(choice.of(&[1280, 1500, 9000]));
    }
}

/// Where the MAC of a NIC comes from; now and then it is in dashes, or that of another machine.
fn mac(choice: &Choice, at: usize) -> Value {
    let (mac, name) = NICS[at];
    match choice.between(0, 23) {
        0..=9 => json!({ "fromHostInterface": name }),
        10..=18 => json!({ "string": mac }),
        19..=20 => json!({ "string": mac.to_uppercase() }),
        21 => json!({ "fromAnnotation": { "object": "baremetalhost", "annotation": MAC_ANNOTATION } }),
        22 => json!({ "string": mac.replace(':', "-") }),
        _ => json!({ "string": "52:54:00:ee:00:09" }),
    }
}

fn bonds(choice: &Choice, nics: &[String]) -> Vec<Value> {
    let split = if nics.len() > 3 && choice.once_in(2) { 2 } else { nics.len() };
    let groups = [&nics[..split], &nics[split..]];
    groups
        .iter()
        .filter(|group| !group.is_empty())
        .enumerate()
        .map(|(at, group)| bond(choice, at, group))
        .collect()
}

fn bond(choice: &Choice, at: usize, nics: &[String]) -> Value {
    let mut members = choice.some(nics, nics.len().min(2));
    if choice.once_in(25) {
        members.push((*choice.of(&["nic9", "eth0", "enp1s0"])).to_owned());
    }
    let mut bond = json!({
        "id": if choice.once_in(2) { format!("bond{at}") } else { format!("team-{at}") },
        "bondMode": choice.of(&MODES),
        "bondLinks": members,
    });
    if choice.once_in(3) {
        bond["name"] = json!(*choice.of(&["bond0", "bond1", "lag0", "bond-abcdefgh"]));
    }
    if choice.once_in(2) {
        bond["bondXmitHashPolicy"] = json!(choice.of(&["layer2", "layer3+4", "layer2+3"]));
    }
    if choice.once_in(2) {
        bond["macAddress"] = mac(choice, at);
    }
    let parameters = parameters(choice);
    if !parameters.is_empty() {
        bond["parameters"] = Value::Array(parameters);
    }
    mtu(choice, &mut bond);
    bond
}

fn parameters(choice: &Choice) -> Vec<Value> {
    let all = [
        ("miimon", json!(100)),
        ("miimon", json!(0)),
        ("miimon", json!("100")),
        ("lacp_rate", json!("fast")),
        ("updelay", json!(200)),
        ("downdelay", json!(200)),
        ("min_links", json!(1)),
        ("ad_select", json!("bandwidth")),
        ("arp_interval", json!(1000)),
        ("arp_ip_target", json!("10.0.0.1")),
        ("arp_validate", json!("all")),
        ("primary", json!("nic1")),
        ("primary", json!("enp1s0")),
        ("primary_reselect", json!("better")),
        ("fail_over_mac", json!("active")),
        ("num_grat_arp", json!(3)),
        ("packets_per_slave", json!(2)),
        ("all_slaves_active", json!(0)),
        ("resend_igmp", json!(1)),
        ("tlb_dynamic_lb", json!(1)),
        ("use_carrier", json!(true)),
        ("bond_miimon", json!(100)),
        ("lacp-rate", json!("fast")),
        ("turbo", json!("yes")),
    ];
    let mut chosen: Vec<Value> = Vec::new();
    for _ in 0..choice.between(0, 4) {
        // The first ones are what people use.
        let (name, value) = if choice.once_in(2) { &all[choice.between(0, 5)] } else { choice.of(&all) };
        if !chosen.iter().any(|known| known["name"] == *name) {
            chosen.push(json!({ "name": name, "value": value }));
        }
    }
    chosen
}

fn vlans(choice: &Choice, parents: &[String]) -> Vec<Value> {
    if parents.is_empty() {
        return Vec::new();
    }
    let mut vlans: Vec<Value> = Vec::new();
    for at in 0..choice.between(0, 3) {
        let number = match choice.between(0, 30) {
            0 => 0,
            1 => 4094,
            2 => 4095,
            3 => 4096,
            4..=9 => 7,
            other => 100 + other,
        };
        let parent = match choice.between(0, 30) {
            0 => "bnd0".to_owned(),
            1 => vlans
                .first()
                .map_or_else(|| "vlan0".to_owned(), |vlan| vlan["id"].as_str().unwrap().to_owned()),
            _ => choice.of(parents).clone(),
        };
        let mut vlan = json!({ "id": format!("vlan{at}"), "vlanID": number, "vlanLink": parent });
        if !choice.once_in(20) {
            vlan["macAddress"] = mac(choice, choice.between(0, 1));
        }
        if choice.once_in(5) {
            vlan["name"] = json!("storage");
        }
        mtu(choice, &mut vlan);
        vlans.push(vlan);
    }
    vlans
}

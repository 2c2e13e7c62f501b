//! What lint says of each document of the vectors, compared with what cloud-init made of it.
//!
//! A document that cloud-init or netplan refused has a finding that says so; all that is lost has a finding that names it; and
//! where lint finds nothing, every address, route, name server, bond option and VLAN is in the result.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod cloud_init_vectors;

use std::io::Write;

use capm3_domain::{
    cloud_init::{self, Renderer},
    lint::{Finding, NetworkData, Origin, Rules, Severity, Target, judge_document},
};
use cloud_init_vectors::Vectors;
use serde_json::{Map, Value};

const REFUSES: &str = "CAPM3-L060";
const DROPS: &str = "CAPM3-L061";
const NOT_TAKEN: &str = "CAPM3-L062";

#[test]
fn golden_cloud_init_agrees_with_lint() {
    let vectors = Vectors::find();
    let (mut complaints, mut lines) = (Vec::new(), String::new());
    for (version, results) in &vectors.results {
        for renderer in Renderer::ALL {
            let target: cloud_init::Target =
                format!("{renderer}@{version}").parse().expect("a vector's version is known");
            let (mut agreed, mut fine) = (0, 0);
            for (name, document) in &vectors.documents {
                let nics = vectors.nics_of(document);
                let network_data = &document["network_data"];
                let data = NetworkData::new(network_data, &nics).of_inspected_host();
                let target = Target::CloudInit(target);
                let findings = judge_document(&data, &[target], 0, &Origin::Itself, Rules::all());
                let codes = [REFUSES, DROPS, NOT_TAKEN];
                fine += usize::from(!findings.iter().any(|finding| codes.contains(&finding.code.as_str())));
                match judge(network_data, &results[name], renderer, &findings) {
                    Ok(()) => agreed += 1,
                    Err(difference) => complaints.push(format!("{version} {renderer} {name}: {difference}")),
                }
            }
            let all = vectors.documents.len();
            if fine == 0 || fine == all {
                complaints.push(format!("{version} {renderer}: lint calls {fine} of {all} documents fine"));
            }
            lines += &format!("lint, cloud-init {version} {renderer}: {agreed} of {all}\n");
        }
    }
    lines += &format!("disagreements {}\n", complaints.len());
    std::io::stdout().write_all(lines.as_bytes()).expect("standard output is writable");
    assert!(!vectors.documents.is_empty() && !vectors.results.is_empty(), "no vectors");
    let shown: Vec<&str> = complaints.iter().take(40).map(String::as_str).collect();
    assert!(complaints.is_empty(), "{} disagreements\n{}", complaints.len(), shown.join("\n"));
}

fn judge(document: &Value, result: &Value, renderer: Renderer, findings: &[Finding]) -> Result<(), String> {
    let of =
        |code: &str| findings.iter().filter(move |finding| finding.code.as_str() == code).collect::<Vec<_>>();
    let (refuses, drops, not_taken) = (of(REFUSES), of(DROPS), of(NOT_TAKEN));
    let rendered = &result[renderer.name()];
    let is_refused = !result["convert"]["error"].is_null()
        || !result["physdevs"].is_null()
        || !rendered["error"].is_null()
        || rendered["netplan"].as_str().is_some_and(|verdict| verdict.starts_with("refused"));
    if is_refused != refuses.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(format!("refused: {is_refused}, findings: {refuses:?}"));
    }
    for lost in rendered["lost"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let words = words_for(lost);
        let is_named = drops.iter().any(|finding| finding.message.contains(&words));
        if !is_named && !is_without_effect(lost, document) {
            return Err(format!("{lost:?} is lost, no finding says {words:?}: {drops:?}"));
        }
    }
    if refuses.is_empty() && drops.is_empty() && not_taken.is_empty() {
        return has_everything(document, result, rendered);
    }
    Ok(())
}

/// What a finding says of a loss, by the words of the vectors.
fn words_for(lost: &str) -> String {
    let words = match lost {
        "address" => "drops the address",
        "bond device" => "drops the bond",
        "bond members" => "drops the members",
        "network of a dangling link" => "the document has no such link",
        "device" => "drops the link",
        "dhcp4" => "drops DHCP of IPv4",
        "dhcp6" => "drops DHCP of IPv6",
        "dns" | "top-level dns" => "drops the name server",
        "gateway" => "drops the default gateway",
        "mac of the bond" => "drops the MAC of the bond",
        "mac of the vlan" => "drops the MAC of the VLAN",
        "mtu of the bond" => "of the bond",
        "mtu of the vlan" => "of the VLAN",
        "on-link flag of a gateway outside the subnet" => "on-link",
        "route" => "drops the route",
        "slaac (RA off)" => "drops SLAAC",
        "network of unknown type" => "knows no type",
        "vlan device" => "drops the VLAN",
        "vlan parent or id" => "another VLAN",
        _ if lost.starts_with("prefix (guessed") => "is assumed",
        _ if lost.starts_with("route changed") => "changes the route",
        _ if lost.starts_with("MAC of the NIC") => "looks the NIC up by the MAC of its bond",
        _ if lost.starts_with("router advertisements") => "turns router advertisements off",
        _ => lost.strip_suffix(" changed").unwrap_or(lost),
    };
    words.to_owned()
}

fn objects<'d>(owner: &'d Value, key: &str) -> Vec<&'d Map<String, Value>> {
    owner[key].as_array().into_iter().flatten().filter_map(Value::as_object).collect()
}

fn text<'d>(members: &'d Map<String, Value>, key: &str) -> &'d str {
    members.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What the kernel does anyway is not lost: a VLAN has the MAC and MTU of its parent, a bond the MTU 1500.
fn is_without_effect(lost: &str, document: &Value) -> bool {
    let links = objects(document, "links");
    let as_parent = |own: &str, of_parent: &str| {
        links.iter().filter(|link| link.contains_key("vlan_link")).all(|vlan| {
            let parent = links.iter().rfind(|link| link.get("id") == vlan.get("vlan_link"));
            let of =
                |link: &Map<String, Value>, key: &str| link.get(key).map(|it| it.to_string().to_lowercase());
            of(vlan, own).is_none() || parent.is_some_and(|parent| of(vlan, own) == of(parent, of_parent))
        })
    };
    match lost {
        "mac of the vlan" => as_parent("vlan_mac_address", "ethernet_mac_address"),
        "mtu of the vlan" => as_parent("mtu", "mtu"),
        "mtu of the bond" => links
            .iter()
            .filter(|link| text(link, "type") == "bond")
            .all(|bond| bond.get("mtu") == Some(&1500.into())),
        _ => false,
    }
}

/// Whether all of the document is in the result.
fn has_everything(document: &Value, result: &Value, rendered: &Value) -> Result<(), String> {
    let links = objects(document, "links");
    let interface_of = |id: Option<&Value>| {
        let at = links.iter().rposition(|link| link.get("id") == id)?;
        rendered["interfaces"].get(result["devices"][at].as_str()?)
    };
    for link in &links {
        let Some(interface) = interface_of(link.get("id")) else {
            return Err(format!("no device of {link:?}"));
        };
        let is_there = match text(link, "type") {
            "bond" => {
                options(link).all(|option| !interface["bond"][&option].is_null())
                    && interface["kind"] == "bond"
            }
            "vlan" => interface["kind"] == "vlan",
            _ => true,
        };
        if !is_there {
            return Err(format!("lint finds nothing wrong, yet of {link:?} there is {interface}"));
        }
    }
    let resolv_conf = strings(&rendered["resolv_conf"]);
    for network in objects(document, "networks") {
        let Some(interface) = interface_of(network.get("link")) else {
            return Err(format!("no device for {network:?}"));
        };
        let dns = [strings(&interface["dns"]), resolv_conf.clone()].concat();
        if let Some(missing) = missing(network, interface, &dns) {
            return Err(format!("lint finds nothing wrong, yet {missing} is not in {interface}"));
        }
    }
    let interfaces = rendered["interfaces"].as_object().into_iter().flatten();
    let all_dns: Vec<String> =
        interfaces.flat_map(|(_, it)| strings(&it["dns"])).chain(resolv_conf).collect();
    let servers = objects(document, "services").into_iter().filter(|service| text(service, "type") == "dns");
    match servers
        .map(|service| text(service, "address"))
        .find(|server| !server.is_empty() && !all_dns.iter().any(|known| known == server))
    {
        Some(server) => Err(format!("lint finds nothing wrong, yet nobody has the name server {server}")),
        None => Ok(()),
    }
}

fn options(bond: &Map<String, Value>) -> impl Iterator<Item = String> + '_ {
    let set = bond.iter().filter(|(_, value)| !value.is_null() && **value != "");
    set.filter_map(|(key, _)| key.strip_prefix("bond_"))
        .filter(|key| *key != "links")
        .map(|key| key.replace('-', "_"))
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The first thing of a network that its interface does not have.
fn missing(network: &Map<String, Value>, interface: &Value, dns: &[String]) -> Option<String> {
    let begins =
        |list: &str, beginning: &str| strings(&interface[list]).iter().any(|it| it.starts_with(beginning));
    if matches!(text(network, "type"), "ipv4" | "ipv6" | "static" | "static6") {
        let address = text(network, "ip_address").split('/').next().unwrap_or_default();
        if !begins("addresses", &format!("{address}/")) {
            return Some(format!("address {address}"));
        }
    }
    let network_value = Value::Object(network.clone());
    for route in objects(&network_value, "routes") {
        let (target, gateway) = (text(route, "network"), text(route, "gateway"));
        let is_default = matches!(target, "0.0.0.0/0" | "::/0")
            || matches!(target, "0.0.0.0" | "::") && matches!(text(route, "netmask"), "0.0.0.0" | "::" | "");
        let is_there = if is_default {
            gateway.is_empty() || begins("gateways", gateway)
        } else {
            begins("routes", target)
        };
        if !is_there {
            return Some(format!("route to {target}"));
        }
        let route = Value::Object(route.clone());
        if let Some(server) = unknown_server(&route, dns) {
            return Some(server);
        }
    }
    unknown_server(&network_value, dns)
}

fn unknown_server(owner: &Value, dns: &[String]) -> Option<String> {
    let services = objects(owner, "services");
    let mut servers =
        services.into_iter().filter(|it| text(it, "type") == "dns").map(|it| text(it, "address"));
    servers
        .find(|server| !server.is_empty() && !dns.iter().any(|it| it == server))
        .map(|it| format!("name server {it}"))
}

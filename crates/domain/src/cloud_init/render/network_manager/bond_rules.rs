//! Which bond options NetworkManager takes, by option and by mode.
//!
//! An option with a value that it does not know, or that is of no use in the mode, is dropped; some combinations
//! make it refuse the whole profile. Seen by running `nmcli --offline` 1.42.4 on every option in every mode.

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde_json::Value;

use crate::cloud_init::value::text;

/// Modes by the number that the kernel gives them.
const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
/// Modes in which one member is the active one.
const ACTIVE: [&str; 3] = ["active-backup", "balance-tlb", "balance-alb"];
const LACP: &str = "802.3ad";
const BALANCE_TLB_ALB: [&str; 2] = ["balance-tlb", "balance-alb"];

/// What becomes of the options: those that are dropped, or why the profile is refused.
pub(super) fn judge(options: &BTreeMap<String, Value>) -> Result<Vec<String>, String> {
    let texts: BTreeMap<&str, String> =
        options.iter().map(|(option, value)| (option.as_str(), text(value))).collect();
    let taken: BTreeMap<&str, &str> = texts
        .iter()
        .filter(|(option, value)| is_known(option, value))
        .map(|(option, value)| (*option, value.as_str()))
        .collect();
    let mode = mode(taken.get("mode").copied().unwrap_or_default());
    refuse(&taken, mode)?;
    let is_dropped = |option: &&str| !taken.contains_key(*option) || !has_use(option, mode);
    Ok(texts.keys().copied().filter(|option| is_dropped(option)).map(str::to_owned).collect())
}

/// The mode by its name; without one, or with one that is unknown, it is the kernel's default.
fn mode(text: &str) -> &str {
    let numbered = text.parse::<usize>().ok().and_then(|number| MODES.get(number).copied());
    numbered.or_else(|| MODES.into_iter().find(|mode| *mode == text)).unwrap_or("balance-rr")
}

/// Combinations that make the profile invalid.
fn refuse(options: &BTreeMap<&str, &str>, mode: &str) -> Result<(), String> {
    let is_on = |option: &str| options.get(option).is_some_and(|value| *value != "0");
    let has = |option: &str| options.contains_key(option);
    if is_on("arp_interval") && BALANCE_TLB_ALB.contains(&mode) {
        return Err(format!("arp_interval does not work in mode {mode}"));
    }
    if has("primary") && !ACTIVE.contains(&mode) {
        return Err(format!("primary does not work in mode {mode}"));
    }
    if options.get("lacp_rate").is_some_and(|rate| !["0", "slow"].contains(rate)) && mode != LACP {
        return Err(format!("lacp_rate does not work in mode {mode}"));
    }
    if is_on("arp_interval") != has("arp_ip_target") {
        return Err("arp_interval and arp_ip_target need each other".to_owned());
    }
    match (options.get("num_grat_arp"), options.get("num_unsol_na")) {
        (Some(v4), Some(v6)) if v4 != v6 => Err("num_grat_arp and num_unsol_na differ".to_owned()),
        _ => Ok(()),
    }
}

/// Whether an option does something in the mode.
fn has_use(option: &str, mode: &str) -> bool {
    match option {
        "active_slave" => ACTIVE.contains(&mode),
        "ad_actor_sys_prio" | "ad_actor_system" | "ad_user_port_key" => mode == LACP,
        "arp_interval" | "arp_ip_target" | "arp_validate" => mode != LACP && !BALANCE_TLB_ALB.contains(&mode),
        "lacp_rate" => mode == LACP,
        "packets_per_slave" => mode == "balance-rr",
        "tlb_dynamic_lb" => BALANCE_TLB_ALB.contains(&mode),
        _ => true,
    }
}

/// Whether the value is one that the option may have.
fn is_known(option: &str, value: &str) -> bool {
    let within =
        |least: u32, most: u32| value.parse::<u32>().is_ok_and(|number| (least..=most).contains(&number));
    let is_one_of = |names: &[&str]| {
        names.contains(&value) || value.parse::<usize>().is_ok_and(|number| number < names.len())
    };
    let any = i32::MAX.unsigned_abs();
    match option {
        "mode" => is_one_of(&MODES),
        "xmit_hash_policy" => {
            is_one_of(&["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"])
        }
        "lacp_rate" => is_one_of(&["slow", "fast"]),
        "ad_select" => is_one_of(&["stable", "bandwidth", "count"]),
        "fail_over_mac" => is_one_of(&["none", "active", "follow"]),
        "primary_reselect" => is_one_of(&["always", "better", "failure"]),
        "arp_all_targets" => is_one_of(&["any", "all"]),
        "arp_validate" => {
            is_one_of(&["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"])
        }
        "miimon" | "updelay" | "downdelay" | "arp_interval" | "min_links" | "peer_notif_delay" => {
            within(0, any)
        }
        "num_grat_arp" | "num_unsol_na" | "resend_igmp" => within(0, 255),
        "packets_per_slave" => within(0, 65535),
        "use_carrier" | "all_slaves_active" | "tlb_dynamic_lb" => within(0, 1),
        "lp_interval" => within(1, any),
        "ad_actor_sys_prio" => within(1, 65535),
        "ad_user_port_key" => within(0, 1023),
        "primary" | "active_slave" => super::accept::is_device_name(value),
        "arp_ip_target" => value.split(',').all(|address| address.trim().parse::<Ipv4Addr>().is_ok()),
        "ad_actor_system" => {
            value.split(':').filter(|pair| u8::from_str_radix(pair, 16).is_ok()).count() == 6
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(options: &Value) -> Result<Vec<String>, String> {
        let options = options.as_object().cloned().unwrap_or_default();
        judge(&options.into_iter().collect())
    }

    #[test]
    fn options_of_another_mode_are_dropped_or_make_the_profile_invalid() {
        let dropped = |options: Value| judged(&options).map(|dropped| dropped.join(" "));
        let rows = [
            (json!({"mode": "802.3ad", "miimon": 100, "lacp_rate": "fast"}), Ok("")),
            (json!({"mode": 4, "lacp_rate": "1"}), Ok("")),
            (
                json!({"mode": "802.3ad", "packets_per_slave": 2, "xmit_hash_policy": ""}),
                Ok("packets_per_slave xmit_hash_policy"),
            ),
            (json!({"mode": "turbo"}), Ok("mode")),
            (
                json!({"mode": "802.3ad", "arp_interval": 100, "arp_ip_target": "10.0.0.1"}),
                Ok("arp_interval arp_ip_target"),
            ),
            (json!({"miimon": 100, "primary": "enp1s0"}), Err("primary")),
            (json!({"lacp_rate": "fast"}), Err("lacp_rate")),
            (json!({"arp_interval": 100}), Err("arp_ip_target")),
            (
                json!({"arp_interval": 100, "arp_ip_target": "10.0.0.1", "mode": "balance-alb"}),
                Err("arp_interval"),
            ),
            (json!({"num_grat_arp": 1, "num_unsol_na": 2}), Err("num_grat_arp")),
        ];
        for (options, expected) in rows {
            match (dropped(options.clone()), expected) {
                (Ok(dropped), Ok(expected)) => assert_eq!(dropped, expected, "{options}"),
                (Err(reason), Err(word)) => assert!(reason.contains(word), "{options}: {reason}"),
                (outcome, _) => panic!("{options}: {outcome:?}"),
            }
        }
    }
}

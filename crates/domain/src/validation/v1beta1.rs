//! What only an author of the older version can write: judged before the object is converted, because conversion
//! must not fail and the stored version knows nothing of it any more.

use serde_json::Value;

use super::{FieldError, Rule, Verdict, exempt::is_exempt, findings::Findings, node::Node};

/// Judges an object of v1beta1, and what an update makes of `old`, by what its own schema lets pass. The rules of the
/// stored version come on top.
pub fn review(kind: &str, old: Option<&Value>, object: &Value) -> Verdict {
    if old.is_some_and(|old| is_exempt(old, object)) {
        return Verdict::default();
    }
    let mut findings = Findings::default();
    let spec = Node::root(object).at("spec");
    match kind {
        "Metal3Cluster" => warn_of_no_cloud_provider(&spec, &mut findings),
        "Metal3ClusterTemplate" => {
            warn_of_no_cloud_provider(&spec.at("template").at("spec"), &mut findings);
        }
        "Metal3DataTemplate" => {
            check_indexes(&spec.at("metaData").at("indexes"), &mut findings);
            check_routes(&spec.at("networkData").at("networks"), &mut findings);
        }
        _ => {}
    }
    findings.into()
}

fn warn_of_no_cloud_provider(spec: &Node<'_>, findings: &mut Findings) {
    let (old, new) = (spec.at("noCloudProvider"), spec.at("cloudProviderEnabled"));
    let Some(old_value) = old.value().and_then(Value::as_bool) else { return };
    match new.value().and_then(Value::as_bool) {
        None if new.value().is_none() => findings.warnings.push(format!(
            "{} is deprecated: {old_value} is taken as {}: {}; write that instead",
            old.path(),
            new.path(),
            !old_value
        )),
        Some(new_value) if new_value == old_value => findings.warnings.push(format!(
            "{} is deprecated and has no effect: {}: {new_value} says the opposite and counts; change that instead",
            old.path(),
            new.path(),
        )),
        _ => {}
    }
}

/// The stored version's schema has these bounds, the older one has not.
fn check_indexes(indexes: &Node<'_>, findings: &mut Findings) {
    for item in indexes.items() {
        for (member, least) in [("offset", 0), ("step", 1)] {
            let node = item.at(member);
            if let Some(value) = node.int().filter(|value| *value < 0) {
                findings.errors.push(FieldError::invalid(
                    Rule::IndexBounds,
                    node.path(),
                    value,
                    format!("must be at least {least}"),
                ));
            }
        }
    }
}

/// `netmask` is an older name of `prefix`; two different ones cannot both be meant.
fn check_routes(networks: &Node<'_>, findings: &mut Findings) {
    for list in ["ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"] {
        for route in networks.at(list).items().flat_map(|network| network.at("routes").items()) {
            let (netmask, prefix) = (route.at("netmask"), route.at("prefix"));
            if let (Some(old), Some(new)) = (netmask.int(), prefix.int())
                && old != new
            {
                let detail = format!("is an older name of prefix, which is {new} here: remove one of them");
                findings.errors.push(FieldError::invalid(
                    Rule::NetmaskAndPrefix,
                    netmask.path(),
                    old,
                    detail,
                ));
            } else if let Some(value) = netmask.int() {
                let path = netmask.path();
                findings.warnings.push(format!("{path} is deprecated: write prefix: {value} instead"));
            }
        }
    }
}

//! The networks of a Metal3DataTemplate: where each static address comes from.

use super::{
    FieldError, Rule,
    findings::Findings,
    inline_range::{self, Family},
    node::Node,
};
use crate::address::Address;

/// Judges `spec.networkData.networks`.
pub(super) fn check(networks: &Node<'_>, findings: &mut Findings) {
    for (list, family) in [("ipv4", Family::V4), ("ipv6", Family::V6)] {
        let list = networks.at(list);
        for (index, network) in list.items().enumerate() {
            check_source(&network, &format!("{}.{index}", list.path()), findings);
            check_inline(&network, family, findings);
        }
    }
}

/// The places in which a network can say which pool it takes its address from.
fn pool_sources<'a>(network: &Node<'a>) -> Vec<Node<'a>> {
    let places = [
        network.at("fromPoolRef").at("name"),
        network.at("ipAddressFromIPPool"),
        network.at("fromPoolAnnotation").at("object"),
    ];
    places.into_iter().filter(|place| place.text().is_some()).collect()
}

/// `dotted`: the place in the words of the Go provider's errors.
fn check_source(network: &Node<'_>, dotted: &str, findings: &mut Findings) {
    let sources = pool_sources(network);
    let inline = network.at("ipAddress");
    match (sources.as_slice(), inline.value()) {
        ([], None) => {
            let here = network.path();
            let detail = format!(
                "fromPoolRef needs to contain a reference to an IPPool: set {here}.ipAddressFromIPPool, \
                 {here}.fromPoolRef.name, {here}.fromPoolAnnotation or {here}.ipAddress"
            );
            findings.errors.push(FieldError::required(
                Rule::AddressSource,
                format!("{dotted}.fromPoolRef.name"),
                detail,
            ));
        }
        ([source, ..], Some(_)) => {
            let detail = format!(
                "an inline range and a pool cannot be used together: remove the range or {}",
                source.path()
            );
            findings.newer.push(FieldError::forbidden(Rule::RangeAndPool, inline.path(), detail));
        }
        ([_, _, ..], None) => {
            let paths: Vec<&str> = sources.iter().map(Node::path).collect();
            findings
                .warnings
                .push(format!("{}: several pools are named, only one is used", paths.join(", ")));
        }
        _ => {}
    }
}

fn check_inline(network: &Node<'_>, family: Family, findings: &mut Findings) {
    let (range, prefix) = (network.at("ipAddress"), network.at("prefix"));
    if range.value().is_none() {
        if prefix.value().is_some() {
            let detail =
                "only an inline range has a prefix, a pool brings its own: remove it, or set ipAddress";
            findings.newer.push(FieldError::forbidden(Rule::PrefixOfPool, prefix.path(), detail));
        }
        return;
    }
    let before = findings.newer.len();
    let read = inline_range::check(&range, Some(family), findings);
    let is_whole = findings.newer.len() == before;
    match (prefix.int(), read.subnet) {
        (None, None) if is_whole => {
            let detail =
                format!("a range without a subnet needs its prefix: set it, or {}.subnet", range.path());
            findings.newer.push(FieldError::required(Rule::RangePrefix, prefix.path(), detail));
        }
        (Some(length), Some(subnet)) if length > i64::from(subnet.prefix_len()) => {
            let detail = format!(
                "must not be longer than that of subnet {subnet}: addresses of the range would not reach each other"
            );
            findings.newer.push(FieldError::invalid(Rule::RangePrefix, prefix.path(), length, detail));
        }
        _ => {}
    }
    for route in network.at("routes").items() {
        let gateway = route.at("gateway").at("string");
        let address = gateway.text().and_then(|text| text.parse::<Address>().ok());
        if let Some(address) = address.filter(|address| read.may_yield(*address)) {
            findings.warnings.push(format!(
                "{}: the range contains gateway {address} ({}): a machine may get the address of the gateway",
                range.path(),
                gateway.path()
            ));
        }
    }
}

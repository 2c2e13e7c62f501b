//! Inline address ranges: `{start, end, subnet, step}` in a Metal3DataTemplate, from which each index gets its own
//! address without any pool.

use ipnet::IpNet;

use super::{FieldError, Rule, findings::Findings, node::Node};
use crate::address::Address;

/// Which addresses a list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn of(address: Address) -> Self {
        if address.is_v4() { Self::V4 } else { Self::V6 }
    }

    fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// What could be read of a range.
#[derive(Debug, Default)]
pub(super) struct InlineRange {
    start: Option<Address>,
    end: Option<Address>,
    pub(super) subnet: Option<IpNet>,
}

impl InlineRange {
    /// The address of the first index: the start, or the one after the address of the subnet.
    fn first(&self) -> Option<Address> {
        let after_subnet_address = || {
            let written = Address::from(self.subnet?.addr());
            Some(Address::from_number(written.number().checked_add(1)?))
        };
        self.start.or_else(after_subnet_address)
    }

    /// Whether a range without start yields nothing at all.
    fn is_empty(&self) -> bool {
        self.start.is_none() && self.first().is_none_or(|first| !self.may_yield(first))
    }

    /// Whether some index could get this address.
    pub(super) fn may_yield(&self, address: Address) -> bool {
        let Some(first) = self.first() else { return false };
        let same_family = first.is_v4() == address.is_v4();
        let in_subnet = self.subnet.is_none_or(|subnet| subnet.contains(&address.to_ip()));
        same_family && first <= address && in_subnet && self.end.is_none_or(|end| address <= end)
    }
}

/// Judges a range; `family` where the list says which one it must be.
pub(super) fn check(range: &Node<'_>, family: Option<Family>, findings: &mut Findings) -> InlineRange {
    let before = findings.newer.len();
    let read = InlineRange {
        start: address(&range.at("start"), family, findings),
        end: address(&range.at("end"), family, findings),
        subnet: subnet(&range.at("subnet"), family, findings),
    };
    if findings.newer.len() == before {
        check_parts(range, &read, findings);
    }
    read
}

fn check_parts(range: &Node<'_>, read: &InlineRange, findings: &mut Findings) {
    let path = range.path();
    match (read.start, read.end, read.subnet) {
        (None, _, None) => {
            let detail = "either start or subnet is required: give a subnet, or start and end";
            findings.newer.push(FieldError::required(Rule::RangeParts, path, detail));
        }
        (Some(start), None, None) => findings.warnings.push(format!(
            "{path}: the range begins at {start} and has no end: set end or subnet, or addresses are given out of \
             whatever follows"
        )),
        _ => {}
    }
    let parts = [read.start, read.end, read.subnet.map(|subnet| subnet.addr().into())];
    let mut families = parts.into_iter().flatten().map(Family::of);
    let first = families.next();
    if families.any(|family| Some(family) != first) {
        let detail = "start, end and subnet must be of one address family";
        findings.newer.push(FieldError::invalid(Rule::RangeFamily, path, range.shown(), detail));
        return;
    }
    if let (Some(start), Some(end)) = (read.start, read.end)
        && end < start
    {
        let detail = format!("end {end} is before start {start}");
        findings.newer.push(FieldError::invalid(
            Rule::RangeOrder,
            range.at("end").path(),
            range.at("end").shown(),
            detail,
        ));
    }
    if read.subnet.is_some() && read.is_empty() {
        findings
            .warnings
            .push(format!("{path}: the range yields no address, so rendering will fail: widen it"));
    }
    if let (Some(start), Some(subnet)) = (read.start, read.subnet)
        && !subnet.contains(&start.to_ip())
    {
        let detail = format!("start must lie in subnet {subnet}");
        findings.newer.push(FieldError::invalid(
            Rule::RangeSubnet,
            range.at("start").path(),
            range.at("start").shown(),
            detail,
        ));
    }
}

fn address(node: &Node<'_>, family: Option<Family>, findings: &mut Findings) -> Option<Address> {
    let text = node.text()?;
    let read = text.parse().ok().filter(|address| family.is_none_or(|family| Family::of(*address) == family));
    if read.is_none() {
        let detail = format!("is not an {} address", family.map_or("IP", Family::name));
        findings.newer.push(FieldError::invalid(Rule::RangeText, node.path(), text, detail));
    }
    read
}

fn subnet(node: &Node<'_>, family: Option<Family>, findings: &mut Findings) -> Option<IpNet> {
    let text = node.text()?;
    let fits = |net: &IpNet| family.is_none_or(|family| Family::of(net.addr().into()) == family);
    let read = text.parse().ok().filter(fits);
    if read.is_none() {
        let example = if family == Some(Family::V6) { "2001:db8::/64" } else { "192.168.0.0/24" };
        let detail = format!("is not an {} subnet: write it as {example}", family.map_or("IP", Family::name));
        findings.newer.push(FieldError::invalid(Rule::RangeText, node.path(), text, detail));
    }
    read
}

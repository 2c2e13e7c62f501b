//! IPPool: its ranges must be readable, what is reserved must be in them, and what is in use must stay in them.

use std::collections::BTreeMap;

use capm3_api::ipam::IpRange;
use ipnet::IpNet;
use serde_json::{Value, json};

use super::{FieldError, Rule, findings::Findings, inline_range::Family, node::Node};
use crate::address::{Address, Range};

const NO_ADDRESS: &str = "is not a valid IP address";
const OUT_OF_BOUNDS: &str = "is out of bounds of the pools given";

pub(super) fn check_new(object: &Node<'_>, findings: &mut Findings) {
    check_spec(&object.at("spec"), findings);
}

pub(super) fn check_changed(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let spec = new.at("spec");
    check_spec(&spec, findings);
    let bounds = bounds(&spec);
    for (claim, address) in old.at("status").at("indexes").members() {
        let in_bounds =
            read_address(&address).is_some_and(|address| bounds.iter().any(|b| b.contains(address)));
        if !in_bounds {
            let detail = format!("is in use but out of bounds of the pools given: IPClaim {claim} holds it");
            findings.errors.push(FieldError::invalid(
                Rule::AddressInUse,
                "spec.pools",
                address.shown(),
                detail,
            ));
        }
    }
    let prefix = spec.at("namePrefix");
    if old.at("spec").at("namePrefix").text() != prefix.text() {
        let detail = "cannot be modified: addresses are named by it";
        findings.errors.push(FieldError::invalid(
            Rule::PoolFixed,
            prefix.path(),
            prefix.text_or_empty(),
            detail,
        ));
    }
    let strategy = |object: &Node<'_>| {
        object.at("spec").at("allocationStrategy").text().unwrap_or("sequential").to_owned()
    };
    if strategy(old) != strategy(new) {
        let detail = "cannot be modified after creation: create another pool";
        findings.errors.push(FieldError::invalid(
            Rule::PoolFixed,
            spec.at("allocationStrategy").path(),
            strategy(new),
            detail,
        ));
    }
}

fn check_spec(spec: &Node<'_>, findings: &mut Findings) {
    check_services(spec, findings);
    let is_random = spec.at("allocationStrategy").text() == Some("random");
    for range in spec.at("pools").items() {
        check_services(&range, findings);
        check_range(&range, is_random, findings);
    }
    check_reservations(spec, findings);
}

/// Gateway and DNS servers, of the pool or of one range.
fn check_services(node: &Node<'_>, findings: &mut Findings) {
    let given = std::iter::once(node.at("gateway")).chain(node.at("dnsServers").items());
    for address in given.filter(|it| it.value().is_some() && read_address(it).is_none()) {
        findings.errors.push(FieldError::invalid(Rule::Address, address.path(), address.shown(), NO_ADDRESS));
    }
}

fn read_address(node: &Node<'_>) -> Option<Address> {
    node.text()?.parse().ok()
}

fn check_range(range: &Node<'_>, is_random: bool, findings: &mut Findings) {
    let refuse = |rule: Rule, detail: String| FieldError::invalid(rule, range.path(), "", detail);
    let bounds = match Bounds::read(range) {
        Ok(bounds) => bounds,
        Err((rule, detail)) => return findings.errors.push(refuse(rule, detail)),
    };
    if let (Some(start), Some(end)) = (bounds.start, bounds.end)
        && end < start
    {
        return findings
            .errors
            .push(refuse(Rule::RangeOrder, format!("end IP {end} is before start IP {start}")));
    }
    if is_random && let Err(problem) = bounds.size() {
        let detail = format!("cannot be used with allocationStrategy \"random\": {problem}");
        return findings.errors.push(refuse(Rule::RandomRange, detail));
    }
    if bounds.is_mixed() {
        findings.newer.push(refuse(
            Rule::RangeFamily,
            "start, end and subnet must be of one address family".to_owned(),
        ));
    } else if bounds.start.is_none() && bounds.subnet.is_none() {
        let detail = "a range with an end alone yields no address: set start or subnet";
        findings.warnings.push(format!("{}: {detail}", range.path()));
    } else if as_range(range).is_none() {
        findings.warnings.push(format!(
            "{}: the range yields no address: start lies outside the subnet, or the subnet \
            has one address only",
            range.path()
        ));
    }
}

/// Every reservation must be an address, of one claim only, and one that the pool gives out.
fn check_reservations(spec: &Node<'_>, findings: &mut Findings) {
    let reservations: BTreeMap<&str, Node<'_>> = spec.at("preAllocations").members().collect();
    let bounds = bounds(spec);
    let ranges: Vec<Range> = spec.at("pools").items().filter_map(|range| as_range(&range)).collect();
    let mut holders: BTreeMap<Address, &str> = BTreeMap::new();
    for (claim, node) in &reservations {
        let refuse =
            |rule: Rule, path: &str, detail: String| FieldError::invalid(rule, path, node.shown(), detail);
        let Some(address) = read_address(node) else {
            findings.errors.push(refuse(Rule::Address, node.path(), NO_ADDRESS.to_owned()));
            findings.errors.push(refuse(
                Rule::ReservationOutside,
                "spec.preAllocations",
                OUT_OF_BOUNDS.to_owned(),
            ));
            continue;
        };
        if let Some(other) = holders.insert(address, claim) {
            let detail = format!("IP address is already pre-allocated to claim {other:?}");
            findings.errors.push(refuse(Rule::ReservationTwice, node.path(), detail));
        }
        if !bounds.iter().any(|bounds| bounds.contains(address)) {
            let detail = format!("{OUT_OF_BOUNDS}: it is reserved for {claim:?}; widen a range or remove it");
            findings.errors.push(refuse(Rule::ReservationOutside, "spec.preAllocations", detail));
        } else if !ranges.iter().any(|range| range.contains(address)) {
            match bounds.iter().any(|bounds| bounds.is_below_host_bits(address)) {
                // The Go provider accepts it too.
                true => findings.warnings.push(format!(
                    "{}: the pool never allocates {address}, so claim {claim:?} gets no address: a subnet with host bits is \
                     allocated from the address after the written one; write the subnet without host bits",
                    node.path()
                )),
                false => {
                    let detail =
                        format!("is never allocated from the pools given, so {claim:?} would wait for ever");
                    findings.newer.push(refuse(Rule::ReservationOutside, "spec.preAllocations", detail));
                }
            }
        }
    }
}

fn bounds(spec: &Node<'_>) -> Vec<Bounds> {
    spec.at("pools").items().filter_map(|range| Bounds::read(&range).ok()).collect()
}

/// The range as the address manager reads it; none if it yields nothing.
fn as_range(range: &Node<'_>) -> Option<Range> {
    let parts: Value = json!({"start": range.at("start").text(), "end": range.at("end").text(), "subnet": range.at("subnet").text()});
    serde_json::from_value::<IpRange>(parts).ok().and_then(|range| Range::new(&range))
}

/// The parts of a range, read.
struct Bounds {
    start: Option<Address>,
    end: Option<Address>,
    subnet: Option<IpNet>,
}

impl Bounds {
    /// The parts, or the rule that they break and what is wrong with them.
    fn read(range: &Node<'_>) -> Result<Self, (Rule, String)> {
        let unreadable = |detail: String| (Rule::RangeText, detail);
        let address = |member: &str, name: &str| match range.at(member).text() {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| unreadable(format!("invalid {name} IP {text:?}")))
            }
        };
        let subnet =
            match range.at("subnet").text() {
                None => None,
                Some(text) => Some(text.parse::<IpNet>().map_err(|_| {
                    unreadable(format!("invalid Subnet {text:?}: write it as 192.168.0.0/24"))
                })?),
            };
        let read = Self { start: address("start", "Start")?, end: address("end", "End")?, subnet };
        if read.start.is_none() && read.end.is_none() && read.subnet.is_none() {
            let detail = "pool entry must specify at least one of start, end, or subnet";
            return Err((Rule::RangeParts, detail.to_owned()));
        }
        Ok(read)
    }

    /// Whether the address is between the parts that are given.
    fn contains(&self, address: Address) -> bool {
        self.start.is_none_or(|start| start <= address)
            && self.end.is_none_or(|end| address <= end)
            && self.subnet.is_none_or(|subnet| subnet.contains(&address.to_ip()))
    }

    /// Whether the address lies in a subnet that was written with host bits, at or below the written address.
    fn is_below_host_bits(&self, address: Address) -> bool {
        self.subnet.is_some_and(|subnet| {
            let written = subnet.addr();
            let is_below = subnet.network() < address.to_ip() && address.to_ip() <= written;
            written != subnet.network() && self.contains(address) && is_below
        })
    }

    fn is_mixed(&self) -> bool {
        let parts = [self.start, self.end, self.subnet.map(|subnet| subnet.addr().into())];
        let mut families = parts.into_iter().flatten().map(Family::of);
        let first = families.next();
        families.any(|family| Some(family) != first)
    }

    /// How many addresses there are to draw from, or why that is unknown.
    fn size(&self) -> Result<u64, &'static str> {
        let last = self.end.or_else(|| Some(self.subnet?.broadcast().into()));
        let span = match (self.start, last, self.subnet) {
            (None, _, None) => return Err("either Start or Subnet is required for ipAddress"),
            (Some(_), None, _) => return Err("pool with Start requires End or Subnet to determine size"),
            (Some(start), Some(last), _) => last.number().saturating_sub(start.number()).saturating_add(1),
            (None, _, Some(subnet)) => {
                let (first, last) = (Address::from(subnet.network()), Address::from(subnet.broadcast()));
                last.number() - first.number()
            }
        };
        let fits = u64::try_from(span).ok().filter(|size| i64::try_from(*size).is_ok());
        fits.ok_or("pool size exceeds int range")
    }
}

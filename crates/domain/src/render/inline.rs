//! Addresses that follow the index, without a pool.
//!
//! Takes a range of a template and an index, gives the address or says which bound it leaves. The same index gives the
//! same address everywhere in the template, so a machine that takes over an index takes over its addresses.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use capm3_api::v1beta2::{InlineRange, Metal3DataTemplateSpec};
use thiserror::Error;

/// Why a range gives no address for an index.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InlineError {
    /// Neither `start` nor `subnet`.
    #[error("Either Start or Subnet is required for ipAddress")]
    NoBase,
    /// A member cannot be read.
    #[error("{member} {value:?} is not {expected}")]
    Unreadable {
        /// `start`, `end`, `subnet` or `step`.
        member: &'static str,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
    /// Two members are of different families.
    #[error("{member} {value} is not of the same family as {base}")]
    MixedFamilies {
        /// `end` or `subnet`.
        member: &'static str,
        /// What stands there.
        value: String,
        /// Where counting starts.
        base: IpAddr,
    },
    /// The range has no address at all, since it ends before it starts.
    #[error("{start} is behind end {end}")]
    Backwards {
        /// Where counting starts, and what says so.
        start: String,
        /// The end.
        end: IpAddr,
    },
    /// The range has no address at all, since it starts outside its subnet.
    #[error("start {start} is not in subnet {subnet}")]
    Outside {
        /// Where counting starts.
        start: IpAddr,
        /// The subnet.
        subnet: String,
    },
    /// The index lies behind the last address.
    #[error("index {index}, step {step} gives {address}, {bound}")]
    OutOfBounds {
        /// The index.
        index: i32,
        /// The step.
        step: u32,
        /// What it would give.
        address: Beyond,
        /// What it leaves.
        bound: String,
    },
}

/// An address that may lie behind the last one of its family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// An address.
    Address(IpAddr),
    /// None that the family could write.
    Family,
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Family => f.write_str("no address"),
        }
    }
}

/// A range, read.
struct Parsed {
    base: IpAddr,
    /// Whether the base is a start that is written, not the first address of the subnet.
    has_start: bool,
    end: Option<IpAddr>,
    subnet: Option<Subnet>,
    step: u32,
}

/// A subnet as written, host bits included: counting starts behind them.
struct Subnet {
    text: String,
    written: IpAddr,
    prefix: u32,
}

/// The address of an index.
///
/// ```
/// use capm3_api::v1beta2::InlineRange;
/// use capm3_domain::render::inline_address;
///
/// let range = InlineRange { subnet: Some("192.168.0.0/24".into()), step: Some(10), ..InlineRange::default() };
/// assert_eq!(inline_address(&range, 3).unwrap().to_string(), "192.168.0.31");
/// ```
pub fn inline_address(range: &InlineRange, index: i32) -> Result<IpAddr, InlineError> {
    Parsed::new(range)?.at(index)
}

/// Prefix length of the range's subnet, if it has a readable one.
pub fn inline_prefix(range: &InlineRange) -> Option<i32> {
    let subnet = filled(range.subnet.as_deref()).and_then(Subnet::parse)?;
    i32::try_from(subnet.prefix).ok()
}

/// The last index that every inline range of a template can serve; none when nothing bounds it.
///
/// An unreadable range serves no index, which its own error says; it bounds nothing here.
pub fn inline_limit(spec: &Metal3DataTemplateSpec) -> Option<u128> {
    ranges(spec).map(|range| range.last_index()).min()
}

/// Every inline range of a template that can be read.
fn ranges(spec: &Metal3DataTemplateSpec) -> impl Iterator<Item = Parsed> {
    let in_meta_data = spec.meta_data.iter().flat_map(|m| m.ip_addresses.iter().map(|item| &item.range));
    let networks = spec.network_data.iter().flat_map(|n| &n.networks);
    let fixed = networks.flat_map(|networks| networks.ipv4.iter().chain(&networks.ipv6));
    let ranges = in_meta_data.chain(fixed.filter_map(|network| network.ip_address.as_ref()));
    ranges.filter_map(|range| Parsed::new(range).ok())
}

/// The addresses that a range gives to its indexes.
pub(super) struct Progression {
    /// Whether they are of IPv4.
    pub(super) is_v4: bool,
    /// The address of index 0 as a number.
    pub(super) first: u128,
    /// The address of the last index.
    pub(super) last: u128,
    /// From each address to the next one.
    pub(super) step: u32,
}

/// The addresses of every inline range of a template that gives any.
pub(super) fn progressions(spec: &Metal3DataTemplateSpec) -> impl Iterator<Item = Progression> {
    ranges(spec).filter(|range| range.check_start().is_ok()).map(|range| {
        let first = number(range.base);
        // Within bounds, so it does not exceed the family.
        let last = first.saturating_add(range.last_index().saturating_mul(u128::from(range.step)));
        Progression { is_v4: range.base.is_ipv4(), first, last, step: range.step }
    })
}

impl Parsed {
    fn new(range: &InlineRange) -> Result<Self, InlineError> {
        let address = |member, text: &str| {
            text.parse::<IpAddr>().map_err(|_| InlineError::Unreadable {
                member,
                value: text.to_owned(),
                expected: "an IP address",
            })
        };
        let subnet = match filled(range.subnet.as_deref()) {
            Some(text) => Some(Subnet::parse(text).ok_or_else(|| InlineError::Unreadable {
                member: "subnet",
                value: text.to_owned(),
                expected: "an address with a prefix length, such as 192.168.0.0/24",
            })?),
            None => None,
        };
        let base = match (filled(range.start.as_deref()), &subnet) {
            (Some(start), _) => address("start", start)?,
            (None, Some(subnet)) => subnet.first()?,
            (None, None) => return Err(InlineError::NoBase),
        };
        let end = filled(range.end.as_deref()).map(|end| address("end", end)).transpose()?;
        let step = range.step.filter(|step| *step != 0).unwrap_or(1);
        let step = u32::try_from(step).map_err(|_| InlineError::Unreadable {
            member: "step",
            value: step.to_string(),
            expected: "1 or more",
        })?;
        let mixed = |member, value: String| InlineError::MixedFamilies { member, value, base };
        if let Some(end) = end.filter(|end| end.is_ipv4() != base.is_ipv4()) {
            return Err(mixed("end", end.to_string()));
        }
        if let Some(subnet) = subnet.as_ref().filter(|s| s.written.is_ipv4() != base.is_ipv4()) {
            return Err(mixed("subnet", subnet.text.clone()));
        }
        let has_start = filled(range.start.as_deref()).is_some();
        Ok(Self { base, has_start, end, subnet, step })
    }

    /// Whether the range has a first address.
    fn check_start(&self) -> Result<(), InlineError> {
        let first = number(self.base);
        if let Some(end) = self.end.filter(|end| first > number(*end)) {
            let start = match &self.subnet {
                Some(subnet) if !self.has_start => {
                    format!("{}, the first address of subnet {},", self.base, subnet.text)
                }
                _ => format!("start {}", self.base),
            };
            return Err(InlineError::Backwards { start, end });
        }
        match self.subnet.as_ref().filter(|subnet| self.has_start && !subnet.contains(first)) {
            Some(subnet) => Err(InlineError::Outside { start: self.base, subnet: subnet.text.clone() }),
            None => Ok(()),
        }
    }

    fn at(&self, index: i32) -> Result<IpAddr, InlineError> {
        self.check_start()?;
        let out = |address, bound| InlineError::OutOfBounds { index, step: self.step, address, bound };
        // Counted in 128 bits, which an index and a step of 32 bits cannot exceed.
        let offset = u128::from(index.unsigned_abs()) * u128::from(self.step);
        let number = number(self.base).checked_add(offset).filter(|n| *n <= last_of(self.base));
        let Some(number) = number.filter(|_| index >= 0) else {
            return Err(out(
                Beyond::Family,
                format!("the last one is {}", address(self.base, last_of(self.base))),
            ));
        };
        let given = address(self.base, number);
        if let Some(end) = self.end.filter(|end| number > self::number(*end)) {
            return Err(out(Beyond::Address(given), format!("end is {end}")));
        }
        if let Some(subnet) = self.subnet.as_ref().filter(|subnet| !subnet.contains(number)) {
            return Err(out(Beyond::Address(given), format!("subnet is {}", subnet.text)));
        }
        Ok(given)
    }

    /// The last index within bounds; a range that starts outside its own bounds says 0, and errs when asked.
    fn last_index(&self) -> u128 {
        let subnet = self.subnet.as_ref().map(Subnet::last);
        let bounds = [Some(last_of(self.base)), self.end.map(number), subnet];
        let last = bounds.into_iter().flatten().min().unwrap_or_default();
        last.saturating_sub(number(self.base)) / u128::from(self.step)
    }
}

impl Subnet {
    fn parse(text: &str) -> Option<Self> {
        let (written, prefix) = text.split_once('/')?;
        let written: IpAddr = written.parse().ok()?;
        let prefix: u32 = prefix.parse().ok().filter(|p| *p <= bits(written))?;
        Some(Self { text: text.to_owned(), written, prefix })
    }

    fn hosts(&self) -> u128 {
        let shift = 128 - (bits(self.written) - self.prefix);
        u128::MAX.checked_shr(shift).unwrap_or(0)
    }

    fn last(&self) -> u128 {
        number(self.written) | self.hosts()
    }

    fn contains(&self, number: u128) -> bool {
        number & !self.hosts() == self::number(self.written) & !self.hosts()
    }

    /// The address behind the one that is written.
    fn first(&self) -> Result<IpAddr, InlineError> {
        let next = number(self.written).checked_add(1).filter(|n| *n <= last_of(self.written));
        next.map(|next| address(self.written, next)).ok_or_else(|| InlineError::Unreadable {
            member: "subnet",
            value: self.text.clone(),
            expected: "a subnet with an address behind the one that is written",
        })
    }
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The last number of the family of `of`.
fn last_of(of: IpAddr) -> u128 {
    if of.is_ipv4() { u128::from(u32::MAX) } else { u128::MAX }
}

/// The address of a number in the family of `of`; numbers beyond it do not occur.
fn address(of: IpAddr, number: u128) -> IpAddr {
    address_of(of.is_ipv4(), number)
}

/// The address of a number in a family; numbers beyond it do not occur.
pub(super) fn address_of(is_v4: bool, number: u128) -> IpAddr {
    match is_v4 {
        true => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX))),
        false => IpAddr::V6(Ipv6Addr::from_bits(number)),
    }
}

#[cfg(test)]
#[path = "inline_tests.rs"]
mod tests;

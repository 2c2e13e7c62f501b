//! What a pool's spec says, read once: ranges, reservations, and what belongs to each address.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::ipam::{IpPoolSpec, IpRange};

use super::{Address, AddressError, Allocation, ClaimKind, Range};
use crate::index::Runs;

/// A pool's spec, parsed.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    ranges: Vec<(Range, Attributes)>,
    defaults: Attributes,
    random: bool,
    /// Address by name of the claim; none where the text is no address.
    reservations: BTreeMap<String, Option<Address>>,
    gateways: BTreeSet<Address>,
}

/// What belongs to an address beside the address.
#[derive(Debug, Clone)]
struct Attributes {
    prefix: Option<i32>,
    gateway: Option<String>,
    dns_servers: Vec<String>,
}

impl Attributes {
    fn of_pool(spec: &IpPoolSpec) -> Self {
        Self {
            prefix: spec.prefix.filter(|prefix| *prefix != 0),
            gateway: spec.gateway.clone(),
            dns_servers: spec.dns_servers.clone(),
        }
    }

    /// Each member of the range wins over that of the pool; prefix 0 and an empty list mean "as the pool".
    fn of_range(&self, range: &IpRange) -> Self {
        let own_servers = !range.dns_servers.is_empty();
        Self {
            prefix: range.prefix.filter(|prefix| *prefix != 0).or(self.prefix),
            gateway: range.gateway.clone().or_else(|| self.gateway.clone()),
            dns_servers: if own_servers { &range.dns_servers } else { &self.dns_servers }.clone(),
        }
    }
}

impl Layout {
    pub(super) fn new(spec: &IpPoolSpec) -> Self {
        let defaults = Attributes::of_pool(spec);
        let ranges: Vec<(Range, Attributes)> = spec
            .pools
            .iter()
            .filter_map(|range| Some((Range::new(range)?, defaults.of_range(range))))
            .collect();
        let reservations = spec.pre_allocations.iter();
        Self {
            random: spec.allocation_strategy.as_deref() == Some("random"),
            reservations: reservations.map(|(claim, text)| (claim.clone(), text.parse().ok())).collect(),
            gateways: ranges.iter().filter_map(|(_, a)| a.gateway.as_deref()?.parse().ok()).collect(),
            ranges,
            defaults,
        }
    }

    /// Reserved addresses.
    pub(super) fn reservations(&self) -> impl Iterator<Item = Address> {
        self.reservations.values().flatten().copied()
    }

    /// Whether something is reserved for the claim, and what, if that is an address.
    pub(super) fn reservation_of(&self, claim: &str) -> Option<Option<Address>> {
        self.reservations.get(claim).copied()
    }

    /// Gateways of the ranges: two machines on one address would cut off the whole subnet.
    pub(super) fn gateways(&self) -> impl Iterator<Item = Address> {
        self.gateways.iter().copied()
    }

    pub(super) fn is_gateway(&self, address: Address) -> bool {
        self.gateways.contains(&address)
    }

    /// How many addresses the ranges yield; one that stands in two ranges counts once.
    pub(super) fn capacity(&self) -> u128 {
        let mut ranges: Vec<&Range> = self.ranges.iter().map(|(range, _)| range).collect();
        ranges.sort_by_key(|range| range.first());
        let mut counted: Option<u128> = None;
        ranges.iter().fold(0_u128, |sum, range| {
            let first = counted.map_or(range.first().number(), |last| last.saturating_add(1));
            let first = first.max(range.first().number());
            let last = range.last().number();
            counted = counted.max(Some(last));
            let size = last.checked_sub(first).map_or(0, |span| span.saturating_add(1));
            sum.saturating_add(size)
        })
    }

    /// Whether some range yields the address.
    pub(super) fn contains(&self, address: Address) -> bool {
        self.range_of(address).is_some()
    }

    fn range_of(&self, address: Address) -> Option<&(Range, Attributes)> {
        self.ranges.iter().find(|(range, _)| range.contains(address))
    }

    /// The address with what the first range that yields it says, or else the pool.
    pub(super) fn allocation(&self, address: Address) -> Allocation {
        let attributes = self.range_of(address).map_or(&self.defaults, |(_, a)| a).clone();
        Allocation {
            address,
            prefix: attributes.prefix,
            gateway: attributes.gateway,
            dns_servers: attributes.dns_servers,
        }
    }

    /// Whether the allocation can be written into an address object of the claim's kind.
    pub(super) fn check(&self, allocation: &Allocation, kind: ClaimKind) -> Result<(), AddressError> {
        let fits = allocation.prefix.is_none_or(|prefix| (0..=128).contains(&prefix));
        if kind == ClaimKind::IpAddressClaim && !fits {
            return Err(AddressError::InvalidPrefix);
        }
        Ok(())
    }

    /// The address that the strategy gives: a range is used up before the next one is looked at.
    pub(super) fn first_free(&self, busy: &Runs, draw: u128) -> Option<Address> {
        let ranges = self.ranges.iter().map(|(range, _)| range);
        if self.random {
            ranges.filter(|range| !range.is_open()).find_map(|range| {
                free_from(range, range.at_draw(draw), busy).or_else(|| lowest_free(range, busy))
            })
        } else {
            ranges.into_iter().find_map(|range| lowest_free(range, busy))
        }
    }
}

fn lowest_free(range: &Range, busy: &Runs) -> Option<Address> {
    free_from(range, range.first(), busy)
}

fn free_from(range: &Range, from: Address, busy: &Runs) -> Option<Address> {
    let address = Address::from_number(busy.first_gap_from(from.number())?);
    range.contains(address).then_some(address)
}

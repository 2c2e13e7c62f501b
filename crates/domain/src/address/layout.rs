//! What a pool's spec says, read once: ranges, reservations, and what belongs to each address.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::ipam::{IpPoolSpec, IpRange};

use super::{Address, AddressError, Allocation, ClaimKind, Range};
use crate::numbers::Runs;

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

    /// How many addresses the ranges yield; one that stands in two ranges counts once.
    pub(super) fn capacity(&self) -> u128 {
        let sizes = self.spans().into_iter().map(|(first, last)| (last - first).saturating_add(1));
        sizes.fold(0, u128::saturating_add)
    }

    /// How many of them could be given to a claim that asks for none, if these are used.
    pub(super) fn free(&self, used: &Runs) -> u128 {
        let taken = self.spans().into_iter().map(|(first, last)| used.count_within(first, last));
        let kept: BTreeSet<Address> = self.reservations().chain(self.gateways()).collect();
        let kept = kept.into_iter().filter(|it| self.contains(*it) && !used.contains(it.number())).count();
        let taken = taken.fold(u128::try_from(kept).unwrap_or(u128::MAX), u128::saturating_add);
        self.capacity().saturating_sub(taken)
    }

    /// First and last number of the ranges, without what an earlier one has.
    fn spans(&self) -> Vec<(u128, u128)> {
        let mut ranges: Vec<(u128, u128)> =
            self.ranges.iter().map(|(range, _)| (range.first().number(), range.last().number())).collect();
        ranges.sort_unstable();
        let mut covered: Option<u128> = None;
        let rest = ranges.into_iter().filter_map(|(first, last)| {
            let first = covered.map_or(Some(first), |covered| Some(covered.checked_add(1)?.max(first)))?;
            covered = covered.max(Some(last));
            (first <= last).then_some((first, last))
        });
        rest.collect()
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

    /// The address that the strategy gives: a range is used up before the next one is looked at. `first_free_from` gives the
    /// first free number from a number on.
    pub(super) fn first_free(
        &self,
        first_free_from: &dyn Fn(u128) -> Option<u128>,
        draw: u128,
    ) -> Option<Address> {
        let free_from = |range: &Range, from: Address| {
            let address = Address::from_number(first_free_from(from.number())?);
            range.contains(address).then_some(address)
        };
        let lowest_free = |range: &Range| free_from(range, range.first());
        let mut ranges = self.ranges.iter().map(|(range, _)| range);
        if self.random {
            ranges
                .filter(|range| !range.is_open())
                .find_map(|range| free_from(range, range.at_draw(draw)).or_else(|| lowest_free(range)))
        } else {
            ranges.find_map(lowest_free)
        }
    }
}

//! Addresses, prefixes and masks as Python's `ipaddress` reads them, which decides what cloud-init accepts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The prefix that is taken where a document gives none.
pub(super) const fn guessed(v6: bool) -> u8 {
    if v6 { 64 } else { 24 }
}

/// Whether the text is an IPv6 address without a prefix.
pub(super) fn is_v6_address(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// The family of `ADDRESS` or `ADDRESS/PREFIX`: whether it is IPv6. None if it is neither.
pub(super) fn is_v6_network(text: &str) -> Option<bool> {
    let (address, mask) = match text.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (text, None),
    };
    let v6 = address.parse::<IpAddr>().ok()?.is_ipv6();
    let fits = match mask {
        None => true,
        Some(mask) if v6 => length(mask, 128).is_some(),
        Some(mask) => v4_prefix(mask).is_some(),
    };
    fits.then_some(v6)
}

/// The prefix of an IPv4 mask: a length, a netmask or a host mask.
pub(super) fn v4_prefix(mask: &str) -> Option<u8> {
    length(mask, 32).or_else(|| {
        let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
        [mask, !mask]
            .into_iter()
            .find(|mask| mask.leading_ones() + mask.trailing_zeros() >= 32)
            .map(|mask| u8::try_from(mask.leading_ones()).expect("an IPv4 mask has 32 bits"))
    })
}

/// The prefix of an IPv6 mask: a length or a netmask in the form of an address. An IPv4 netmask is accepted
/// where it is all zeros.
pub(super) fn v6_prefix(mask: &str) -> Option<u8> {
    if let Some(length) = length(mask, 128) {
        return Some(length);
    }
    let mask = match mask.parse::<IpAddr>().ok()? {
        IpAddr::V4(mask) => u128::from(u32::from(mask)),
        IpAddr::V6(mask) => u128::from(mask),
    };
    let ones = mask.leading_ones();
    (ones + mask.trailing_zeros() >= 128).then(|| u8::try_from(ones).expect("an IPv6 mask has 128 bits"))
}

fn length(text: &str, most: u8) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u8>().ok().filter(|length| digits && *length <= most)
}

/// Whether the address lies in the subnet of `ADDRESS/PREFIX`. None if one of them is no address.
pub(super) fn in_subnet(address: &str, subnet: &str) -> Option<bool> {
    let address: IpAddr = address.parse().ok()?;
    let subnet: ipnet::IpNet = subnet.parse().ok()?;
    Some(subnet.trunc().contains(&address))
}

/// Six pairs with colons, or twenty as InfiniBand has them.
pub(super) fn is_mac(mac: &str) -> bool {
    let pairs: Vec<&str> = mac.split(':').collect();
    matches!(pairs.len(), 6 | 20)
        && pairs.iter().all(|pair| pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_as_length_netmask_or_host_mask() {
        let rows = [
            ("24", Some(24)),
            ("255.255.255.0", Some(24)),
            ("0.0.0.255", Some(24)),
            ("0.0.0.0", Some(0)),
            ("255.255.255.255", Some(32)),
            ("255.0.255.0", None),
            ("33", None),
            ("big", None),
        ];
        for (mask, prefix) in rows {
            assert_eq!(v4_prefix(mask), prefix, "{mask}");
        }
        let rows = [
            ("64", Some(64)),
            ("ffff:ffff:ffff:ffff::", Some(64)),
            ("::", Some(0)),
            ("255.255.255.0", None),
            ("0.0.0.0", Some(0)),
            ("129", None),
        ];
        for (mask, prefix) in rows {
            assert_eq!(v6_prefix(mask), prefix, "{mask}");
        }
    }
}

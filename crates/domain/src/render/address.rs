//! What a pool gave, and netmasks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::{Problem, RenderError};

/// What one pool gave to one machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: String,
    /// Prefix length of its subnet; none when the pool does not say.
    pub prefix: Option<i32>,
    /// Gateway of its subnet; empty when the pool has none.
    pub gateway: String,
    /// DNS servers of its subnet.
    pub dns_servers: Vec<String>,
}

/// The two families of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    pub fn is_of(self, address: IpAddr) -> bool {
        self == Self::of(address)
    }

    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    fn contains(self, address: &str) -> bool {
        address.parse().is_ok_and(|address| self.is_of(address))
    }

    /// Refuses an address of the other family that `who` gives. What is no address at all is not judged here.
    pub fn require(self, address: &str, path: &str, who: &str) -> Result<(), RenderError> {
        match address.parse().map(Self::of) {
            Ok(found) if found != self => {
                let problem = Problem::WrongFamily { address: address.to_owned(), family: self.name() };
                Err(RenderError::new(problem, path, format!("{who} gives {}", found.name())))
            }
            _ => Ok(()),
        }
    }

    /// The mask of a prefix length; none when the family has no such prefix.
    pub fn netmask(self, prefix: i32) -> Option<String> {
        let host_bits = |bits: u32| bits.checked_sub(u32::try_from(prefix).ok()?);
        match self {
            Self::V4 => {
                let mask = u32::MAX.checked_shl(host_bits(32)?).unwrap_or(0);
                Some(Ipv4Addr::from_bits(mask).to_string())
            }
            Self::V6 => {
                let mask = u128::MAX.checked_shl(host_bits(128)?).unwrap_or(0);
                Some(Ipv6Addr::from_bits(mask).to_string())
            }
        }
    }
}

impl Address {
    /// The mask of the subnet, once it is sure that the pool serves the family asked for.
    pub(super) fn netmask(&self, family: Family, pool: &str, path: &str) -> Result<String, RenderError> {
        let refuse = |problem| Err(RenderError::new(problem, path, format!("pool {pool}")));
        family.require(&self.address, path, &format!("pool {pool}"))?;
        if !family.contains(&self.address) {
            return refuse(Problem::WrongFamily { address: self.address.clone(), family: family.name() });
        }
        let Some(prefix) = self.prefix else {
            return refuse(Problem::NoPrefix);
        };
        match family.netmask(prefix) {
            Some(mask) => Ok(mask),
            None => refuse(Problem::BadPoolPrefix { prefix, family: family.name() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_a_family_has_a_mask_and_no_other_has() {
        for (family, prefix, expected) in [
            (Family::V4, 0, Some("0.0.0.0")),
            (Family::V4, 25, Some("255.255.255.128")),
            (Family::V4, 32, Some("255.255.255.255")),
            (Family::V4, 33, None),
            (Family::V4, -1, None),
            (Family::V6, 0, Some("::")),
            (Family::V6, 96, Some("ffff:ffff:ffff:ffff:ffff:ffff::")),
            (Family::V6, 112, Some("ffff:ffff:ffff:ffff:ffff:ffff:ffff:0")),
            (Family::V6, 128, Some("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")),
            (Family::V6, 129, None),
            (Family::V6, -1, None),
        ] {
            assert_eq!(family.netmask(prefix).as_deref(), expected, "{family:?} /{prefix}");
        }
    }

    #[test]
    fn an_address_of_the_other_family_or_without_prefix_is_refused_by_pool() {
        let v4 = Address { address: "10.0.0.1".into(), prefix: Some(24), ..Address::default() };
        let v6 = Address { address: "2001:db8::1".into(), prefix: None, ..Address::default() };
        for (address, family, expected) in [
            (&v4, Family::V6, "10.0.0.1 is not an IPv6 address: p, pool a gives IPv4"),
            (&v6, Family::V4, "2001:db8::1 is not an IPv4 address: p, pool a gives IPv6"),
            (&v6, Family::V6, "the pool gives no prefix: p, pool a"),
        ] {
            assert_eq!(address.netmask(family, "a", "p").unwrap_err().to_string(), expected);
        }
    }
}

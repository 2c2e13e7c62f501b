//! One address of either family, and the name of the object that holds it.

use std::{
    fmt,
    net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address *is* the IPv4 address and prints as such; that gives both
/// families one order and one arithmetic.
///
/// ```
/// use capm3_domain::address::Address;
///
/// let spelled: Address = "2001:0db8:0::0001".parse().unwrap();
/// assert_eq!(spelled.to_string(), "2001:db8::1");
/// assert_eq!("::ffff:10.0.0.1".parse::<Address>(), "10.0.0.1".parse());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u128);

impl Address {
    /// The last IPv4 address.
    pub const LAST_V4: Self = Self(0xffff_ffff_ffff);
    /// The last IPv6 address.
    pub const LAST_V6: Self = Self(u128::MAX);

    /// The address with this number.
    pub const fn from_number(number: u128) -> Self {
        Self(number)
    }

    /// The address as a number of the IPv6 space.
    pub const fn number(self) -> u128 {
        self.0
    }

    /// Whether this is an IPv4 address.
    pub const fn is_v4(self) -> bool {
        self.0 >> 32 == 0xffff
    }

    /// The last address of its family.
    pub const fn last_of_family(self) -> Self {
        if self.is_v4() { Self::LAST_V4 } else { Self::LAST_V6 }
    }

    /// The address as the standard library has it.
    pub fn to_ip(self) -> IpAddr {
        let v6 = Ipv6Addr::from(self.0);
        v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(v4) => v4.into(),
            IpAddr::V6(v6) => v6.into(),
        }
    }
}

impl From<Ipv4Addr> for Address {
    fn from(v4: Ipv4Addr) -> Self {
        Self(v4.to_ipv6_mapped().into())
    }
}

impl From<Ipv6Addr> for Address {
    fn from(v6: Ipv6Addr) -> Self {
        Self(v6.into())
    }
}

impl FromStr for Address {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map(Self::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ip().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Name of the object that holds an address: the name itself makes the API server refuse a second holder of the
/// same address. Two addresses may share a name (`1.2.3.4` and `1:2:3:4::`), so a collision is possible.
pub fn object_name(name_prefix: &str, address: Address) -> String {
    let name = format!("{name_prefix}-{address}").replace([':', '.'], "-");
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_print_in_canonical_form() {
        let table = [
            ("10.0.0.1", "10.0.0.1"),
            ("2001:DB8:0:0::1", "2001:db8::1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("::ffff:0:0", "0.0.0.0"),
            ("::102:304", "::102:304"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ];
        for (written, printed) in table {
            assert_eq!(address(written).to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_address_does_not_parse() {
        for text in ["", "10.0.0", "10.0.0.01", "10.0.0.256", "fe80::1%eth0", "2001:db8::g", "10.0.0.1/24"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_family_ends_at_all_ones() {
        assert_eq!(address("10.0.0.1").last_of_family(), address("255.255.255.255"));
        assert_eq!(
            address("2001:db8::1").last_of_family(),
            address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
        );
        assert!(!address("::fffe:ffff:ffff").is_v4());
        assert!(!address("::1:0:0:0").is_v4());
    }

    #[test]
    fn object_names_have_dashes_for_dots_and_colons() {
        let table = [
            ("192.168.0.15", "pfx-192-168-0-15"),
            ("2001:db8::5", "pfx-2001-db8--5"),
            ("::1", "pfx---1"),
            ("2001:db8::", "pfx-2001-db8"),
            ("::", "pfx"),
        ];
        for (text, name) in table {
            assert_eq!(object_name("pfx", address(text)), name);
        }
    }
}

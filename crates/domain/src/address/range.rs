//! One range of a pool as an interval of addresses.

use capm3_api::ipam::IpRange;

use super::Address;

/// The addresses that a range of a pool yields, both ends included.
///
/// | the range has | first | last |
/// |---|---|---|
/// | start | start | end of the family |
/// | start, end | start | end |
/// | start, subnet | start | end of the subnet |
/// | start, end, subnet | start | the nearer end |
/// | subnet | address as written + 1 | end of the subnet |
/// | subnet, end | address as written + 1 | the nearer end |
/// | end, or nothing | - | - |
///
/// A start outside the subnet, an end before the start or a text that is no address yields nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    first: Address,
    last: Address,
    open: bool,
}

impl Range {
    /// Reads a range; none if it yields no address.
    ///
    /// ```
    /// use capm3_api::ipam::IpRange;
    /// use capm3_domain::address::Range;
    ///
    /// let range = IpRange { subnet: Some("192.168.0.0/30".into()), ..IpRange::default() };
    /// let range = Range::new(&range).unwrap();
    /// assert_eq!((range.first().to_string(), range.last().to_string()), ("192.168.0.1".into(), "192.168.0.3".into()));
    /// ```
    pub fn new(range: &IpRange) -> Option<Self> {
        let subnet = match filled(&range.subnet) {
            Some(text) => Some(Subnet::parse(text)?),
            None => None,
        };
        let first = match (filled(&range.start), &subnet) {
            (Some(start), _) => start.parse().ok()?,
            // The address as written is left out: it names the network, or the host that owns the subnet.
            (None, Some(subnet)) => Address::from_number(subnet.written.number().checked_add(1)?),
            (None, None) => return None,
        };
        if subnet.as_ref().is_some_and(|s| !s.contains(first)) {
            return None;
        }
        // An end that does not parse never passes admission; without one the range is merely longer.
        let end: Option<Address> = filled(&range.end).and_then(|end| end.parse().ok());
        let bounds = [Some(first.last_of_family()), end, subnet.as_ref().map(|s| s.last)];
        let last = bounds.into_iter().flatten().min()?;
        let open = end.is_none() && subnet.is_none();
        (first <= last).then_some(Self { first, last, open })
    }

    /// The first address.
    pub fn first(&self) -> Address {
        self.first
    }

    /// The last address.
    pub fn last(&self) -> Address {
        self.last
    }

    /// Whether only the end of the family ends the range: nothing is drawn at random from such a range.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the range yields the address.
    pub fn contains(&self, address: Address) -> bool {
        self.first <= address && address <= self.last
    }

    /// The address that a draw points at: every address of the range is equally likely.
    pub fn at_draw(&self, draw: u128) -> Address {
        let span = self.last.number() - self.first.number();
        let offset = span.checked_add(1).map_or(draw, |size| draw % size);
        Address::from_number(self.first.number() + offset)
    }
}

/// A subnet with the address as it was written, host bits included.
struct Subnet {
    written: Address,
    network: Address,
    last: Address,
    v4: bool,
}

impl Subnet {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let v4 = !address.contains(':');
        let written: Address = address.parse().ok()?;
        let (bits, offset) = if v4 { (32, 96) } else { (128, 0) };
        let digits = length.bytes().all(|b| b.is_ascii_digit());
        let length: u32 = length.parse().ok().filter(|length| digits && *length <= bits)?;
        // A single address has no host bits, and a shift by the whole width is no number.
        let hosts = u128::MAX.checked_shr(offset + length).unwrap_or(0);
        Some(Self {
            written,
            network: Address::from_number(written.number() & !hosts),
            last: Address::from_number(written.number() | hosts),
            v4,
        })
    }

    fn contains(&self, address: Address) -> bool {
        // Numbers alone would put every IPv4 address into ::/0.
        let same_family = self.v4 || !address.is_v4() || self.network.is_v4();
        same_family && self.network <= address && address <= self.last
    }
}

fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: &str, end: &str, subnet: &str) -> IpRange {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        IpRange { start: some(start), end: some(end), subnet: some(subnet), ..IpRange::default() }
    }

    fn bounds(start: &str, end: &str, subnet: &str) -> Option<(String, String)> {
        Range::new(&range(start, end, subnet)).map(|r| (r.first.to_string(), r.last.to_string()))
    }

    /// start, end, subnet, expected `first last` or nothing
    const TABLE: &[(&str, &str, &str, &str)] = &[
        ("192.168.0.10", "", "", "192.168.0.10 255.255.255.255"),
        ("2001:db8::10", "", "", "2001:db8::10 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("192.168.0.10", "192.168.0.100", "", "192.168.0.10 192.168.0.100"),
        ("2001:db8::10", "2001:db8::ff", "", "2001:db8::10 2001:db8::ff"),
        ("192.168.0.10", "", "192.168.0.0/24", "192.168.0.10 192.168.0.255"),
        ("2001:db8::10", "", "2001:db8::/120", "2001:db8::10 2001:db8::ff"),
        ("192.168.0.1", "192.168.0.9", "192.168.0.0/30", "192.168.0.1 192.168.0.3"),
        ("2001:db8::1", "2001:db8::9", "2001:db8::/126", "2001:db8::1 2001:db8::3"),
        ("192.168.0.1", "192.168.0.2", "192.168.0.0/24", "192.168.0.1 192.168.0.2"),
        ("", "", "192.168.0.0/24", "192.168.0.1 192.168.0.255"),
        ("", "", "2001:db8::/64", "2001:db8::1 2001:db8::ffff:ffff:ffff:ffff"),
        ("", "", "192.168.0.10/24", "192.168.0.11 192.168.0.255"),
        ("", "", "2001:db8::a/64", "2001:db8::b 2001:db8::ffff:ffff:ffff:ffff"),
        ("", "", "10.0.0.0/31", "10.0.0.1 10.0.0.1"),
        ("", "", "2001:db8::/127", "2001:db8::1 2001:db8::1"),
        ("", "", "10.0.0.0/32", ""),
        ("", "", "2001:db8::/128", ""),
        ("", "", "0.0.0.0/0", "0.0.0.1 255.255.255.255"),
        ("", "", "::/0", "::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("", "", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/64", ""),
        ("", "192.168.0.4", "192.168.0.0/24", "192.168.0.1 192.168.0.4"),
        ("", "2001:db8::4", "2001:db8::/64", "2001:db8::1 2001:db8::4"),
        ("", "192.168.0.4", "", ""),
        ("", "2001:db8::4", "", ""),
        ("", "", "", ""),
        ("10.0.0.1", "", "192.168.0.0/24", ""),
        ("2001:db9::1", "", "2001:db8::/64", ""),
        ("10.0.0.9", "10.0.0.1", "", ""),
        ("2001:db8::9", "2001:db8::1", "", ""),
        ("10.0.0.1", "10.0.0.1", "", "10.0.0.1 10.0.0.1"),
        ("2001:db8::1", "2001:db8::1", "", "2001:db8::1 2001:db8::1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", "", "10.0.0.1 10.0.0.2"),
        ("::fffe:ffff:fffe", "", "", "::fffe:ffff:fffe ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("10.0.0.1", "2001:db8::1", "", "10.0.0.1 255.255.255.255"),
        ("10.0.0.1", "", "::/0", ""),
        ("10.0.0.1", "rubbish", "", "10.0.0.1 255.255.255.255"),
        ("rubbish", "10.0.0.1", "", ""),
        ("10.0.0.1", "", "10.0.0.0/33", ""),
        ("10.0.0.1", "", "10.0.0.0", ""),
    ];

    #[test]
    fn a_range_yields_what_its_members_say() {
        for (start, end, subnet, expected) in TABLE {
            let found = bounds(start, end, subnet).map(|(first, last)| format!("{first} {last}"));
            assert_eq!(found.as_deref().unwrap_or(""), *expected, "{start} to {end} in {subnet}");
        }
    }

    #[test]
    fn only_a_range_without_end_and_subnet_is_open() {
        assert!(Range::new(&range("10.0.0.1", "", "")).unwrap().is_open());
        assert!(!Range::new(&range("10.0.0.1", "10.0.0.2", "")).unwrap().is_open());
        assert!(!Range::new(&range("", "", "2001:db8::/64")).unwrap().is_open());
    }

    proptest! {
        #[test]
        fn a_draw_always_falls_into_the_range(draw: u128, first: u32, length in 0_u32..1000, v6: bool) {
            let base = if v6 { 0x2001_0db8_u128 << 96 } else { 0xffff_u128 << 32 };
            let (first, last) = (u128::from(first), u128::from(first.saturating_add(length)));
            let text = |n: u128| Address::from_number(base + n).to_string();
            let range = Range::new(&range(&text(first), &text(last), "")).unwrap();
            prop_assert!(range.contains(range.at_draw(draw)));
        }
    }

    #[test]
    fn the_whole_ipv6_space_can_be_drawn_from() {
        let all = Range::new(&range("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "")).unwrap();
        assert_eq!(all.at_draw(u128::MAX), Address::LAST_V6);
    }
}

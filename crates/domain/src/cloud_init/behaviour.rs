//! What differs between versions of cloud-init, as data: each behaviour and the versions that have it.
//!
//! A boundary is the first version that was seen to behave so; between two versions that were run nothing is
//! known, and the older behaviour is assumed.

use super::version::Version;

/// Something that some versions do and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// `name` of a bond names the device; before, bonds are numbered `bond0`, `bond1` whatever their name.
    BondNames,
    /// Bond options get the prefix `bond-`, the spelling of cloud-init's own format; before, they keep
    /// `bond_`.
    BondKeysAreTranslated,
    /// The MAC of a bond is one of its options, and thus copied to every member that is known when the bond
    /// is read.
    BondMacIsAnOption,
    /// `vlan_mac_address` is required, but not used.
    VlanMacIsDropped,
    /// `vlan_mac_address` is written in lower case.
    VlanMacIsLowered,
    /// The network type `dhcp` is DHCP of IPv4; before, SUSE took it for both families.
    DhcpIsIpv4,
    /// DNS among the services of a network is read.
    DnsOfNetworks,
    /// DNS among the services of a route is read.
    DnsOfRoutes,
    /// netplan: a gateway outside the subnet, given as key of the network, is marked as on-link.
    NetplanOnLink,
    /// netplan: four more bond options are known.
    NetplanMoreBondOptions,
    /// networkd: each route has a section of its own; before, all routes of a link are merged into one.
    NetworkdRouteSections,
    /// networkd: whether router advertisements are accepted is written for static networks too.
    NetworkdAcceptRa,
    /// networkd: stateful DHCPv6 is DHCP.
    NetworkdStatefulDhcp,
    /// networkd: a gateway outside the subnet, given as key of the network, is marked as on-link.
    NetworkdOnLink,
    /// networkd: the MAC of a bond or VLAN is set; before, the device is looked up by it.
    NetworkdSetsMacs,
    /// networkd: bonds and VLANs are created.
    NetworkdNetdevs,
    /// NetworkManager: static IPv6 is `manual`, SLAAC turns IPv4 off, stateful DHCPv6 is `dhcp`.
    ManagerIpv6Methods,
    /// NetworkManager: top-level DNS is written, and DNS only to families that the link has.
    ManagerTopLevelDns,
    /// NetworkManager: DNS is not written to a family that is disabled.
    ManagerDnsOfEnabledFamilies,
    /// NetworkManager: all bond options in all spellings.
    ManagerBondOptions,
    /// NetworkManager: the MTU of a bond is written, and a bond without networks gets no DHCP.
    ManagerBonds,
    /// NetworkManager: the metric of a route is written.
    ManagerRouteMetric,
    /// sysconfig: stateful DHCPv6 leaves IPv4 alone; a later static or DHCP network counts.
    SysconfigStatefulIsIpv6,
    /// sysconfig: `resolv.conf` takes more than three name servers.
    SysconfigManyNameServers,
    /// sysconfig: DNS of networks and routes is in `resolv.conf` too.
    SysconfigLinkDnsIsGlobal,
    /// eni: a name server is written only to a stanza of its family.
    EniDnsByFamily,
}

use Behaviour as B;

/// Behaviour, first version that has it, first version that no longer has it.
const TABLE: &[(Behaviour, Version, Option<Version>)] = &[
    (B::BondNames, Version::of(26, 1, 0), None),
    (B::BondKeysAreTranslated, Version::of(24, 2, 0), None),
    (B::BondMacIsAnOption, Version::OLDEST, Some(Version::of(24, 2, 0))),
    (B::VlanMacIsDropped, Version::of(24, 2, 0), Some(Version::of(25, 1, 4))),
    (B::VlanMacIsLowered, Version::of(25, 3, 0), None),
    (B::DhcpIsIpv4, Version::of(23, 4, 4), None),
    (B::DnsOfNetworks, Version::of(23, 2, 2), None),
    (B::DnsOfRoutes, Version::of(24, 3, 1), None),
    (B::NetplanOnLink, Version::of(23, 1, 2), None),
    (B::NetplanMoreBondOptions, Version::of(26, 1, 0), None),
    (B::NetworkdRouteSections, Version::of(23, 1, 2), None),
    (B::NetworkdAcceptRa, Version::of(24, 2, 0), None),
    (B::NetworkdStatefulDhcp, Version::of(24, 2, 0), None),
    (B::NetworkdOnLink, Version::of(24, 2, 0), None),
    (B::NetworkdSetsMacs, Version::of(25, 3, 0), None),
    (B::NetworkdNetdevs, Version::of(26, 1, 0), None),
    (B::ManagerIpv6Methods, Version::of(23, 4, 4), None),
    (B::ManagerTopLevelDns, Version::of(24, 1, 0), None),
    (B::ManagerDnsOfEnabledFamilies, Version::of(24, 3, 1), None),
    (B::ManagerBondOptions, Version::of(24, 3, 1), None),
    (B::ManagerBonds, Version::of(24, 3, 1), None),
    (B::ManagerRouteMetric, Version::of(24, 4, 0), None),
    (B::SysconfigStatefulIsIpv6, Version::of(23, 4, 4), None),
    (B::SysconfigManyNameServers, Version::of(23, 4, 4), None),
    (B::SysconfigLinkDnsIsGlobal, Version::of(24, 2, 0), None),
    (B::EniDnsByFamily, Version::of(25, 2, 0), None),
];

/// Behaviour, whether it is there, and the update of Debian 12's cloud-init 22.4.2 that made it so. Seen by
/// running that package.
const OF_DEBIAN: &[(Behaviour, bool, u8)] =
    &[(B::NetworkdRouteSections, true, 2), (B::BondMacIsAnOption, false, 4)];

impl Version {
    /// Whether this version has the behaviour.
    pub(super) fn has(self, behaviour: Behaviour) -> bool {
        let own = self.debian_update().and_then(|update| {
            OF_DEBIAN.iter().find(|(known, _, since)| *known == behaviour && *since <= update)
        });
        own.map_or_else(|| self.has_as_released(behaviour), |(_, has, _)| *has)
    }

    fn has_as_released(self, behaviour: Behaviour) -> bool {
        TABLE.iter().any(|(known, from, before)| {
            *known == behaviour && *from <= self && before.is_none_or(|before| self < before)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_12_carries_two_changes_of_later_versions() {
        let rows = [
            ("22.4.2", [false, true]),
            ("22.4.2-1+deb12u1", [false, true]),
            ("22.4.2-1+deb12u2", [true, true]),
            ("22.4.2-1+deb12u4", [true, false]),
            ("24.1.7", [true, true]),
            ("24.2", [true, false]),
        ];
        for (version, expected) in rows {
            let version: Version = version.parse().unwrap();
            let has =
                [B::NetworkdRouteSections, B::BondMacIsAnOption].map(|behaviour| version.has(behaviour));
            assert_eq!(has, expected, "{version}");
            assert!(!version.has(B::BondNames), "{version}");
        }
    }
}

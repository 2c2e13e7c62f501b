//! What differs between versions of cloud-init, as data: each behaviour and the versions that have it.
//!
//! A boundary is the first version that was seen to behave so; between two versions that were run nothing is
//! known, and the older behaviour is assumed.

use super::target::Version;

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
    (B::BondNames, Version(26, 1, 0), None),
    (B::BondKeysAreTranslated, Version(24, 2, 0), None),
    (B::BondMacIsAnOption, Version::OLDEST, Some(Version(24, 2, 0))),
    (B::VlanMacIsDropped, Version(24, 2, 0), Some(Version(25, 1, 4))),
    (B::VlanMacIsLowered, Version(25, 3, 0), None),
    (B::DhcpIsIpv4, Version(23, 4, 4), None),
    (B::DnsOfNetworks, Version(23, 2, 2), None),
    (B::DnsOfRoutes, Version(24, 3, 1), None),
    (B::NetplanOnLink, Version(23, 1, 2), None),
    (B::NetplanMoreBondOptions, Version(26, 1, 0), None),
    (B::NetworkdRouteSections, Version(23, 1, 2), None),
    (B::NetworkdAcceptRa, Version(24, 2, 0), None),
    (B::NetworkdStatefulDhcp, Version(24, 2, 0), None),
    (B::NetworkdOnLink, Version(24, 2, 0), None),
    (B::NetworkdSetsMacs, Version(25, 3, 0), None),
    (B::NetworkdNetdevs, Version(26, 1, 0), None),
    (B::ManagerIpv6Methods, Version(23, 4, 4), None),
    (B::ManagerTopLevelDns, Version(24, 1, 0), None),
    (B::ManagerDnsOfEnabledFamilies, Version(24, 3, 1), None),
    (B::ManagerBondOptions, Version(24, 3, 1), None),
    (B::ManagerBonds, Version(24, 3, 1), None),
    (B::ManagerRouteMetric, Version(24, 4, 0), None),
    (B::SysconfigStatefulIsIpv6, Version(23, 4, 4), None),
    (B::SysconfigManyNameServers, Version(23, 4, 4), None),
    (B::SysconfigLinkDnsIsGlobal, Version(24, 2, 0), None),
    (B::EniDnsByFamily, Version(25, 2, 0), None),
];

impl Version {
    /// Whether this version has the behaviour.
    pub(super) fn has(self, behaviour: Behaviour) -> bool {
        TABLE.iter().any(|(known, from, before)| {
            *known == behaviour && *from <= self && before.is_none_or(|before| self < before)
        })
    }
}

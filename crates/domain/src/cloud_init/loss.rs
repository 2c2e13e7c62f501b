//! What the document asks for and the node does not get.

use std::fmt;

use serde::{Serialize, Serializer};

/// One thing that is lost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// An address.
    Address,
    /// A bond is not created.
    BondDevice,
    /// The members of a bond are others.
    BondMembers,
    /// A bond option is not written.
    BondOption(String),
    /// A bond option has another value.
    BondOptionChanged(String),
    /// A network whose link is not in the document.
    DanglingNetwork,
    /// A link has no interface.
    Device,
    /// DHCP of IPv4.
    Dhcp4,
    /// DHCP of IPv6.
    Dhcp6,
    /// A name server of a network or route.
    Dns,
    /// The default gateway.
    Gateway,
    /// The MAC of a bond.
    BondMac,
    /// The MAC of a VLAN.
    VlanMac,
    /// A NIC is looked up by the MAC of its bond.
    NicMac,
    /// The MTU of a bond.
    BondMtu,
    /// The MTU of a VLAN.
    VlanMtu,
    /// A gateway outside the subnet is not marked as reachable on the link.
    OnLink,
    /// The document has no prefix; one is guessed.
    GuessedPrefix(u8),
    /// A route.
    Route,
    /// A route leads elsewhere.
    RouteChanged(String),
    /// DHCPv6 gets no route, because router advertisements are turned off.
    RouterAdvertisements,
    /// SLAAC, because router advertisements are turned off.
    Slaac,
    /// A top-level name server.
    TopLevelDns,
    /// A network whose type cloud-init does not know.
    UnknownNetwork,
    /// A VLAN is not created.
    VlanDevice,
    /// A VLAN has another parent or id.
    VlanParentOrId,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => out.write_str("address"),
            Self::BondDevice => out.write_str("bond device"),
            Self::BondMembers => out.write_str("bond members"),
            Self::BondOption(option) => write!(out, "bond option {option}"),
            Self::BondOptionChanged(option) => write!(out, "bond option {option} changed"),
            Self::DanglingNetwork => out.write_str("network of a dangling link"),
            Self::Device => out.write_str("device"),
            Self::Dhcp4 => out.write_str("dhcp4"),
            Self::Dhcp6 => out.write_str("dhcp6"),
            Self::Dns => out.write_str("dns"),
            Self::Gateway => out.write_str("gateway"),
            Self::BondMac => out.write_str("mac of the bond"),
            Self::VlanMac => out.write_str("mac of the vlan"),
            Self::NicMac => out.write_str("MAC of the NIC (matched by the bond's MAC)"),
            Self::BondMtu => out.write_str("mtu of the bond"),
            Self::VlanMtu => out.write_str("mtu of the vlan"),
            Self::OnLink => out.write_str("on-link flag of a gateway outside the subnet"),
            Self::GuessedPrefix(prefix) => write!(out, "prefix (guessed /{prefix})"),
            Self::Route => out.write_str("route"),
            Self::RouteChanged(route) => write!(out, "route changed to {route}"),
            Self::RouterAdvertisements => out.write_str("router advertisements that DHCPv6 needs (RA off)"),
            Self::Slaac => out.write_str("slaac (RA off)"),
            Self::TopLevelDns => out.write_str("top-level dns"),
            Self::UnknownNetwork => out.write_str("network of unknown type"),
            Self::VlanDevice => out.write_str("vlan device"),
            Self::VlanParentOrId => out.write_str("vlan parent or id"),
        }
    }
}

impl Serialize for Lost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is lost, where and of which value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// What is lost.
    pub what: Lost,
    /// The link of the document, by its id; empty for what belongs to none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// The key of the document that asks for it; empty where it is the link as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The value that the document asks for; empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// One sentence for people: what the node lacks.
impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = &self.value;
        match &self.what {
            Lost::Address => write!(out, "the image drops the address {value}"),
            Lost::BondDevice => out.write_str("the image drops the bond: it is not created"),
            Lost::BondMembers => {
                write!(out, "the image drops the members of the bond: {value} are not made its members")
            }
            Lost::BondOption(option) => {
                write!(
                    out,
                    "the image drops bond option {option}: instead of {value} the kernel's default holds"
                )
            }
            Lost::BondOptionChanged(option) => {
                write!(
                    out,
                    "the image changes bond option {option}: {value} is overwritten by the bond around it"
                )
            }
            Lost::DanglingNetwork => {
                write!(out, "the image drops network {value}: the document has no such link")
            }
            Lost::Device => out.write_str("the image drops the link: it configures nothing for it"),
            Lost::Dhcp4 => out.write_str("the image drops DHCP of IPv4"),
            Lost::Dhcp6 => out.write_str("the image drops DHCP of IPv6"),
            Lost::Dns => write!(out, "the image drops the name server {value}"),
            Lost::Gateway => write!(out, "the image drops the default gateway {value}"),
            Lost::BondMac => write!(out, "the image drops the MAC of the bond: {value} is not set"),
            Lost::VlanMac => {
                write!(out, "the image drops the MAC of the VLAN: it has its parent's instead of {value}")
            }
            Lost::NicMac => write!(
                out,
                "the image looks the NIC up by the MAC of its bond instead of {value}: list the bond before its members"
            ),
            Lost::BondMtu => write!(out, "the image drops the MTU {value} of the bond"),
            Lost::VlanMtu => write!(out, "the image drops the MTU {value} of the VLAN"),
            Lost::OnLink => {
                write!(
                    out,
                    "the gateway {value} is outside the subnet, and the image does not mark it as on-link"
                )
            }
            Lost::GuessedPrefix(prefix) => write!(out, "{value} has no netmask: /{prefix} is assumed"),
            Lost::Route => write!(out, "the image drops the route {value}"),
            Lost::RouteChanged(route) => write!(out, "the image changes the route {value} to {route}"),
            Lost::RouterAdvertisements => out
                .write_str("static IPv6 turns router advertisements off, without which DHCPv6 gets no route"),
            Lost::Slaac => {
                out.write_str("the image drops SLAAC: static IPv6 turns router advertisements off")
            }
            Lost::TopLevelDns => {
                write!(out, "the image drops the name server {value}: no interface takes it")
            }
            Lost::UnknownNetwork => {
                write!(out, "the image drops the network: cloud-init knows no type {value}")
            }
            Lost::VlanDevice => out.write_str("the image drops the VLAN: it is not created"),
            Lost::VlanParentOrId => write!(out, "the image configures another VLAN than {value}"),
        }
    }
}

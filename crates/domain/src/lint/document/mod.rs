//! Rules about network data documents, one file each.

pub(super) mod bond_members;
pub(super) mod bond_mode;
pub(super) mod bond_parameter;
pub(super) mod dangling_link;
pub(super) mod default_routes;
pub(super) mod device_name;
pub(super) mod duplicate_address;
pub(super) mod duplicate_id;
pub(super) mod empty_value;
pub(super) mod family;
pub(super) mod gateway_outside;
pub(super) mod mac;
pub(super) mod member_address;
pub(super) mod mtu;
pub(super) mod no_address;
pub(super) mod no_dns;
pub(super) mod no_gateway;
pub(super) mod no_match;
pub(super) mod other_service;
pub(super) mod special_address;
pub(super) mod unused_link;
pub(super) mod vlan_id;
pub(super) mod vlan_parent;

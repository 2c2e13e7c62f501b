//! What NetworkManager's own reader makes of the profiles: it refuses some, and silently drops keys of others.
//!
//! Seen by running `nmcli --offline` 1.42.4. Keys that it only writes differently, such as the number of a bond mode,
//! are left out.

use std::net::IpAddr;

use serde_json::Value;

use super::{Section, bond_rules};
use crate::cloud_init::{
    interface::{Interface, Kind},
    prefix::is_mac,
    profile::ProfileFault,
    state,
    value::text,
};

/// Longest name of a device, which the kernel sets.
const LONGEST_NAME: usize = 15;
/// The VLAN id that NetworkManager reads, but does not accept; greater ones it does not even read.
const RESERVED_VLAN: u64 = 4095;

/// Whether the kernel accepts the name.
pub(super) fn is_device_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(fits)
}

/// What is wrong with the profile of an interface. One that is refused has no other fault.
pub(super) fn faults(
    interface: &state::Interface,
    name: &str,
    written: &Interface,
    sections: &[Section],
) -> Vec<ProfileFault> {
    let mut judge = Judge { name, faults: Vec::new() };
    let outcome = judge.interface(written).and_then(|()| match interface.bond {
        Some(_) => judge.member(sections),
        None => sections.iter().try_for_each(|section| judge.section(section)),
    });
    match outcome {
        Ok(()) => judge.faults,
        Err(refusal) => vec![refusal],
    }
}

struct Judge<'a> {
    name: &'a str,
    faults: Vec<ProfileFault>,
}

impl Judge<'_> {
    fn drop(&mut self, key: String, value: impl Into<String>) {
        self.faults.push(ProfileFault::dropped(self.name, key, value));
    }

    fn refuse(&self, reason: impl Into<String>) -> Result<(), ProfileFault> {
        Err(ProfileFault::refused(self.name, reason))
    }

    fn interface(&mut self, written: &Interface) -> Result<(), ProfileFault> {
        let names_the_device = written.kind != Kind::Nic || written.match_name.is_some();
        if names_the_device && !is_device_name(self.name) {
            return self.refuse(format!("{} is no name of a device: it has more than {LONGEST_NAME} characters, or other than letters, digits and punctuation", self.name));
        }
        if let Some(id) = written.vlan.as_ref().and_then(|vlan| vlan.id.as_ref()) {
            match id.as_u64() {
                Some(RESERVED_VLAN) => return self.refuse(format!("VLAN id {RESERVED_VLAN} is reserved")),
                Some(id) if id < RESERVED_VLAN => {}
                _ => self.drop("vlan.id".to_owned(), text(id)),
            }
        }
        if let Some(mtu) = written.mtu.as_ref().filter(|mtu| !is_number(mtu)) {
            self.drop("ethernet.mtu".to_owned(), text(mtu));
        }
        if let Some(mac) = written.match_mac.as_ref().filter(|mac| !is_mac(mac)) {
            self.drop("ethernet.mac-address".to_owned(), mac);
        }
        match bond_rules::judge(&written.bond) {
            Ok(dropped) => {
                for option in dropped {
                    let value = written.bond.get(&option).map(text).unwrap_or_default();
                    // Nothing is lost with an option that is empty.
                    if !value.is_empty() {
                        self.drop(format!("bond.{option}"), value);
                    }
                }
                Ok(())
            }
            Err(reason) => self.refuse(reason),
        }
    }

    /// A member of a bond has no addresses: the sections are not read.
    fn member(&mut self, sections: &[Section]) -> Result<(), ProfileFault> {
        for section in sections {
            let family = section.family();
            for (at, address) in section.addresses.iter().enumerate() {
                self.drop(format!("{family}.address{}", at + 1), address);
            }
            for (at, (route, _)) in section.routes.iter().enumerate() {
                self.drop(format!("{family}.route{}", at + 1), route.target());
            }
            if !section.dns.is_empty() {
                self.drop(format!("{family}.dns"), section.dns.join(" "));
            }
        }
        Ok(())
    }

    fn section(&mut self, section: &Section) -> Result<(), ProfileFault> {
        let family = section.family();
        if section.method == "disabled" && !section.dns.is_empty() {
            return self.refuse(format!("name servers of {family}, which the link does not have"));
        }
        let mut usable = 0;
        for (at, address) in section.addresses.iter().enumerate() {
            let address_only = address.split('/').next().unwrap_or_default();
            if is_of(address_only, section.v6) {
                usable += 1;
            } else if section.is_by_address {
                return self.refuse(format!("{address} is no address of {family}"));
            } else {
                self.drop(format!("{family}.address{}", at + 1), address);
            }
        }
        if section.method == "manual" && usable == 0 {
            return self.refuse(format!("static {family} without an address of {family}"));
        }
        for (at, (route, _)) in section.routes.iter().enumerate() {
            let fits = route.gateway.as_deref().is_none_or(|gateway| is_of(gateway, route.v6));
            if !fits || route.v6 != section.v6 && !section.is_by_address {
                self.drop(format!("{family}.route{}", at + 1), route.target());
            }
        }
        let unusable: Vec<&str> =
            section.dns.iter().map(String::as_str).filter(|server| !is_of(server, section.v6)).collect();
        if !unusable.is_empty() {
            self.drop(format!("{family}.dns"), unusable.join(" "));
        }
        Ok(())
    }
}

fn is_of(address: &str, v6: bool) -> bool {
    address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6() == v6)
}

fn is_number(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| u32::try_from(number).is_ok())
}

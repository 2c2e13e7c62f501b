//! Whose a host is by what machines know of it, whatever stands in its consumer reference.
//!
//! Takes a machine, hosts and the machines that know these hosts, gives who a host belongs to, and which hosts the
//! machine uses, gives back or leaves alone. Every way to take or wipe a host asks here: the choice, the release, and
//! the care for hosts that nobody looks after.

use std::{cmp::Reverse, collections::BTreeMap};

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};

use super::{
    Ownership, annotated_host, has_image, is_in_use_unrecorded, ownership,
    recorded_host::{has_user_data_of, is_identified, is_identified_by_name},
};

/// How strongly a machine and a host are bound to each other, the weakest first. The reference on the host alone is no
/// bond: anybody may edit it, and a claim that was not recorded yet meets nobody who contests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bond {
    /// The machine knows nothing of the host.
    None,
    /// The machine has recorded the host.
    Recorded,
    /// The machine has recorded the host, which names it.
    Claimed,
    /// The machine's provider ID is of this host.
    Identified,
}

/// How strongly a machine and a host are bound to each other. A provider ID of the machine itself that names another
/// host makes its record worthless: the ID is never changed.
///
/// ```
/// use capm3_domain::host::{Bond, bond};
///
/// let machine = serde_json::from_str(r#"{"metadata": {"name": "m", "namespace": "ns"},
///     "spec": {"providerID": "metal3://ns/h/m"}}"#).unwrap();
/// let host = serde_json::from_str(r#"{"metadata": {"name": "h", "namespace": "ns"}}"#).unwrap();
/// assert_eq!(bond(&machine, &host), Bond::Identified);
/// ```
pub fn bond(machine: &Metal3Machine, host: &BareMetalHost) -> Bond {
    if machine.metadata.namespace_str() != host.metadata.namespace_str() {
        return Bond::None;
    }
    if is_identified(machine, host) {
        return Bond::Identified;
    }
    if is_identified_by_name(machine) {
        return Bond::None;
    }
    if annotated_host(machine) != Ok(Some(host.metadata.name_str())) {
        return Bond::None;
    }
    match ownership(machine, host) {
        Ownership::Ours => Bond::Claimed,
        Ownership::Nobody | Ownership::Other(_) => Bond::Recorded,
    }
}

/// The machine that a host belongs to before it belongs to `machine`: one that stays and is bound to the host more
/// strongly. `machine` neither takes nor wipes such a host, even if it is the one that the host names.
pub fn rightful_other<'m>(
    machine: &Metal3Machine,
    host: &BareMetalHost,
    machines: impl IntoIterator<Item = &'m Metal3Machine>,
) -> Option<&'m Metal3Machine> {
    let own = bond(machine, host);
    let is_other = |other: &Metal3Machine| {
        let key =
            |machine: &Metal3Machine| (machine.metadata.namespace.clone(), machine.metadata.name.clone());
        !other.metadata.is_deleting() && key(other) != key(machine)
    };
    let others = machines.into_iter().filter(|other| is_other(other));
    let bound = others.map(|other| (bond(other, host), other)).filter(|(bond, _)| *bond > own);
    let order = |(bond, other): &(Bond, &'m Metal3Machine)| (*bond, Reverse(other.metadata.name.clone()));
    bound.max_by_key(order).map(|(_, other)| other)
}

/// The hosts of a machine.
#[derive(Debug, Clone)]
pub struct Holdings<H> {
    /// The host of the machine: the one it consumes, else the one that it knows as its own.
    pub host: Option<H>,
    /// Hosts to give back: they name the machine and have no image, and the machine's provider ID or record names another
    /// host, which is there.
    pub surplus: Vec<H>,
    /// Hosts that name the machine and are neither used nor given back: they are in use and the machine has no record of
    /// them, or nothing proves that the machine has another host.
    pub held: Vec<H>,
    /// Hosts that name the machine, or that it has recorded, and that belong to another one: their names, and its.
    pub of_others: BTreeMap<String, String>,
}

/// Sorts the hosts that name a machine, and the one that it knows as its own, by what they are to it. `known` is the host
/// that the machine's provider ID or record names, if it is there. `of_another` tells whom a host belongs to before it
/// belongs to this machine, from [`rightful_other`].
///
/// The claim on a host is the record, so that one which was not written down yet is found again. But a machine never
/// changes hosts: where its provider ID, or its user data on the recorded host, shows which one it has, it stays with
/// that, even if that names somebody else.
pub fn holdings<H: AsRef<BareMetalHost>>(
    machine: &Metal3Machine,
    consumed: Vec<H>,
    known: Option<H>,
    of_another: impl Fn(&BareMetalHost) -> Option<String>,
) -> Holdings<H> {
    let mut of_others = BTreeMap::new();
    let mut is_of_another = |host: &BareMetalHost| {
        let other = of_another(host);
        other.map(|other| of_others.insert(host.metadata.name_str().to_owned(), other)).is_some()
    };
    let mine: Vec<H> = consumed.into_iter().filter(|host| !is_of_another(host.as_ref())).collect();
    let proof = known.as_ref().filter(|known| !is_of_another(known.as_ref()));
    let proof = proof.map(|known| known.as_ref().metadata.name_str().to_owned());
    let (mut rest, mut used): (Vec<H>, Vec<H>) =
        mine.into_iter().partition(|host| is_in_use_unrecorded(machine, host.as_ref()));
    if known.is_none() && is_identified_by_name(machine) {
        // The host of its Node is not there. Another one would get a second Node of the same identity, unless what is on
        // it shows that it is the same computer under another name.
        let is_same = |host: &H| has_user_data_of(machine, host.as_ref());
        let (same, blank): (Vec<H>, Vec<H>) = used.into_iter().partition(is_same);
        rest.extend(blank);
        used = same;
    }
    used.sort_by_key(|host| (Reverse(bond(machine, host.as_ref())), host.as_ref().spec.image.is_none()));
    let stays = known.as_ref().is_some_and(|known| stays_with(machine, known.as_ref(), &used));
    let host = if used.is_empty() || stays {
        known
    } else {
        let others = used.split_off(1);
        std::mem::replace(&mut used, others).pop()
    };
    rest.extend(used);
    let is_surplus = |host: &H| {
        let name = host.as_ref().metadata.name_str();
        !has_image(host.as_ref()) && proof.as_ref().is_some_and(|known| known != name)
    };
    let (surplus, held) = rest.into_iter().partition(is_surplus);
    Holdings { host, surplus, held, of_others }
}

/// Whether a machine stays with the host that it knows though others name it and this one does not.
fn stays_with<H: AsRef<BareMetalHost>>(machine: &Metal3Machine, known: &BareMetalHost, used: &[H]) -> bool {
    let names_it = |host: &H| host.as_ref().metadata.name == known.metadata.name;
    let is_filled = |host: &BareMetalHost| has_user_data_of(machine, host);
    !used.iter().any(names_it)
        && (is_identified(machine, known)
            || is_filled(known) && !used.iter().any(|host| is_filled(host.as_ref())))
}

#[cfg(test)]
#[path = "rightful_owner_tests.rs"]
mod tests;

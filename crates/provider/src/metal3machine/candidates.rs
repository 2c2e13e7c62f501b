//! Hosts that a machine may take, pulled by the decision when it needs them.
//!
//! Most passes need none; a pass that takes one needs the best of those that are usable by themselves; only a pass that finds
//! none needs every host, to report why. So an observation holds a handle, and costs the same among ten hosts and among ten
//! thousand. Nothing is decided here.

use std::{collections::BTreeMap, fmt, sync::Arc};

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::host::could_be_taken;
use capm3_engine::{ObjectKey, Reader, Visit};

use super::reserved_waiters;
use crate::{
    indexes::{HOSTS_BY_NAMESPACE, RESERVED_HOSTS_BY_LABEL, USABLE_HOSTS},
    rightful_owner::of_another,
};

/// The hosts of a namespace, as one machine sees them.
#[derive(Clone)]
pub struct Candidates<'r>(Arc<dyn Hosts + 'r>);

/// Every host that a machine may take.
#[derive(Debug, Clone, Default)]
pub struct AllHosts {
    /// The hosts, by name.
    pub hosts: Vec<Arc<BareMetalHost>>,
    /// Those that belong to other machines, and the names of these.
    pub of_others: BTreeMap<String, String>,
}

/// Where hosts are read from.
trait Hosts {
    fn all(&self) -> AllHosts;
    fn each_usable(&self, failure_domain: Option<&str>, offer: &mut Visit<'_, BareMetalHost>);
    fn is_any_reserved(&self, label: &str) -> bool;
    fn waiters_ahead(&self, label: &str) -> usize;
    fn is_of_another(&self, host: &BareMetalHost) -> bool;
}

impl<'r> Candidates<'r> {
    /// The hosts that a reader shows to a machine, read when they are asked for.
    pub(super) fn read<R: Reader>(reader: &'r R, machine: &Arc<Metal3Machine>, key: &ObjectKey) -> Self {
        Self(Arc::new(FromReader { reader, machine: Arc::clone(machine), key: key.clone() }))
    }

    /// Every host of the namespace.
    pub fn all(&self) -> AllHosts {
        self.0.all()
    }

    /// Visits the hosts that are usable by themselves, of a failure domain or of the namespace.
    pub(super) fn each_usable(&self, failure_domain: Option<&str>, offer: &mut Visit<'_, BareMetalHost>) {
        self.0.each_usable(failure_domain, offer);
    }

    /// Whether hosts are reserved under this label.
    pub(super) fn is_any_reserved(&self, label: &str) -> bool {
        self.0.is_any_reserved(label)
    }

    /// How many machines of the same owner wait for hosts that are reserved under this label, and go first.
    pub(super) fn waiters_ahead(&self, label: &str) -> usize {
        self.0.waiters_ahead(label)
    }

    /// Whether a host belongs to another machine.
    pub(super) fn is_of_another(&self, host: &BareMetalHost) -> bool {
        self.0.is_of_another(host)
    }
}

impl fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Candidates")
    }
}

struct FromReader<'r, R> {
    reader: &'r R,
    machine: Arc<Metal3Machine>,
    key: ObjectKey,
}

impl<R: Reader> Hosts for FromReader<'_, R> {
    fn all(&self) -> AllHosts {
        let hosts = self.reader.by_index(&HOSTS_BY_NAMESPACE, &self.key.namespace);
        let free = hosts.iter().filter(|host| could_be_taken(host));
        let of_others = free.filter_map(|host| {
            let other = of_another(self.reader, &self.machine, host)?;
            Some((host.metadata.name_str().to_owned(), other))
        });
        AllHosts { of_others: of_others.collect(), hosts }
    }

    fn each_usable(&self, failure_domain: Option<&str>, offer: &mut Visit<'_, BareMetalHost>) {
        let namespace = &self.key.namespace;
        let place = failure_domain.map(|domain| format!("{namespace}/{domain}"));
        self.reader.each(&USABLE_HOSTS, place.as_deref().unwrap_or(namespace), offer);
    }

    fn is_any_reserved(&self, label: &str) -> bool {
        self.reader.count(&RESERVED_HOSTS_BY_LABEL, &format!("{}/{label}", self.key.namespace)) > 0
    }

    fn waiters_ahead(&self, label: &str) -> usize {
        reserved_waiters::ahead_of(self.reader, &self.key, label)
    }

    fn is_of_another(&self, host: &BareMetalHost) -> bool {
        of_another(self.reader, &self.machine, host).is_some()
    }
}

/// A list of hosts of which none is reserved for a machine that goes first.
impl From<Vec<Arc<BareMetalHost>>> for Candidates<'_> {
    fn from(hosts: Vec<Arc<BareMetalHost>>) -> Self {
        Self(Arc::new(Listed { hosts, ahead: 0 }))
    }
}

/// The same behind a number of waiting machines.
impl From<(Vec<Arc<BareMetalHost>>, usize)> for Candidates<'_> {
    fn from((hosts, ahead): (Vec<Arc<BareMetalHost>>, usize)) -> Self {
        Self(Arc::new(Listed { hosts, ahead }))
    }
}

struct Listed {
    hosts: Vec<Arc<BareMetalHost>>,
    ahead: usize,
}

impl Hosts for Listed {
    fn all(&self) -> AllHosts {
        AllHosts { hosts: self.hosts.clone(), of_others: BTreeMap::new() }
    }

    /// None: every choice is made among all of them.
    fn each_usable(&self, _: Option<&str>, _: &mut Visit<'_, BareMetalHost>) {}

    fn is_any_reserved(&self, _: &str) -> bool {
        false
    }

    fn waiters_ahead(&self, _: &str) -> usize {
        self.ahead
    }

    fn is_of_another(&self, _: &BareMetalHost) -> bool {
        false
    }
}

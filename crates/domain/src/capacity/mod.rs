//! What a machine may count on before there is one: the contract by which a cluster autoscaler grows a MachineDeployment
//! from zero.
//!
//! Takes the hosts that a template's machines may come to stand on, gives the [`Offer`] that each of them keeps, and reads
//! and writes it in the template's status. Must not guess: a host that does not tell is left out.
//!
//! The status holds the minimum over all matching hosts: an average would promise Pods room on nodes that cannot hold
//! them. Hosts in use count too, because a figure that changed with each machine would cost a write per machine.

mod status;
#[cfg(test)]
mod tests;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3MachineTemplate};
pub use status::{said, say};

use crate::host::Selector;

/// What a host, or each of several hosts, has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Processors that the operating system sees.
    pub cpus: i64,
    /// Memory in MiB.
    pub mebibytes: i64,
    /// Architecture in the words of Node labels, if it is known and the same everywhere.
    pub architecture: Option<&'static str>,
}

impl Offer {
    /// What both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cpus: self.cpus.min(other.cpus),
            mebibytes: self.mebibytes.min(other.mebibytes),
            architecture: self.architecture.filter(|_| self.architecture == other.architecture),
        }
    }

    /// Whether what all have stays the same if this one, which is among them, goes.
    fn can_spare(self, one: Self) -> bool {
        one.cpus > self.cpus && one.mebibytes > self.mebibytes && self.architecture.is_some()
    }
}

/// What one host has; none if it was not inspected or tells too little, if it is on its way out, or if it is provisioned
/// elsewhere, so that no machine ever comes to stand on it.
pub fn of_host(host: &BareMetalHost) -> Option<Offer> {
    let never = host.metadata.is_deleting() || host.spec.externally_provisioned;
    let hardware = host.status.hardware.as_ref().filter(|_| !never)?;
    Some(Offer {
        cpus: hardware.cpu.count.filter(|count| *count > 0)?,
        mebibytes: hardware.ram_mebibytes.filter(|amount| *amount > 0)?,
        architecture: hardware.cpu.arch.as_deref().and_then(architecture),
    })
}

/// The hosts on which machines of a template may come to stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// None if the selector cannot be used: then no host is ever taken.
    selector: Option<Selector>,
}

impl Candidates {
    /// Those of a template.
    pub fn of(template: &Metal3MachineTemplate) -> Self {
        Self { selector: Selector::compile(template.spec.template.spec.host_selector.as_ref()).ok() }
    }

    /// What the host has, if it is one of them.
    pub fn offer(&self, host: &BareMetalHost) -> Option<Offer> {
        let labels = host.metadata.labels.as_ref();
        let fits = self.selector.as_ref().is_some_and(|selector| selector.mismatch(labels).is_none());
        of_host(host).filter(|_| fits)
    }

    /// What each of them has: the least of every resource.
    pub fn common<'a>(&self, hosts: impl IntoIterator<Item = &'a BareMetalHost>) -> Option<Offer> {
        hosts.into_iter().filter_map(|host| self.offer(host)).reduce(Offer::and)
    }
}

/// Whether what all hosts have may be another than `common`, now that one of them offers `new` instead of `old`. Says so
/// once too often rather than too seldom.
pub fn may_change(common: Option<Offer>, old: Option<Offer>, new: Option<Offer>) -> bool {
    if old == new {
        return false;
    }
    let Some(common) = common else { return true };
    let spared = old.is_none_or(|old| common.can_spare(old));
    let covered = new.is_none_or(|new| common.and(new) == common);
    !(spared && covered)
}

/// Architectures: as inspection finds them, and as Node labels have them.
const ARCHITECTURES: [(&str, &str); 5] = [
    ("x86_64", "amd64"),
    ("aarch64", "arm64"),
    ("ppc64le", "ppc64le"),
    ("s390x", "s390x"),
    ("riscv64", "riscv64"),
];

/// In the words of Node labels, whichever it is given in; none if it is unknown.
fn architecture(name: &str) -> Option<&'static str> {
    let found = ARCHITECTURES.iter().find(|(kernel, label)| name == *kernel || name == *label);
    found.map(|(_, label)| *label)
}

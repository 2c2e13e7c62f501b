//! What a machine may count on before there is one: the contract by which a cluster autoscaler grows a MachineDeployment
//! from zero.
//!
//! Takes the hosts that machines of a template may use, gives the [`HostResources`] that each of them has at least, and reads
//! and writes it in the template's status. Must not guess: a host whose hardware is unknown is left out.
//!
//! The status holds the minimum over all matching hosts: an average would promise Pods room on nodes that cannot hold
//! them. Hosts in use count too, because a figure that changed with each machine would cost a write per machine.

mod status;
#[cfg(test)]
mod tests;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3MachineTemplate};
pub use status::{read_status, write_status};

use crate::host::Selector;

/// What a host, or each of several hosts, has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostResources {
    /// Processors that the operating system sees.
    pub cpus: i64,
    /// Memory in MiB.
    pub mebibytes: i64,
    /// Architecture in the words of Node labels, if it is known and the same everywhere.
    pub architecture: Option<&'static str>,
}

impl HostResources {
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

/// What one host has; none if it was not inspected or its hardware is incomplete, if it is being deleted, or if it is provisioned
/// elsewhere, so that no machine ever uses it.
pub fn resources_of(host: &BareMetalHost) -> Option<HostResources> {
    let never = host.metadata.is_deleting() || host.spec.externally_provisioned;
    let hardware = host.status.hardware.as_ref().filter(|_| !never)?;
    Some(HostResources {
        cpus: hardware.cpu.count.filter(|count| *count > 0)?,
        mebibytes: hardware.ram_mebibytes.filter(|amount| *amount > 0)?,
        architecture: hardware.cpu.arch.as_deref().and_then(architecture),
    })
}

/// The hosts that machines of a template may use.
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
    pub fn resources_of(&self, host: &BareMetalHost) -> Option<HostResources> {
        let labels = host.metadata.labels.as_ref();
        let fits = self.selector.as_ref().is_some_and(|selector| selector.mismatch(labels).is_none());
        resources_of(host).filter(|_| fits)
    }

    /// What each of them has: the least of every resource.
    pub fn common<'a>(&self, hosts: impl IntoIterator<Item = &'a BareMetalHost>) -> Option<HostResources> {
        hosts.into_iter().filter_map(|host| self.resources_of(host)).reduce(HostResources::and)
    }
}

/// Whether what all hosts have may differ from `common`, now that one of them has `new` instead of `old`. Answers yes
/// too often rather than too seldom.
pub fn may_change(
    common: Option<HostResources>,
    old: Option<HostResources>,
    new: Option<HostResources>,
) -> bool {
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

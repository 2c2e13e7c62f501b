//! What the manager may do in a management cluster: one table, from which the Roles and `docs/rbac.md` are made.
//!
//! Each row names the code that needs it. No row has a star, and no row is kept for later: a controller that comes brings
//! its rows with it. Nodes are written in workload clusters, with the kubeconfig of the Cluster, so they are not here.

mod table;

use crate::{Certificates, Install};
pub use table::TABLE;

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In every namespace: the ClusterRole.
    Cluster,
    /// In the namespace of the provider: the Role.
    OwnNamespace,
}

/// Which installations need a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Every one.
    Always,
    /// Those with the built-in address manager.
    Ipam,
    /// Those whose manager makes its certificate itself.
    SelfManagedCertificates,
}

/// One right, and why it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Plural, with a subresource behind a slash.
    pub resource: &'static str,
    /// Verbs of the API.
    pub verbs: &'static [&'static str],
    /// The only objects that it holds for; none: all.
    pub names: &'static [&'static str],
    /// Where it holds.
    pub scope: Scope,
    /// Which installations have it.
    pub when: When,
    /// The source file that needs it, below `crates`.
    pub by: &'static str,
    /// What for.
    pub why: &'static str,
}

impl Right {
    /// Whether an installation needs it.
    pub fn is_needed_by(&self, install: &Install) -> bool {
        match self.when {
            When::Always => true,
            When::Ipam => install.ipam,
            When::SelfManagedCertificates => install.certificates == Certificates::SelfManaged,
        }
    }
}

/// Whether an installation may do something with any object of a resource in its scope.
pub fn allows(install: &Install, scope: Scope, verb: &str, group: &str, resource: &str) -> bool {
    let mut rights = TABLE.iter().filter(|right| right.is_needed_by(install));
    rights.any(|right| {
        // What holds everywhere holds in the provider's namespace too.
        let is_in_scope = right.scope == Scope::Cluster || right.scope == scope;
        is_in_scope
            && right.names.is_empty()
            && (right.group, right.resource) == (group, resource)
            && right.verbs.contains(&verb)
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

    #[test]
    fn no_right_has_a_star_and_every_verb_is_one_of_the_api() {
        assert!(!TABLE.is_empty());
        for right in TABLE {
            assert!(!right.resource.contains('*') && !right.group.contains('*'), "{right:?}");
            assert!(!right.verbs.is_empty(), "{right:?}");
            assert!(right.verbs.iter().all(|verb| VERBS.contains(verb)), "{right:?}");
        }
    }

    #[test]
    fn every_right_names_a_source_file_that_exists_and_says_what_for() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for right in TABLE {
            assert!(crates.join(right.by).is_file(), "{} of {} {}", right.by, right.group, right.resource);
            assert!(right.why.len() > 5 && !right.why.ends_with('.'), "{right:?}");
        }
    }

    #[test]
    fn no_verb_is_given_twice_for_the_same_reason() {
        let mut seen = BTreeSet::new();
        for right in TABLE {
            let row = (right.group, right.resource, right.by, right.why);
            assert!(seen.insert(row), "{row:?}");
        }
    }

    #[test]
    fn a_right_of_one_namespace_does_not_hold_elsewhere() {
        let install = Install::default();
        let leases = |scope| allows(&install, scope, "update", "coordination.k8s.io", "leases");
        assert!(leases(Scope::OwnNamespace) && !leases(Scope::Cluster));
        assert!(allows(&install, Scope::OwnNamespace, "get", "", "secrets"));
    }
}

//! What the manager may do in a management cluster: one table, from which the Roles and `docs/rbac.md` are made.
//!
//! Each row names the code that needs it. No row has a star, and no row is kept for later: a controller that comes brings
//! its rows with it. Nodes are written in workload clusters, with the kubeconfig of the Cluster, so they are not here.

mod table;
mod without;

use crate::{Certificates, Install};
pub use table::TABLE;
pub use without::{Fails, Says, Without};

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
    /// What does not happen where it is missing.
    pub without: Without,
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
    fn every_right_says_what_does_not_happen_without_it() {
        let nothing = |right: &&Right| right.without.fails == Fails::Nothing("");
        let found: Vec<&Right> = TABLE.iter().filter(nothing).collect();
        assert!(found.is_empty(), "{found:#?}");
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
    fn the_crds_that_may_be_patched_are_those_that_are_converted() {
        let crds = capm3_api::crd::all();
        let converted = crds.iter().filter(|crd| crd.pointer("/spec/conversion/webhook").is_some());
        let converted: BTreeSet<&str> =
            converted.filter_map(|crd| crd["metadata"]["name"].as_str()).collect();
        assert_eq!(table::CONVERTED.iter().copied().collect::<BTreeSet<_>>(), converted);
    }

    const ALL: &str = "get list watch create update patch delete";
    const READ: &str = "get list watch";

    /// The ClusterRole of the Go provider, as far as it concerns what we need.
    const GO_PROVIDER: &[(&str, &str, &str)] = &[
        ("", "events", "get list watch create update patch"),
        ("", "secrets", ALL),
        ("apiextensions.k8s.io", "customresourcedefinitions", READ),
        // By name: six of the nine.
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions customresourcedefinitions/status",
            "update patch",
        ),
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
        ("cluster.x-k8s.io", "clusters machinesets", READ),
        ("cluster.x-k8s.io", "machines machines/status machinedeployments", ALL),
        ("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", READ),
        (
            "infrastructure.cluster.x-k8s.io",
            "metal3clusters metal3clustertemplates metal3dataclaims metal3datas metal3datatemplates metal3machines \
             metal3machinetemplates metal3remediations",
            ALL,
        ),
        (
            "infrastructure.cluster.x-k8s.io",
            "metal3clusters/status metal3dataclaims/status metal3datas/status metal3datatemplates/status \
             metal3machines/status metal3remediations/status",
            "get update patch",
        ),
        ("ipam.cluster.x-k8s.io", "ipaddressclaims", ALL),
        ("ipam.cluster.x-k8s.io", "ipaddresses", READ),
        ("ipam.metal3.io", "ipclaims", ALL),
        ("ipam.metal3.io", "ipaddresses ippools", READ),
        ("metal3.io", "baremetalhosts", ALL),
    ];

    /// `docs/install.md` names them: whoever changes only the image must add them.
    #[test]
    fn four_rights_are_needed_beyond_those_of_the_go_provider() {
        let has = |verb: &str, right: &Right| {
            GO_PROVIDER.iter().any(|(group, resources, verbs)| {
                *group == right.group
                    && resources.split_whitespace().any(|it| it == right.resource)
                    && verbs.split(' ').any(|it| it == verb)
            })
        };
        let wanted = TABLE.iter().filter(|it| it.when == When::Always && it.scope == Scope::Cluster);
        let rights = wanted.flat_map(|right| right.verbs.iter().map(move |verb| (*verb, right)));
        let beyond: Vec<_> = rights
            .filter(|(verb, right)| !has(verb, right))
            .map(|(verb, right)| (verb, right.resource))
            .collect();
        let expected = [
            ("patch", "metal3machinetemplates/status"),
            ("get", "namespaces"),
            ("list", "metal3remediationtemplates"),
            ("patch", "metal3remediationtemplates"),
        ];
        assert_eq!(beyond, expected);
    }

    #[test]
    fn a_right_of_one_namespace_does_not_hold_elsewhere() {
        let install = Install::default();
        let leases = |scope| allows(&install, scope, "update", "coordination.k8s.io", "leases");
        assert!(leases(Scope::OwnNamespace) && !leases(Scope::Cluster));
        assert!(allows(&install, Scope::OwnNamespace, "get", "", "secrets"));
    }
}

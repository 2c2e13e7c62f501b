//! The Roles fit the controllers: whatever they ask of an API server is granted.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod life;
#[path = "../common/log.rs"]
mod log;
mod without;

use std::collections::BTreeSet;

use capm3_engine::{Index, Object, ResourceKind};
use capm3_install::{
    Install,
    rights::{self, Scope, TABLE, When},
};
use capm3_lab::Lab;
use capm3_provider::kinds::{self, Reading, Visitor};
use life::a_whole_life;

fn with_ipam() -> Install {
    Install { ipam: true, ..Install::default() }
}

#[test]
fn every_kind_that_is_watched_may_be_read() {
    #[derive(Default)]
    struct Kinds(Vec<ResourceKind>);
    impl Visitor for Kinds {
        fn visit<K: Object>(&mut self, _: Reading, _: &[Index<K>]) {
            self.0.push(ResourceKind::of::<K>());
        }
    }
    let mut watched = Kinds::default();
    kinds::visit(&mut watched);
    assert!(watched.0.len() > 10, "{:?}", watched.0);
    let install = Install::default();
    for kind in &watched.0 {
        for verb in ["get", "list", "watch"] {
            assert!(
                rights::allows(&install, Scope::Cluster, verb, &kind.group, &kind.plural),
                "{verb} {kind:?}"
            );
        }
    }
    // And nothing else is watched.
    let listed = TABLE.iter().filter(|right| right.verbs.contains(&"watch"));
    for right in listed {
        let is_it = |kind: &ResourceKind| kind.group == right.group && kind.plural == right.resource;
        assert!(watched.0.iter().any(is_it), "nobody watches {} {}", right.group, right.resource);
    }
}

/// Verb, group and resource of every request of the provider.
fn asked(lab: &Lab) -> BTreeSet<(String, String, String)> {
    let mut asked = BTreeSet::new();
    for request in lab.server().requests().into_iter().filter(|it| it.user_agent == "capm3") {
        let (group, plural) = request.resource.rsplit_once('/').unwrap();
        // Discovery and the version are paths, and open to every account. These kinds are those of workload clusters.
        let is_of_workload = ["nodes", "pods", "volumeattachments"].contains(&plural);
        if !group.starts_with('/') && plural != "version" && !is_of_workload {
            let slash = if request.subresource.is_empty() { "" } else { "/" };
            asked.insert((request.verb, group.to_owned(), format!("{plural}{slash}{}", request.subresource)));
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn whatever_the_controllers_ask_for_is_granted() {
    let asked = asked(&a_whole_life().await);
    assert!(asked.len() > 50, "{asked:#?}");
    for (verb, group, resource) in &asked {
        // The requests of the lab are not listed by name.
        let by_name = TABLE.iter().filter(|right| !right.names.is_empty() && right.when == When::Always);
        let mut by_name = by_name.filter(|right| (right.group, right.resource) == (group, resource));
        let is_granted = rights::allows(&with_ipam(), Scope::Cluster, verb, group, resource)
            || by_name.any(|right| right.verbs.contains(&verb.as_str()));
        assert!(is_granted, "{verb} {group} {resource}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_write_that_is_granted_is_made() {
    let asked = asked(&a_whole_life().await);
    let unused: Vec<String> = TABLE
        .iter()
        // What the manager asks beside its controllers is tested with its processes.
        .filter(|right| right.scope == Scope::Cluster && !right.by.starts_with("capm3/"))
        .flat_map(|right| right.verbs.iter().map(move |verb| (*verb, right.group, right.resource)))
        .filter(|(verb, _, _)| !["get", "list", "watch"].contains(verb))
        .filter(|(verb, group, resource)| {
            !asked.contains(&((*verb).to_owned(), (*group).to_owned(), (*resource).to_owned()))
        })
        .map(|(verb, group, resource)| format!("{verb} {group} {resource}"))
        .collect();
    assert_eq!(unused, Vec::<String>::new());
}

//! A manager that may not do everything: what it says, and that it goes on once it may.

use std::time::Duration;

use capm3_install::{
    NAMESPACE,
    rights::{Fails, Right, Says, Scope, TABLE, When, Without},
};
use capm3_lab::faults::Access;

use crate::{process::Manager, site::Site, webhooks::free_port};

/// What `/readyz` ends with.
const WAY_OUT: &str = "apply the ClusterRole capm3-manager-role that `capm3 manifests` prints \
    (config/rbac/rbac.yaml; docs/rbac.md lists each right)";

/// Waits 90 s at most until `/readyz` says something; its lines.
fn until_ready_says(manager: &Manager, what: &str, is_complete: impl Fn(&[&str]) -> bool) -> Vec<String> {
    let mut text = String::new();
    for _ in 0..450 {
        text = manager.get("/readyz").1;
        let lines: Vec<&str> = text.lines().collect();
        if is_complete(&lines) {
            return lines.into_iter().map(str::to_owned).collect();
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    panic!("{what}: {text}");
}

#[test]
fn without_any_right_readyz_names_each_one_and_the_way_out_and_the_log_does_so_once() {
    let site = Site::start();
    site.allow(|_| false);
    let manager = Manager::start_at(site.kubeconfig(), &["--webhook-port=0"]);
    let lines = until_ready_says(&manager, "every kind is forbidden", |lines| {
        lines.len() > 15 && !lines.iter().any(|line| line.contains("not synced"))
    });
    let (last, kinds) = lines.split_last().unwrap();
    assert_eq!(last, WAY_OUT);
    for line in kinds {
        assert!(line.contains(" may not be listed (403 Forbidden: "), "{line}");
        assert!(line.contains("): grant list on "), "{line}");
    }
    let machines = "Metal3Machine infrastructure.cluster.x-k8s.io/v1beta2 may not be listed (403 Forbidden: \
        metal3machines.infrastructure.cluster.x-k8s.io is forbidden: User \
        \"system:serviceaccount:capm3-system:capm3-manager\" cannot list resource \"metal3machines\" in API group \
        \"infrastructure.cluster.x-k8s.io\" at the cluster scope): grant list on metal3machines in API group \
        infrastructure.cluster.x-k8s.io";
    assert!(kinds.iter().any(|line| line == machines), "{kinds:#?}");
    assert!(kinds.iter().any(|line| line.ends_with("grant list on secrets in the core API group")));
    // Each informer has asked several times by now.
    site.take_refused();
    let mut tries = 0;
    while tries < 3 {
        std::thread::park_timeout(Duration::from_millis(200));
        tries += site.take_refused().iter().filter(|it| it.resource == "metal3machines").count();
    }
    let logged = manager.logged("Metal3Machine ");
    assert_eq!(logged.len(), 1, "once, not with each try: {logged:?}");
    assert_eq!(logged[0].0, "WARN");
    assert!(
        logged[0].1.starts_with(machines) && logged[0].1.contains("; apply the ClusterRole "),
        "{logged:?}"
    );
    assert_eq!(manager.get("/healthz"), (200, "ok".to_owned()), "a restart would not help");
    site.allow(|_| true);
    assert_eq!(manager.until_readyz(200, "granted"), "ok");
}

#[test]
fn a_kind_that_may_not_be_listed_or_watched_is_named_with_the_verb() {
    for verb in ["list", "watch"] {
        let site = Site::start();
        let is_denied = move |it: &Access| it.resource == "baremetalhosts" && it.verb == verb;
        site.allow(move |access| !is_denied(access));
        let manager = Manager::start_at(site.kubeconfig(), &["--webhook-port=0"]);
        let start = format!("BareMetalHost metal3.io/v1alpha1 may not be {verb}ed (403 Forbidden: ");
        let end = format!("): grant {verb} on baremetalhosts in API group metal3.io");
        let lines =
            until_ready_says(&manager, verb, |lines| lines.len() == 2 && lines[0].starts_with(&start));
        assert!(lines[0].ends_with(&end), "{lines:#?}");
        assert_eq!(lines[1], WAY_OUT);
        site.allow(|_| true);
        manager.until_readyz(200, "granted");
    }
}

/// Whether a right is what a request needs.
fn covers(right: &Right, access: &Access) -> bool {
    (right.group, right.resource) == (access.group.as_str(), access.resource.as_str())
        && right.verbs.contains(&access.verb.as_str())
        && (right.names.is_empty() || right.names.contains(&access.name.as_str()))
        && (right.scope == Scope::Cluster || access.namespace == NAMESPACE)
}

/// Whether what the table names has not happened.
fn has_failed(fails: Fails, site: &Site, manager: &Manager) -> bool {
    match fails {
        Fails::Leadership => manager.logged("became leader").is_empty(),
        Fails::Creation(_) => site.objects("Event").is_empty(),
        Fails::Certificate => {
            manager.get("/readyz").1.lines().any(|line| line == "the webhook server has no certificate yet")
        }
        Fails::Trust => {
            let crds = site.objects("CustomResourceDefinition");
            let bundle = "/spec/conversion/webhook/clientConfig/caBundle";
            assert!(crds.len() > 9);
            crds.iter().all(|crd| crd.pointer(bundle).is_none())
        }
        other => panic!("{other} is shown elsewhere"),
    }
}

/// The manager's own rights, in its namespace and for certificates that it makes itself: each row of the table.
#[test]
fn without_a_right_of_its_own_the_manager_says_so_and_goes_on_once_it_is_granted() {
    let is_own =
        |right: &&Right| right.scope == Scope::OwnNamespace || right.when == When::SelfManagedCertificates;
    let own: Vec<&'static Right> = TABLE.iter().filter(is_own).collect();
    assert!(own.len() > 5, "{own:?}");
    for right in own {
        let Right { verbs, resource, without: Without { fails, says }, .. } = right;
        println!("without {verbs:?} {resource}: {fails}");
        let site = Site::start();
        site.allow(move |access| !covers(right, access));
        let port = format!("--webhook-port={}", free_port());
        let flags = [
            port.as_str(),
            "--self-managed-certs",
            "--webhook-service-namespace=capm3-system",
            "--leader-elect",
            "--leader-elect-namespace=capm3-system",
        ];
        let manager = Manager::start_at(site.kubeconfig(), &flags);
        let Says::Log(text) = says else { panic!("{says}") };
        manager.until_logged(text);
        assert!(has_failed(*fails, &site, &manager), "{verbs:?} {resource}: {fails}");
        site.allow(|_| true);
        manager.until_readyz(200, "granted");
        manager.until_logged("became leader");
        // What was not recorded is not made up for.
        for _ in 0..450 {
            if matches!(fails, Fails::Creation(_)) || !has_failed(*fails, &site, &manager) {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
        assert!(matches!(fails, Fails::Creation(_)) || !has_failed(*fails, &site, &manager), "{fails}");
    }
}

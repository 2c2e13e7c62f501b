//! A host belongs to the machine that knows it as its own, whatever somebody writes into its consumer reference.

use capm3_lab::Lab;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const CONSUMER: &str = "/spec/consumerRef/name";

fn naming(machine: &str) -> Value {
    json!({"spec": {"consumerRef": {"name": machine}}})
}

/// What runs on a host: none of it may change.
fn run(lab: &Lab, host: &str) -> Vec<Value> {
    let host = get(lab, "BareMetalHost", host);
    let members = [
        "/spec/image",
        "/spec/userData",
        "/spec/networkData",
        "/spec/online",
        "/metadata/annotations",
        "/metadata/labels",
        "/status/provisioning",
    ];
    members.iter().map(|member| host.pointer(member).cloned().unwrap_or_default()).collect()
}

/// Names of a machine and of its host.
fn pair(machine: &Value) -> (String, String) {
    (name(machine), host_of(machine))
}

fn assert_holds(lab: &Lab, machine: &str, host: &str, consumer: &str) {
    let machine = get(lab, "Metal3Machine", machine);
    let failed = ("False".to_owned(), "AssociateBareMetalHostFailed".to_owned());
    assert_eq!(condition(&machine, "AssociateBareMetalHost"), failed);
    assert_eq!(condition(&machine, "BareMetalHostProvisioned").0, "True", "its node runs on");
    assert_eq!(condition(&machine, "Ready").0, "False");
    assert_eq!(host_of(&machine), host);
    let refused: Vec<String> = events_of(lab, "HostRefused", &name(&machine));
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains(&format!("host {host} is consumed by Metal3Machine metal3/{consumer}")));
    let disputed = events_of(lab, "HostDisputed", host);
    assert_eq!(disputed.len(), 1, "{disputed:?}");
    assert!(disputed[0].contains(&name(&machine)) && disputed[0].contains(consumer), "{disputed:?}");
}

fn assert_ready(lab: &Lab, machine: &str, host: &str) {
    let machine = get(lab, "Metal3Machine", machine);
    assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
    assert_eq!(host_of(&machine), host);
    assert!(text(&machine, "/spec/providerID").contains(&format!("/{host}/")), "{machine}");
    assert_eq!(text(&get(lab, "BareMetalHost", host), CONSUMER), name(&machine));
}

/// Events about an object with a reason.
fn events_of(lab: &Lab, reason: &str, object: &str) -> Vec<String> {
    let mut found = events(lab, reason);
    found.retain(|event| event.starts_with(&format!("{object}: ")));
    found
}

/// The name of another living machine on a host: the host runs on, its machine holds and says so, the other one does not
/// touch it, and all is well when the name is put right.
#[tokio::test(start_paused = true)]
async fn a_host_that_names_another_living_machine_is_not_wiped() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    let workers = machines(&lab, "my-cluster-workers");
    let ((own, host), (other, others_host)) = (pair(&workers[0]), pair(&workers[1]));
    let before = run(&lab, &host);
    writes.clear();
    patch_host(&lab, &host, naming(&other)).await;
    rest(&lab).await;
    assert_eq!(run(&lab, &host), before);
    assert_eq!(writes.of_provider("baremetalhosts").len(), 0);
    assert_eq!(writes.of_provider("metal3machines").len(), 1, "it is reported once, by its machine");
    assert_holds(&lab, &own, &host, &other);
    assert_ready(&lab, &other, &others_host);
    patch_host(&lab, &host, naming(&own)).await;
    rest(&lab).await;
    assert_ready(&lab, &own, &host);
    assert_eq!(run(&lab, &host), before);
}

/// The machine that is wrongly named goes: the host is not its to give back, neither then nor later.
#[tokio::test(start_paused = true)]
async fn the_deletion_of_a_machine_that_a_foreign_host_names_does_not_wipe_it() {
    let lab = settled(&three_racks()).await;
    let workers = machines(&lab, "my-cluster-workers");
    let ((own, host), (other, others_host)) = (pair(&workers[0]), pair(&workers[1]));
    let before = run(&lab, &host);
    patch_host(&lab, &host, naming(&other)).await;
    delete(&lab, CAPI, "Machine", &other).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &other).is_none());
    assert_ne!(text(&get(&lab, "BareMetalHost", &others_host), CONSUMER), other);
    assert_eq!(run(&lab, &host), before);
    assert_holds(&lab, &own, &host, &other);
}

/// Names of machines that are gone or never were, as an old manifest or a backup brings them back.
#[tokio::test(start_paused = true)]
async fn a_host_that_names_a_machine_which_is_not_there_is_not_wiped() {
    let mut lab = settled(&three_racks()).await;
    let workers = machines(&lab, "my-cluster-workers");
    let (gone, _) = pair(&workers[0]);
    delete(&lab, CAPI, "Machine", &gone).await;
    rest(&lab).await;
    let names = [(pair(&workers[1]), gone.as_str()), (pair(&workers[2]), "never-there")];
    let before: Vec<_> = names.iter().map(|((_, host), _)| run(&lab, host)).collect();
    for ((_, host), wrong) in &names {
        patch_host(&lab, host, naming(wrong)).await;
    }
    for restarted in [false, true] {
        if restarted {
            lab.stop_providers();
            lab.start_provider();
        }
        tokio::time::sleep(std::time::Duration::from_secs(1800)).await;
        rest(&lab).await;
        for (((own, host), wrong), before) in names.iter().zip(&before) {
            assert_eq!(&run(&lab, host), before);
            assert_holds(&lab, own, host, wrong);
        }
    }
    // Once nobody knows the host any more it is orphaned, and stays as it is until somebody releases it.
    let ((own, host), _) = &names[1];
    scale_workers(&lab, 2).await;
    delete(&lab, CAPI, "Machine", own).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", own).is_none());
    assert_eq!(&run(&lab, host), &before[1]);
    assert_eq!(text(&get(&lab, "BareMetalHost", host), CONSUMER), "never-there");
    let reported = events(&lab, "HostOrphaned");
    assert!(
        reported.iter().any(|event| event.starts_with(&format!("{host}: Metal3Machine metal3/never-there")))
    );
}

/// Two machines whose hosts name each other hold; none of them moves.
#[tokio::test(start_paused = true)]
async fn machines_never_exchange_their_hosts() {
    let lab = settled(&three_racks()).await;
    let workers = machines(&lab, "my-cluster-workers");
    let (a, b, c) = (pair(&workers[0]), pair(&workers[1]), pair(&workers[2]));
    let hosts = [&a.1, &b.1, &c.1];
    let before = hosts.map(|host| run(&lab, host));
    patch_host(&lab, &a.1, naming("typo")).await;
    rest(&lab).await;
    patch_host(&lab, &b.1, naming(&a.0)).await;
    rest(&lab).await;
    assert_holds(&lab, &a.0, &a.1, "typo");
    assert_holds(&lab, &b.0, &b.1, &a.0);
    assert_eq!(hosts.map(|host| run(&lab, host)), before);
    for (machine, host) in [&a, &b] {
        patch_host(&lab, host, naming(machine)).await;
    }
    rest(&lab).await;
    assert_ready(&lab, &a.0, &a.1);
    patch_host(&lab, &b.1, naming(&c.0)).await;
    patch_host(&lab, &c.1, naming(&b.0)).await;
    rest(&lab).await;
    for (machine, host) in [&b, &c] {
        let machine = get(&lab, "Metal3Machine", machine);
        assert_eq!(condition(&machine, "Ready").0, "False");
        assert_eq!(host_of(&machine), *host);
    }
    assert_eq!(hosts.map(|host| run(&lab, host)), before);
    for (machine, host) in [&b, &c] {
        patch_host(&lab, host, naming(machine)).await;
    }
    rest(&lab).await;
    for (machine, host) in [&a, &b, &c] {
        assert_ready(&lab, machine, host);
    }
    assert_eq!(hosts.map(|host| run(&lab, host)), before);
}

//! What the Go provider does and no other file is about.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use capm3_lab::{Lab, Options, manifests::Manifest, report::report};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const HOSTS: &str = "metal3.io/v1alpha1";

/// A Metal3Cluster that a topology clones from a Metal3ClusterTemplate, under a name and with labels of its own, works like one
/// that a user wrote.
#[tokio::test(start_paused = true)]
async fn cl13_a_cluster_that_is_cloned_from_a_template_works() {
    let mut manifests = control_plane(1);
    let at = manifests.iter().position(|m| m.kind() == "Metal3Cluster").unwrap();
    let written = manifests.remove(at).object;
    let labels = json!({"labels": {"team": "a"}, "annotations": {"note": "b"}});
    let template = json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3ClusterTemplate",
        "metadata": {"name": "class", "namespace": "metal3"},
        "spec": {"template": {"metadata": labels, "spec": written["spec"]}}});
    let namespace = manifests.iter().find(|m| m.kind() == "Namespace").unwrap().clone();
    let lab = started(&[namespace, Manifest { file: String::new(), object: template }]).await;
    let stored = get(&lab, "Metal3ClusterTemplate", "class").pointer("/spec/template").unwrap().clone();
    // What the topology controller makes of it: all of the template, and where it comes from.
    let mut clone = json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3Cluster",
        "metadata": {"name": "my-cluster-x7k2p", "namespace": "metal3",
            "labels": {"cluster.x-k8s.io/cluster-name": "my-cluster", "topology.cluster.x-k8s.io/owned": ""},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": "class",
                "cluster.x-k8s.io/cloned-from-groupkind": "Metal3ClusterTemplate.infrastructure.cluster.x-k8s.io"}}});
    json_patch::merge(&mut clone, &stored);
    manifests.push(Manifest { file: String::new(), object: clone });
    let name_of_clone = json!({"spec": {"infrastructureRef": {"name": "my-cluster-x7k2p"}}});
    change(&mut manifests, "Cluster", "my-cluster", &name_of_clone);
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let cluster = get(&lab, "Metal3Cluster", "my-cluster-x7k2p");
    assert_eq!(cluster["spec"], written["spec"], "nothing of the template is lost");
    assert_eq!(text(&cluster, "/metadata/labels/team"), "a");
    assert_eq!(text(&cluster, "/metadata/annotations/note"), "b");
    assert_eq!(cluster.pointer("/status/initialization/provisioned"), Some(&json!(true)));
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 1);
    assert_eq!(condition(&machines[0], "Ready").0, "True");
}

/// A change of its Cluster, Metal3Cluster, Machine, host, claim or data makes the machine reconcile at once.
#[tokio::test(start_paused = true)]
async fn ma35_whatever_a_machine_depends_on_wakes_it() {
    let lab = settled(&control_plane(1)).await;
    let machine = lab.objects("Metal3Machine")[0].clone();
    let (own, data) = (name(&machine), text(&machine, "/status/renderedData/name"));
    let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
    let (paused, unpaused) = (json!({"spec": {"paused": true}}), json!({"spec": {"paused": false}}));
    let table = [
        (CAPI, "Cluster", "my-cluster", &paused),
        (CAPI, "Cluster", "my-cluster", &unpaused),
        (INFRASTRUCTURE, "Metal3Cluster", "my-cluster", &touched),
        (CAPI, "Machine", &own, &touched),
        (HOSTS, "BareMetalHost", &host_of(&machine), &touched),
        (INFRASTRUCTURE, "Metal3DataClaim", &own, &touched),
        (INFRASTRUCTURE, "Metal3Data", &data, &touched),
    ];
    for (api_version, kind, name, change) in table {
        let looks = || lab.provider().unwrap().looks()["metal3machine"];
        let (before, start) = (looks(), tokio::time::Instant::now());
        patch(&lab, api_version, kind, name, change.clone()).await;
        rest(&lab).await;
        assert!(looks() > before, "{kind} wakes nobody");
        assert!(start.elapsed() < Duration::from_secs(5), "{kind}: polled, not woken");
    }
}

/// Hosts belong to the host operator: its kind is not among what the provider installs, and the provider neither makes
/// nor deletes hosts nor writes their status.
#[tokio::test(start_paused = true)]
async fn ho45_hosts_are_used_by_their_api_alone() {
    let installed: Vec<String> = capm3_api::crd::all().iter().map(|crd| text(crd, "/spec/group")).collect();
    assert!(!installed.iter().any(|group| group == "metal3.io"), "{installed:?}");
    let (lab, writes) = Writes::lab().await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    delete_cluster(&lab).await;
    rest(&lab).await;
    let of_hosts = writes.of_provider("/baremetalhosts");
    assert!(!of_hosts.is_empty());
    assert!(of_hosts.iter().all(|w| w.verb == "patch" && w.subresource.is_none()), "{of_hosts:?}");
}

/// What an update in place writes on a running machine, a new image, another data template and the name of another
/// machine template, changes neither its host nor its data, and strange annotations stay.
#[tokio::test(start_paused = true)]
async fn mt132_an_update_in_place_provisions_nothing_again() {
    let lab = settled(&three_racks()).await;
    let template = get(&lab, "Metal3MachineTemplate", "my-cluster-workers");
    let mut next = json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3MachineTemplate",
        "metadata": {"name": "next", "namespace": "metal3"}, "spec": template["spec"]});
    next["spec"]["template"]["spec"]["image"]["url"] = json!("http://192.0.2.1/next.qcow2");
    lab.apply(&[Manifest { file: String::new(), object: next }]).await.unwrap();
    let (before, worker) = (report(&lab, 0).machines, name(&machines(&lab, "my-cluster-workers")[0]));
    let host_before = host(&lab, &get(&lab, "Metal3Machine", &worker));
    let secrets = |lab: &Lab| lab.objects("Secret").iter().map(|s| s["data"].clone()).collect::<Vec<Value>>();
    let secrets_before = secrets(&lab);
    let change = json!({
        "metadata": {"annotations": {"cluster.x-k8s.io/cloned-from-name": "next",
            "in-place-updates.internal.cluster.x-k8s.io/update-in-progress": ""}},
        "spec": {"image": {"url": "http://192.0.2.1/next.qcow2"}, "dataTemplate": {"name": "m3dt-rack1"}}});
    patch(&lab, INFRASTRUCTURE, "Metal3Machine", &worker, change).await;
    rest(&lab).await;
    let machine = get(&lab, "Metal3Machine", &worker);
    assert_eq!(text(&machine, "/spec/image/url"), "http://192.0.2.1/next.qcow2", "the change stays");
    let annotation = "/metadata/annotations/in-place-updates.internal.cluster.x-k8s.io~1update-in-progress";
    assert!(machine.pointer(annotation).is_some());
    assert_eq!(host(&lab, &machine)["spec"], host_before["spec"], "nothing is put on the host");
    assert_eq!(secrets(&lab), secrets_before);
    let after = report(&lab, 0).machines;
    let essence = |rows: &[capm3_lab::report::MachineRow]| {
        let row = |r: &capm3_lab::report::MachineRow| {
            (r.name.clone(), r.host.clone(), r.data.clone(), r.index, r.addresses.clone(), r.ready)
        };
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(essence(&after), essence(&before));
}

/// Serves what is open as an address manager of its own would.
async fn serve_claims(lab: &Lab, next: &mut u32) {
    for claim in lab.objects("IPClaim") {
        if claim.pointer("/status/address").is_some() {
            continue;
        }
        let (claim_name, address_name) = (name(&claim), format!("given-{next}"));
        let address = json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPAddress",
            "metadata": {"name": address_name, "namespace": "metal3"},
            "spec": {"address": format!("10.99.0.{next}"), "prefix": 24, "gateway": "10.99.0.1",
                "pool": claim["spec"]["pool"], "claim": {"name": claim_name, "namespace": "metal3"}}});
        lab.apply(&[Manifest { file: String::new(), object: address }]).await.unwrap();
        let kind = Manifest { file: String::new(), object: claim.as_ref().clone() }.resource();
        let status = json!({"status": {"address": {"name": address_name, "namespace": "metal3"}}});
        lab.client().merge_patch(&kind, &key(&claim_name), Some("status"), &status).await.unwrap();
        *next += 1;
    }
}

/// Where another address manager serves the pools, its addresses are used.
#[tokio::test(start_paused = true)]
async fn s2_another_address_manager_is_used() {
    let options = Options { serve_addresses: false, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&control_plane(3)).await.unwrap();
    rest(&lab).await;
    assert!(lab.objects("IPAddress").is_empty(), "nobody serves");
    assert!(report(&lab, 0).machines.iter().all(|m| !m.ready));
    let mut next = 10;
    for _ in 0..3 {
        serve_claims(&lab, &mut next).await;
        rest(&lab).await;
    }
    let machines = report(&lab, 0).machines;
    assert_eq!(machines.iter().filter(|m| m.ready).count(), 3);
    assert!(machines.iter().all(|m| m.addresses[0].starts_with("10.99.0.")), "{machines:?}");
}

/// Where no address manager is installed, with none of its kinds served, machines whose networks use DHCP or have their
/// addresses in the template come up; one that needs a pool waits for its data, which names the kind that is not served.
#[tokio::test(start_paused = true)]
async fn s2_without_an_address_manager_dhcp_and_inline_ranges_work() {
    let inline = json!([{"id": "net", "link": "enp1s0", "ipAddress": {"subnet": "10.7.0.0/24"}}]);
    for (networks, ready) in [
        (json!({"ipv4": null, "ipv4DHCP": [{"id": "net", "link": "enp1s0"}]}), 3),
        (json!({"ipv4": inline}), 3),
        (json!({}), 0),
    ] {
        let mut lab = Lab::start(&Options { serve_addresses: false, ..Options::default() }).await.unwrap();
        lab.stop_providers();
        let is_pool = |m: &Manifest| m.key().name.contains(".ipam.");
        let definitions: Vec<Manifest> = capm3_lab::crds().into_iter().filter(is_pool).collect();
        assert!(definitions.len() >= 5, "both kinds of claims, addresses, and pools");
        for definition in definitions {
            lab.client().delete(&definition.resource(), &definition.key(), None).await.unwrap();
        }
        lab.start_provider();
        let mut manifests = control_plane(3);
        manifests.retain(|m| m.kind() != "IPPool");
        for rack in 1..=3 {
            let patch = json!({"spec": {"networkData": {"services": null, "networks": networks}}});
            change(&mut manifests, "Metal3DataTemplate", &format!("m3dt-rack{rack}"), &patch);
        }
        lab.apply(&manifests).await.unwrap();
        lab.settle(Duration::from_secs(600)).await;
        let machines = report(&lab, 0).machines;
        assert!(!machines.is_empty());
        assert_eq!(machines.iter().filter(|m| m.ready).count(), ready, "{networks}");
        let first = condition(&lab.objects("Metal3Machine")[0], "Metal3DataReady");
        let expected =
            if ready == 0 { ("False", "WaitingForMetal3Data") } else { ("True", "Metal3DataSecretsReady") };
        assert_eq!((first.0.as_str(), first.1.as_str()), expected, "{networks}");
        let all_data = lab.objects("Metal3Data");
        assert_eq!(all_data.len(), ready.max(1), "{networks}");
        let reason = if ready == 0 { "IPClaimNotServed" } else { "Rendered" };
        assert!(all_data.iter().all(|data| condition(data, "Ready").1 == reason), "{:#}", all_data[0]);
    }
}

/// A Secret of the user that hangs in no tree of the cluster is used with a warning that a move leaves it behind; one
/// that is labelled to be moved is used without, and rendered Secrets always have an owner.
#[tokio::test(start_paused = true)]
async fn s43_a_secret_that_a_move_leaves_behind_is_warned_of_once() {
    for (labels, warnings) in [("{}", 1), ("{clusterctl.cluster.x-k8s.io/move: ''}", 0)] {
        let mut manifests = control_plane(1);
        machine_spec(&mut manifests, "my-cluster-cp", json!({"metaData": {"name": "mine"}}));
        manifests.extend(yaml(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: mine, namespace: metal3, labels: {labels}}}\nstringData: {{metaData: 'a: b'}}\n"
        )));
        let (lab, writes) = Writes::lab().await;
        lab.apply(&manifests).await.unwrap();
        rest(&lab).await;
        let touch = json!({"metadata": {"labels": {"touched": "yes"}}});
        patch_machine(&lab, &name(&lab.objects("Metal3Machine")[0]), touch).await;
        rest(&lab).await;
        let printed = events(&lab, "SecretStaysBehind");
        assert_eq!(printed.len(), warnings, "{printed:?}");
        assert_eq!(writes.events_not_taken(&lab), Vec::<String>::new(), "sent again");
        let machine = &lab.objects("Metal3Machine")[0];
        let rendered = get(&lab, "Secret", &text(machine, "/status/networkData/name"));
        assert_eq!(text(&rendered, "/metadata/ownerReferences/0/kind"), "Metal3Data");
    }
}

/// An attribute `dataTemplate` of a failure domain has no effect, and a data template has no network data per domain.
#[tokio::test(start_paused = true)]
async fn s218_domains_choose_data_templates_in_one_way_only() {
    let mut manifests = control_plane(3);
    let domains: Vec<Value> = (1..=3)
        .map(|rack| {
            json!({"name": format!("rack{rack}"), "controlPlane": true,
            "attributes": {"dataTemplate": "m3dt-rack1"}})
        })
        .collect();
    change(&mut manifests, "Metal3Cluster", "my-cluster", &json!({"spec": {"failureDomains": domains}}));
    let lab = settled(&manifests).await;
    let stored = get(&lab, "Metal3Cluster", "my-cluster");
    assert_eq!(text(&stored, "/spec/failureDomains/2/attributes/dataTemplate"), "m3dt-rack1");
    let machines = lab.objects("Metal3Machine");
    let domains: BTreeSet<String> = machines.iter().map(|m| text(m, "/spec/failureDomain")).collect();
    assert_eq!(domains, ["rack1", "rack2", "rack3"].map(str::to_owned).into());
    for machine in machines {
        let domain = text(&machine, "/spec/failureDomain");
        assert_eq!(text(&machine, "/spec/dataTemplate/name"), format!("m3dt-{domain}"));
    }
    let per_domain = json!({"spec": {"networkDataPerFailureDomain": {"rack1": {}}}});
    patch(&lab, INFRASTRUCTURE, "Metal3DataTemplate", "m3dt-rack1", per_domain).await;
    let stored = get(&lab, "Metal3DataTemplate", "m3dt-rack1");
    assert_eq!(stored.pointer("/spec/networkDataPerFailureDomain"), None);
}

/// What was logged while it is active.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let to_log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(to_log.finish())
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Where the installed kind of hosts has no field for metadata or network data, the log of the start names the field; a
/// machine that needs it says so, and its host is not provisioned without.
#[tokio::test(start_paused = true)]
async fn s4_a_field_that_the_host_kind_lacks_is_named_in_the_log_and_on_the_machine() {
    for field in ["metaData", "networkData"] {
        let mut lab = Lab::start(&Options::default()).await.unwrap();
        lab.stop_providers();
        let is_host = |m: &Manifest| m.key().name == "baremetalhosts.metal3.io";
        let mut crd = capm3_lab::crds().into_iter().find(is_host).unwrap();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        crd.object.pointer_mut(properties).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        lab.apply(&[crd]).await.unwrap();
        let log = Log::default();
        let logs = log.start();
        lab.start_provider();
        rest(&lab).await;
        drop(logs);
        let warned = format!("the installed BareMetalHost CRD has no field spec.{field}:");
        let lines: Vec<String> =
            log.text().lines().filter(|l| l.contains(&warned)).map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "reported once at the start, before there are machines:\n{}", log.text());
        assert!(lines[0].contains(" WARN "), "{lines:?}");
        let mut manifests = control_plane(1);
        for rack in 1..=3 {
            let meta_data = json!({"spec": {"metaData": {"strings": [{"key": "a", "value": "b"}]}}});
            change(&mut manifests, "Metal3DataTemplate", &format!("m3dt-rack{rack}"), &meta_data);
        }
        lab.apply(&manifests).await.unwrap();
        // It is requeued from time to time, so there is no rest.
        lab.settle(Duration::from_secs(60)).await;
        let machine = &lab.objects("Metal3Machine")[0];
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(printed.contains(&format!("has no field spec.{field}")), "{printed}");
        assert_eq!(host(&lab, machine).pointer("/spec/image"), None);
    }
}

/// A write of the status alone, the controller's own or that of somebody else, leads to no further write.
#[tokio::test(start_paused = true)]
async fn cl12_a_write_of_the_status_alone_leads_to_no_further_write() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&control_plane(1)).await.unwrap();
    rest(&lab).await;
    assert!(writes.of_provider("/metal3clusters").iter().any(|w| w.subresource.is_some()), "its own was");
    writes.clear();
    let cluster = get(&lab, "Metal3Cluster", "my-cluster");
    let generation = cluster.pointer("/metadata/generation").cloned();
    let mut conditions = cluster.pointer("/status/conditions").unwrap().clone();
    // At the end, where whoever keeps no order puts it.
    conditions.as_array_mut().unwrap().push(json!({"type": "Audited", "status": "True", "reason": "Yes",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    let status = json!({"status": {"conditions": conditions}});
    let kind = metal3("Metal3Cluster");
    lab.client().merge_patch(&kind, &key("my-cluster"), Some("status"), &status).await.unwrap();
    rest(&lab).await;
    assert!(writes.of_provider("/metal3clusters").is_empty());
    let after = get(&lab, "Metal3Cluster", "my-cluster");
    assert_eq!(condition(&after, "Audited").0, "True", "what somebody else says stays");
    assert_eq!(after.pointer("/metadata/generation").cloned(), generation);
}

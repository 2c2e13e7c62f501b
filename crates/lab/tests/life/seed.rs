//! A cluster as the API description prints it: kubeadm, uuid labels, no cloud provider.

use std::{collections::BTreeSet, time::Duration};

use capm3_lab::{Lab, Options, manifests::Manifest};
use capm3_world::Profile;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const MACHINES: &str = r#"
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: nodepool-1, namespace: metal3}
spec:
  metaData:
    strings: [{key: rack, value: "1"}]
    indexes: [{key: name, prefix: "node-"}]
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: md-0, namespace: metal3}
spec:
  template:
    spec:
      preKubeadmCommands: [echo joining]
      joinConfiguration:
        nodeRegistration:
          name: "{{ ds.meta_data.name }}"
          kubeletExtraArgs: [{name: node-labels, value: "metal3.io/uuid={{ ds.meta_data.uuid }}"}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: m3mt-0, namespace: metal3}
spec:
  template:
    spec:
      image: {url: "http://192.0.2.1/image.qcow2", checksum: "http://192.0.2.1/image.sum", checksumType: md5, diskFormat: qcow2}
      hostSelector: {matchExpressions: [{key: cluster-role, operator: in, values: [worker]}]}
      dataTemplate: {name: nodepool-1}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md-0, namespace: metal3}
spec:
  clusterName: my-cluster
  replicas: 1
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: my-cluster, nodepool: nodepool-0}}
  template:
    metadata: {labels: {cluster.x-k8s.io/cluster-name: my-cluster, nodepool: nodepool-0}}
    spec:
      clusterName: my-cluster
      version: v1.34.0
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: md-0}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: m3mt-0}
"#;

/// Three control-plane machines and one worker, whose Nodes are known by the uid of their host.
pub fn seed() -> Vec<Manifest> {
    let mut manifests = control_plane(3);
    change(
        &mut manifests,
        "Metal3Cluster",
        "my-cluster",
        &json!({"spec": {"cloudProviderEnabled": false, "failureDomains": null}}),
    );
    change(
        &mut manifests,
        "Metal3MachineTemplate",
        "my-cluster-cp",
        &json!({"spec": {"failureDomainDataTemplates": null}}),
    );
    machine_spec(&mut manifests, "my-cluster-cp", json!({"dataTemplate": null}));
    let registration = json!({"nodeRegistration": {"name": "{{ ds.meta_data.name }}",
        "kubeletExtraArgs": [{"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}]}});
    let config = json!({"spec": {"kubeadmConfigSpec": {"initConfiguration": registration, "joinConfiguration": registration}}});
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &config);
    manifests.extend(yaml(MACHINES));
    manifests
}

fn nodes(lab: &Lab) -> Vec<std::sync::Arc<Value>> {
    let mut all = lab.server().objects(Some("metal3/my-cluster"));
    all.retain(|o| o["kind"] == "Node");
    all
}

fn given(lab: &Lab, machine: &Value) -> capm3_world::NodeData {
    lab.world().node_data(&key(&host_of(machine))).unwrap()
}

/// Cluster, Metal3Cluster, control plane of three and a MachineDeployment of one from start to end: Nodes carry the names
/// and uuid labels of the bootstrap text and get provider IDs.
#[tokio::test(start_paused = true)]
async fn s1_the_printed_cluster_becomes_ready() {
    let lab = settled(&seed()).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 4);
    for machine in lab.objects("Metal3Machine") {
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
        let host = host(&lab, &machine);
        let id = format!("metal3://metal3/{}/{}", name(&host), name(&machine));
        assert_eq!(text(&machine, "/spec/providerID"), id);
        let node = nodes(&lab).into_iter().find(|n| text(n, "/spec/providerID") == id).unwrap();
        assert_eq!(text(&node, "/metadata/labels/metal3.io~1uuid"), text(&host, "/metadata/uid"));
    }
}

/// Demonstration 3: the same with a pool, in metadata and network data of all four machines. Each Node has the name that
/// its index gives, the uid of its host, its provider ID, and one address in both documents.
#[tokio::test(start_paused = true)]
async fn demonstration_3_with_a_pool_each_node_has_one_address_in_both_documents() {
    let mut manifests = seed();
    manifests.extend(yaml(
        "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {name: provisioning, namespace: metal3}\n\
         spec: {clusterName: my-cluster, namePrefix: provisioning, pools: [{start: 172.22.0.100, end: 172.22.0.120, \
         prefix: 24, gateway: 172.22.0.1}]}\n",
    ));
    let from_pool = json!({"spec": {
        "metaData": {"ipAddressesFromPool": [{"key": "ip", "name": "provisioning"}]},
        "networkData": {
            "links": {"ethernets": [{"id": "enp1s0", "type": "phy", "macAddress": {"fromHostInterface": "enp1s0"}}]},
            "networks": {"ipv4": [{"id": "net", "link": "enp1s0", "ipAddressFromIPPool": "provisioning"}]}}}});
    change(&mut manifests, "Metal3DataTemplate", "nodepool-1", &from_pool);
    machine_spec(&mut manifests, "my-cluster-cp", json!({"dataTemplate": {"name": "nodepool-1"}}));
    let lab = settled(&manifests).await;
    let rows = capm3_lab::report::report(&lab, 0).machines;
    assert_eq!(rows.iter().filter(|row| row.ready).count(), 4, "{rows:?}");
    let mut addresses = BTreeSet::new();
    for row in &rows {
        let machine = get(&lab, "Metal3Machine", &row.name);
        assert_eq!(given(&lab, &machine).text("ip").as_ref(), row.addresses.first());
        let node = nodes(&lab)
            .into_iter()
            .find(|n| text(n, "/spec/providerID") == *row.provider_id.as_ref().unwrap());
        let node = node.unwrap();
        assert_eq!(name(&node), format!("node-{}", row.index.unwrap()));
        assert_eq!(
            text(&node, "/metadata/labels/metal3.io~1uuid"),
            text(&host(&lab, &machine), "/metadata/uid")
        );
        addresses.extend(row.addresses.clone());
    }
    let expected: BTreeSet<String> = (100..104).map(|n| format!("172.22.0.{n}")).collect();
    assert_eq!(addresses, expected);
}

/// The host operator reads each Secret by the key of its name, else by `value`: user data verbatim, metadata as a map,
/// network data from YAML to JSON.
#[tokio::test(start_paused = true)]
async fn s5_a_node_gets_user_data_metadata_and_network_data_from_the_secrets() {
    let network = "links:\n- {id: enp1s0, type: phy, ethernet_mac_address: '52:54:00:aa:01:01'}\nnetworks: []\nservices: []\n";
    let rows = [
        json!({"metaData": "rack: '1'\nslot: 7\n", "networkData": network, "value": "never: read"}),
        json!({"value": "rack: '1'\nslot: 7\nlinks: []\n"}),
    ];
    for data in rows {
        let mut manifests = seed();
        let mut mine =
            yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: metal3}\n").remove(0);
        mine.object["stringData"] = data.clone();
        manifests.push(mine);
        let own =
            json!({"dataTemplate": null, "metaData": {"name": "mine"}, "networkData": {"name": "mine"}});
        machine_spec(&mut manifests, "m3mt-0", own);
        let lab = settled(&manifests).await;
        let machine = machines(&lab, "md-0")[0].clone();
        let given = given(&lab, &machine);
        let user_data = secret(&lab, &text(&machine, "/status/userData/name"), "value").unwrap();
        assert_eq!(given.user_data.as_deref(), Some(user_data.as_str()), "verbatim, by the key `value`");
        assert_eq!(given.meta_data.get("rack"), Some(&json!("1")), "{data}");
        assert_eq!(given.meta_data.get("slot"), Some(&json!(7)), "{data}");
        assert_eq!(given.meta_data.get("never"), None, "the key of its own comes first");
        let expected = match data.get("networkData") {
            Some(_) => {
                json!({"links": [{"id": "enp1s0", "type": "phy", "ethernet_mac_address": "52:54:00:aa:01:01"}],
                "networks": [], "services": []})
            }
            None => json!({"rack": "1", "slot": 7, "links": []}),
        };
        assert_eq!(given.network(), Some(expected));
    }
    // What the provider renders is read in the same way.
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    assert_eq!(given(&lab, &machine).text("rack").as_deref(), Some("1"), "by the key of its own");
}

/// Without a metadata Secret `uuid` is the uid of the host.
#[tokio::test(start_paused = true)]
async fn s6_the_uuid_is_the_uid_of_the_host() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(given(&lab, &machine).text("uuid").unwrap(), text(&host(&lab, &machine), "/metadata/uid"));
}

/// Without a metadata Secret `metal3-namespace` is the namespace of the host.
#[tokio::test(start_paused = true)]
async fn s7_the_namespace_is_that_of_the_host() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(given(&lab, &machine).text("metal3-namespace").as_deref(), Some("metal3"));
}

/// Without a metadata Secret `metal3-name` and `local-hostname` are the name of the host.
#[tokio::test(start_paused = true)]
async fn s8_the_name_is_that_of_the_host() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    for key in ["metal3-name", "local-hostname"] {
        assert_eq!(given(&lab, &machine).text(key).unwrap(), host_of(&machine));
    }
}

/// Without a metadata Secret `local_hostname` is the name of the host.
#[tokio::test(start_paused = true)]
async fn s9_the_older_key_of_the_host_name_is_the_name_too() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(given(&lab, &machine).text("local_hostname").unwrap(), host_of(&machine));
}

/// A metadata Secret wins for the keys that it has, `uuid` and `local-hostname` among them; the other defaults stay.
#[tokio::test(start_paused = true)]
async fn s10_a_secret_wins_key_by_key() {
    let mut manifests = seed();
    manifests.extend(yaml(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: metal3}\n\
         stringData: {metaData: 'uuid: my-uuid\n\n    local-hostname: my-name'}\n",
    ));
    machine_spec(&mut manifests, "m3mt-0", json!({"dataTemplate": null, "metaData": {"name": "mine"}}));
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let (data, host) = (given(&lab, &machine), host_of(&machine));
    let expected = json!({"uuid": "my-uuid", "local-hostname": "my-name", "metal3-namespace": "metal3",
        "metal3-name": host, "local_hostname": host, "name": host});
    assert_eq!(json!(data.meta_data), expected);
}

/// A user's metadata Secret without `uuid` leaves it in place.
#[tokio::test(start_paused = true)]
async fn s11_the_uuid_is_there_with_a_secret_of_the_user() {
    let mut manifests = seed();
    manifests.extend(yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: metal3}\nstringData: {metaData: 'a: b'}\n"));
    machine_spec(&mut manifests, "m3mt-0", json!({"metaData": {"name": "mine"}}));
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let data = given(&lab, &machine);
    assert_eq!(data.text("a").as_deref(), Some("b"));
    assert_eq!(data.text("uuid").unwrap(), text(&host(&lab, &machine), "/metadata/uid"));
}

/// Without a cloud provider the Node with the uuid label gets its provider ID, and the Machine goes on.
#[tokio::test(start_paused = true)]
async fn s16_a_labelled_node_gets_its_provider_id() {
    let lab = settled(&seed()).await;
    assert_eq!(nodes(&lab).len(), 4);
    assert!(nodes(&lab).iter().all(|n| text(n, "/spec/providerID").starts_with("metal3://metal3/")));
    for machine in lab.objects("Machine") {
        assert_eq!(text(&machine, "/status/phase"), "Running");
    }
}

/// With a cloud provider the Node is never written; the ID that the cloud provider gave it is copied to its machine.
#[tokio::test(start_paused = true)]
async fn s17_with_a_cloud_provider_no_node_is_written() {
    let (lab, writes) = Writes::lab().await;
    // The Nodes carry the label by which they would be written without a cloud provider.
    let mut manifests = seed();
    change(&mut manifests, "Metal3Cluster", "my-cluster", &json!({"spec": {"cloudProviderEnabled": true}}));
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let of_nodes: BTreeSet<String> = nodes(&lab).iter().map(|node| text(node, "/spec/providerID")).collect();
    let machines = lab.objects("Metal3Machine");
    let of_machines: BTreeSet<String> = machines.iter().map(|m| text(m, "/spec/providerID")).collect();
    assert_eq!((machines.len(), nodes(&lab).len(), of_nodes.len()), (4, 4, 4), "{of_nodes:?}");
    assert!(!of_nodes.contains(""), "the cloud provider gave every Node its ID");
    assert_eq!(of_machines, of_nodes);
    assert!(writes.of_provider("/nodes").is_empty());
}

/// A Node with the uuid label that the cloud provider has given no ID is not written, and its machine has none either until a
/// Node has one.
#[tokio::test(start_paused = true)]
async fn s17_a_node_that_waits_for_its_cloud_provider_is_not_written() {
    let mut manifests = seed();
    change(&mut manifests, "Metal3Cluster", "my-cluster", &json!({"spec": {"cloudProviderEnabled": true}}));
    change(&mut manifests, "MachineDeployment", "md-0", &json!({"spec": {"replicas": 0}}));
    // With this profile a Node joins seconds after its host is provisioned.
    let (lab, writes) = Writes::lab_with(Options { profile: Profile::Demo, ..Options::default() }).await;
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let workload = lab.client().below("/clusters/metal3/my-cluster");
    let free: Vec<_> = lab
        .objects("BareMetalHost")
        .into_iter()
        .filter(|h| h.pointer("/spec/consumerRef").is_none())
        .collect();
    assert!(!free.is_empty());
    for host in &free {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("early-{}", name(host)),
            "labels": {"metal3.io/uuid": text(host, "/metadata/uid")}}});
        workload.create(&resource("v1", "Node"), "", node).await.unwrap();
    }
    let replicas = json!({"spec": {"replicas": 1}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "md-0", replicas).await;
    let is_running = || {
        let machine = machines(&lab, "md-0").first().cloned().unwrap_or_default();
        let host = lab.object("BareMetalHost", &host_of(&machine)).unwrap_or_default();
        text(&host, "/status/provisioning/state") == "provisioned"
    };
    while !is_running() {
        lab.settle(Duration::from_secs(1)).await;
    }
    let waits = machines(&lab, "md-0")[0].clone();
    assert_eq!(text(&waits, "/spec/providerID"), "", "no Node has an ID yet");
    rest(&lab).await;
    let early: Vec<_> = nodes(&lab).into_iter().filter(|node| name(node).starts_with("early-")).collect();
    assert_eq!(early.len(), free.len());
    assert!(early.iter().all(|node| node.pointer("/spec/providerID").is_none()), "{early:?}");
    assert!(writes.of_provider("/nodes").is_empty());
    let machine = machines(&lab, "md-0")[0].clone();
    let id = format!("metal3://metal3/{}/{}", host_of(&machine), name(&machine));
    assert_eq!(text(&machine, "/spec/providerID"), id, "the ID of the Node that has one");
}

/// The bootstrap text reaches the host's user data byte for byte.
#[tokio::test(start_paused = true)]
async fn s24_the_bootstrap_text_reaches_the_node_unchanged() {
    let lab = settled(&seed()).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 4);
    for machine in lab.objects("Metal3Machine") {
        let made = secret(&lab, &text(&machine, "/status/userData/name"), "value").unwrap();
        assert!(made.contains("metal3.io/uuid={{ ds.meta_data.uuid }}"), "{made}");
        assert_eq!(given(&lab, &machine).user_data, Some(made));
    }
}

/// The kubelet's label `metal3.io/uuid` has the uid of the host, and the Node is matched by it.
#[tokio::test(start_paused = true)]
async fn s25_the_uuid_label_matches_node_and_host() {
    let lab = settled(&seed()).await;
    let machines = lab.objects("Metal3Machine");
    assert_eq!((machines.len(), nodes(&lab).len()), (4, 4));
    for machine in machines {
        let uid = text(&host(&lab, &machine), "/metadata/uid");
        let mut labelled = nodes(&lab);
        labelled.retain(|node| text(node, "/metadata/labels/metal3.io~1uuid") == uid);
        assert_eq!(labelled.len(), 1, "{uid}");
        let id = format!("metal3://metal3/{}/{}", host_of(&machine), name(&machine));
        assert_eq!(text(&labelled[0], "/spec/providerID"), id, "the labelled Node is written");
        assert_eq!(text(&machine, "/spec/providerID"), id);
    }
}

/// A Node has the name that the metadata gives under `name`, else that of the host.
#[tokio::test(start_paused = true)]
async fn s26_a_node_has_the_name_of_its_metadata() {
    let lab = settled(&seed()).await;
    let names: BTreeSet<String> = nodes(&lab).iter().map(|n| name(n)).collect();
    let mut expected: BTreeSet<String> = machines(&lab, "my-cluster-cp").iter().map(|m| host_of(m)).collect();
    expected.insert("node-0".into());
    assert_eq!(names, expected);
}

/// The test plan of the designs in one scenario: a deployment whose machines have a data template, and a cloud-config with
/// variables that the metadata fills in.
#[tokio::test(start_paused = true)]
async fn s196_a_template_in_the_deployment_fills_the_variables_of_the_cloud_config() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let user_data = given(&lab, &machine).user_data.unwrap();
    assert!(user_data.contains("{{ ds.meta_data.name }}"), "the text itself is not touched: {user_data}");
    let document = secret(&lab, &format!("{}-metadata", name(&machine)), "metaData").unwrap();
    assert!(document.contains("name: node-0\n"), "{document}");
    let id = text(&machine, "/spec/providerID");
    let node = nodes(&lab).into_iter().find(|n| text(n, "/spec/providerID") == id).unwrap();
    assert_eq!(name(&node), "node-0");
}

/// Each clone of a KubeadmConfigTemplate carries its join configuration and commands.
#[tokio::test(start_paused = true)]
async fn s33_clones_carry_join_configuration_and_commands() {
    let lab = settled(&seed()).await;
    let configs: Vec<_> =
        lab.objects("KubeadmConfig").into_iter().filter(|c| name(c).starts_with("md-0")).collect();
    assert_eq!(configs.len(), 1);
    assert_eq!(configs[0].pointer("/spec/preKubeadmCommands"), Some(&json!(["echo joining"])));
    assert_eq!(text(&configs[0], "/spec/joinConfiguration/nodeRegistration/name"), "{{ ds.meta_data.name }}");
}

/// URL, checksum, type and format of the image are on the host, written once.
#[tokio::test(start_paused = true)]
async fn s37_the_image_is_on_the_host() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let image = json!({"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum", "checksumType": "md5", "format": "qcow2"});
    assert_eq!(host(&lab, &machine).pointer("/spec/image"), Some(&image));
    patch_machine(&lab, &name(&machine), json!({"spec": {"image": {"url": "http://192.0.2.1/other"}}})).await;
    rest(&lab).await;
    assert_eq!(
        host(&lab, &machine).pointer("/spec/image"),
        Some(&image),
        "a running node is never written over"
    );
}

/// The Machine's bootstrap Secret wins over `spec.userData`.
#[tokio::test(start_paused = true)]
async fn s40_the_bootstrap_secret_wins_over_the_own_field() {
    let mut manifests = seed();
    machine_spec(&mut manifests, "m3mt-0", json!({"userData": {"name": "mine"}}));
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let wanted = text(&get(&lab, "Machine", &name(&machine)), "/spec/bootstrap/dataSecretName");
    assert_eq!(text(&host(&lab, &machine), "/spec/userData/name"), wanted);
}

/// Secrets that the user names are named in the machine's status and on the host.
#[tokio::test(start_paused = true)]
async fn s42_secrets_of_the_user_are_named_in_status_and_on_the_host() {
    let mut manifests = seed();
    manifests.extend(yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: metal3}\nstringData: {metaData: 'a: b', networkData: 'links: []'}\n"));
    let own = json!({"dataTemplate": null, "metaData": {"name": "mine"}, "networkData": {"name": "mine"}});
    machine_spec(&mut manifests, "m3mt-0", own);
    let lab = settled(&manifests).await;
    let machine = machines(&lab, "md-0")[0].clone();
    for field in ["metaData", "networkData"] {
        assert_eq!(text(&machine, &format!("/status/{field}/name")), "mine");
        assert_eq!(text(&host(&lab, &machine), &format!("/spec/{field}/name")), "mine");
    }
}

/// The status shows which Secrets are used, the spec only what the user asked for.
#[tokio::test(start_paused = true)]
async fn s45_the_spec_holds_only_what_the_user_asked_for() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    for field in ["userData", "metaData", "networkData"] {
        assert_eq!(machine.pointer(&format!("/spec/{field}")), None);
    }
    assert_eq!(machine.pointer("/spec/dataTemplate"), Some(&json!({"name": "nodepool-1"})));
    assert_eq!(text(&machine, "/status/metaData/name"), format!("{}-metadata", name(&machine)));
}

/// A data template without namespace is that of the machine's own namespace.
#[tokio::test(start_paused = true)]
async fn s41_a_data_template_without_namespace_is_of_the_own() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let claim = get(&lab, "Metal3DataClaim", &name(&machine));
    assert_eq!(claim.pointer("/spec/template"), Some(&json!({"name": "nodepool-1", "namespace": "metal3"})));
}

/// The host gets the machine's cleaning mode, and when the machine goes it is cleaned by it or is not.
#[tokio::test(start_paused = true)]
async fn s50_the_host_gets_the_cleaning_mode() {
    for (mode, is_cleaned) in [("disabled", false), ("metadata", true)] {
        let mut manifests = seed();
        machine_spec(&mut manifests, "m3mt-0", json!({"automatedCleaningMode": mode}));
        // With this profile cleaning takes time, so that the host shows whether it was cleaned.
        let lab = started_slowly(&manifests).await;
        rest(&lab).await;
        let machine = machines(&lab, "md-0")[0].clone();
        assert_eq!(text(&host(&lab, &machine), "/spec/automatedCleaningMode"), mode);
        let none = json!({"spec": {"replicas": 0}});
        patch(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "md-0", none).await;
        rest(&lab).await;
        assert_blank(&lab, &host_of(&machine));
        let took = deprovisioning_took(&lab, &host_of(&machine));
        assert_eq!(took >= CLEANING, is_cleaned, "{mode}: {took} s");
    }
}

/// Each clone of a Metal3MachineTemplate gets image, selector and data template.
#[tokio::test(start_paused = true)]
async fn s72_clones_get_image_selector_and_data_template() {
    let lab = settled(&seed()).await;
    let machine = machines(&lab, "md-0")[0].clone();
    let template = get(&lab, "Metal3MachineTemplate", "m3mt-0");
    for field in ["image", "hostSelector"] {
        assert_eq!(
            machine.pointer(&format!("/spec/{field}")),
            template.pointer(&format!("/spec/template/spec/{field}"))
        );
    }
    assert_eq!(text(&machine, "/spec/dataTemplate/name"), "nodepool-1");
}

/// A MachineDeployment of one makes one worker.
#[tokio::test(start_paused = true)]
async fn s31_a_deployment_of_one_makes_one_worker() {
    let lab = settled(&seed()).await;
    assert_eq!(machines(&lab, "md-0").len(), 1);
    assert_eq!(get(&lab, "MachineDeployment", "md-0").pointer("/status/readyReplicas"), Some(&json!(1)));
}

//! One machine and one cluster of the API description.

use std::collections::BTreeSet;

use super::*;

/// The machine `controlplane-0` of the API description: Cluster, Metal3Cluster, Machine, KubeadmConfig and Metal3Machine. Added: a
/// host, the user's Secret, and the printed data template under the name that the machine gives it.
fn controlplane_0() -> Vec<Manifest> {
    let mut all = hosts("metal3", 1);
    all.extend(pools());
    all.extend(yaml(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: controlplane-0-metadata-0, namespace: metal3}\n\
         stringData: {metaData: 'name: first-node'}\n",
    ));
    all.push(data_template("000-14", "controlplane-metadata", "metal3"));
    all.extend(migrated(&["000-01", "000-02", "000-04", "000-10"]));
    all.push(changed("000-05", json!({"metadata": {"annotations": {"primary-mac": "52:54:00:bb:00:03"}}})));
    all
}

/// The printed KubeadmConfig `controlplane-0` reaches the host's user data byte for byte as the bootstrap provider made it:
/// with the Jinja text, the file of Keepalived and the commands before and after kubeadm.
#[tokio::test(start_paused = true)]
async fn s24_the_printed_bootstrap_text_reaches_the_host() {
    let lab = settled(&controlplane_0()).await;
    let machine = get(&lab, "Metal3Machine", "controlplane-0");
    let host = host(&lab, &machine);
    assert_eq!(text(&host, "/spec/userData/name"), "controlplane-0");
    let user_data = given(&lab, &host).user_data.unwrap();
    assert_eq!(user_data, secret(&lab, "controlplane-0", "value"), "byte for byte");
    let config: Value = serde_saphyr::from_str(&user_data).unwrap();
    let block = printed("000-04").remove(0);
    let spec = &block["spec"];
    for member in ["initConfiguration", "preKubeadmCommands", "postKubeadmCommands", "files"] {
        assert_eq!(config[member], spec[member], "{member}");
    }
    let keepalived = text(spec, "/files/0/content");
    assert!(keepalived.starts_with("! Configuration File for keepalived\n"), "{keepalived}");
    assert!(user_data.contains(&json!(keepalived).to_string()), "{user_data}");
    assert!(user_data.contains("{{ ds.meta_data.name }}"), "{user_data}");
}

/// The printed Metal3Machine `controlplane-0`, corrected, is hybrid: its metadata is the user's Secret, its network data is
/// rendered from the data template.
#[tokio::test(start_paused = true)]
async fn s52_the_printed_machine_has_its_own_metadata_and_rendered_network_data() {
    let lab = settled(&controlplane_0()).await;
    let machine = get(&lab, "Metal3Machine", "controlplane-0");
    let host = host(&lab, &machine);
    assert_eq!(text(&host, "/status/provisioning/state"), "provisioned");
    for (field, name) in
        [("metaData", "controlplane-0-metadata-0"), ("networkData", "controlplane-0-networkdata")]
    {
        assert_eq!(text(&machine, &format!("/status/{field}/name")), name);
        assert_eq!(text(&host, &format!("/spec/{field}/name")), name);
    }
    let data = given(&lab, &host);
    assert_eq!(data.text("name").as_deref(), Some("first-node"));
    assert_eq!(data.text("abc"), None, "nothing of the data template's metadata is used");
    let network_data = data.network_data.unwrap();
    assert_eq!(network_data, secret(&lab, "controlplane-0-networkdata", "networkData"));
    for words in ["ethernet_mac_address: 52:54:00:bb:00:03", "ip_address: 192.168.0.10", "vlan_id: 1"] {
        assert!(network_data.contains(words), "{words} is not in:\n{network_data}");
    }
    let block = printed("000-10").remove(0);
    assert_eq!(host["spec"]["image"], block["spec"]["image"]);
    assert_eq!(host["spec"]["automatedCleaningMode"], block["spec"]["automatedCleaningMode"]);
}

/// The cluster of the API description: Cluster, Metal3Cluster, control plane of three and `md-0`. Added: four hosts, the pools, and
/// the printed templates once more under the names by which control plane, deployment and machines ask for them.
fn cluster() -> Vec<Manifest> {
    let annotations = json!({"primary-mac": "52:54:00:bb:00:03"});
    let mut all = hosts("metal3", 4);
    all.extend(pools());
    all.push(data_template("000-14", "m3mt-0-metadata", "metal3"));
    for name in ["m3mt-0", "md-0", "m3cluster-controlplane"] {
        all.push(changed("000-13", json!({"metadata": {"name": name}})));
    }
    for name in ["controlplane-0", "md-0"] {
        all.push(changed("000-12", json!({"metadata": {"name": name}})));
    }
    all.extend(migrated(&["000-01", "000-02"]));
    let of_machines = json!({"spec": {"machineTemplate": {"metadata": {"annotations": annotations}}}});
    all.push(changed("000-03", of_machines));
    all.push(changed("000-11", json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})));
    all
}

/// The printed cluster from start to end: control plane of three, a deployment of one and pools. Nodes carry the names and uuid
/// labels of the Jinja text and get provider IDs; each has an address of its own from the pool.
#[tokio::test(start_paused = true)]
async fn s1_demonstration_3_the_printed_cluster_comes_up() {
    let lab = settled(&cluster()).await;
    assert_eq!(named_after(&lab, "Metal3Machine", "m3cluster-controlplane-").len(), 3);
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 4);
    let nodes = lab.server().objects(Some("metal3/cluster"));
    let mut addresses = BTreeSet::new();
    for machine in machines {
        assert!(is_ready(&machine), "{machine:#}");
        let host = host(&lab, &machine);
        let (host_name, name) = (text(&host, "/metadata/name"), text(&machine, "/metadata/name"));
        let id = format!("metal3://metal3/{host_name}/{name}");
        let node = nodes.iter().find(|o| o["kind"] == "Node" && text(o, "/spec/providerID") == id);
        let node = node.unwrap_or_else(|| panic!("no node with {id}"));
        assert_eq!(text(node, "/metadata/name"), host_name, "the metadata of the template has no `name`");
        assert_eq!(text(node, "/metadata/labels/metal3.io~1uuid"), text(&host, "/metadata/uid"));
        let data = given(&lab, &host);
        assert_eq!(data.text("name_m3m").as_deref(), Some(name));
        assert_eq!(data.text("ip").as_deref(), Some("24"), "the key is printed twice, the prefix wins");
        assert_eq!(data.text("gateway").as_deref(), Some("192.168.0.1"));
        let network_data = data.network_data.unwrap();
        let address = |line: &str| line.trim().strip_prefix("ip_address: 192.168.0.").map(str::to_owned);
        addresses.extend(network_data.lines().filter_map(address));
    }
    assert_eq!(addresses, ["10", "11", "12", "13"].map(str::to_owned).into());
}

/// The printed Metal3Cluster is provisioned once the printed Cluster owns it.
#[tokio::test(start_paused = true)]
async fn s14_the_printed_metal3cluster_is_provisioned_once_it_is_owned() {
    let mut manifests = cluster();
    manifests.retain(|manifest| manifest.kind() != "Cluster");
    let lab = settled(&manifests).await;
    let provisioned =
        || get(&lab, "Metal3Cluster", "m3cluster")["status"]["initialization"]["provisioned"] == true;
    assert!(!provisioned(), "nobody owns it");
    lab.apply(&migrated(&["000-01"])).await.unwrap();
    assert_eq!(lab.settle(LIMIT).await, Settled::Quiet);
    let owner = &get(&lab, "Metal3Cluster", "m3cluster")["metadata"]["ownerReferences"][0];
    assert_eq!((text(owner, "/kind"), text(owner, "/name")), ("Cluster", "cluster"));
    assert!(provisioned());
}

/// The printed MachineDeployment `md-0` gives one worker.
#[tokio::test(start_paused = true)]
async fn s31_the_printed_deployment_gives_one_worker() {
    let lab = settled(&cluster()).await;
    let workers = named_after(&lab, "Machine", "md-0-");
    assert_eq!(workers.len(), 1);
    assert_eq!(text(&workers[0], "/spec/clusterName"), "cluster");
    assert_eq!(text(&workers[0], "/status/phase"), "Running");
}

/// Each clone of the printed KubeadmConfigTemplate carries its join configuration and commands.
#[tokio::test(start_paused = true)]
async fn s33_clones_of_the_printed_template_carry_join_configuration_and_commands() {
    let lab = settled(&cluster()).await;
    let configs = named_after(&lab, "KubeadmConfig", "md-0-");
    assert_eq!(configs.len(), 1);
    let block = printed("000-12").remove(0);
    assert_eq!(configs[0]["spec"], block["spec"]["template"]["spec"]);
}

/// Each clone of the printed Metal3MachineTemplate, corrected, gets image, selector and data template.
#[tokio::test(start_paused = true)]
async fn s72_clones_of_the_printed_template_get_image_selector_and_data_template() {
    let lab = settled(&cluster()).await;
    let image = &printed("000-13").remove(0)["spec"]["template"]["spec"]["image"];
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 4);
    for machine in machines {
        let spec = &machine["spec"];
        for member in ["url", "checksum", "checksumType"] {
            assert_eq!(spec["image"][member], image[member]);
        }
        assert_eq!(spec["image"]["diskFormat"], image["format"]);
        let selector = json!({"matchLabels": {"key1": "value1"},
            "matchExpressions": [{"key": "key2", "operator": "in", "values": ["abc", "123", "value2"]}]});
        assert_eq!(spec["hostSelector"], selector);
        assert_eq!(spec["dataTemplate"]["name"], "m3mt-0-metadata");
        assert_eq!(spec["automatedCleaningMode"], "metadata");
        assert_eq!(host(&lab, &machine)["spec"]["image"], *image);
    }
}

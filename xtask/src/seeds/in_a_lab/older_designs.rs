//! The machine and the data template of the first designs, and the data template of the API description with that machine.

use super::*;

/// The Machine `machine-1` with bootstrap data, in the cluster of the API description, and a host for it.
fn machine_1() -> Vec<Manifest> {
    let here = json!({"metadata": {"namespace": "default"}});
    let mut all = hosts("default", 1);
    all.extend([changed("000-01", here.clone()), changed("000-02", here)]);
    all.extend(yaml(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: bootstrap, namespace: default}\nstringData: {value: text}\n---\n\
         apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\n\
         metadata: {name: machine-1, namespace: default, labels: {cluster.x-k8s.io/cluster-name: cluster}}\n\
         spec:\n  clusterName: cluster\n  bootstrap: {dataSecretName: bootstrap}\n  \
         infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: machine-1}\n",
    ));
    all
}

/// A printed Metal3Machine with the image that it lacks.
fn with_image(block: &str) -> Manifest {
    let image = json!({"url": "http://192.0.2.1/image", "checksum": "http://192.0.2.1/image.sum"});
    changed(block, json!({"spec": {"image": image}}))
}

/// The Metal3Machine `machine-1` of both older designs, with the image that it lacks and the design's own data template: its status
/// fills as printed.
#[tokio::test(start_paused = true)]
async fn s53_the_status_of_the_printed_machine_fills_as_printed() {
    // Added: a host, the cluster of the API description in that namespace, and the Machine with bootstrap data.
    for (machine, template) in [("001-01", "001-03"), ("003-01", "003-04")] {
        let mut all = machine_1();
        all.push(data_template(template, "nodepool-1", "default"));
        let machine_1 = with_image(machine);
        assert_eq!(machine_1.object.get("status"), None, "the printed status is dropped");
        all.push(machine_1);
        let lab = settled(&all).await;
        let found = get(&lab, "Metal3Machine", "machine-1");
        let block = printed(machine).remove(0);
        for (member, reference) in block["status"].as_object().unwrap() {
            assert_eq!(&found["status"][member], reference, "{machine}: {member} of {found:#}");
        }
        assert_eq!(given(&lab, &host(&lab, &found)).text("ip").as_deref(), Some("192.168.0.10"));
    }
}

/// The Metal3Machine `machine-1` of both older designs with Secrets of its own: `machine-1-networkData`, which can never exist,
/// is refused with the name that can; with that name the status fills as printed, and both Secrets reach the node.
#[tokio::test(start_paused = true)]
async fn s54_the_printed_machine_with_its_own_secrets_uses_them() {
    // Added: what S53 adds, and the Secrets.
    for block in ["001-02", "003-02"] {
        let mut all = machine_1();
        all.extend(yaml(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: machine-1-metadata, namespace: default}\n\
             stringData: {metaData: 'own: value'}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {name: machine-1-networkdata, namespace: default}\n\
             stringData: {networkData: 'links: []'}\n",
        ));
        let lab = settled(&all).await;
        let mut machine = with_image(block);
        let refused = lab.apply(std::slice::from_ref(&machine)).await.unwrap_err();
        let capm3_lab::LabError::Refused { source, .. } = refused else { panic!("{refused}") };
        let message = source.to_string();
        assert!(message.contains("did you mean \"machine-1-networkdata\"?"), "{message}");
        machine.object["spec"]["networkData"]["name"] = json!("machine-1-networkdata");
        lab.apply(&[machine]).await.unwrap();
        assert_eq!(lab.settle(LIMIT).await, Settled::Quiet);
        let found = get(&lab, "Metal3Machine", "machine-1");
        let mut expected = printed(block).remove(0)["status"].clone();
        expected["networkData"]["name"] = json!("machine-1-networkdata");
        for (member, reference) in expected.as_object().unwrap() {
            assert_eq!(&found["status"][member], reference, "{block}: {member} of {found:#}");
        }
        let node = given(&lab, &host(&lab, &found));
        assert_eq!(node.text("own").as_deref(), Some("value"));
        assert_eq!(node.network_data.as_deref(), Some("links: []"));
    }
}

/// Both documents that `capm3 render` gives for the printed data template with pools.
fn golden() -> [String; 2] {
    let file = repo::root().join("crates/capm3/tests/expected/render/s80.txt");
    let text = fs::read_to_string(file).unwrap();
    // What `render` warns of comes after the documents.
    let (text, _) = text.split_once("\nwarning: ").unwrap_or((text.as_str(), ""));
    let mut documents = text.split("---\n").skip(1).map(|part| part.split("# machine").next().unwrap());
    [documents.next().unwrap(), documents.next().unwrap()]
        .map(|document| document.trim_end().to_owned() + "\n")
}

/// The printed data template with pools, corrected and with real MAC addresses, is accepted without clusterName and without group
/// and kind of its pools, and gives a node the same two documents as `capm3 render` gives a user.
#[tokio::test(start_paused = true)]
async fn s80_the_printed_data_template_with_pools_gives_a_node_the_golden_documents() {
    // Added: what S53 adds, pools, and the labels, annotations and network cards that the template reads.
    let mut all = machine_1();
    let nics = json!({"hostname": "host-1", "nics": [
        {"name": "eth0", "mac": "00:00:00:00:00:01"}, {"name": "eth1", "mac": "00:00:00:00:00:02"}]});
    for manifest in &mut all {
        let annotations = match manifest.kind() {
            "BareMetalHost" => json!({"inspect.metal3.io/hardwaredetails": nics.to_string()}),
            "Machine" => json!({"primary-mac": "00:00:00:00:00:0a", "myannotationkey": "annotation-value"}),
            _ => continue,
        };
        let labels = json!({"mylabelkey": "label-value"});
        json_patch::merge(
            &mut manifest.object,
            &json!({"metadata": {"annotations": annotations, "labels": labels}}),
        );
    }
    for mut pool in pools() {
        pool.object["metadata"]["namespace"] = json!("default");
        if pool.key().name == "pool6-1" {
            let range = json!({"start": "2001:db8::10", "end": "2001:db8::20", "prefix": 64, "dnsServers": ["2001:4860:4860::8888"]});
            pool.object["spec"]["pools"] = json!([range]);
        }
        all.push(pool);
    }
    let mut template = data_template("000-14", "nodepool-1", "default");
    for (link, mac) in [("bonds", "00:00:00:00:00:0b"), ("vlans", "00:00:00:00:00:0c")] {
        template.object["spec"]["networkData"]["links"][link][0]["macAddress"]["string"] = json!(mac);
    }
    assert_eq!(template.object.pointer("/spec/clusterName"), None);
    for source in ["ipAddressesFromPool", "prefixesFromPool", "gatewaysFromPool", "dnsServersFromPool"] {
        let item = template.object["spec"]["metaData"][source][0].as_object_mut().unwrap();
        item.remove("apiGroup");
        item.remove("kind");
    }
    all.push(template);
    all.push(with_image("001-01"));
    let lab = settled(&all).await;
    let [meta_data, network_data] = golden();
    assert_eq!(secret(&lab, "machine-1-metadata", "metaData"), meta_data);
    assert_eq!(secret(&lab, "machine-1-networkdata", "networkData"), network_data);
    let machine = get(&lab, "Metal3Machine", "machine-1");
    assert_eq!(given(&lab, &host(&lab, &machine)).network_data.as_deref(), Some(network_data.as_str()));
}

/// The printed data template of the second design carries the label of its cluster, and its data the key `SharedRef`; a template
/// with the same key goes on counting where it is.
#[tokio::test(start_paused = true)]
async fn s82_the_printed_data_template_with_a_shared_key_shares_its_indexes() {
    // Added: what S53 adds, and a second template whose machine has asked for its data.
    let mut all = machine_1();
    all.push(data_template("003-04", "nodepool-1", "default"));
    all.push(with_image("003-01"));
    let lab = settled(&all).await;
    let template = get(&lab, "Metal3DataTemplate", "nodepool-1");
    assert_eq!(text(&template, "/metadata/labels/cluster.x-k8s.io~1cluster-name"), "cluster-1");
    let data = get(&lab, "Metal3Data", "nodepool-1-0");
    assert_eq!(text(&data, "/spec/templateReference"), "SharedRef");
    assert_eq!(data["status"]["ready"], true);
    let uid = text(&get(&lab, "Metal3Machine", "machine-1"), "/metadata/uid").to_owned();
    let claim = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataClaim",
        "metadata": {"name": "next", "namespace": "default", "ownerReferences": [{"kind": "Metal3Machine",
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "name": "machine-1", "uid": uid}]},
        "spec": {"template": {"name": "nodepool-2"}}});
    let next = data_template("003-04", "nodepool-2", "default");
    lab.apply(&[next, Manifest { file: "claim".to_owned(), object: claim }]).await.unwrap();
    assert_eq!(lab.settle(LIMIT).await, Settled::Quiet);
    assert_eq!(text(&get(&lab, "Metal3DataClaim", "next"), "/status/renderedData/name"), "nodepool-2-1");
}

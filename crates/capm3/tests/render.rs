//! `capm3 render` as a person runs it, compared with what is checked in under `tests/expected/render`, and with the
//! Secrets that the controllers write for the same manifests.
//! `CAPM3_BLESS=1 cargo test -p capm3 --test render` writes the files again; read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;
#[allow(dead_code, reason = "shared with the tests of release")]
#[path = "release/fake.rs"]
mod fake;

use std::{collections::BTreeMap, fs};

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_engine::ResourceKind;
use common::{Run, Up, capm3, repository};
use serde_json::{Value, json};

fn machines(run: &Run) -> Vec<Value> {
    run.json()["machines"].as_array().unwrap().clone()
}

fn render(arguments: &[&str]) -> Run {
    capm3(&[&["render"], arguments].concat(), "")
}

fn is_expected(name: &str, run: Run) -> Run {
    common::is_expected(&format!("render/{name}"), run)
}

const THREE_RACKS: &str = "examples/three-racks";

#[test]
fn the_three_racks_are_rendered_with_no_cluster_at_all() {
    assert_eq!(is_expected("three-racks", render(&["-f", THREE_RACKS])).code, 0);
}

#[test]
fn json_has_one_entry_a_machine() {
    let run = is_expected("three-racks-json", render(&["-f", THREE_RACKS, "-o", "json"]));
    let members: Vec<&str> = ["name", "host", "dataTemplate", "index", "metaData", "networkData"].to_vec();
    for machine in machines(&run) {
        assert_eq!(machine.as_object().unwrap().keys().collect::<Vec<_>>(), members);
    }
}

#[test]
fn a_machine_or_a_host_can_be_picked() {
    let by_host = is_expected("by-host", render(&["-f", THREE_RACKS, "--host", "rack2-host-1"]));
    let by_name = render(&["-f", THREE_RACKS, "--machine", "my-cluster-cp-1"]);
    assert_eq!(by_host.stdout, by_name.stdout);
    is_expected("nobody", render(&["-f", THREE_RACKS, "--machine", "nobody"]));
}

#[test]
fn machines_can_be_made_up_from_a_template() {
    let by_machine_template =
        render(&["-f", THREE_RACKS, "--machines", "2", "--template", "my-cluster-workers"]);
    is_expected("made-up", by_machine_template);
    let run = render(&["-f", THREE_RACKS, "--machines", "20"]);
    assert_eq!(run.code, 1, "there are twelve hosts");
    assert_eq!(run.stdout.matches("# machine ").count(), 12);
    assert_eq!(run.stderr.matches("no host is available: 12 hosts: 12 consumed").count(), 8);
}

#[test]
fn what_is_wrong_is_reported_with_file_line_field_and_the_way_out() {
    for name in ["nic-missing", "data-template-missing", "paused-host", "pool-too-small"] {
        let run = is_expected(name, render(&["-f", &format!("examples/troubles/{name}")]));
        assert_eq!(run.code, 1);
    }
}

/// A template with every kind of mistake that an API server refuses, and one of each other document that it refuses.
const REFUSED: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: t, namespace: ns}
spec:
  metaData:
    string: [{key: a, value: b}]
    strings:
    - {key: c, valu: d}
    - {key: e, value: 5}
    indexes:
    - {key: i, step: 0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: u, namespace: ns}
spec:
  networkData:
    networks:
      ipv4:
      - id: net
        link: l
        ipAddressFromIPPool: p
        ipAddress: {subnet: 10.0.0.0/24}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: m, namespace: ns}
spec:
  dataTemplate: {name: t}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplat
metadata: {name: v, namespace: ns}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h, namespace: ns}
spec: {bootMacAddress: 00:00:00:00:00:01}
";

#[test]
fn what_an_api_server_refuses_is_refused_and_nothing_is_dropped_without_a_report() {
    let run = is_expected("refused", capm3(&["render", "-f", "-", "--machines", "1"], REFUSED));
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    // What a server has given out was judged there: foreign kinds may have more fields, and rules may be younger.
    let dumped = REFUSED.replace("namespace: ns}", "namespace: ns, resourceVersion: '7'}");
    let run = capm3(&["render", "-f", "-", "--machines", "1"], &dumped);
    assert!(run.stderr.contains("spec.metaData.strings[0].valu: unknown field"), "{}", run.text());
    for passed in ["bootMacAddress", "inline range", "Image"] {
        assert!(!run.stderr.contains(passed), "{}", run.text());
    }
}

/// The address of a cluster may come from an overlay, and Cluster API's older version is read as it is.
#[test]
fn what_a_file_alone_does_not_decide_is_not_judged() {
    let more = "---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: c}
spec: {}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata: {name: another}
spec: {clusterName: cluster-1}
";
    let run = capm3(&["render", "-f", "-"], &format!("{}{more}", seed("000-14")));
    assert_eq!(run.code, 0, "{}", run.text());
}

#[test]
fn wrong_usage_ends_with_two() {
    let pool = "examples/three-racks/40-ip-pools.yaml";
    for (arguments, part) in [
        (vec!["-f", "no/such/folder"], "no such file or folder"),
        (vec!["-f", pool], "use --machines N"),
        (vec!["-f", pool, "--diff"], "--kubeconfig"),
        (vec!["-f", pool, "--template", "x"], "--machines"),
        (vec!["-f", pool, "--as", "ifupdown"], "use one of netplan, networkd"),
        (vec!["-f", pool, "--as", "eni@20.1"], "too old"),
        (vec!["-f", pool, "--side-by-side"], "--as"),
    ] {
        let run = render(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.text());
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.text());
    }
}

#[test]
fn help_teaches() {
    let help = render(&["--help"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Examples:",
        "byte for byte",
        "--machines",
        "--diff",
        "--as",
        "cloud-init --version",
        "hardwaredetails",
        "m3ipa",
    ] {
        assert!(help.contains(part), "{help}");
    }
}

const BONDED: &str = "crates/capm3/tests/data/bond-and-vlan.yaml";

fn bonded(as_target: &str, more: &[&str]) -> Run {
    render(&[&["-f", BONDED, "--machines", "1", "--as", as_target], more].concat())
}

#[test]
fn an_image_that_configures_everything_loses_nothing() {
    let run = is_expected("as-netplan", bonded("netplan", &[]));
    assert_eq!(run.code, 0);
    assert!(!run.stdout.contains("lost"), "{}", run.text());
    assert_eq!(run.stdout, bonded("netplan@26.2", &[]).stdout, "the newest version is the default");
}

#[test]
fn a_person_sees_the_bond_that_their_image_drops() {
    let run = is_expected("as-networkd-25.3", bonded("networkd@25.3", &[]));
    assert_eq!(run.code, 0, "the node gets a network, if not the one that was asked for");
    let printed = "# lost: bond0: the image drops the bond: it is not created\n";
    assert!(run.stdout.contains(printed), "{}", run.text());
    assert!(run.stdout.contains("# lost: vlan100: the image drops the VLAN"), "{}", run.text());
    assert!(!bonded("networkd@26.1", &[]).stdout.contains(printed), "26.1 creates bonds");
}

#[test]
fn a_person_sees_the_bond_options_that_their_image_drops() {
    let run = is_expected("as-network_manager-24.1.7", bonded("network_manager@24.1.7", &[]));
    let printed =
        "# lost: bond0: the image drops bond option lacp_rate: instead of fast the kernel's default holds\n";
    assert!(run.stdout.contains(printed), "{}", run.text());
    let beside = is_expected("side-by-side", bonded("network_manager@24.1.7", &["--side-by-side"]));
    assert!(beside.stdout.contains("\n- bond_lacp_rate: fast"), "{}", beside.text());
    assert!(beside.stdout.contains(printed), "{}", beside.text());
}

#[test]
fn a_document_that_cloud_init_refuses_ends_with_one() {
    let text = fs::read_to_string(repository().join(BONDED)).unwrap();
    let dangling = text.replace("vlanLink: bond0", "vlanLink: bnd0");
    let arguments = ["render", "-f", "-", "--machines", "1", "--as", "eni"];
    let run = is_expected("as-refused", capm3(&arguments, &dangling));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no link has the id bnd0"), "{}", run.text());
    let monitored = text.replace("name: miimon, value: 100", "name: arp_ip_target, value: 10.0.0.1");
    let refused_by_netplan =
        |target: &str| capm3(&["render", "-f", "-", "--machines", "1", "--as", target], &monitored);
    assert_eq!(refused_by_netplan("netplan").code, 1);
    assert_eq!(refused_by_netplan("eni").code, 0);
}

#[test]
fn talos_and_nmstate_are_shown_beside_the_document_and_marked_unverified() {
    let text = fs::read_to_string(repository().join(BONDED)).unwrap();
    let slow = text.replace("name: lacp_rate, value: fast", "name: lacp_rate, value: slow");
    let arguments = ["render", "-f", "-", "--machines", "1", "--as", "talos", "--side-by-side"];
    let talos = is_expected("as-talos", capm3(&arguments, &slow));
    assert_eq!(talos.code, 0);
    assert!(talos.stdout.contains("as Talos (unverified) configures it"), "{}", talos.text());
    assert!(talos.stdout.contains("\n- bond_lacp_rate: slow"), "{}", talos.text());
    assert!(talos.stdout.contains("Talos sets bond option lacp_rate to fast, not to"), "{}", talos.text());
    let nmstate = is_expected("as-nmstate", bonded("nmstate", &[]));
    assert_eq!(nmstate.code, 0);
    assert!(nmstate.stdout.contains("as nmstate (unverified) configures it"), "{}", nmstate.text());
    assert!(nmstate.stdout.contains("lacp_rate: fast"), "{}", nmstate.text());
}

#[test]
fn a_document_that_talos_cannot_read_ends_with_one() {
    let text = fs::read_to_string(repository().join(BONDED)).unwrap();
    let dangling = text.replace("bondLinks: [nic1, nic2]", "bondLinks: [nic1, nic9]");
    let run = capm3(&["render", "-f", "-", "--machines", "1", "--as", "talos"], &dangling);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("links[0].bond_links[1]: Talos knows no such link"), "{}", run.text());
}

#[test]
fn json_of_a_node_has_what_is_configured_and_what_is_lost() {
    let run = is_expected("as-json", bonded("networkd@25.3", &["-o", "json"]));
    let node = &machines(&run)[0];
    assert_eq!((node["renderer"].as_str(), node["cloudInit"].as_str()), (Some("networkd"), Some("25.3")));
    assert_eq!(node["interfaces"]["bond0"]["kind"], "nic");
    assert!(node["lost"].as_array().unwrap().iter().any(|loss| loss["what"] == "bond device"));
}

/// A host with the interfaces that the printed templates name, and pools of their names.
const SURROUNDINGS: &str = r#"---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: host-1
  annotations:
    inspect.metal3.io/hardwaredetails: |
      {"nics": [{"name": "eth0", "mac": "00:00:00:00:00:01"}, {"name": "eth1", "mac": "00:00:00:00:00:02"}]}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool-1}
spec:
  namePrefix: pool-1
  pools: [{start: 192.168.0.10, end: 192.168.0.20}]
  prefix: 24
  gateway: 192.168.0.1
  dnsServers: [8.8.8.8]
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool6-1}
spec:
  namePrefix: pool6-1
  pools: [{start: "2001:db8::10", end: "2001:db8::20"}]
  prefix: 64
  gateway: "2001:db8::1"
  dnsServers: ["2001:4860:4860::8888"]
"#;

/// The Metal3Machine of a printed template, with the Machine that carries what the template reads.
const MACHINE: &str = r#"---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: machine-1}
spec:
  dataTemplate: {name: nodepool-1}
  image: {url: "http://images/os.qcow2", checksum: "http://images/os.qcow2.sha256sum"}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: machine-1
  labels: {mylabelkey: label-value}
  annotations: {myannotationkey: annotation-value, primary-mac: "00:00:00:00:00:0a"}
spec:
  clusterName: cluster-1
  bootstrap: {dataSecretName: machine-1}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: machine-1}
"#;

fn seed(name: &str) -> String {
    let migrated = capm3(&["migrate", "-f", &format!("tests/seeds/{name}.yaml")], "").stdout;
    let migrated = migrated.replace("XX:XX:XX:XX:XX:XX", "00:00:00:00:00:0b");
    let migrated = migrated.replace("YY:YY:YY:YY:YY:YY", "00:00:00:00:00:0c");
    format!("{migrated}{SURROUNDINGS}{MACHINE}")
}

/// Given the printed data template with pools, corrected and with real MAC addresses for the placeholders, both its
/// documents are rendered offline.
#[test]
fn s80_the_printed_data_template_with_pools_renders_after_migration() {
    let run = is_expected("s80", capm3(&["render", "-f", "-"], &seed("000-14")));
    assert_eq!(run.code, 0);
}

/// Given the data template of the first design, migrated, its inline ranges are rendered without any pool.
#[test]
fn s81_the_data_template_with_inline_ranges_renders_after_migration() {
    let run = is_expected("s81", capm3(&["render", "-f", "-"], &seed("001-03")));
    assert_eq!(run.code, 0);
}

/// Every object of these kinds, and every Secret by name.
fn read(up: &Up) -> (Vec<Value>, BTreeMap<String, Value>) {
    let kinds = KINDS.map(|(group, version, kind, plural)| ResourceKind {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural.into(),
    });
    let (secrets, objects): (Vec<Value>, Vec<Value>) =
        up.list(&kinds).into_iter().partition(|object| object["kind"] == "Secret");
    let name = |secret: &Value| secret["metadata"]["name"].as_str().unwrap().to_owned();
    (objects, secrets.into_iter().map(|secret| (name(&secret), secret)).collect())
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

const KINDS: [(&str, &str, &str, &str); 11] = [
    ("", "v1", "Secret", "secrets"),
    ("cluster.x-k8s.io", "v1beta2", "Machine", "machines"),
    ("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts"),
    (INFRASTRUCTURE, "v1beta2", "Metal3Machine", "metal3machines"),
    (INFRASTRUCTURE, "v1beta2", "Metal3MachineTemplate", "metal3machinetemplates"),
    (INFRASTRUCTURE, "v1beta2", "Metal3DataTemplate", "metal3datatemplates"),
    (INFRASTRUCTURE, "v1beta2", "Metal3DataClaim", "metal3dataclaims"),
    (INFRASTRUCTURE, "v1beta2", "Metal3Data", "metal3datas"),
    ("ipam.metal3.io", "v1alpha1", "IPPool", "ippools"),
    ("ipam.metal3.io", "v1alpha1", "IPClaim", "ipclaims"),
    ("ipam.metal3.io", "v1alpha1", "IPAddress", "ipaddresses"),
];

fn document(secret: &Value, member: &str) -> String {
    String::from_utf8(STANDARD.decode(secret["data"][member].as_str().unwrap()).unwrap()).unwrap()
}

/// The example with a change in one of its files; a metadata half is added to every data template.
fn changed_example(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(repository().join(THREE_RACKS)).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("  networkData:\n", &format!("{META_DATA}  networkData:\n"));
        fs::write(folder.path().join(path.file_name().unwrap()), change(text)).unwrap();
    }
    folder
}

const META_DATA: &str = "  metaData:
    objectNames: [{key: host, object: baremetalhost}]
    indexes: [{key: name, prefix: node-}]
    fromLabels: [{key: cluster, object: baremetalhost, label: cluster.x-k8s.io/cluster-name}]
";

#[test]
fn objects_of_a_running_cluster_render_to_the_very_bytes_of_its_secrets() {
    let example = changed_example(|text| text);
    let up = Up::start(example.path());
    let (objects, secrets) = read(&up);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let run = capm3(&["render", "-f", "-", "-o", "json"], &list.to_string());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rendered = machines(&run);
    assert_eq!(rendered.len(), 6);
    for machine in &rendered {
        let name = machine["name"].as_str().unwrap();
        for (member, suffix) in [("metaData", "metadata"), ("networkData", "networkdata")] {
            let secret = &secrets[&format!("{name}-{suffix}")];
            assert_eq!(machine[member].as_str().unwrap(), document(secret, member), "{name} {member}");
        }
    }

    let folder = example.path().to_str().unwrap();
    let same = render(&["-f", folder, "--diff", "--kubeconfig", &up.kubeconfig]);
    assert_eq!((same.code, same.text().as_str()), (0, "exit code 0\n\n\n"));
    let changed = changed_example(|text| text.replace("vlanID: 100", "vlanID: 101"));
    let changed = changed.path().join("30-data-templates.yaml");
    let differs = render(&["-f", changed.to_str().unwrap(), "--diff", "--kubeconfig", &up.kubeconfig]);
    assert_eq!(differs.code, 1, "{}", differs.text());
    let machine = rendered.iter().find(|machine| machine["dataTemplate"] == "m3dt-rack1").unwrap();
    let name = machine["name"].as_str().unwrap();
    let head = format!(
        "--- cluster: Secret metal3/{name}-networkdata\n+++ rendered: machine {name}, networkData\n@@ -6,7 +6,7 @@\n"
    );
    assert!(differs.stdout.contains(&head), "{}", differs.stdout);
    assert!(differs.stdout.contains("\n-  vlan_id: 100\n+  vlan_id: 101\n"), "{}", differs.stdout);
    assert!(!differs.stdout.contains("metadata"), "only what differs is printed: {}", differs.stdout);
}

/// A kind that the cluster does not serve is not taken for one without objects: an index or address that is in use would
/// be given out again, and every Secret would seem to differ.
#[test]
fn a_comparison_with_a_cluster_that_does_not_serve_a_kind_says_so_and_stops() {
    let lacking = |plural: &'static str| {
        fake::serve(move |asked| match asked.path.ends_with(&format!("/{plural}")) {
            true => (404, json!("404 page not found")),
            false => fake::page(json!([])),
        })
    };
    let diff = |plural: &'static str, files: &str| {
        let kubeconfig = lacking(plural);
        render(&["-f", files, "--diff", "--kubeconfig", kubeconfig.path().to_str().unwrap()])
    };
    let stopped = diff("metal3datas", THREE_RACKS);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (3, ""), "{}", stopped.text());
    let printed = "Metal3Data infrastructure.cluster.x-k8s.io/v1beta2 is not served by the cluster";
    assert!(stopped.stderr.contains(printed), "{}", stopped.stderr);
    assert_eq!(diff("ipaddresses", THREE_RACKS).code, 3, "the files have pools to give addresses from");
    let templates = format!("{THREE_RACKS}/30-data-templates.yaml");
    let without_pools = diff("ipclaims", &templates);
    assert!(
        without_pools
            .stderr
            .contains("IPClaim ipam.metal3.io/v1alpha1 is not served: such objects are unknown")
    );
    assert_ne!(without_pools.code, 3, "{}", without_pools.text());
}

/// With one machine per rack there is nothing that chance decides.
#[test]
fn manifests_alone_render_to_what_a_cluster_made_from_them_holds() {
    let example = changed_example(|text| match text.contains("kind: MachineDeployment") {
        true => text.replace("replicas: 3", "replicas: 0"),
        false => text,
    });
    let run = render(&["-f", example.path().to_str().unwrap(), "-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (objects, secrets) = read(&Up::start(example.path()));
    let made: Vec<&Value> = objects.iter().filter(|object| object["kind"] == "Metal3Machine").collect();
    assert_eq!(made.len(), 3);
    for machine in made {
        let (name, annotations) =
            (machine["metadata"]["name"].as_str().unwrap(), &machine["metadata"]["annotations"]);
        let host = annotations["metal3.io/BareMetalHost"].as_str().unwrap().strip_prefix("metal3/").unwrap();
        let rendered = machines(&run).into_iter().find(|machine| machine["host"] == host).unwrap();
        let network_data = document(&secrets[&format!("{name}-networkdata")], "networkData");
        assert_eq!(rendered["networkData"].as_str().unwrap(), network_data);
        let meta_data = document(&secrets[&format!("{name}-metadata")], "metaData");
        // The machines have other names: Cluster API draws them.
        let own_name = rendered["name"].as_str().unwrap();
        assert_eq!(rendered["metaData"].as_str().unwrap().replace(own_name, name), meta_data);
    }
}

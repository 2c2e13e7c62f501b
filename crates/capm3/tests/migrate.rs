//! `capm3 migrate` as a person runs it, compared with what is checked in under `tests/expected/migrate`. The documents
//! are the manifests of the designs, as printed there, in `tests/seeds` of the repository.
//! `CAPM3_BLESS=1 cargo test -p capm3 --test migrate` writes the files anew; read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What one run printed.
struct Run {
    code: i32,
    documents: String,
    report: String,
}

impl Run {
    fn text(&self) -> String {
        format!("exit code {}\n\n{}\n{}", self.code, self.documents, self.report)
    }

    /// The report has each of these parts.
    fn reports(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.report.contains(part), "{part:?} is not in:\n{}", self.report);
        }
        self
    }

    /// The documents have each of these parts.
    fn gives(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.documents.contains(part), "{part:?} is not in:\n{}", self.documents);
        }
        self
    }
}

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/seeds")
}

fn run(arguments: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.arg("migrate").args(arguments).current_dir(seeds()).env_remove("CAPM3_LOG");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        documents: String::from_utf8(output.stdout).unwrap(),
        report: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compares, or with `CAPM3_BLESS` writes down, what a run printed.
fn is_expected(name: &str, run: Run) -> Run {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected/migrate").join(format!("{name}.txt"));
    if std::env::var_os("CAPM3_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, run.text()).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(run.text(), expected, "not what {} says", path.display());
    again(&run);
    run
}

/// Migrating the output changes nothing.
fn again(first: &Run) {
    let second = run(&["-f", "-"], &first.documents);
    assert_eq!(second.documents, first.documents);
    assert!(second.report.contains(", 0 changes, "), "{}", second.report);
}

/// One manifest of the designs.
fn manifest(name: &str, file: &str, code: i32) -> Run {
    let run = is_expected(name, run(&["-f", &format!("{file}.yaml")], ""));
    assert_eq!(run.code, code, "{}", run.text());
    run
}

/// A text of the test.
fn text(name: &str, input: &str, code: i32) -> Run {
    let run = is_expected(name, run(&["-f", "-"], input));
    assert_eq!(run.code, code, "{}", run.text());
    run
}

/// A data template with this text below `spec.networkData`.
fn network_data(text: &str) -> String {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3DataTemplate\nmetadata:\n  name: t\nspec:\n  networkData:\n{indented}"
    )
}

/// A Metal3Machine with this text below `spec`, beside an image.
fn machine(text: &str) -> String {
    let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata:\n  name: m\nspec:\n  image:\n    url: http://x/i\n    checksum: http://x/i.sha256\n{indented}"
    )
}

/// Given the printed Cluster, whose references are of v1beta2, nothing is changed.
#[test]
fn s13_the_printed_cluster_passes_as_it_is() {
    manifest("s13", "000-01", 0).reports(&["1 document, 0 changes"]);
}

/// Given the printed Metal3Cluster of v1beta1, only its version changes.
#[test]
fn s14_the_printed_metal3cluster_becomes_v1beta2() {
    manifest("s14", "000-02", 0).reports(&["apiVersion", "1 document, 1 change,"]);
}

/// Given `noCloudProvider` alone: true means that no cloud provider is enabled, false that one is, with a warning; both
/// members that contradict each other are for the user to decide.
#[test]
fn s18_no_cloud_provider_is_turned_around() {
    let cluster = |spec: &str| format!("kind: Metal3Cluster\nmetadata: {{name: c}}\nspec:\n  {spec}\n");
    text("s18-true", &cluster("noCloudProvider: true"), 0).gives(&["cloudProviderEnabled: false"]);
    text("s18-false", &cluster("noCloudProvider: false"), 0)
        .gives(&["cloudProviderEnabled: true"])
        .reports(&["warning: "]);
    text("s18-both", &cluster("noCloudProvider: true\n  cloudProviderEnabled: true"), 1)
        .reports(&["contradict each other", "write: keep cloudProviderEnabled alone"]);
}

/// Given `CloudProviderEnabled` with a capital C, it is corrected and reported.
#[test]
fn s19_a_capital_letter_in_a_member_is_corrected() {
    let cluster = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Cluster\nmetadata: {name: c}\nspec:\n  CloudProviderEnabled: false\n";
    text("s19", cluster, 0).gives(&["  cloudProviderEnabled: false"]).reports(&[
        "stdin:5: Metal3Cluster c: spec.CloudProviderEnabled: CloudProviderEnabled -> cloudProviderEnabled",
    ]);
}

/// Given the printed Machine, which names no cluster, the label says which.
#[test]
fn s28_the_cluster_of_a_machine_is_taken_from_its_label() {
    manifest("s28", "000-05", 0)
        .gives(&["clusterName: cluster"])
        .reports(&["spec.clusterName: missing -> cluster (the label of the cluster says it)"]);
}

/// Given a Machine that names no cluster and has no label, the user is asked.
#[test]
fn s28_a_machine_without_cluster_and_label_is_an_error() {
    let machine = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata: {name: m}\nspec:\n  bootstrap: {dataSecretName: s}\n";
    text("s28-no-label", machine, 1).reports(&["clusterName is missing and no label says it"]);
}

/// Given the printed MachineDeployment, its template gets the cluster of the deployment.
#[test]
fn s31_the_cluster_of_a_machine_template_is_that_of_its_deployment() {
    manifest("s31", "000-11", 0)
        .reports(&["spec.template.spec.clusterName: missing -> cluster (spec.clusterName says it)"]);
}

/// Given a file of v1beta2 with `format`, the member gets its name of v1beta2.
#[test]
fn s38_format_is_corrected_in_a_file_of_v1beta2() {
    let machine = machine("automatedCleaningMode: metadata").replace("v1beta1", "v1beta2");
    let machine = machine.replace("  image:\n", "  image:\n    format: raw\n");
    text("s38", &machine, 0).gives(&["diskFormat: raw"]).reports(&["1 document, 1 change,"]);
}

/// Given the printed Metal3Machine with `Name`, one expression instead of a list and typographic quotes, it is correct.
#[test]
fn s52_the_printed_metal3machine_is_corrected() {
    manifest("s52", "000-10", 0).gives(&[
        "name: controlplane-0-metadata-0",
        "name: controlplane-metadata",
        "    - key: key2",
        "- abc",
        "- \"123\"",
    ]);
}

/// Given the Metal3Machine of the first designs with a dataTemplate, it is migrated, its status dropped and the missing
/// image asked for.
#[test]
fn s53_a_machine_with_a_data_template_asks_for_its_image() {
    for file in ["001-01", "003-01"] {
        manifest(&format!("s53-{file}"), file, 1).reports(&[
            "v1alpha4 -> ",
            "status: ",
            "image with url and checksum, or customDeploy with method",
        ]);
    }
}

/// Given the Metal3Machine of the first designs with own Secrets, the name that no Secret can have is told.
#[test]
fn s54_a_secret_with_a_capital_letter_can_never_exist() {
    for file in ["001-02", "003-02"] {
        manifest(&format!("s54-{file}"), file, 1).reports(&[
            ":11: Metal3Machine machine-1: spec.networkData.name: ",
            "write: machine-1-networkdata",
        ]);
    }
}

/// Given selectors below `spec.providerSpec.value`, they are lifted to `spec`.
#[test]
fn s66_a_wrapped_selector_is_lifted() {
    manifest("s66", "000-06", 0)
        .gives(&["kind: Metal3Machine", "spec:\n  hostSelector:\n    matchLabels:\n      key1: value1\n"])
        .reports(&["spec.providerSpec.value.hostSelector"]);
}

/// Given the second example, both labels are there.
#[test]
fn s67_a_wrapped_selector_with_two_labels_is_lifted() {
    manifest("s67", "000-07", 0).gives(&["      key1: value1\n      key2: value2\n"]);
}

/// Given typographic quotes around values, the values are a, b and c.
#[test]
fn s68_typographic_quotes_are_taken_off() {
    manifest("s68", "000-08", 0).gives(&["      values:\n      - a\n      - b\n      - c\n"]);
}

/// Given labels and an expression, both are there.
#[test]
fn s69_labels_and_expressions_are_lifted_together() {
    manifest("s69", "000-09", 0).gives(&["key2: value2", "    - key: key3\n      operator: in\n"]);
}

/// Given matchExpressions as one map instead of a list, it is a list of one.
#[test]
fn s70_one_expression_is_a_list_of_one() {
    let selector = "hostSelector:\n  matchExpressions:\n    key: rack\n    operator: in\n    values: [a]";
    text("s70", &machine(selector), 0).gives(&["    matchExpressions:\n    - key: rack\n"]);
}

/// Given `values: { a, b }`, the values are the keys.
#[test]
fn s71_values_in_braces_are_a_list() {
    let selector =
        "hostSelector:\n  matchExpressions:\n  - key: rack\n    operator: in\n    values: { a, b }";
    text("s71", &machine(selector), 0).gives(&["      values:\n      - a\n      - b\n"]);
}

/// Given the printed Metal3MachineTemplate, it is corrected as the Metal3Machine is.
#[test]
fn s72_the_printed_machine_template_is_corrected() {
    manifest("s72", "000-13", 0).gives(&["name: m3mt-0-metadata", "diskFormat: raw", "- value2"]);
}

/// Given the printed Metal3DataTemplate of v1beta1 with pools, the owner without uid, the capital letters and the masks
/// are corrected, and the placeholder MAC addresses and the key in two lists are told.
#[test]
fn s80_the_printed_data_template_with_pools_is_corrected() {
    manifest("s80", "000-14", 0)
        .gives(&["ipAddressFromIPPool: pool6-1", "prefix: 0"])
        .reports(&["XX:XX:XX:XX:XX:XX is no MAC address", "key ip is in ipAddressesFromPool too"]);
}

/// Given the data template of the first design, with inline ranges, it becomes v1beta2 with inline ranges.
#[test]
fn s81_the_data_template_with_inline_ranges_keeps_them() {
    manifest("s81", "001-03", 0).gives(&[
        "    ipAddresses:\n    - key: ip\n",
        "        prefix: 24\n",
        "        prefix: 64\n",
        "step: 10",
    ]);
}

/// Given the data template of the second design, its key and its cluster stay, and a key that is no name is told.
#[test]
fn s82_the_data_template_with_a_shared_key_keeps_it() {
    manifest("s82", "003-04", 0)
        .gives(&["templateReference: SharedRef", "clusterName: cluster-1"])
        .reports(&["SharedRef is no legal name of an object"]);
}

/// Given `kind: Template`, as a heading calls it, the right kind is proposed.
#[test]
fn s83_a_kind_that_does_not_exist_gets_a_proposal() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4\nkind: Template\nmetadata: {name: t}\nspec:\n  metaData:\n    strings: [{key: a, value: b}]\n";
    text("s83", template, 1)
        .reports(&["stdin:2: ", "there is no kind Template; write: kind: Metal3DataTemplate"]);
}

/// Given an owner without uid, it is dropped with a note; a complete one is kept; one that is in the input is filled in.
#[test]
fn s85_an_owner_without_uid_is_dropped_kept_or_filled_in() {
    let owned = |uid: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata:\n  name: t\n  ownerReferences:\n  - apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n    kind: Metal3Cluster\n    name: c\n{uid}spec: {{}}\n"
        )
    };
    let owner = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Cluster\nmetadata: {name: c, uid: u-1}\nspec: {}\n";
    let dropped = text("s85-dropped", &owned(""), 0);
    assert!(!dropped.documents.contains("ownerReferences"), "{}", dropped.documents);
    text("s85-kept", &owned("    uid: u-2\n"), 0)
        .gives(&["uid: u-2", "infrastructure.cluster.x-k8s.io/v1beta2"]);
    text("s85-filled", &format!("{}{owner}", owned("")), 0).gives(&["    name: c\n    uid: u-1\n"]);
}

/// Given bond mode `802.1ad`, it becomes `802.3ad` with a warning.
#[test]
fn s115_the_bond_mode_that_is_none_is_corrected_with_a_warning() {
    let bond =
        "links:\n  bonds:\n  - id: bond0\n    bondMode: 802.1ad\n    macAddress: {fromHostInterface: eth0}";
    text("s115", &network_data(bond), 0).gives(&["bondMode: 802.3ad"]).reports(&["warning: "]);
}

/// Given `vlanId`, it becomes `vlanID`.
#[test]
fn s118_vlan_id_is_written_with_capitals() {
    let vlan = "links:\n  vlans:\n  - id: v\n    vlanId: 7\n    vlanLink: eth0\n    macAddress: {fromHostInterface: eth0}";
    text("s118", &network_data(vlan), 0).gives(&["vlanID: 7"]);
}

/// Given `IPAddressFromIPPool`, its case is corrected.
#[test]
fn s121_the_case_of_the_pool_of_an_address_is_corrected() {
    let network = "networks:\n  ipv4:\n  - id: net\n    link: eth0\n    IPAddressFromIPPool: pool-1";
    text("s121", &network_data(network), 0).gives(&["ipAddressFromIPPool: pool-1"]);
}

/// Given `ipv4Dhcp`, `ipv6Dhcp` and `ipv6Slaac`, their case is corrected.
#[test]
fn s123_the_case_of_automatic_networks_is_corrected() {
    let networks = "networks:\n  ipv4Dhcp: [{id: a, link: l}]\n  ipv6Dhcp: [{id: b, link: l}]\n  ipv6Slaac: [{id: c, link: l}]";
    text("s123", &network_data(networks), 0).gives(&["ipv4DHCP:", "ipv6DHCP:", "ipv6SLAAC:"]);
}

fn routed(route: &str) -> String {
    network_data(&format!(
        "networks:\n  ipv4DHCP:\n  - id: net\n    link: l\n    routes:\n    - network: 10.0.0.0\n      {route}"
    ))
}

/// Given a route with `netmask`, as a number or as text, it has a prefix; a prefix that says something else is for the
/// user to decide.
#[test]
fn s125_the_mask_of_a_route_becomes_its_prefix() {
    text("s125-number", &routed("netmask: 24"), 0).gives(&["prefix: 24"]);
    text("s125-text", &routed("netmask: 255.255.0.0"), 0).gives(&["prefix: 16"]);
    text("s125-both", &routed("netmask: 24\n      prefix: 16"), 1).reports(&[
        "says 24 but",
        "says 16",
        "write: keep one of the two as ",
    ]);
    text("s125-same", &routed("netmask: 24\n      prefix: 24"), 0).gives(&["prefix: 24"]);
}

/// Given a gateway as plain text, it is wrapped.
#[test]
fn s127_a_gateway_as_text_is_wrapped() {
    text("s127", &routed("gateway: 10.0.0.1"), 0).gives(&["gateway:\n            string: \"10.0.0.1\"\n"]);
}

/// Given services as a list in every form of the designs, they are one list of servers without duplicates.
#[test]
fn s130_services_are_merged() {
    let services = "services:\n      - type: dns\n        address: 8.8.8.8\n      - dns: 8.8.4.4\n      - dns: [8.8.8.8, 1.1.1.1]";
    text("s130", &routed(services), 0)
        .gives(&["dns:\n            - \"8.8.8.8\"\n            - \"8.8.4.4\"\n            - \"1.1.1.1\"\n"]);
    text("s130-unknown", &routed("services: [{type: ntp, address: 8.8.8.8}]"), 1)
        .reports(&["is not a service that can be read"]);
}

/// Given `ipAddesses`, the spelling is corrected.
#[test]
fn s132_the_spelling_of_inline_addresses_is_corrected() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4\nkind: Metal3DataTemplate\nmetadata: {name: t}\nspec:\n  metaData:\n    ipAddesses: [{key: ip, subnet: 10.0.0.0/24}]\n";
    text("s132", template, 0).gives(&["ipAddresses:"]).reports(&["ipAddesses -> ipAddresses (misspelt)"]);
}

/// Given a network with `netmask: 24`, it has a prefix.
#[test]
fn s141_the_mask_of_a_network_becomes_its_prefix() {
    let network = "networks:\n  ipv4:\n  - id: net\n    link: eth0\n    ipAddress: {start: 10.0.0.10, end: 10.0.0.20}\n    netmask: 24";
    text("s141", &network_data(network), 0).gives(&["prefix: 24"]);
}

/// Given the printed Metal3DataClaim, its owner without uid and its status are dropped.
#[test]
fn s146_the_printed_claim_is_migrated() {
    for file in ["000-15", "003-03"] {
        manifest(&format!("s146-{file}"), file, 0).gives(&["  template:\n    name: nodepool-1\n"]);
    }
}

/// Given the Metal3Data whose name and namespace contradict its references, both are told, with the name of the owner.
#[test]
fn s147_data_that_contradicts_itself_is_told() {
    manifest("s147", "000-16", 1)
        .reports(&["write: spec.template.name: nodepool-1", "the object is in namespace default, but"]);
}

/// Given Metal3Data with `metal3Machine`, it has a claim, its template is the owner, and one Secret for both is told.
#[test]
fn s148_data_of_a_machine_becomes_data_of_a_claim() {
    for file in ["001-04", "002-01"] {
        manifest(&format!("s148-{file}"), file, 0)
            .gives(&["  claim:\n    name: machine-1\n", "  template:\n    name: nodepool-1\n"])
            .reports(&["one Secret, machine-1-metadata, for both", "write: machine-1-networkdata"]);
    }
}

/// Given the Metal3Data that no YAML parser reads, the line, the column and the correction are told; corrected it is
/// migrated.
#[test]
fn s149_a_wrong_indentation_is_told_with_its_correction() {
    manifest("s149", "003-05", 1).reports(&["003-05.yaml:20: ", "column 2", "column 3", "\"  claim:\""]);
    let corrected =
        fs::read_to_string(seeds().join("003-05.yaml")).unwrap().replace("\n claim:", "\n  claim:");
    text("s149-corrected", &corrected, 0)
        .gives(&["  template:\n    name: nodepool-1\n    namespace: default\n"]);
}

/// Given the Secret with its content under `spec`, it is a Secret that can be used.
#[test]
fn s175_the_printed_secret_becomes_a_secret() {
    for file in ["001-05", "003-06"] {
        manifest(&format!("s175-{file}"), file, 0).gives(&[
            "type: infrastructure.cluster.x-k8s.io/secret",
            "stringData:\n  metaData: |\n    abc: def\n",
        ]);
    }
}

/// Given three data templates without apiVersion, each gets v1beta2 and nothing else changes.
#[test]
fn s197_data_templates_without_version_get_one() {
    manifest("s197", "004-01", 0)
        .reports(&["3 documents, 3 changes, 3 warnings, 0 errors", "004-01.yaml:33: "]);
}

/// Given the printed pools, nothing is changed.
#[test]
fn s198_the_printed_pools_pass_as_they_are() {
    manifest("s198", "004-02", 0).reports(&["3 documents, 0 changes, 0 warnings, 0 errors"]);
}

/// Given the machine template with the map of failure domains, it gets v1beta2 and `diskFormat`; the map stays.
#[test]
fn s199_the_machine_template_keeps_its_failure_domains() {
    manifest("s199", "004-03", 0)
        .gives(&["diskFormat: qcow2", "  - failureDomain: rack3\n    dataTemplate:\n"]);
}

/// Given the control plane in the form of v1beta1 without a version, its form says which it is, and it is converted.
#[test]
fn s200_the_control_plane_of_v1beta1_is_converted() {
    manifest("s200", "004-04", 0)
        .gives(&["    spec:\n      infrastructureRef:\n        apiGroup: infrastructure.cluster.x-k8s.io\n"])
        .gives(&["        - name: cloud-provider\n          value: external\n"])
        .reports(&["by its form the document is of v1beta1"]);
}

/// Every manifest of the designs at once, so that each block goes through; only those blocks fail whose rows say so.
#[test]
fn every_manifest_of_the_designs_goes_through() {
    let run = run(&["-f", ".", "-o", "json"], "");
    let migration: serde_json::Value = serde_json::from_str(&run.documents).unwrap();
    let errors =
        migration["problems"].as_array().unwrap().iter().filter(|problem| problem["severity"] == "error");
    let mut files: Vec<&str> = errors.map(|problem| problem["file"].as_str().unwrap()).collect();
    files.dedup();
    let expected = ["003-05", "000-16", "001-01", "001-02", "003-01", "003-02", "004-05"]
        .map(|file| format!("./{file}.yaml"));
    assert_eq!(files, expected);
    assert_eq!(migration["documents"].as_array().unwrap().len(), 38);
    assert_eq!(run.code, 1);
}

/// Objects of v1beta1 as people have them in their repositories: references by version, durations, strategies, maps, and
/// what Go clients write for unset.
#[test]
fn v1beta1_shapes_of_every_kind_are_converted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cluster-api-v1beta1.yaml");
    let run = text("v1beta1", &fs::read_to_string(file).unwrap(), 0);
    run.gives(&[
        "        retryPeriodSeconds: 120\n".trim_start(),
        "      deletion:\n        nodeDrainTimeoutSeconds: 300\n",
        "    templateRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n",
        "        timeoutSeconds: 300\n",
        "  - name: rack1\n",
        "        - name: bond-lacp-rate\n          value: fast\n        - name: bond-miimon\n          value: 100\n",
    ]);
    for old in [
        "v1beta1",
        "bondXmitHashPolicy",
        "progressDeadlineSeconds",
        "strategy:\n    rollingUpdate",
        "bondLinks",
    ] {
        assert!(!run.documents.contains(old), "{old} is in:\n{}", run.documents);
    }
}

/// With `--portable` an inline range becomes a pool that hands out the same address for each index; equal ranges share
/// one pool; a key that templates share cannot be said.
#[test]
fn portable_output_has_pools_with_the_same_addresses() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4\nkind: Metal3DataTemplate\nmetadata:\n  name: np\n  namespace: default\nspec:\n  templateReference: shared\n  metaData:\n    ipAddesses:\n    - {key: ip, start: 10.0.0.10, end: 10.0.0.12}\n  networkData:\n    networks:\n      ipv4:\n      - id: Baremetal\n        link: eth0\n        ipAddress: {start: 10.0.0.10, end: 10.0.0.12, step: 1}\n        netmask: 24\n      ipv6:\n      - id: Baremetal6\n        link: eth0\n        ipAddress: {subnet: \"2001:db8::/126\", step: 2}\n";
    let run = is_expected("portable", run(&["-f", "-", "--portable"], template));
    assert_eq!(run.code, 0);
    run.gives(&[
        "ipAddressFromIPPool: np-baremetal\n",
        "    ipAddressesFromPool:\n    - key: ip\n      name: np-baremetal\n",
        "    np-2-np-baremetal: \"10.0.0.12\"\n",
        "    np-1-np-baremetal6: 2001:db8::3\n",
    ]);
    assert!(!run.documents.contains("templateReference"), "{}", run.documents);
    assert_eq!(run.documents.matches("kind: IPPool\nmetadata").count(), 2);
}

/// With `--portable` two templates that share a key are an error: without it both would count from 0.
#[test]
fn portable_output_never_parts_templates_that_share_indexes() {
    let one = |name: &str| {
        format!(
            "---\nkind: Metal3DataTemplate\nmetadata: {{name: {name}}}\nspec: {{templateReference: shared}}\n"
        )
    };
    let run =
        is_expected("portable-shared", run(&["-f", "-", "--portable"], &format!("{}{}", one("a"), one("b"))));
    assert_eq!(run.code, 1);
    run.reports(&["another template has the key shared too: without it both would count from 0"]);
}

/// Members that no version knows are errors, unless the user wants them removed.
#[test]
fn unknown_members_are_errors_unless_pruned() {
    let input = machine("dataTempalte: {name: x}\nzzz: 1");
    let found = text("unknown", &input, 1);
    found.reports(&["spec.dataTempalte: unknown member; write: dataTemplate", "spec.zzz: unknown member"]);
    let pruned = is_expected("pruned", run(&["-f", "-", "--prune"], &input));
    assert_eq!(pruned.code, 0);
    assert!(!pruned.documents.contains("zzz"), "{}", pruned.documents);
}

/// A word that YAML takes for a truth value is told, for what the user wrote is lost otherwise.
#[test]
fn text_that_yaml_reads_as_something_else_is_told() {
    text("not-text", &routed("gateway: 10.0.0.1").replace("id: net", "id: n"), 1).reports(&[
        "networks.ipv4DHCP[0].id: is false for YAML where text is expected; write: quotes around it",
    ]);
}

/// Wrong calls end with 2.
#[test]
fn wrong_usage_ends_with_2() {
    assert_eq!(run(&[], "").code, 2);
    assert_eq!(run(&["-f", "no-such-file.yaml"], "").code, 2);
}

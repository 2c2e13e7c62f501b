//! What `--portable` writes, and what it cannot.

use crate::{is_expected, run};

/// With `--portable` an inline range becomes a pool that hands out the same address for each index; equal ranges share
/// one pool; a key that templates share cannot be expressed.
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

/// A key that only the annotation says, as after a time with CRDs that have no field for it, counts as well.
#[test]
fn portable_output_never_parts_templates_that_share_indexes_by_annotation() {
    let one = |name: &str| {
        format!(
            "---\nkind: Metal3DataTemplate\nmetadata: {{name: {name}, annotations: {{capm3.metal3.io/template-reference: shared}}}}\nspec: {{}}\n"
        )
    };
    let both = run(&["-f", "-", "--portable"], &format!("{}{}", one("a"), one("b")));
    let both = is_expected("portable-shared-annotation", both);
    assert_eq!(both.code, 1);
    both.reports(&["another template has the key shared too: without it both would count from 0"]);
    let alone = run(&["-f", "-", "--portable"], &one("a"));
    assert_eq!(alone.code, 0);
    alone.reports(&["templates cannot share indexes in the reference implementation"]);
}

/// A Metal3MachineTemplate with a data template for each of two racks.
fn racks(rack2: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3MachineTemplate\nmetadata: {{name: t}}\nspec:\n  failureDomainDataTemplates:\n  - {{failureDomain: rack1, dataTemplate: {{name: one}}}}\n  - {{failureDomain: rack2, dataTemplate: {{name: {rack2}}}}}\n  template:\n    spec:\n      image: {{url: \"http://x/i\", checksum: \"http://x/i.sha256\"}}\n      dataTemplate: {{name: one}}\n"
    )
}

/// With `--portable` the data templates of failure domains cannot be expressed: where they matter the user must decide, for
/// machines would get the network of another rack; where all are one, nothing is lost without them.
#[test]
fn portable_output_never_loses_the_data_template_of_a_failure_domain() {
    let kept = is_expected("portable-domains", run(&["-f", "-", "--portable"], &racks("two")));
    assert_eq!(kept.code, 1);
    kept.gives(&["failureDomainDataTemplates"]).reports(&[
        "stdin:5: ",
        "machines of rack2 would get data template one; write: a Metal3MachineTemplate",
    ]);
    let dropped = is_expected("portable-one-domain", run(&["-f", "-", "--portable"], &racks("one")));
    assert_eq!(dropped.code, 0);
    assert!(!dropped.documents.contains("failureDomainDataTemplates"), "{}", dropped.documents);
}

/// With `--portable` values that the schema of the reference implementation refuses are reported.
#[test]
fn portable_output_is_reported_where_the_reference_refuses_it() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata: {name: t}\nspec:\n  metaData:\n    strings: [{key: a, value: \"\"}]\n  networkData:\n    links:\n      ethernets: [{id: e, type: phy}]\n      bonds:\n      - {id: b, bondMode: 802.3ad, bondLinks: [e], macAddress: {fromHostInterface: e}}\n      - {id: c, bondMode: 802.3ad, bondLinks: [e], macAddress: {fromHostInterface: e}, parameters: [{name: bond-miimon, value: 100}]}\n      vlans:\n      - {id: v, vlanID: 7, vlanLink: b, macAddress: {fromHostInterface: e}}\n      - {id: w, vlanID: 7, vlanLink: c, macAddress: {fromHostInterface: e}}\n    networks:\n      ipv4DHCP:\n      - id: net\n        link: b\n        routes:\n        - {network: 10.0.0.0, prefix: 8, gateway: {string: 10.0.0.1}}\n        - {network: 10.0.0.0, prefix: 9, gateway: {string: 10.0.0.2}}\n";
    let reported = is_expected("portable-refused", run(&["-f", "-", "--portable"], template));
    assert_eq!(reported.code, 1);
    for what in [
        "an empty text",
        "a link without macAddress",
        "a bond without parameters",
        "a parameter of a bond that is no object",
        "a VLAN on two links",
        "two routes to one network",
    ] {
        reported.reports(&[&format!("the reference implementation refuses {what} in v1beta2")]);
    }
    assert_eq!(run(&["-f", "-"], template).code, 0);
}

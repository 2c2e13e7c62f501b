//! What `--portable` writes, and what it cannot.

use crate::{is_expected, run};

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

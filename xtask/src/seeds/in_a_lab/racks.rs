//! The design with a data template for each rack.

use capm3_lab::manifests::read;

use super::*;

/// The documents of the design with racks, as migrated, on the cluster and the hosts of the example.
fn racks() -> Vec<Manifest> {
    let folder = repo::root().join("examples/three-racks");
    let mut all = Vec::new();
    for file in ["00-namespace.yaml", "10-cluster.yaml", "20-hosts.yaml"] {
        all.extend(read(&folder.join(file)).unwrap());
    }
    all.extend(migrated(&["004-01", "004-02", "004-03", "004-04"]));
    all
}

/// The printed Metal3MachineTemplate, corrected, keeps its image and its list of failure domains in a running cluster.
#[tokio::test(start_paused = true)]
async fn s199_the_printed_template_is_used_with_its_list() {
    let lab = settled(&racks()).await;
    let template = get(&lab, "Metal3MachineTemplate", "my-cluster-cp");
    let block = printed("004-03").remove(0);
    assert_eq!(template["spec"]["failureDomainDataTemplates"], block["spec"]["failureDomainDataTemplates"]);
    let image = &block["spec"]["template"]["spec"]["image"];
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 3);
    for machine in machines {
        assert_eq!(machine["spec"]["image"]["diskFormat"], image["format"]);
        assert_eq!(host(&lab, &machine)["spec"]["image"], *image);
    }
}

/// The printed KubeadmControlPlane, whose form is of v1beta1, has three machines over three racks.
#[tokio::test(start_paused = true)]
async fn s200_the_printed_control_plane_stands_in_three_racks() {
    let lab = settled(&racks()).await;
    let domain = "/metadata/labels/infrastructure.cluster.x-k8s.io~1failure-domain";
    let machines = named_after(&lab, "Metal3Machine", "my-cluster-cp-");
    let mut racks: Vec<String> =
        machines.iter().map(|machine| text(&host(&lab, machine), domain).to_owned()).collect();
    racks.sort();
    assert_eq!(racks, ["rack1", "rack2", "rack3"]);
    assert!(machines.iter().all(|machine| is_ready(machine)));
}

/// The three Metal3Machines are the printed ones, field by field: failure domain, data template, network data; and the Secrets have
/// the VLAN and the subnet of the rack.
#[tokio::test(start_paused = true)]
async fn s201_the_machines_are_the_printed_ones_field_by_field() {
    let lab = settled(&racks()).await;
    let blocks = printed("004-05");
    assert_eq!((blocks.len(), lab.objects("Metal3Machine").len()), (3, 3));
    for (n, block) in (1..).zip(blocks) {
        let machines = lab.objects("Metal3Machine");
        let machine = machines.iter().find(|m| m["spec"]["failureDomain"] == block["spec"]["failureDomain"]);
        let machine = machine.unwrap();
        let (name, printed_name) = (text(machine, "/metadata/name"), text(&block, "/metadata/name"));
        for (member, value) in block["spec"].as_object().unwrap() {
            assert_eq!(&machine["spec"][member], value, "{name}: {member}");
        }
        let network_data = text(&block, "/status/networkData/name").replace(printed_name, name);
        assert_eq!(text(machine, "/status/networkData/name"), network_data);
        let document = secret(&lab, &network_data, "networkData");
        for words in [format!("vlan_id: {n}00"), format!("ip_address: 10.0.{n}.10")] {
            assert!(document.contains(&words), "{words} is not in:\n{document}");
        }
    }
}

//! The machine of the first designs.

use super::*;

/// The Metal3Machine `machine-1` of both older designs, with the image that it lacks and the design's own data template: its status
/// fills as printed.
#[tokio::test(start_paused = true)]
async fn s53_the_status_of_the_printed_machine_fills_as_printed() {
    // Added: a host, the cluster of the API description in that namespace, and the Machine with bootstrap data.
    for (machine, template) in [("001-01", "001-03"), ("003-01", "003-04")] {
        let here = json!({"metadata": {"namespace": "default"}});
        let mut all = hosts("default", 1);
        all.extend([changed("000-01", here.clone()), changed("000-02", here)]);
        all.push(data_template(template, "nodepool-1", "default"));
        all.extend(yaml(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: bootstrap, namespace: default}\nstringData: {value: text}\n---\n\
             apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\n\
             metadata: {name: machine-1, namespace: default, labels: {cluster.x-k8s.io/cluster-name: cluster}}\n\
             spec:\n  clusterName: cluster\n  bootstrap: {dataSecretName: bootstrap}\n  \
             infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: machine-1}\n",
        ));
        let image = json!({"url": "http://192.0.2.1/image", "checksum": "http://192.0.2.1/image.sum"});
        let machine_1 = changed(machine, json!({"spec": {"image": image}}));
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

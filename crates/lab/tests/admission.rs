//! What the embedded server lets pass, refuses and warns of, on the wire.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/wire.rs"]
mod wire;

use serde_json::{Value, json};
use wire::{NEW, OLD, create, lab, object, patch, read_as, try_create};

fn machine(more: Value) -> Value {
    let mut spec = json!({"image": {"url": "http://h/i.qcow2", "checksum": "abc"}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object(NEW, "Metal3Machine", spec)
}

fn ethernet(id: &str, mac: &str) -> Value {
    json!({"id": id, "type": "phy", "macAddress": {"string": mac}})
}

/// A Metal3Cluster of v1beta1 is taken as printed, with a warning that the version is deprecated, and stored as v1beta2.
#[tokio::test(start_paused = true)]
async fn s14_an_older_cluster_is_accepted_with_a_warning_and_stored_again() {
    let lab = lab().await;
    let cluster = object(
        OLD,
        "Metal3Cluster",
        json!({"controlPlaneEndpoint": {"host": "192.168.111.249", "port": 6443}}),
    );
    let answer = create(&lab, &cluster).await;
    assert_eq!(answer.code, 201, "{}", answer.message());
    assert!(
        answer.warns_of("infrastructure.cluster.x-k8s.io/v1beta1 Metal3Cluster is deprecated"),
        "{:?}",
        answer.warnings
    );
    let stored = lab.object("Metal3Cluster", "x").unwrap();
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]["cloudProviderEnabled"]),
        (&json!(NEW), &json!(false))
    );
}

/// `noCloudProvider` alone, in v1beta1: true means that there is no cloud provider, false that there is one; a warning
/// says what is taken.
#[tokio::test(start_paused = true)]
async fn s18_no_cloud_provider_keeps_its_old_meaning() {
    for (old, new) in [(true, false), (false, true)] {
        let lab = lab().await;
        let spec = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}, "noCloudProvider": old});
        let answer = create(&lab, &object(OLD, "Metal3Cluster", spec)).await;
        assert_eq!(answer.code, 201, "{}", answer.message());
        assert!(
            answer.warns_of(&format!("{old} is taken as spec.cloudProviderEnabled: {new}")),
            "{:?}",
            answer.warnings
        );
        assert_eq!(lab.object("Metal3Cluster", "x").unwrap()["spec"]["cloudProviderEnabled"], json!(new));
    }
}

/// `cloudProviderEnabled` is false where it is not given, and may be switched on and off on a live cluster.
#[tokio::test(start_paused = true)]
async fn cl9_the_cloud_provider_is_off_by_default_and_can_be_switched() {
    let lab = lab().await;
    let cluster = object(NEW, "Metal3Cluster", json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}}));
    assert_eq!(create(&lab, &cluster).await.code, 201);
    let enabled = || lab.object("Metal3Cluster", "x").unwrap()["spec"]["cloudProviderEnabled"].clone();
    assert_eq!(enabled(), false);
    for wanted in [true, false] {
        let answer = patch(&lab, &cluster, &json!({"spec": {"cloudProviderEnabled": wanted}})).await;
        assert_eq!(answer.code, 200, "{}", answer.message());
        assert_eq!(enabled(), wanted);
    }
}

/// `noCloudProvider` is accepted in v1beta1, reads back as the inverse of what is stored, and is no field of v1beta2.
#[tokio::test(start_paused = true)]
async fn cl10_no_cloud_provider_reads_back_as_the_inverse() {
    let lab = lab().await;
    let spec = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}, "noCloudProvider": true});
    let cluster = object(OLD, "Metal3Cluster", spec.clone());
    assert_eq!(create(&lab, &cluster).await.code, 201);
    assert_eq!(read_as(&lab, &cluster, OLD).await["spec"]["noCloudProvider"], true);
    let new = read_as(&lab, &cluster, NEW).await;
    assert_eq!(
        (new["spec"].get("noCloudProvider"), &new["spec"]["cloudProviderEnabled"]),
        (None, &json!(false))
    );
    let refused = try_create(&lab, &object(NEW, "Metal3Cluster", spec)).await;
    assert!(refused.message().contains("noCloudProvider"), "{}", refused.message());
}

/// An image needs url and checksum; live-iso, OCI images and a custom deploy step do not.
#[tokio::test(start_paused = true)]
async fn s36_an_image_without_url_or_checksum_is_refused() {
    let lab = lab().await;
    let table = [
        (json!({}), "Spec.Image: Required value"),
        (json!({"image": {"url": "http://h/i"}}), "Spec.Image.Checksum: Required value"),
        (json!({"image": {"url": "http://h/i", "checksum": ""}}), "hecksum"),
        (json!({"image": {"checksum": "c"}}), "mage.url: Required value"),
        (json!({"image": {"url": "", "checksum": "c"}}), "mage.url"),
        (json!({"image": {"url": "http://h/i", "checksum": "c"}}), ""),
        (json!({"image": {"url": "http://h/i.iso", "diskFormat": "live-iso"}}), ""),
        (json!({"image": {"url": "oci://r/i:1"}}), ""),
        (json!({"customDeploy": {"method": "install"}}), ""),
    ];
    for (spec, refusal) in table {
        let answer = try_create(&lab, &object(NEW, "Metal3Machine", spec.clone())).await;
        assert_eq!(answer.code == 201, refusal.is_empty(), "{spec}: {}", answer.message());
        assert!(answer.message().contains(refusal), "{spec}: {}", answer.message());
    }
}

/// `image.format` of v1beta1 is `image.diskFormat` of v1beta2, and reads back under its old name.
#[tokio::test(start_paused = true)]
async fn s38_the_older_format_is_the_disk_format() {
    let lab = lab().await;
    let spec = json!({"image": {"url": "http://h/i", "checksum": "c", "format": "raw"}});
    let sent = object(OLD, "Metal3Machine", spec);
    assert_eq!(create(&lab, &sent).await.code, 201);
    assert_eq!(lab.object("Metal3Machine", "x").unwrap()["spec"]["image"]["diskFormat"], "raw");
    assert_eq!(read_as(&lab, &sent, OLD).await["spec"]["image"]["format"], "raw");
}

/// A data template is taken from the machine's own namespace; another one is refused with the reason.
#[tokio::test(start_paused = true)]
async fn s41_a_data_template_of_another_namespace_is_refused() {
    let lab = lab().await;
    let with = |template: Value| machine(json!({"dataTemplate": template}));
    for template in [json!({"name": "t"}), json!({"name": "t", "namespace": "default"})] {
        assert_eq!(try_create(&lab, &with(template)).await.code, 201);
    }
    let refused = try_create(&lab, &with(json!({"name": "t", "namespace": "other"}))).await;
    assert_eq!(refused.code, 422);
    assert!(refused.message().contains("spec.dataTemplate.namespace: Forbidden"), "{}", refused.message());
}

/// Cleaning is `metadata` or `disabled`; nothing else is accepted.
#[tokio::test(start_paused = true)]
async fn s50_another_cleaning_mode_is_refused() {
    let lab = lab().await;
    for (mode, code) in [("metadata", 201), ("disabled", 201), ("full", 422)] {
        assert_eq!(
            try_create(&lab, &machine(json!({"automatedCleaningMode": mode}))).await.code,
            code,
            "{mode}"
        );
    }
}

/// A Secret name with a capital letter can never exist; the refusal proposes the one that can.
#[tokio::test(start_paused = true)]
async fn s54_a_secret_name_that_cannot_exist_is_refused_with_a_proposal() {
    let refused =
        try_create(&lab().await, &machine(json!({"networkData": {"name": "machine-1-networkData"}}))).await;
    assert_eq!(refused.code, 422);
    assert!(refused.message().contains("did you mean \"machine-1-networkdata\"?"), "{}", refused.message());
}

/// `=` and `!=` take one value, `gt` and `lt` an integer; the refusal names the expression.
#[tokio::test(start_paused = true)]
async fn s59_s61_s64_a_selector_that_cannot_be_used_is_refused() {
    let lab = lab().await;
    for (operator, values) in
        [("=", json!(["a", "b"])), ("!=", json!(["a", "b"])), ("gt", json!(["x"])), ("like", json!(["a"]))]
    {
        let expression = json!({"key": "rack", "operator": operator, "values": values});
        let refused =
            try_create(&lab, &machine(json!({"hostSelector": {"matchExpressions": [expression]}}))).await;
        assert_eq!(refused.code, 422, "{operator}");
        assert!(refused.message().contains("spec.hostSelector.matchExpressions[0]"), "{}", refused.message());
    }
}

/// Expressions are a list; one written as a map is refused by the schema.
#[tokio::test(start_paused = true)]
async fn s70_an_expression_that_is_no_list_is_refused() {
    let expressions = json!({"key": "a", "operator": "in", "values": ["b"]});
    let refused =
        try_create(&lab().await, &machine(json!({"hostSelector": {"matchExpressions": expressions}}))).await;
    assert!(refused.code >= 400 && refused.message().contains("matchExpressions"), "{}", refused.message());
}

/// Cleaning mode and node reuse of a template can be changed while it is in use.
#[tokio::test(start_paused = true)]
async fn s78_cleaning_and_node_reuse_of_a_live_template_can_be_changed() {
    let lab = lab().await;
    let image = json!({"url": "http://h/i", "checksum": "c"});
    let template = object(NEW, "Metal3MachineTemplate", json!({"template": {"spec": {"image": image}}}));
    assert_eq!(create(&lab, &template).await.code, 201);
    let change =
        json!({"spec": {"nodeReuse": true, "template": {"spec": {"automatedCleaningMode": "disabled"}}}});
    assert_eq!(patch(&lab, &template, &change).await.code, 200);
}

/// An owner reference without uid is refused by any API server.
#[tokio::test(start_paused = true)]
async fn s85_an_owner_without_uid_is_refused() {
    let mut template = object(NEW, "Metal3DataTemplate", json!({}));
    template["metadata"]["ownerReferences"] =
        json!([{"apiVersion": NEW, "kind": "Metal3Cluster", "name": "c"}]);
    let refused = try_create(&lab().await, &template).await;
    assert!(refused.message().contains("uid"), "{} {}", refused.code, refused.message());
}

/// `clusterName` is accepted in both versions, with a warning that it is deprecated.
#[tokio::test(start_paused = true)]
async fn s87_dt86_a_cluster_name_is_accepted_with_a_warning() {
    let lab = lab().await;
    for version in [OLD, NEW] {
        let answer =
            try_create(&lab, &object(version, "Metal3DataTemplate", json!({"clusterName": "c"}))).await;
        assert_eq!(answer.code, 201, "{}", answer.message());
        assert!(answer.warns_of("spec.clusterName is deprecated"), "{:?}", answer.warnings);
    }
}

/// A key in two lists of metaData is warned of: the later list wins.
#[tokio::test(start_paused = true)]
async fn s100_a_key_in_two_lists_is_warned_of() {
    let item = json!([{"key": "ip", "name": "pool"}]);
    let spec = json!({"metaData": {"ipAddressesFromPool": item, "prefixesFromPool": item}});
    let answer = try_create(&lab().await, &object(NEW, "Metal3DataTemplate", spec)).await;
    assert!(answer.code == 201 && answer.warns_of("prefixesFromPool wins"), "{:?}", answer.warnings);
}

/// A placeholder instead of a MAC address is accepted with a warning.
#[tokio::test(start_paused = true)]
async fn s110_a_placeholder_mac_is_warned_of() {
    let links = json!({"ethernets": [ethernet("eno1", "XX:XX:XX:XX:XX:XX")]});
    let answer = try_create(
        &lab().await,
        &object(NEW, "Metal3DataTemplate", json!({"networkData": {"links": links}})),
    )
    .await;
    assert!(answer.code == 201 && answer.warns_of("is not a MAC address"), "{:?}", answer.warnings);
}

/// A link id that names no link is warned of.
#[tokio::test(start_paused = true)]
async fn s119_a_dangling_link_is_warned_of() {
    let network_data = json!({"links": {"ethernets": [ethernet("eno1", "52:54:00:aa:01:01")]},
        "networks": {"ipv4DHCP": [{"id": "n", "link": "eno2"}]}});
    let answer =
        try_create(&lab().await, &object(NEW, "Metal3DataTemplate", json!({"networkData": network_data})))
            .await;
    assert!(answer.code == 201 && answer.warns_of("no link has id"), "{:?}", answer.warnings);
}

/// Index, claim and template of a Metal3Data cannot be edited.
#[tokio::test(start_paused = true)]
async fn s161_what_a_data_object_is_about_cannot_be_edited() {
    let lab = lab().await;
    let mut data =
        object(NEW, "Metal3Data", json!({"index": 3, "template": {"name": "t"}, "claim": {"name": "c"}}));
    data["metadata"]["name"] = json!("t-3");
    assert_eq!(create(&lab, &data).await.code, 201);
    for spec in [json!({"index": 4}), json!({"template": {"name": "u"}}), json!({"claim": {"name": "d"}})] {
        let refused = patch(&lab, &data, &json!({"spec": spec})).await;
        assert!(
            refused.code == 422 && refused.message().contains("cannot be modified"),
            "{}",
            refused.message()
        );
    }
}

/// The key of an index space, on a template and on data, in both versions, is neither changed nor taken away once it is
/// given; where there is none it may be given.
#[tokio::test(start_paused = true)]
async fn s172_the_key_of_an_index_space_cannot_be_changed() {
    let template = json!({"metaData": {"strings": [{"key": "a", "value": "1"}]}});
    let data = json!({"index": 3, "template": {"name": "t"}, "claim": {"name": "c"}});
    for (version, kind, name, spec) in [
        (NEW, "Metal3DataTemplate", "t", &template),
        (OLD, "Metal3DataTemplate", "t", &template),
        (NEW, "Metal3Data", "t-3", &data),
        (OLD, "Metal3Data", "t-3", &data),
    ] {
        let lab = lab().await;
        let mut object = object(version, kind, spec.clone());
        object["metadata"]["name"] = json!(name);
        let made = create(&lab, &object).await;
        assert_eq!(made.code, 201, "{kind}: {}", made.message());
        let given = patch(&lab, &object, &json!({"spec": {"templateReference": "k"}})).await;
        assert_eq!(given.code, 200, "{kind}: {}", given.message());
        for other in [json!("other"), json!(null), json!("")] {
            let refused = patch(&lab, &object, &json!({"spec": {"templateReference": other}})).await;
            let reported = refused.message();
            assert!(
                refused.code == 422 && reported.contains("spec.templateReference"),
                "{version} {kind} {other}: {reported}"
            );
        }
    }
}

/// The data templates of failure domains: one a domain, named, and of the same namespace.
#[tokio::test(start_paused = true)]
async fn s212_failure_domain_templates_that_cannot_be_used_are_refused() {
    let lab = lab().await;
    let entry = |domain: &str, template: Value| json!({"failureDomain": domain, "dataTemplate": template});
    let table = [
        (
            json!([
                entry("r1", json!({"name": "a"})),
                entry("r2", json!({"name": "a", "namespace": "default"}))
            ]),
            201,
        ),
        (json!([entry("r1", json!({"name": "a"})), entry("r1", json!({"name": "b"}))]), 422),
        (json!([entry("", json!({"name": "a"}))]), 422),
        (json!([entry("r1", json!({}))]), 422),
        (json!([entry("r1", json!({"name": "a", "namespace": "other"}))]), 422),
    ];
    for version in [OLD, NEW] {
        for (list, code) in &table {
            let image = json!({"url": "http://h/i", "checksum": "c"});
            let spec = json!({"template": {"spec": {"image": image}}, "failureDomainDataTemplates": list});
            let answer = try_create(&lab, &object(version, "Metal3MachineTemplate", spec)).await;
            assert_eq!(answer.code, *code, "{version} {list}: {}", answer.message());
        }
    }
}

/// Taking a finalizer off, or touching what is being deleted, is never refused, however wrong the object is.
#[tokio::test(start_paused = true)]
async fn an_object_that_goes_is_never_held_by_admission() {
    let lab = lab().await;
    let mut template =
        object(NEW, "Metal3DataTemplate", json!({"metaData": {"strings": [{"key": "a", "value": "1"}]}}));
    template["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(create(&lab, &template).await.code, 201);
    let path = format!("{}/x", wire::path_of(&template));
    assert_eq!(wire::send(&lab, "DELETE", &path, None).await.code, 200);
    let change = json!({"spec": {"metaData": null}});
    assert_eq!(patch(&lab, &template, &change).await.code, 200);
    assert_eq!(patch(&lab, &template, &json!({"metadata": {"finalizers": []}})).await.code, 200);
}

/// What the newer schema fills in is no change of the author's: a template that came by the older version, with
/// members left out that the newer one has defaults for, can be labelled and released in both.
#[tokio::test(start_paused = true)]
async fn a_template_of_the_older_version_is_not_frozen_by_what_the_schema_fills_in() {
    let network = json!({"id": "net", "link": "eth0", "fromPoolRef": {"name": "pool", "kind": "IPPool"}});
    let specs = [
        json!({"clusterName": "c", "networkData": {
            "links": {"ethernets": [ethernet("eth0", "00:00:00:00:00:01")]}, "networks": {"ipv4": [network]}}}),
        json!({"clusterName": "c", "metaData": {"indexes": [{"key": "i", "step": 0}]}}),
    ];
    for spec in specs {
        let lab = lab().await;
        let mut template = object(OLD, "Metal3DataTemplate", spec);
        template["metadata"]["finalizers"] = json!(["example.com/hold"]);
        let answer = create(&lab, &template).await;
        assert_eq!(answer.code, 201, "{}", answer.message());
        let stored = lab.object("Metal3DataTemplate", "x").unwrap();
        let filled = [
            stored.pointer("/spec/networkData/networks/ipv4/0/fromPoolRef/apiGroup"),
            stored.pointer("/spec/metaData/indexes/0/step"),
        ];
        assert!(filled.contains(&Some(&json!("ipam.metal3.io"))) || filled.contains(&Some(&json!(1))));
        for version in [OLD, NEW] {
            template["apiVersion"] = json!(version);
            for change in [
                json!({"metadata": {"labels": {"version": version.replace('/', "_")}}}),
                json!({"metadata": {"finalizers": []}}),
                json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            ] {
                let answer = patch(&lab, &template, &change).await;
                assert_eq!(answer.code, 200, "{version} {change}: {}", answer.message());
            }
        }
    }
}

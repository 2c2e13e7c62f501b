//! Conversions that a requirement names.

use capm3_api::{conversion::ConversionError, v1beta1, vocabulary::annotation::CONVERSION_DATA};
use serde_json::{Value, json};

use crate::{convert, to_hub, to_spoke};

fn v1beta1(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": v1beta1::API_VERSION, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, "spec": spec})
}

fn v1beta2(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
        "metadata": {"name": "x", "namespace": "n"}, "spec": spec})
}

/// `noCloudProvider` alone means the opposite of `cloudProviderEnabled`; where both are given, the newer field counts.
#[test]
fn s18_no_cloud_provider_is_the_opposite_of_cloud_provider_enabled() {
    for (spec, enabled) in [
        (json!({"noCloudProvider": true}), json!(false)),
        (json!({"noCloudProvider": false}), json!(true)),
        (json!({"noCloudProvider": true, "cloudProviderEnabled": true}), json!(true)),
        (json!({}), Value::Null),
    ] {
        let hub = to_hub(&v1beta1("Metal3Cluster", spec.clone())).unwrap();
        assert_eq!(hub["spec"]["cloudProviderEnabled"], enabled, "{spec}");
        assert_eq!(hub["spec"].get("noCloudProvider"), None);
        let template =
            to_hub(&v1beta1("Metal3ClusterTemplate", json!({"template": {"spec": spec}}))).unwrap();
        assert_eq!(template["spec"]["template"]["spec"]["cloudProviderEnabled"], enabled);
    }
}

/// `image.format` of v1beta1 is stored as `image.diskFormat` and read back as `format`.
#[test]
fn s38_the_image_format_has_another_name_in_each_version() {
    let old =
        v1beta1("Metal3Machine", json!({"image": {"url": "http://x/i", "checksum": "c", "format": "qcow2"}}));
    let hub = to_hub(&old).unwrap();
    assert_eq!(hub["spec"]["image"], json!({"url": "http://x/i", "checksum": "c", "diskFormat": "qcow2"}));
    assert_eq!(to_spoke(&hub).unwrap()["spec"]["image"]["format"], "qcow2");
}

/// A route's `netmask` of older documents is its `prefix`; where both are given, the `prefix` counts.
#[test]
fn s125_the_netmask_of_an_older_route_is_its_prefix() {
    for (route, prefix) in [
        (json!({"netmask": 24}), json!(24)),
        (json!({"netmask": 24, "prefix": 0}), json!(24)),
        (json!({"netmask": 24, "prefix": 16}), json!(16)),
        (json!({"netmask": 0}), Value::Null),
    ] {
        let spec =
            json!({"networkData": {"networks": {"ipv4DHCP": [{"id": "a", "link": "b", "routes": [route]}]}}});
        let hub = to_hub(&v1beta1("Metal3DataTemplate", spec)).unwrap();
        let stored = &hub["spec"]["networkData"]["networks"]["ipv4DHCP"][0]["routes"][0];
        assert_eq!(stored["prefix"], prefix);
        assert_eq!(stored.get("netmask"), None);
    }
}

/// `templateReference` of a template and of its data is kept through both directions.
#[test]
fn s171_dt85_a_template_reference_survives_both_directions() {
    for kind in ["Metal3DataTemplate", "Metal3Data"] {
        let hub = to_hub(&v1beta1(kind, json!({"templateReference": "shared"}))).unwrap();
        assert_eq!(hub["spec"]["templateReference"], "shared");
        let spoke = to_spoke(&hub).unwrap();
        assert_eq!(spoke["spec"]["templateReference"], "shared");
        assert_eq!(to_hub(&spoke).unwrap()["spec"]["templateReference"], "shared");
    }
}

/// The data templates of failure domains are shown in v1beta1 as they are and come back.
#[test]
fn s217_data_templates_of_failure_domains_survive_both_directions() {
    let list = json!([{"failureDomain": "rack2", "dataTemplate": {"name": "b"}},
        {"failureDomain": "rack1", "dataTemplate": {"name": "a", "namespace": "n"}}]);
    let hub = v1beta2(
        "Metal3MachineTemplate",
        json!({"template": {"spec": {}}, "failureDomainDataTemplates": list}),
    );
    let spoke = to_spoke(&hub).unwrap();
    assert_eq!(spoke["spec"]["failureDomainDataTemplates"], list);
    assert_eq!(to_hub(&spoke).unwrap()["spec"]["failureDomainDataTemplates"], list);
}

/// What a template says of machines to come is the same in both versions.
#[test]
fn the_capacity_of_a_template_survives_both_directions() {
    let mut hub = v1beta2("Metal3MachineTemplate", json!({"template": {"spec": {}}}));
    hub["status"] = json!({"capacity": {"cpu": "32", "memory": "131072Mi", "nvidia.com/gpu": "1"},
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}});
    let mut spoke = to_spoke(&hub).unwrap();
    assert_eq!(spoke["status"], hub["status"]);
    assert_eq!(to_hub(&spoke).unwrap()["status"], hub["status"]);
    spoke["status"]["capacity"]["cpu"] = json!("16");
    assert_eq!(to_hub(&spoke).unwrap()["status"]["capacity"]["cpu"], "16");
}

/// v1beta1 shows indexes by claim; the name of the data that stands for an index comes back with it, also if another
/// claim was added meanwhile.
#[test]
fn s88_the_names_of_data_survive_a_reader_of_indexes_by_claim() {
    let mut hub = v1beta2("Metal3DataTemplate", json!({}));
    hub["status"] = json!({"indexes": [{"name": "m-a", "index": 0, "dataName": "t-0"},
        {"name": "m-b", "index": 1, "dataName": "shared-1"}]});
    let mut spoke = to_spoke(&hub).unwrap();
    assert_eq!(spoke["status"]["indexes"], json!({"m-a": 0, "m-b": 1}));
    assert_eq!(to_hub(&spoke).unwrap()["status"], hub["status"]);
    spoke["status"]["indexes"]["m-c"] = json!(2);
    spoke["status"]["indexes"].as_object_mut().unwrap().shift_remove("m-a");
    let expected = json!([{"name": "m-b", "index": 1, "dataName": "shared-1"}, {"name": "m-c", "index": 2}]);
    assert_eq!(to_hub(&spoke).unwrap()["status"]["indexes"], expected);
}

#[test]
fn what_a_reader_of_the_older_version_changes_stays_changed() {
    let hub = v1beta2(
        "Metal3MachineTemplate",
        json!({"nodeReuse": true, "newer": {"a": 1}, "template": {
            "metadata": {"labels": {"rack": "1"}},
            "spec": {"image": {"url": "http://x/1", "newer": 5}, "failureDomain": "rack1",
                "hostSelector": {"matchLabels": {"a": "b"}}}}}),
    );
    let mut spoke = to_spoke(&hub).unwrap();
    let machine = &mut spoke["spec"]["template"]["spec"];
    machine["image"]["url"] = json!("http://x/2");
    machine["image"]["checksum"] = json!("c");
    machine["hostSelector"] = json!({"matchLabels": {"c": "d"}});
    machine.as_object_mut().unwrap().shift_remove("failureDomain");
    spoke["spec"]["nodeReuse"] = json!(false);
    assert_eq!(
        to_hub(&spoke).unwrap()["spec"],
        json!({"newer": {"a": 1}, "template": {
            "metadata": {"labels": {"rack": "1"}},
            "spec": {"image": {"url": "http://x/2", "newer": 5, "checksum": "c"},
                "hostSelector": {"matchLabels": {"c": "d"}}}}})
    );
}

#[test]
fn an_empty_list_of_values_stays_in_a_template_because_machines_are_created_from_it() {
    let selector = json!({"matchExpressions": [{"key": "gpu", "operator": "exists", "values": []}]});
    let template =
        v1beta1("Metal3MachineTemplate", json!({"template": {"spec": {"hostSelector": selector}}}));
    assert_eq!(to_hub(&template).unwrap()["spec"]["template"]["spec"]["hostSelector"], selector);
}

#[test]
fn the_annotation_is_written_only_where_something_would_be_lost() {
    let kept = |object: &Value| object["metadata"]["annotations"].get(CONVERSION_DATA).is_some();
    assert!(kept(&to_spoke(&v1beta2("Metal3Machine", json!({}))).unwrap()));
    assert!(!kept(&to_spoke(&v1beta2("Metal3DataClaim", json!({"template": {"name": "t"}}))).unwrap()));
    assert!(kept(&to_spoke(&v1beta2("Metal3DataClaim", json!({"newer": 1}))).unwrap()));
}

#[test]
fn an_object_in_the_wanted_version_is_given_back_as_it_is() {
    let object = v1beta2("Metal3Machine", json!({"anything": [null, {}]}));
    assert_eq!(to_hub(&object).unwrap(), object);
}

#[test]
fn what_cannot_be_converted_is_refused_with_a_sentence_that_says_why() {
    let hub = "infrastructure.cluster.x-k8s.io/v1beta2";
    let bad_data = json!({"apiVersion": v1beta1::API_VERSION, "kind": "Metal3Machine",
        "metadata": {"annotations": {CONVERSION_DATA: "{oops"}}});
    for (object, to, text) in [
        (json!([]), hub, "apiVersion and kind"),
        (json!({"kind": "Metal3Machine"}), hub, "apiVersion and kind"),
        (json!({"apiVersion": "v1", "kind": "Pod"}), hub, "Pod of v1 cannot be converted"),
        (json!({"apiVersion": "v1", "kind": "Metal3Machine"}), hub, "v1 is not served"),
        (v1beta1("Metal3Machine", json!({})), "x/v9", "x/v9 is not served"),
        (bad_data, hub, "remove the annotation"),
        (
            v1beta1("Metal3Remediation", json!({"strategy": {"timeout": "soon"}})),
            hub,
            "spec.strategy.timeout: \"soon\" is not a duration",
        ),
        (
            v1beta1("Metal3RemediationTemplate", json!({"template": {"spec": {"strategy": {"timeout": 5}}}})),
            hub,
            "spec.template.spec.strategy.timeout: 5 is not a duration",
        ),
    ] {
        let error: ConversionError = convert(object.clone(), to).unwrap_err();
        assert!(error.to_string().contains(text), "{object}: {error}");
    }
}

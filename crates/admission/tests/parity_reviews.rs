//! Capabilities of the Go provider's webhooks, asked as an API server asks.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_admission::review::{self, Route};
use serde_json::{Value, json};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";

fn object(kind: &str, name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "ns1"});
    json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": kind, "metadata": metadata, "spec": spec})
}

/// The response to a review of an object, or of what an update makes of `old`.
fn ask(task: &str, old: Option<&Value>, new: &Value) -> Value {
    let kind = new["kind"].as_str().unwrap().to_lowercase();
    let path = format!("/{task}-{}-v1beta2-{kind}", GROUP.replace('.', "-"));
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({"uid": "u", "operation": operation, "object": new, "oldObject": old});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let reply = review::answer(Route::of(&path).unwrap(), review.to_string().as_bytes());
    assert_eq!(reply.code, 200, "{}", String::from_utf8_lossy(&reply.body));
    serde_json::from_slice::<Value>(&reply.body).unwrap()["response"].clone()
}

/// The object with what defaulting adds.
fn filled_in(object: &Value) -> Value {
    let (response, mut object) = (ask("mutate", None, object), object.clone());
    if let Some(patch) = response["patch"].as_str() {
        let patch = BASE64_STANDARD.decode(patch).unwrap();
        json_patch::patch(&mut object, &serde_json::from_slice::<json_patch::Patch>(&patch).unwrap())
            .unwrap();
    }
    object
}

/// The fields for which a request is refused, in order; none if it is let pass.
fn wrong_fields(old: Option<&Value>, new: &Value) -> Vec<String> {
    let response = ask("validate", old, new);
    let causes = response["status"]["details"]["causes"].as_array().cloned().unwrap_or_default();
    assert_eq!(response["allowed"] == true, causes.is_empty(), "{response}");
    let mut fields: Vec<String> = causes.iter().map(|it| it["field"].as_str().unwrap().to_owned()).collect();
    fields.sort();
    fields
}

/// Defaults are filled in: port 6443 of the endpoint, `cloudProviderEnabled` false, and for a remediation template Reboot,
/// 600 seconds, one retry.
#[test]
fn wh133_defaults_are_filled_in() {
    let cluster = filled_in(&object("Metal3Cluster", "c", json!({"controlPlaneEndpoint": {"host": "h"}})));
    let expected =
        json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}, "cloudProviderEnabled": false});
    assert_eq!(cluster["spec"], expected);
    let given = json!({"controlPlaneEndpoint": {"host": "h", "port": 443}, "cloudProviderEnabled": true});
    assert_eq!(filled_in(&object("Metal3Cluster", "c", given.clone()))["spec"], given);
    let template = |strategy| {
        let spec = json!({"template": {"spec": {"strategy": strategy}}});
        filled_in(&object("Metal3RemediationTemplate", "r", spec))["spec"]["template"]["spec"]["strategy"]
            .clone()
    };
    let defaults = json!({"type": "Reboot", "timeoutSeconds": 600, "retryLimit": 1});
    assert_eq!(template(json!({})), defaults);
    assert_eq!(template(json!({"timeoutSeconds": 0, "retryLimit": 0, "type": ""})), defaults);
    let given = json!({"type": "Reboot", "timeoutSeconds": 100, "retryLimit": 3});
    assert_eq!(template(given.clone()), given);
}

/// An image needs a well-formed URL, and a checksum unless it is a live ISO or an OCI image; `customDeploy` may stand for it.
#[test]
fn wh134_an_image_is_complete_or_replaced() {
    let table = [
        (json!({}), vec!["Spec.Image"]),
        (json!({"customDeploy": {"method": "install"}}), vec![]),
        (json!({"image": {"url": "http://h/i", "checksum": "http://h/s"}}), vec![]),
        (json!({"image": {"url": "http://h/i"}}), vec!["Spec.Image.Checksum"]),
        (json!({"image": {"url": "http://h/i", "diskFormat": "live-iso"}}), vec![]),
        (json!({"image": {"url": "oci://h/i"}}), vec![]),
        (json!({"image": {"url": "oci://h/i", "checksum": "s"}}), vec!["Spec.Image.Checksum"]),
        (json!({"image": {"url": "i", "checksum": "s"}}), vec!["Spec.Image.URL"]),
    ];
    for (spec, expected) in table {
        let machine = object("Metal3Machine", "m", spec.clone());
        assert_eq!(wrong_fields(None, &machine), expected, "{spec}");
        assert_eq!(
            wrong_fields(Some(&machine), &machine).is_empty(),
            expected.is_empty(),
            "update of {spec}"
        );
    }
}

/// Index, template and claim of a Metal3Data, the template of a claim, and metaData and networkData of a template cannot be
/// changed.
#[test]
fn wh135_what_identifies_data_cannot_be_changed() {
    let data = |index: u32, template: &str, claim: &str| {
        let spec = json!({"index": index, "template": {"name": template}, "claim": {"name": claim}});
        object("Metal3Data", "t-0", spec)
    };
    let claim = |template: &str| object("Metal3DataClaim", "c", json!({"template": {"name": template}}));
    let template = |key: &str, link: &str| {
        let links =
            json!({"ethernets": [{"type": "phy", "id": link, "macAddress": {"fromHostInterface": "eth0"}}]});
        let spec =
            json!({"metaData": {"strings": [{"key": key, "value": "v"}]}, "networkData": {"links": links}});
        object("Metal3DataTemplate", "t", spec)
    };
    let table = [
        (data(0, "t", "c"), data(0, "t", "c"), vec![]),
        (data(0, "t", "c"), data(1, "t", "c"), vec!["spec.Index"]),
        (data(0, "t", "c"), data(0, "u", "d"), vec!["spec.Template", "spec.claim"]),
        (claim("t"), claim("t"), vec![]),
        (claim("t"), claim("u"), vec!["spec.template"]),
        (template("k", "e0"), template("k", "e0"), vec![]),
        (template("k", "e0"), template("l", "e0"), vec!["spec.MetaData"]),
        (template("k", "e0"), template("k", "e1"), vec!["spec.NetworkData"]),
    ];
    for (old, new, expected) in table {
        assert_eq!(wrong_fields(Some(&old), &new), expected, "{} to {}", old["spec"], new["spec"]);
    }
}

/// A claim names a template of its own namespace; a static network names a pool; a host interface is named by itself or as
/// the one that boots.
#[test]
fn wh136_references_are_complete_and_stay_in_the_namespace() {
    let claim = |namespace| {
        object("Metal3DataClaim", "c", json!({"template": {"name": "t", "namespace": namespace}}))
    };
    assert!(wrong_fields(None, &claim("ns1")).is_empty());
    assert_eq!(wrong_fields(None, &claim("ns2")), ["spec.template.namespace"]);
    let network = |pool: Value| {
        let network = json!({"id": "n", "link": "e0", "fromPoolRef": pool});
        object("Metal3DataTemplate", "t", json!({"networkData": {"networks": {"ipv4": [network]}}}))
    };
    assert_eq!(
        wrong_fields(None, &network(json!({}))),
        ["spec.networkData.networks.ipv4.0.fromPoolRef.name"]
    );
    assert!(!wrong_fields(None, &network(json!({"name": "p"}))).iter().any(|it| it.contains("fromPoolRef")));
    for (interface, is_allowed) in [
        (json!({"interface": "eth0"}), true),
        (json!({"fromBootMAC": true}), true),
        (json!({}), false),
        (json!({"interface": "eth0", "fromBootMAC": true}), false),
    ] {
        let mut named = interface.clone();
        named["key"] = json!("k");
        let template =
            object("Metal3DataTemplate", "t", json!({"metaData": {"fromHostInterfaces": [named]}}));
        let expected: &[&str] =
            if is_allowed { &[] } else { &["spec.metaData.fromHostInterfaces.0.interface"] };
        assert_eq!(wrong_fields(None, &template), expected, "{interface}");
    }
}

/// A remediation reboots, waits 0 or at least 100 seconds, and retries at least once.
#[test]
fn wh137_a_remediation_strategy_is_one_that_is_supported() {
    for (strategy, wrong) in [
        (json!({"type": "Reboot", "timeoutSeconds": 100, "retryLimit": 1}), vec![]),
        (json!({"type": "Reboot", "timeoutSeconds": 0, "retryLimit": 1}), vec![]),
        (json!({"type": "Reboot", "timeoutSeconds": 99, "retryLimit": 1}), vec!["timeoutSeconds"]),
        (json!({"type": "Wipe", "timeoutSeconds": 0, "retryLimit": 0}), vec!["retryLimit", "type"]),
    ] {
        let plain = object("Metal3Remediation", "r", json!({"strategy": strategy}));
        let expected: Vec<String> = wrong.iter().map(|it| format!("spec.strategy.{it}")).collect();
        assert_eq!(wrong_fields(None, &plain), expected, "{strategy}");
        let template = json!({"template": {"spec": {"strategy": strategy}}});
        let template = object("Metal3RemediationTemplate", "r", template);
        let expected: Vec<String> =
            wrong.iter().map(|it| format!("spec.template.spec.strategy.{it}")).collect();
        assert_eq!(wrong_fields(None, &template), expected, "{strategy}");
    }
}

/// Where what an older version cannot show is kept.
const KEPT: &str = "/metadata/annotations/cluster.x-k8s.io~1conversion-data";

/// One object of each of the nine kinds, as v1beta2 stores it.
fn nine() -> Vec<Value> {
    let strategy = json!({"strategy": {"type": "Reboot", "timeoutSeconds": 300, "retryLimit": 2}});
    let endpoint = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}, "cloudProviderEnabled": true});
    let image = json!({"image": {"url": "http://h/i", "checksum": "http://h/s", "diskFormat": "raw"}});
    let mut data =
        object("Metal3Data", "o", json!({"index": 3, "template": {"name": "t"}, "claim": {"name": "c"}}));
    // v1beta1 always says whether data is ready.
    data["status"] = json!({"ready": true});
    vec![
        object("Metal3Cluster", "o", endpoint.clone()),
        object("Metal3ClusterTemplate", "o", json!({"template": {"spec": endpoint}})),
        object("Metal3Machine", "o", image.clone()),
        object("Metal3MachineTemplate", "o", json!({"template": {"spec": image}, "nodeReuse": true})),
        data,
        object("Metal3DataClaim", "o", json!({"template": {"name": "t"}})),
        object(
            "Metal3DataTemplate",
            "o",
            json!({"clusterName": "c", "metaData": {"strings": [{"key": "k", "value": "v"}]}}),
        ),
        object("Metal3Remediation", "o", strategy.clone()),
        object("Metal3RemediationTemplate", "o", json!({"template": {"spec": strategy}})),
    ]
}

/// Each of the nine kinds is stored in v1beta2 and served in v1beta1 too, with a warning that it is deprecated.
#[test]
fn api138_nine_kinds_are_stored_in_v1beta2_and_deprecated_in_v1beta1() {
    let mut kinds = Vec::new();
    for crd in capm3_api::crd::all().into_iter().filter(|crd| crd["spec"]["group"] == GROUP) {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let facts = |version: &Value| {
            let warning = version["deprecationWarning"].as_str().unwrap_or_default().to_owned();
            let is = |name: &str| version[name] == true;
            (
                version["name"].as_str().unwrap().to_owned(),
                is("served"),
                is("storage"),
                is("deprecated"),
                warning,
            )
        };
        let warning = format!("{GROUP}/v1beta1 {kind} is deprecated; use {GROUP}/v1beta2 {kind}");
        let expected = [
            ("v1beta2".to_owned(), true, true, false, String::new()),
            ("v1beta1".to_owned(), true, false, true, warning),
        ];
        assert_eq!(versions.iter().map(facts).collect::<Vec<_>>(), expected, "{kind}");
        assert_eq!(
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"], "/convert",
            "{kind}"
        );
        kinds.push(kind);
    }
    let mut expected: Vec<String> =
        nine().iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    expected.sort();
    assert_eq!(kinds, expected);
}

/// Each of the nine kinds reads back unchanged from v1beta2 by way of v1beta1. What v1beta1 has no place for, such as a member
/// of a later release, is in the annotation `cluster.x-k8s.io/conversion-data` on the way, and nowhere else.
#[test]
fn api138_every_kind_reads_back_unchanged_from_the_older_version() {
    let mut later = nine();
    later.iter_mut().for_each(|object| object["spec"]["ofALaterRelease"] = json!("kept"));
    for (objects, is_hidden) in [(nine(), false), (later, true)] {
        let older = convert(&objects, "v1beta1");
        assert!(older.iter().all(|it| it["apiVersion"] == format!("{GROUP}/v1beta1")), "{older:#?}");
        for older in older.iter().filter(|_| is_hidden) {
            let kept: Value = serde_json::from_str(older.pointer(KEPT).unwrap().as_str().unwrap()).unwrap();
            assert_eq!(kept["spec"]["ofALaterRelease"], "kept", "{older}");
        }
        // A server drops what the schema of the version does not have.
        let shown: Vec<Value> = older.into_iter().map(without_later).collect();
        let back = convert(&shown, "v1beta2");
        assert_eq!(back.len(), objects.len());
        for (object, mut back) in objects.iter().zip(back) {
            assert_eq!(back.pointer(KEPT), None, "{back}");
            // An empty one says nothing.
            back.as_object_mut()
                .unwrap()
                .retain(|_, member| member.as_object().is_none_or(|it| !it.is_empty()));
            assert_eq!(&back, object);
        }
    }
}

fn without_later(mut object: Value) -> Value {
    object["spec"].as_object_mut().unwrap().remove("ofALaterRelease");
    object
}

/// One review for all objects.
fn convert(objects: &[Value], version: &str) -> Vec<Value> {
    let desired = format!("{GROUP}/{version}");
    let request = json!({"uid": "u", "desiredAPIVersion": desired, "objects": objects});
    let review =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    let reply = review::answer(Route::Convert, review.to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
    answer["response"]["convertedObjects"].as_array().unwrap().clone()
}

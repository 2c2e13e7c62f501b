//! Bad manifests and what a person reads about them: each `bad/NAME.yaml` has its answer in `bad/NAME.txt`. Two
//! documents are an update, the stored object first. `CAPM3_BLESS=1` writes the answers again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use serde_json::Value;

/// What kubectl prints of an answer.
fn report_on(documents: &[Value]) -> String {
    let mut objects = documents.to_vec();
    for object in &mut objects {
        capm3_admission::fill_in(object).unwrap();
    }
    let (new, old) = objects.split_last().unwrap();
    let answer = capm3_admission::judge(old.first(), new);
    let mut text = String::new();
    for warning in &answer.warnings {
        writeln!(text, "Warning: {warning}").unwrap();
    }
    let Some(denial) = answer.denial else { return text };
    match denial.details["causes"].as_array() {
        None => writeln!(text, "Error from server ({}): {}", denial.reason, denial.message).unwrap(),
        Some(causes) => {
            let (kind, name) = (denial.details["kind"].as_str().unwrap(), &denial.details["name"]);
            writeln!(text, "The {kind} {name} is invalid:").unwrap();
            for cause in causes {
                let (field, message) = (cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap());
                writeln!(text, "* {field}: {message}").unwrap();
            }
        }
    }
    text
}

#[test]
fn every_bad_manifest_is_answered_with_the_field_and_the_way_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() > 50, "only {} manifests found", paths.len());
    let mut differences = String::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let (ours, expected) = (report_on(&documents), path.with_extension("txt"));
        assert!(!ours.is_empty(), "{}: nothing is reported about it", path.display());
        if std::env::var_os("CAPM3_BLESS").is_some() {
            fs::write(&expected, &ours).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if ours != expected {
            let name = path.file_stem().unwrap().to_string_lossy();
            write!(differences, "\n{name}\n--- expected\n{expected}+++ ours\n{ours}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Each cause of a refusal has the code of its rule beside it; the answer itself has none.
#[test]
fn each_cause_of_a_refusal_has_the_code_of_its_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut seen = BTreeSet::new();
    for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let mut objects: Vec<Value> =
            serde_saphyr::from_multiple(&fs::read_to_string(&path).unwrap()).unwrap();
        for object in &mut objects {
            capm3_admission::fill_in(object).unwrap();
        }
        let (new, old) = objects.split_last().unwrap();
        let Some(denial) = capm3_admission::judge(old.first(), new).denial else { continue };
        let causes = denial.details["causes"].as_array().cloned().unwrap_or(vec![Value::Null]);
        let named = |cause: &Value| cause["field"].as_str().unwrap_or_default().to_owned();
        let fields: Vec<String> = causes.iter().map(named).collect();
        let found: Vec<String> = denial.findings.iter().map(|finding| finding.field.clone()).collect();
        assert_eq!(found, fields, "{}", path.display());
        assert!(!denial.message.contains("CAPM3-"), "{}", denial.message);
        seen.extend(denial.findings.iter().map(|finding| finding.code.as_str()));
    }
    assert!(seen.len() > 30, "{seen:?}");
}

/// Every refusal and warning names the field; a refusal also names the object, says what was found where something was, and
/// how to get out.
#[test]
fn s192_a_refused_manifest_is_reported_with_object_field_value_and_remedy() {
    let table = [
        ("data-template-range-reversed", "Metal3DataTemplate", "ipAddress.end", "is before start"),
        ("data-template-range-outside-subnet", "Metal3DataTemplate", "ipAddress.start", "must lie in subnet"),
        ("data-template-range-and-pool", "Metal3DataTemplate", "ipAddress", "remove the range or"),
        ("data-template-range-without-prefix", "Metal3DataTemplate", "prefix", "set it, or"),
        (
            "data-template-interface-missing",
            "Metal3DataTemplate",
            "fromHostInterfaces",
            "name the interface, or",
        ),
        ("data-template-network-without-source", "Metal3DataTemplate", "fromPoolRef", "set spec.networkData"),
        ("update-data-template", "Metal3DataTemplate", "spec.MetaData", "Create a new Metal3DataTemplate"),
        ("machine-secret-name-impossible", "Metal3Machine", "networkData", "did you mean"),
        ("machine-image-without-checksum", "Metal3Machine", "Checksum", "Required value"),
        ("machine-selector-two-values", "Metal3Machine", "matchExpressions", "values"),
        ("pool-range-reversed", "IPPool", "pools[0]", "is before start IP 192.168.0.20"),
        ("pool-reservations", "IPPool", "preAllocations", "widen a range or remove it"),
    ];
    for (file, kind, field, way_out) in table {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/bad/{file}.yaml")));
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text.unwrap()).unwrap();
        let name = documents.last().unwrap()["metadata"]["name"].as_str().unwrap();
        let report = report_on(&documents);
        for word in [&format!("The {kind}"), name, field, way_out] {
            assert!(report.contains(word), "{file}: {word:?} is not reported: {report}");
        }
    }
}

/// A range that contains the gateway of its own route is accepted with a warning that names both.
#[test]
fn s145_a_range_that_contains_its_own_gateway_is_warned_of() {
    for (list, range, gateway, warned) in [
        ("ipv4", ["10.0.0.1", "10.0.0.9"], "10.0.0.5", true),
        ("ipv4", ["10.0.0.2", "10.0.0.9"], "10.0.0.1", false),
        ("ipv6", ["2001:db8::1", "2001:db8::9"], "2001:db8::5", true),
        ("ipv6", ["2001:db8::2", "2001:db8::9"], "2001:db8::1", false),
    ] {
        let routes = serde_json::json!([{"network": "::", "gateway": {"string": gateway}}]);
        let range = serde_json::json!({"start": range[0], "end": range[1]});
        let network =
            serde_json::json!({"id": "n", "link": "l", "prefix": 24, "ipAddress": range, "routes": routes});
        let links = serde_json::json!({"ethernets": [{"id": "l", "type": "phy"}]});
        let spec = serde_json::json!({"networkData": {"links": links, "networks": {list: [network]}}});
        let template = serde_json::json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3DataTemplate", "metadata": {"name": "t", "namespace": "default"}, "spec": spec});
        let path = format!("spec.networkData.networks.{list}[0]");
        let expected = format!(
            "Warning: {path}.ipAddress: the range contains gateway {gateway} ({path}.routes[0].gateway.string): a \
             machine may get the address of the gateway\n"
        );
        assert_eq!(report_on(&[template]), if warned { expected } else { String::new() });
    }
}

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const TWO: &str = "\
# Two objects.
---
apiVersion: v1
kind: Namespace
metadata: {name: ns1}
---

apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata:
  name: m3dt
  namespace: ns1
  labels:
    app: a
    app.kubernetes.io/name: b
spec:
  networkData:
    links:
      vlans:
      - id: first
        vlanID: 1
      - vlanID: 2
        macAddress: {string: x}
";

fn messages(text: &str) -> Vec<String> {
    parse("f.yaml", text).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn documents_are_read_in_order_and_empty_ones_left_out() {
    let reading = parse("f.yaml", TWO);
    assert_eq!(reading.problems, []);
    let reported: Vec<_> = reading.documents.iter().map(|d| (d.to_string(), d.index, d.line())).collect();
    assert_eq!(
        reported,
        [("Namespace ns1".to_owned(), 1, 3), ("Metal3DataTemplate ns1/m3dt".to_owned(), 2, 8)]
    );
    assert_eq!(reading.documents[1].resource().plural, "metal3datatemplates");
}

#[test]
fn every_field_has_its_line_and_what_is_not_there_that_of_its_parent() {
    let document = parse("f.yaml", TWO).documents.remove(1);
    let table = [
        ("kind", 9),
        ("metadata.name", 11),
        ("metadata.labels.app", 14),
        ("metadata.labels.app.kubernetes.io/name", 15),
        ("metadata.labels[app.kubernetes.io/name]", 15),
        ("spec.networkData.links.vlans", 19),
        ("spec.networkData.links.vlans[0]", 20),
        ("spec.networkData.links.vlans[0].vlanID", 21),
        ("spec.networkData.links.vlans[1].vlanID", 22),
        ("spec.networkData.links.vlans[1].macAddress.string", 23),
        ("spec.networkData.links.vlans[1].vlanLink", 22),
        ("spec.networkData.links.vlans[7].vlanID", 19),
        ("spec.networkData.services.dns", 17),
        ("status", 8),
        ("", 8),
        ("[", 8),
    ];
    for (field, line) in table {
        assert_eq!(document.line_of(field), line, "{field}");
    }
}

#[test]
fn values_are_found_by_the_same_paths() {
    let document = parse("f.yaml", TWO).documents.remove(1);
    let table = [
        ("metadata.labels.app", Some(json!("a"))),
        ("metadata.labels.app.kubernetes.io/name", Some(json!("b"))),
        ("metadata.labels[app.kubernetes.io/name]", Some(json!("b"))),
        ("spec.networkData.links.vlans[1].vlanID", Some(json!(2))),
        ("spec.networkData.links.vlans[2]", None),
        ("spec.networkData.nothing", None),
        ("kind.more", None),
    ];
    for (field, value) in table {
        assert_eq!(document.value_at(field), value.as_ref(), "{field}");
    }
}

#[test]
fn a_problem_is_reported_with_file_line_object_and_field() {
    let document = parse("f.yaml", TWO).documents.remove(1);
    let problem = document.problem("spec.networkData.links.vlans[1].vlanID", "too large");
    assert_eq!(
        problem.to_string(),
        "f.yaml:22: Metal3DataTemplate ns1/m3dt: spec.networkData.links.vlans[1].vlanID: too large"
    );
}

#[test]
fn every_document_with_a_mistake_is_reported_and_the_others_are_still_read() {
    let text = "a: [1\nb: 2\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: good}\n---\nkind: A\nkind: B\n---\nx:\n\ty: 1\n";
    let reading = parse("f.yaml", text);
    assert_eq!(reading.documents.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Namespace good"]);
    let reported = messages(text);
    assert_eq!(reported.len(), 3, "{reported:#?}");
    assert!(reported[0].starts_with("f.yaml:2: not valid YAML: "), "{}", reported[0]);
    let twice = "f.yaml:9: not valid YAML: duplicate mapping key: kind occurs twice, in lines 8 and 9";
    assert_eq!(reported[1], twice);
    assert!(reported[2].starts_with("f.yaml:12: not valid YAML: "), "{}", reported[2]);
}

#[test]
fn what_says_which_object_it_is_must_be_there_and_be_text() {
    let missing = "is missing; every object needs apiVersion, kind and metadata.name";
    let table = [
        ("kind: Namespace\nmetadata: {name: x}\n", format!("f.yaml:1: Namespace x: apiVersion {missing}")),
        ("apiVersion: v1\nmetadata: {name: x}\n", format!("f.yaml:1: x: kind {missing}")),
        ("apiVersion: v1\nkind: Secret\nmetadata:\n  labels: {}\n", format!("f.yaml:3: Secret: metadata.name {missing}")),
        ("apiVersion: v1\nkind: Secret\n", format!("f.yaml:1: Secret: metadata.name {missing}")),
        ("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: no\n", "f.yaml:4: Namespace: metadata.name: expected text, got the boolean false; quote it".to_owned()),
        ("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: 007\n", "f.yaml:4: Namespace: metadata.name: expected text, got the number 7; quote it".to_owned()),
        ("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: n\n", "f.yaml:5: Secret a: metadata.namespace: expected text, got the boolean false; quote it".to_owned()),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: 12}\n", "f.yaml:3: Secret a: metadata.namespace: expected text, got the number 12; quote it".to_owned()),
        ("- a\n- b\n", "f.yaml:1: expected an object with apiVersion, kind and metadata.name, got a list".to_owned()),
        ("\n\njust words\n", "f.yaml:3: expected an object with apiVersion, kind and metadata.name, got the text \"just words\"".to_owned()),
    ];
    for (text, message) in table {
        assert_eq!(messages(text), [message], "{text}");
    }
    assert_eq!(messages("spec: {}\n").len(), 3, "everything that is missing is reported");
    for empty in ["", "''", "null"] {
        let text = format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: {empty}\n");
        let reading = parse("f.yaml", &text);
        assert_eq!(reading.documents[0].key().to_string(), "default/a", "{empty}: {:?}", reading.problems);
    }
}

#[test]
fn a_list_is_read_as_its_items() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: b}\n";
    let reported: Vec<_> = parse("f", text).documents.iter().map(|d| (d.to_string(), d.line())).collect();
    assert_eq!(reported, [("Namespace a".to_owned(), 4), ("Namespace b".to_owned(), 7)]);
    assert_eq!(parse("f", "apiVersion: v1\nkind: List\nitems: []\n"), Reading::default());
}

#[test]
fn json_directives_document_ends_and_block_text_are_understood() {
    let json = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}"#;
    assert_eq!(parse("f.json", json).documents[0].to_string(), "Namespace a");
    let text = "%YAML 1.2\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    ---\n    x\n...\n---\n# nothing\n";
    let reading = parse("f.yaml", text);
    assert_eq!(reading.problems, []);
    assert_eq!(reading.documents[0].value["data"]["text"], "---\nx\n");
}

#[test]
fn aliases_and_merges_are_reported_where_they_are_used() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: a\nother: *m\nthird:\n  <<: *m\n";
    let document = parse("f.yaml", text).documents.remove(0);
    assert_eq!(document.value["third"]["name"], "a");
    assert_eq!(document.line_of("other"), 5);
    assert_eq!(document.line_of("metadata.name"), 4);
}

#[test]
fn a_text_that_is_nested_too_deeply_is_refused_and_does_not_end_the_program() {
    let reported = messages(&format!("a: {}1{}\n", "[".repeat(5000), "]".repeat(5000)));
    assert!(reported[0].starts_with("f.yaml:1: not valid YAML: "), "{reported:?}");
}

#[test]
fn folders_are_read_in_order_of_names_and_paths_that_cannot_be_used_differ_in_their_errors() {
    let folder = std::env::temp_dir().join(format!("capm3-manifests-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inner.yaml")).unwrap();
    let namespace = |name: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    assert!(matches!(read(&[&folder]), Err(ReadError::Empty { .. })));
    for (file, name) in [("b.yml", "two"), ("a.yaml", "one"), ("c.json", "three"), ("d.txt", "none")] {
        std::fs::write(folder.join(file), namespace(name)).unwrap();
    }
    let names: Vec<String> = read(&[&folder]).unwrap().documents.iter().map(|d| d.key().name).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names, ["one", "two", "three"]);
    let missing = read(&[&folder]).unwrap_err();
    assert!(missing.is_usage());
    assert_eq!(missing.to_string(), format!("{}: no such file or folder", folder.display()));
}

/// Any JSON value that an object may hold.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z./-]{1,8}", inner, 0..5)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(spec in any_value()) {
        let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});
        let yaml = serde_saphyr::to_string(&object).unwrap();
        let reading = parse("f.yaml", &format!("---\n{yaml}"));
        prop_assert_eq!(&reading.problems, &[]);
        prop_assert_eq!(&reading.documents[0].value, &object);
        let expected = 1 + yaml.lines().position(|line| line.starts_with("spec:")).unwrap() + 1;
        prop_assert_eq!(reading.documents[0].line_of("spec"), expected);
        let json = parse("f.json", &object.to_string());
        prop_assert_eq!(&json.documents[0].value, &object);
    }
}

#[test]
fn parts_of_objects_are_read_where_they_are_asked_for() {
    let text = "spec:\n  a: 1\n---\nkind: A\n---\na: [\n";
    let reading = parse_parts("f.yaml", text);
    assert_eq!(reading.documents.len(), 2);
    assert_eq!(reading.documents[0].line_of("spec.a"), 2);
    assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
    assert!(parse("f.yaml", text).documents.is_empty());
}

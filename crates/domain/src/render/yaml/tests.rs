//! Tests of whole documents.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::to_yaml;

fn read_back(text: &str) -> Value {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options).unwrap()
}

#[test]
fn strings_are_quoted_only_where_a_reader_would_mistake_them() {
    for (text, expected) in [
        ("worker-0", "worker-0"),
        ("42", "\"42\""),
        ("yes", "\"yes\""),
        ("", "\"\""),
        ("00:11:22:33:44:55", "\"00:11:22:33:44:55\""),
        ("52:54:00:aa:bb:cc", "52:54:00:aa:bb:cc"),
        ("2001:db8::", "'2001:db8::'"),
        ("fe80::1", "fe80::1"),
        ("a: b", "'a: b'"),
        ("x #y", "'x #y'"),
        ("2024-01-31", "\"2024-01-31\""),
        ("v1.34.0", "v1.34.0"),
        ("1.34", "\"1.34\""),
        ("line1\nline2", "|-\n  line1\n  line2"),
        ("\n", "|2+\n"),
        ("a\tb", "\"a\\tb\""),
        ("it's", "it's"),
        ("'it's", "'''it''s'"),
        ("{{ ds.meta_data.name }}", "'{{ ds.meta_data.name }}'"),
        ("a\u{7F}b", "\"a\\x7Fb\""),
        ("a\u{85}b", "\"a\\Nb\""),
        ("<<", "<<"),
    ] {
        assert_eq!(to_yaml(&json!({"k": text})), format!("k: {expected}\n"));
    }
}

#[test]
fn a_key_that_means_merge_is_quoted() {
    assert_eq!(to_yaml(&json!({"<<": "v"})), "\"<<\": v\n");
}

#[test]
fn lists_stand_in_the_column_of_their_key_and_empty_ones_on_its_line() {
    let value = json!({"a": [{"b": 1, "c": ["x", ["y"]]}], "d": [], "e": {}, "f": {"g": null, "h": true}});
    let expected = "a:\n- b: 1\n  c:\n  - x\n  - - \"y\"\nd: []\ne: {}\nf:\n  g: null\n  h: true\n";
    assert_eq!(to_yaml(&value), expected);
}

#[test]
fn keys_too_long_or_of_several_lines_are_written_behind_a_question_mark() {
    let long = "k".repeat(129);
    assert_eq!(to_yaml(&json!({&long: ["v"]})), format!("? {long}\n: - v\n"));
    assert_eq!(to_yaml(&json!({"a\nb": "v"})), "? |-\n  a\n  b\n: v\n");
}

/// Without the separators of lines and paragraphs: they are written raw, as Go programs do, and only readers of
/// YAML 1.1 take the indentation behind them for what it is.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n\t]{0,12}",
        "[-+.:_0-9exobTZ ]{0,10}",
        "\\PC{0,6}",
        "[a-z ]{60,140}",
        "[\u{1}\u{7f}\u{85}\u{a0}\u{feff}\u{fffe}\u{1f680}\"'\\\\ a\n]{0,6}",
        prop::sample::select(vec!["yes", "~", "<<", "=", "---", "null", "0x1f", "1e3", ".inf"])
            .prop_map(str::to_owned),
    ]
    .prop_filter("separators", |text| !text.contains(['\u{2028}', '\u{2029}']))
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_the_same_tree(value in tree()) {
        let document = json!({"root": value});
        let text = to_yaml(&document);
        prop_assert_eq!(read_back(&text), document, "{}", text);
    }

    #[test]
    fn what_is_written_does_not_depend_on_the_order_of_members(keys in prop::collection::btree_set("[a-c0-2]{1,4}", 0..12)) {
        let forwards: Value = keys.iter().map(|k| (k.clone(), Value::Null)).collect::<serde_json::Map<_, _>>().into();
        let backwards: Value = keys.iter().rev().map(|k| (k.clone(), Value::Null)).collect::<serde_json::Map<_, _>>().into();
        prop_assert_eq!(to_yaml(&forwards), to_yaml(&backwards));
    }
}

//! What is written is read back to the same tree by PyYAML, the reader of cloud-init.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    io::Write,
    process::{Command, Stdio},
};

use capm3_domain::render::yaml::to_yaml;
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

/// Reads JSON lines of [document, tree] and tells each document that reads as another tree.
const READER: &str = r"
import json, sys, yaml
wrong = 0
for line in sys.stdin:
    document, tree = json.loads(line)
    try:
        read = yaml.safe_load(document)
    except Exception as problem:
        read = 'unreadable: %s' % problem
    if read != tree:
        wrong += 1
        if wrong <= 10:
            print(json.dumps([document, tree, str(read)]))
print('%d wrong' % wrong)
";

/// Metadata as it is rendered (texts by key), or links, networks and services with numbers and lists.
fn tree() -> impl Strategy<Value = Value> {
    // PyYAML itself refuses what YAML calls unprintable; those are escaped by us and read by it.
    let text = prop_oneof![
        "[ -~]{0,40}",
        "[a-z0-9:./_-]{0,20}",
        "[0-9a-f:]{0,39}",
        "\\PC{0,20}",
        "[ -~\n\t]{0,120}",
        Just("yes".to_owned()),
        Just("2026-01-02".to_owned()),
        Just("00:11:22:33:44:55".to_owned()),
        Just("2001:db8::".to_owned()),
    ];
    // PyYAML gives a plain `=` and `<<` tags for which its safe loader has no constructor, so it refuses them as values. The
    // reference writes them plain, and its bytes come first; as keys `<<` is quoted, and that is tried below.
    let text = text.prop_filter("refused by PyYAML", |text| text != "=" && text != "<<");
    let key = prop_oneof!["[a-zA-Z0-9_-]{1,20}", "[ -~]{1,30}"];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => (0_i32..10_000).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
#[ignore = "needs a Python with PyYAML; `cargo xtask pyyaml` makes one and names it in CAPM3_PYTHON"]
fn pyyaml_reads_back_what_was_written() {
    let python = std::env::var("CAPM3_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = prop::collection::btree_map("[a-zA-Z0-9_<=-]{1,20}", tree(), 1..6)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let trees = (0..3000).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let lines: String = trees.map(|tree| format!("{}\n", json!([to_yaml(&tree), tree]))).collect();
    let mut child = Command::new(python)
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("CAPM3_PYTHON names a Python with PyYAML");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.ends_with("0 wrong\n") && !printed.ends_with("10 wrong\n"),
        "{printed}"
    );
}

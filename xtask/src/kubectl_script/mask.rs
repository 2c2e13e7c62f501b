//! Takes out of an output what no two runs have in common.

use anyhow::Result;

use crate::mask::{Rule, Rules, TIMES, UID};

/// What is replaced, and by what. The first ones go first.
const RULES: &[Rule] = &[
    (UID, "<uid>"),
    TIMES,
    // As `kubectl describe` writes it.
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r#"(?i)(resource ?version"?: *)"?\d+"?"#, "${1}<version>"),
    // Ages, with the room that a table leaves for them.
    (r"(?m)(  )\d+s$", "${1}<age>"),
    (r"(  )\d+s +", "${1}<age>   "),
    (r"\b(generated-)[a-z0-9]{5}\b", "${1}<suffix>"),
    // Names that Cluster API's controllers make up.
    (r"\bmy-cluster-(cp|workers)(-[a-z0-9]{5}){1,2}\b", "my-cluster-${1}-<suffix>"),
    (r"https://127\.0\.0\.1:\d+", "<server>"),
];

/// The rules, ready to be used.
pub fn rules() -> Result<Rules> {
    Rules::new(RULES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        rules().unwrap().apply(text)
    }

    #[test]
    fn what_changes_from_run_to_run_is_masked() {
        for (text, expected) in [
            ("uid: 0a0a0a0a-1b1b-2c2c-3d3d-4e4e4e4e4e4e", "uid: <uid>"),
            ("creationTimestamp: \"2026-01-01T00:00:00Z\"", "creationTimestamp: \"<time>\""),
            ("resourceVersion: \"17\"", "resourceVersion: <version>"),
            ("    \"resourceVersion\": \"17\",", "    \"resourceVersion\": <version>,"),
            (r#"{"resourceVersion":"17"}"#, r#"{"resourceVersion":<version>}"#),
            ("  Resource Version:  17", "  Resource Version:  <version>"),
            ("NAME   AGE\na      5s\nb      15s", "NAME   AGE\na      <age>\nb      <age>"),
            ("a   5s    v1.30.0\nb   15s   v1.30.0", "a   <age>   v1.30.0\nb   <age>   v1.30.0"),
            ("configmap/generated-x7k2p created", "configmap/generated-<suffix> created"),
            (
                "machine/my-cluster-cp-h8q24 my-cluster-workers-6mqbz-6b2px",
                "machine/my-cluster-cp-<suffix> my-cluster-workers-<suffix>",
            ),
            ("https://127.0.0.1:40123/api", "<server>/api"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn what_a_user_wrote_is_left_alone() {
        for text in ["timeout: 5s", "10.0.1.10", "generation: 2", "a   3   v1.30.0"] {
            assert_eq!(masked(text), text);
        }
    }
}

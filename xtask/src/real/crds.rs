//! Every CRD that a cluster needs to run our scenarios, for `kubectl apply -f -`.

use std::io::{Write, stdout};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Prints them.
pub fn print() -> Result<()> {
    writeln!(stdout(), "{:#}", list()).context("printing the CRDs")
}

/// Our kinds and the foreign ones as one list. JSON is YAML, so every client reads it.
fn list() -> Value {
    let mut items = capm3_api::crd::all();
    items.extend(capm3_world::crds());
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_crd_is_in_the_list_twice() {
        let list = list();
        let names: Vec<&str> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|crd| crd["metadata"]["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"metal3machines.infrastructure.cluster.x-k8s.io"), "{names:?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
}

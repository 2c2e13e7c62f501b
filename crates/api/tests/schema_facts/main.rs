//! Every field of every CRD against the facts of the reference's: path, type, required, enum, default, bounds, pattern,
//! list type and keys, names, columns and subresources. What we have otherwise stands in [`permitted`], with the reason.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod facts;
mod permitted;

use std::path::Path;

#[test]
fn every_fact_of_the_reference_holds_unless_the_table_says_why_not() {
    let permitted: Vec<&str> =
        permitted::DIFFERENCES.iter().flat_map(|(_, patterns)| *patterns).copied().collect();
    let mut unused = permitted.clone();
    let mut unexplained = Vec::new();
    let crds = capm3_api::crd::all();
    assert_eq!(crds.len(), 12);
    for crd in &crds {
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/facts/{plural}.txt"));
        let theirs = facts::read(&std::fs::read_to_string(file).unwrap());
        for difference in facts::differences(&theirs, &facts::of(crd)) {
            let difference = format!("{plural} {difference}");
            match permitted.iter().find(|pattern| facts::like(&difference, pattern)) {
                Some(pattern) => unused.retain(|it| it != pattern),
                None => unexplained.push(difference),
            }
        }
    }
    assert!(unexplained.is_empty(), "not as the reference has it:\n{}", unexplained.join("\n"));
    assert!(unused.is_empty(), "in the table, but no longer different:\n{}", unused.join("\n"));
}

/// Each of the nine kinds has every short name of the Go provider and the category `cluster-api`, and its table begins with
/// the same columns in both versions; what follows them is ours.
#[test]
fn api140_short_names_category_and_columns_are_those_of_the_go_provider() {
    let crds = capm3_api::crd::all();
    let own: Vec<_> =
        crds.iter().filter(|crd| crd["spec"]["group"] == "infrastructure.cluster.x-k8s.io").collect();
    assert_eq!(own.len(), 9);
    for crd in own {
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/facts/{plural}.txt"));
        let (theirs, ours) = (facts::read(&std::fs::read_to_string(file).unwrap()), facts::of(crd));
        for word in ["shortNames", "categories"] {
            assert_eq!(ours["names"][word], theirs["names"][word], "{plural} {word}");
        }
        assert_eq!(ours["names"]["categories"], "['cluster-api']", "{plural}");
        let columns = theirs.iter().filter(|(fact, _)| fact.contains(" column "));
        for (fact, column) in columns {
            assert_eq!(ours.get(fact), Some(column), "{plural} {fact}");
        }
    }
    let cluster = facts::of(&crds[0]);
    let names: Vec<&str> =
        (1..=5).filter_map(|n| cluster[&format!("v1beta2 column {n}")]["type"].split('\'').nth(1)).collect();
    assert_eq!(names, ["Age", "Provisioned", "Error", "Cluster", "Endpoint"]);
}

/// `clusterctl move` finds objects by their owners, which these templates have not. The reference loses its
/// Metal3RemediationTemplates, so that MachineHealthChecks name templates that are not there after a move.
#[test]
fn templates_that_nothing_owns_are_moved_by_the_label_of_their_kind() {
    let crds = capm3_api::crd::all();
    let is_moved = |crd: &&serde_json::Value| {
        crd["metadata"]["labels"].get("clusterctl.cluster.x-k8s.io/move").is_some()
    };
    let moved = crds.iter().filter(is_moved).filter_map(|crd| crd["spec"]["names"]["plural"].as_str());
    assert_eq!(moved.collect::<Vec<_>>(), ["metal3datatemplates", "metal3remediationtemplates"]);
}

#[test]
fn a_changed_fact_is_noticed() {
    let ours = facts::of(&capm3_api::crd::all()[0]);
    let mut theirs = ours.clone();
    let field = theirs.get_mut("v1beta2 .spec.controlPlaneEndpoint.port").unwrap();
    field.insert("maximum".to_owned(), "65534".to_owned());
    theirs.remove("v1beta1 .spec.noCloudProvider").unwrap();
    let differences: Vec<String> = facts::differences(&theirs, &ours).collect();
    assert_eq!(
        differences,
        [
            "v1beta1 .spec.noCloudProvider: added boolean",
            "v1beta2 .spec.controlPlaneEndpoint.port: maximum 65534 -> 65535",
        ]
    );
}

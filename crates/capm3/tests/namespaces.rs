//! `capm3 up` with two namespaces in which everything has equal names: all is right, and every name is shown with its
//! namespace.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

mod common;

use std::fs;

use common::{Run, capm3, repository};

/// The three racks, and the same again in namespace `other` without those hosts.
fn twice(arguments: &[&str], without: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    for entry in fs::read_dir(repository().join("examples/three-racks")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let stays =
            |document: &&str| !without.iter().any(|name| document.contains(&format!("name: {name}\n")));
        let text = text.split("---\n").filter(stays).collect::<Vec<_>>().join("---\n");
        let text = text
            .replace("namespace: metal3\n", "namespace: other\n")
            .replace("name: metal3\n", "name: other\n");
        fs::write(folder.path().join(path.file_name().unwrap()), text).unwrap();
        files += 1;
    }
    assert!(files > 0, "the example is there");
    let common = ["up", "--once", "-f", "examples/three-racks", "-f", folder.path().to_str().unwrap()];
    capm3(&[&common, arguments].concat(), "")
}

#[test]
fn equal_names_in_two_namespaces_are_no_duplicates() {
    let run = twice(&[], &[]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stderr.contains("12 of 12 machines are ready after "), "{}", run.text());
    assert!(!run.stderr.contains("twice"), "{}", run.text());
    let rows: Vec<&str> = run.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let expected = [vec!["NAMESPACE"], vec!["metal3"; 6], vec!["other"; 6]].concat();
    assert_eq!(rows, expected, "{}", run.text());
    for step in [
        "  machine metal3/my-cluster-cp-",
        "  machine other/my-cluster-cp-",
        "  host other/rack1-host-1 in rack1 is ",
    ] {
        assert!(run.stderr.contains(step), "{step:?} is not in:\n{}", run.text());
    }
}

#[test]
fn rows_of_json_say_their_namespace() {
    let report = twice(&["-o", "json"], &[]).json();
    for (list, count) in [("machines", 12), ("hosts", 24)] {
        let rows = report[list].as_array().unwrap();
        let of = |namespace: &str| rows.iter().filter(|row| row["namespace"] == namespace).count();
        assert_eq!((of("metal3"), of("other")), (count / 2, count / 2), "{report:#}");
    }
}

#[test]
fn what_is_stuck_is_reported_with_its_namespace() {
    let run = twice(&[], &["rack3-host-1", "my-cluster-workers"]);
    assert_eq!(run.code, 1, "{}", run.text());
    for part in [
        "KubeadmControlPlane other/my-cluster-cp: 2 of 3 machines are ready\n",
        "\nmachine other/my-cluster-cp-",
    ] {
        assert!(run.stderr.contains(part), "{part:?} is not in:\n{}", run.text());
    }
    assert!(!run.stderr.contains("KubeadmControlPlane metal3/"), "{}", run.text());
}

/// An object of this name in another namespace is no answer.
#[test]
fn a_template_is_looked_for_in_the_namespace_of_its_owner() {
    let run = twice(&[], &["my-cluster-workers\n  namespace: metal3\nspec:\n  template:"]);
    let lack = "MachineDeployment other/my-cluster-workers: 0 of 3 machines are ready\n  \
                Metal3MachineTemplate my-cluster-workers, from which its machines are made, does not exist\n";
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(run.stderr.contains(lack), "{}", run.text());
}

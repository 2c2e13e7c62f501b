//! What `explain` says of names it does not find and of arguments it cannot use, and what its help teaches.

use serde_json::{Value, json};

use crate::{
    common::capm3,
    objects::{Objects, SITE, from_files},
};

#[test]
fn a_machine_that_is_not_there_ends_with_one_and_the_nearest_name() {
    for (name, part) in [
        (
            "machine/worker-9",
            "error: there is no Machine or Metal3Machine worker-9 in the files; did you mean worker-",
        ),
        ("m3m/cp-01", "there is no Metal3Machine cp-01 in the files; did you mean cp-0?"),
        ("m3m/worker-0", "there is no Metal3Machine worker-0 in the files; did you mean worker-"),
        ("host/host-11", "error: there is no BareMetalHost host-11 in the files; did you mean host-1?"),
        ("zebra", "error: there is no Machine or Metal3Machine zebra in the files\n"),
    ] {
        let run = from_files(name, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.text());
        assert!(run.stderr.contains(part), "{part:?}: {}", run.text());
    }
    let elsewhere = from_files("cp-0", &["-n", "other"]);
    assert_eq!(elsewhere.code, 1);
    assert!(
        elsewhere.stderr.contains("in namespace other; this namespace has no machines"),
        "{}",
        elsewhere.text()
    );
}

#[test]
fn a_machine_without_a_metal3machine_is_reported_as_such() {
    let run = Objects::of_site().without("Metal3Machine", "worker-0-metal").explain("machine/worker-0");
    assert_eq!(run.code, 1);
    let part = "Machine metal3/worker-0 has no Metal3Machine: spec.infrastructureRef names Metal3Machine worker-0-metal, which is not found\n";
    assert!(run.stderr.contains(part), "{}", run.text());
    let unnamed = Objects::of_site().without("Metal3Machine", "worker-0-metal");
    let unnamed = unnamed.with("Machine", "worker-0", "/spec/infrastructureRef", Value::Null);
    let run = unnamed.given_out("Machine", "worker-0").explain("machine/worker-0");
    let part = "Machine metal3/worker-0 has no Metal3Machine yet: spec.infrastructureRef names none\n";
    assert!(run.stderr.contains(part), "{}", run.text());
    // The Machine of cp-0 has a Node.
    let run = Objects::of_site().without("Metal3Machine", "cp-0").explain("machine/cp-0");
    let part = "Machine metal3/cp-0 has lost its Metal3Machine: spec.infrastructureRef names Metal3Machine cp-0, which is gone;";
    assert!(run.stderr.contains(part), "{}", run.text());
}

#[test]
fn wrong_usage_ends_with_two() {
    let mut twice = Objects::of_site();
    let mut copy = twice
        .0
        .iter()
        .find(|o| o["metadata"]["name"] == "cp-0" && o["kind"] == "Metal3Machine")
        .unwrap()
        .clone();
    copy["metadata"]["namespace"] = json!("other");
    copy["spec"]["dataTemplate"]["namespace"] = json!("other");
    twice.0.push(copy);
    let run = twice.explain("cp-0");
    assert_eq!(run.code, 2, "{}", run.text());
    assert!(
        run.stderr.contains("cp-0 is in several namespaces: metal3, other; choose one with -n"),
        "{}",
        run.text()
    );
    for (arguments, part) in [
        (vec!["explain"], "machine/NAME"),
        (vec!["explain", "pod/x", "-f", SITE], "use machine/NAME, metal3machine/NAME or host/NAME"),
        (vec!["explain", "x", "-f", "no/such/file"], "no such file or folder"),
        (vec!["explain", "x", "-f", SITE, "--context", "c"], "cannot be used with"),
        (
            vec!["explain", "x"],
            "no kubeconfig found: use --kubeconfig PATH, set KUBECONFIG, or give manifests with -f",
        ),
    ] {
        let run = capm3(&arguments, "");
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.text());
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.text());
    }
}

#[test]
fn help_teaches() {
    let help = capm3(&["explain", "--help"], "").stdout;
    for part in [
        "Examples:",
        "machine/my-cluster-cp-x7k2m",
        "host/rack1-host-1",
        "cluster-api,bmh,ippools",
        "--kubeconfig",
        "-n",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

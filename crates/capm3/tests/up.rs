//! `capm3 up` as a person types it: exit codes, what goes where, and whether it can be understood.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::{ChildStdin, Command, Output, Stdio},
};

use capm3_engine::{Detail, ResourceKind, client::over_network};
use serde_json::Value;

fn capm3(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capm3")).args(args).env_remove("CAPM3_LOG").output().unwrap()
}

/// Runs it with something written to its standard input.
fn piped(args: &[&str], write: impl FnOnce(&mut ChildStdin)) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.args(args).env_remove("CAPM3_LOG").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    write(&mut child.stdin.take().unwrap());
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A copy of the example, changed file by file.
fn changed_example(change: impl Fn(&str, String) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-racks");
    for entry in fs::read_dir(example).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(folder.path().join(&name), change(&name, text)).unwrap();
    }
    folder
}

#[test]
fn the_example_comes_up_with_one_row_a_machine() {
    let output = capm3(&["up", "--once"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = stdout(&output);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 7, "{table}");
    for word in ["RACK", "HOST", "MACHINE", "DATA TEMPLATE", "INDEX", "VLAN", "ADDRESS", "PROVIDER ID"] {
        assert!(lines[0].contains(word), "{table}");
    }
    assert!(stderr(&output).contains("6 of 6 machines are ready"), "{}", stderr(&output));
}

#[test]
fn json_is_one_document_and_nothing_else_on_stdout() {
    let output = capm3(&["up", "--once", "-o", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let members: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(members, ["machines", "hosts", "waits", "elapsedMs"]);
    assert_eq!(report["machines"].as_array().unwrap().len(), 6);
    assert_eq!(report["hosts"].as_array().unwrap().len(), 12);
    for machine in report["machines"].as_array().unwrap() {
        let members: Vec<&String> = machine.as_object().unwrap().keys().collect();
        let expected = [
            "namespace",
            "name",
            "host",
            "failureDomain",
            "dataTemplate",
            "data",
            "index",
            "vlans",
            "addresses",
            "providerID",
            "ready",
        ];
        assert_eq!(members, expected);
        assert_eq!(machine["namespace"], "metal3");
        let host = report["hosts"].as_array().unwrap().iter().find(|h| h["name"] == machine["host"]).unwrap();
        assert_eq!(host["failureDomain"], machine["failureDomain"]);
        assert_eq!(host["consumer"], machine["name"]);
        assert_eq!(host["state"], "provisioned");
    }
}

#[test]
fn equal_seeds_print_equal_tables_and_other_seeds_other_names() {
    let table = |seed: &str| stdout(&capm3(&["up", "--once", "--seed", seed]));
    assert_eq!(table("3"), table("3"));
    assert_ne!(table("3"), table("4"));
}

#[test]
fn without_enough_hosts_it_ends_with_one_and_an_explanation() {
    let folder = changed_example(|file, text| match file {
        "20-hosts.yaml" => {
            let documents: Vec<&str> =
                text.split("---\n").filter(|d| !d.contains("name: rack3-host-1\n")).collect();
            documents.join("---\n")
        }
        _ => text,
    });
    let output = capm3(&["up", "--once", "-f", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let explanation = stderr(&output);
    for part in [
        "KubeadmControlPlane my-cluster-cp: 2 of 3 machines are ready",
        "(CAPM3-W020): no host is available: 11 hosts: 2 consumed, 9 label mismatch",
        "rack1-host-1: consumed by Metal3Machine metal3/my-cluster-cp-",
        "rack3-host-2: does not match hostSelector: cluster-role=control-plane, but the value is \"worker\"",
        "what to do: ",
        "is not ready yet: no host is available: 11 hosts:",
    ] {
        assert!(explanation.contains(part), "{part} is not in:\n{explanation}");
    }
}

#[test]
fn the_json_of_a_run_that_is_stuck_says_what_each_machine_waits_for() {
    let folder = changed_example(|file, text| match file {
        "20-hosts.yaml" => {
            let kept: Vec<&str> =
                text.split("---\n").filter(|d| !d.contains("name: rack3-host-1\n")).collect();
            kept.join("---\n")
        }
        _ => text,
    });
    let output = capm3(&["up", "--once", "-o", "json", "-f", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let waits = report["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 1, "{report}");
    let wait = &waits[0];
    assert_eq!((wait["namespace"].as_str(), wait["code"].as_str()), (Some("metal3"), Some("CAPM3-W020")));
    assert_eq!(wait["actor"], "PlatformEngineer");
    assert!(wait["message"].as_str().unwrap().starts_with("no host is available: 11 hosts:"), "{wait}");
    assert!(wait["since"].as_str().unwrap().ends_with('Z'), "{wait}");
    assert!(wait["machine"].as_str().unwrap().starts_with("my-cluster-cp-"), "{wait}");
}

#[test]
fn what_a_cluster_lacks_is_named() {
    let without = |kind: &str| {
        let kind = format!("\nkind: {kind}\n");
        let folder = changed_example(|_, text| {
            text.split("---\n").filter(|document| !document.contains(&kind)).collect::<Vec<_>>().join("---\n")
        });
        let output = capm3(&["up", "--once", "-f", folder.path().to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    for (kind, parts) in [
        (
            "Cluster",
            vec!["no Cluster names it in spec.controlPlaneRef", "Cluster my-cluster of spec.clusterName"],
        ),
        (
            "Metal3MachineTemplate",
            vec!["Metal3MachineTemplate my-cluster-workers, from which its machines are made"],
        ),
        (
            "IPPool",
            vec!["is not rendered: waiting for an address of IPPool pool-rack1, which does not exist"],
        ),
    ] {
        let explanation = without(kind);
        for part in parts {
            assert!(explanation.contains(part), "without {kind}: {part} is not in:\n{explanation}");
        }
        assert!(!explanation.contains("usable, but another host was selected"), "{explanation}");
    }
}

#[test]
fn a_path_that_is_not_there_is_wrong_usage() {
    let output = capm3(&["up", "--once", "-f", "no/such/folder"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: no/such/folder: no such file or folder\n");
}

#[test]
fn a_device_is_refused_and_a_pipe_is_read_as_far_as_the_limit() {
    for command in [&["up", "--once"][..], &["render"], &["migrate"], &["explain", "machine/a"]] {
        let output = capm3(&[command, &["-f", "/dev/zero"]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let expected =
            "error: /dev/zero: is a device: specify a file, a folder or a pipe, or - for standard input\n";
        assert_eq!(stderr(&output), expected, "{command:?}");
    }
    for name in ["-", "/dev/stdin"] {
        let output = piped(&["up", "--once", "-f", name], |input| {
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-racks");
            let mut files: Vec<_> =
                fs::read_dir(example).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.sort();
            files.iter().for_each(|file| {
                input.write_all(b"---\n").and_then(|()| input.write_all(&fs::read(file).unwrap())).unwrap();
            });
        });
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let output = piped(&["up", "--once", "-f", name], |input| {
            // The reader leaves when it has seen enough.
            let piece = vec![b' '; 1024 * 1024];
            (0..80).take_while(|_| input.write_all(&piece).is_ok()).for_each(drop);
        });
        assert_eq!(output.status.code(), Some(2));
        let expected = format!(
            "error: {name}: has more than 64 MiB, the most that is read from a pipe or standard input: \
             write it to a file and name that file\n"
        );
        assert_eq!(stderr(&output), expected);
    }
}

#[test]
fn the_input_that_exceeds_a_gibibyte_in_all_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // Files with holes take no space; the first one alone is too large.
    let large = fs::File::create(folder.path().join("large.yaml")).unwrap();
    large.set_len(1024 * 1024 * 1024 + 1).unwrap();
    let path = folder.path().join("large.yaml");
    for command in [&["render"][..], &["migrate"], &["explain", "machine/a"], &["up", "--once"]] {
        let output = capm3(&[command, &["-f", folder.path().to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let expected = format!(
            "error: {}: with this input there are more than 1 GiB, the most that is read in all: \
             give fewer or smaller files\n",
            path.display()
        );
        assert_eq!(stderr(&output), expected, "{command:?}");
    }
}

#[test]
fn a_manifest_that_the_schema_refuses_is_named_with_file_object_and_field() {
    let folder = changed_example(|file, text| match file {
        "30-data-templates.yaml" => text.replace("vlanID: 200", "vlanID: 20000"),
        _ => text,
    });
    let output = capm3(&["up", "--once", "-f", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    for part in [
        "30-data-templates.yaml:",
        ": Metal3DataTemplate metal3/m3dt-rack2: spec.networkData.links.vlans[0].vlanID: expected at most 4096, got \
         20000",
    ] {
        assert!(message.contains(part), "{part} is not in:\n{message}");
    }
}

#[test]
fn without_once_it_serves_the_api_until_it_is_stopped() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_capm3"))
        .args(["up", "--listen", "127.0.0.1:0", "--profile", "instant"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let export = lines.find_map(|line| line.strip_prefix("export KUBECONFIG=").map(str::to_owned)).unwrap();
    assert!(lines.any(|line| line == "Ctrl-C ends everything."), "it says what to do next");
    let text = fs::read_to_string(&export).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let machines = runtime.block_on(async {
        let client = over_network(&text, None, "test").await.unwrap();
        let kind = ResourceKind {
            group: "infrastructure.cluster.x-k8s.io".into(),
            version: "v1beta2".into(),
            kind: "Metal3Machine".into(),
            plural: "metal3machines".into(),
        };
        assert_eq!(client.default_namespace(), "metal3", "that of the manifests");
        client.list_page::<Value>(&kind, "metal3", Detail::Whole, None).await.unwrap().items.len()
    });
    assert_eq!(machines, 6);
    let nodes = runtime.block_on(async {
        let client = over_network(&text, Some("my-cluster"), "test").await.unwrap();
        let kind = ResourceKind {
            group: String::new(),
            version: "v1".into(),
            kind: "Node".into(),
            plural: "nodes".into(),
        };
        client.list_page::<Value>(&kind, "", Detail::Whole, None).await.unwrap().items.len()
    });
    assert_eq!(nodes, 6, "the workload cluster has a context of its own");
    let reported = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(reported.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!Path::new(&export).exists(), "the kubeconfig goes with it");
}

#[test]
fn a_taken_port_is_reported_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = capm3(&["up", "--listen", &address, "--profile", "instant"]);
    assert_eq!(output.status.code(), Some(3));
    let message = stderr(&output);
    assert!(
        message.contains(&format!("{address} is already in use")) && message.contains("--listen"),
        "{message}"
    );
}

#[test]
fn an_address_to_serve_at_is_refused_where_nothing_is_served() {
    for arguments in
        [["up", "--once", "--listen", "127.0.0.1:0"], ["up", "--listen", "127.0.0.1:0", "--once"]]
    {
        let output = capm3(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(
            message.contains("'--once' cannot be used with '--listen <ADDR>'")
                || message.contains("'--listen <ADDR>' cannot be used with '--once'"),
            "{message}"
        );
    }
    let help = stdout(&capm3(&["up", "--help"]));
    assert!(help.contains("Not with --once"), "{help}");
}

#[test]
fn the_version_is_the_first_line_of_a_command_and_the_answer_to_a_flag() {
    let expected = format!("capm3 {}\n", env!("CARGO_PKG_VERSION"));
    let answer = stdout(&capm3(&["version"]));
    assert!(answer.starts_with(&expected), "{answer}");
    assert_eq!(stdout(&capm3(&["--version"])), expected);
}

#[test]
fn help_teaches() {
    let output = capm3(&["up", "--help"]);
    let help = stdout(&output);
    for part in ["Examples:", "--once", "three-rack", "-o, --output"] {
        assert!(help.contains(part), "{help}");
    }
    assert_eq!(capm3(&["up", "--speed", "0"]).status.code(), Some(2));
    assert_eq!(capm3(&["up", "--listen", "192.0.2.1:1"]).status.code(), Some(2), "only on this machine");
}

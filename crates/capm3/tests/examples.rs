//! Every example as a person runs it, compared with what is checked in under `tests/expected`.
//! `CAPM3_BLESS=1 cargo test -p capm3 --test examples` writes those files again; read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/golden.rs"]
mod golden;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What one run printed, without the steps and the time that it took.
struct Run {
    code: i32,
    table: String,
    explanation: String,
}

impl Run {
    fn of(folder: &Path) -> Self {
        let program = env!("CARGO_BIN_EXE_capm3");
        let mut command = Command::new(program);
        // From the root, so that warnings name the same file on every computer.
        command.current_dir(root()).env_remove("CAPM3_LOG");
        let output = command.args(["up", "--once", "-f"]).arg(folder).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        let explanation = errors.lines().filter(|line| !is_step(line)).map(without_duration);
        Self {
            code: output.status.code().unwrap(),
            table: String::from_utf8(output.stdout).unwrap(),
            explanation: explanation.collect::<Vec<_>>().join("\n"),
        }
    }

    fn text(&self) -> String {
        format!("exit code {}\n\n{}\n{}\n", self.code, self.table, self.explanation.trim())
    }
}

/// Steps begin with the time at which they happened, such as `     0.0s  host host-1 is available`.
fn is_step(line: &str) -> bool {
    let time = line.strip_prefix(' ').and_then(|line| line.trim_start().split_once("s  "));
    time.is_some_and(|(seconds, _)| seconds.parse::<f64>().is_ok())
}

/// The only words that tell real time are at the end of a good run.
fn without_duration(line: &str) -> &str {
    match line.split_once(" after ") {
        Some((result, _)) if result.ends_with("machines are ready") => result,
        _ => line,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> PathBuf {
    Path::new("examples").join(name)
}

/// A copy of an example in which `from`, which must be there, is `to`.
fn changed(name: &str, from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut changes = 0;
    for entry in fs::read_dir(root().join(example(name))).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        changes += text.matches(from).count();
        fs::write(folder.path().join(path.file_name().unwrap()), text.replace(from, to)).unwrap();
    }
    assert!(changes > 0, "{from:?} is not in {name}");
    folder
}

/// Runs an example and compares, or with `CAPM3_BLESS` writes down, what it printed.
fn prints_what_is_expected(name: &str) -> Run {
    let run = Run::of(&example(name));
    golden::compare(name.rsplit('/').next().unwrap(), &run.text());
    run
}

/// An example of `troubles` ends with 1 because nothing moves any more, and its explanation has these parts.
fn is_explained(name: &str, parts: &[&str]) {
    let run = prints_what_is_expected(&format!("troubles/{name}"));
    assert_eq!(run.code, 1);
    assert!(!run.explanation.contains("gave up"), "it comes to rest:\n{}", run.explanation);
    for part in parts {
        assert!(run.explanation.contains(part), "{part:?} is not in:\n{}", run.explanation);
    }
}

/// With one change the machines come up, so what its file names as the fix is the fix.
fn is_cured(name: &str, from: &str, to: &str) {
    let run = Run::of(changed(&format!("troubles/{name}"), from, to).path());
    assert_eq!(run.code, 0, "{from:?} -> {to:?} does not cure {name}:\n{}", run.text());
}

#[test]
fn without_a_cloud_provider_every_machine_gets_its_provider_id_from_the_uuid_label() {
    let run = prints_what_is_expected("no-cloud-provider");
    assert_eq!(run.code, 0, "{}", run.text());
    let rows: Vec<&str> = run.table.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{}", run.table);
    for row in rows {
        assert!(row.contains("  metal3://metal3/host-"), "{row}");
    }
}

#[test]
fn health_checks_and_their_template_come_up_with_the_machines() {
    let run = Run::of(&example("remediation"));
    assert_eq!(run.code, 0, "{}", run.text());
    assert_eq!(run.table.lines().skip(1).count(), 5, "{}", run.table);
    assert_eq!(run.explanation.trim(), "5 of 5 machines are ready", "nothing is left out");
}

#[test]
fn without_the_uuid_label_a_machine_says_which_label_it_waits_for() {
    let run = Run::of(changed("no-cloud-provider", "metal3.io/uuid=", "example.com/uuid=").path());
    assert_eq!(run.code, 1);
    let part = "machine my-cluster-cp-h8q24 (CAPM3-W052): waiting for a Node with the label metal3.io/uuid=";
    assert!(run.explanation.contains(part), "{}", run.text());
}

#[test]
fn too_few_hosts_are_reported_with_each_host_and_its_consumer() {
    is_explained(
        "too-few-hosts",
        &[
            "KubeadmControlPlane my-cluster-cp: 2 of 3 machines are ready",
            "machine my-cluster-cp-j8dc5 (CAPM3-W020): no host is available: 2 hosts: 2 consumed",
            "  host-1: consumed by Metal3Machine metal3/my-cluster-cp-h8q24",
            "  host-2: consumed by Metal3Machine metal3/my-cluster-cp-6mqbz",
        ],
    );
    is_cured("too-few-hosts", "replicas: 3", "replicas: 1");
}

#[test]
fn a_pool_that_is_too_small_is_named_with_the_cause() {
    is_explained(
        "pool-too-small",
        &["machine my-cluster-cp-j8dc5 (CAPM3-D001):", "IPPool my-pool has no free address"],
    );
    is_cured("pool-too-small", "end: 10.0.0.11", "end: 10.0.0.12");
}

#[test]
fn a_data_template_that_is_missing_is_the_one_that_the_rack_maps_to() {
    is_explained(
        "data-template-missing",
        &[
            "machine my-cluster-cp-h8q24 (CAPM3-W036):",
            "Metal3DataTemplate m3dt-rack2, which does not exist in namespace metal3",
        ],
    );
    is_cured("data-template-missing", "name: m3dt-rack2", "name: m3dt-rack1");
}

#[test]
fn a_network_card_that_is_missing_is_reported_with_the_path_and_the_cards_of_the_host() {
    is_explained(
        "nic-missing",
        &[
            "machine my-cluster-cp-h8q24 (CAPM3-D026):",
            "eth1",
            "spec.networkData.links.ethernets[1].macAddress",
            "host host-1 has enp1s0, enp2s0",
        ],
    );
    is_cured("nic-missing", "fromHostInterface: eth1", "fromHostInterface: enp2s0");
}

#[test]
fn a_paused_host_is_reported_as_paused() {
    is_explained(
        "paused-host",
        &[
            "machine my-cluster-cp-h8q24 (CAPM3-W020): no host is available: 1 host: 1 paused",
            "  host-1: paused",
        ],
    );
    is_cured("paused-host", "    baremetalhost.metal3.io/paused: \"\"\n", "    example.com/note: \"\"\n");
}

#[test]
fn an_unhealthy_host_is_reported_as_unhealthy() {
    is_explained(
        "unhealthy-host",
        &[
            "machine my-cluster-cp-h8q24 (CAPM3-W020): no host is available: 1 host: 1 unhealthy",
            "  host-1: marked as unhealthy",
        ],
    );
    is_cured("unhealthy-host", "    capm3.metal3.io/unhealthy: \"\"\n", "    example.com/note: \"\"\n");
}

#[test]
fn another_name_or_count_in_the_files_is_another_name_or_count_in_the_output() {
    let before = Run::of(&example("troubles/too-few-hosts"));
    let renamed = Run::of(changed("troubles/too-few-hosts", "name: host-2", "name: spare").path());
    assert!(before.explanation.contains("  host-2: consumed by") && !before.text().contains("spare"));
    assert!(renamed.explanation.contains("  spare: consumed by"), "{}", renamed.text());
    assert!(!renamed.text().contains("host-2"), "{}", renamed.text());

    let more = Run::of(changed("troubles/too-few-hosts", "replicas: 3", "replicas: 5").path());
    assert!(more.explanation.contains("my-cluster-cp: 2 of 5 machines are ready"), "{}", more.text());

    let larger = Run::of(changed("no-cloud-provider", "  replicas: 1", "  replicas: 3").path());
    assert_eq!(larger.code, 1, "three hosts are not enough for six machines");
    assert!(larger.explanation.contains("3 hosts: 3 consumed"), "{}", larger.text());
}

#[test]
fn every_folder_of_troubles_has_its_expected_output_and_says_what_is_wrong_and_how_to_fix_it() {
    let mut folders = 0;
    for entry in fs::read_dir(root().join(example("troubles"))).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let top = fs::read_to_string(folder.join("cluster.yaml")).unwrap();
        assert!(top.starts_with("# Wrong: ") && top.contains("\n# Fix: "), "{name}");
        let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expected/{name}.txt"));
        assert!(expected.exists(), "{} is missing", expected.display());
        folders += 1;
    }
    assert_eq!(folders, 6);
}

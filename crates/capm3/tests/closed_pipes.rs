//! Nobody reads what a command prints: it must not panic, and its exit code says how the work ended.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    io::{BufRead, BufReader, pipe},
    path::Path,
    process::{Command, Stdio},
};

fn capm3(arguments: &[&str], log: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command.env_remove("KUBECONFIG").env("HOME", "/nonexistent").env("CAPM3_LOG", log);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The end of a pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A command of every kind of end, and its exit code.
const ENDS: [(&[&str], i32); 17] = [
    (&["up", "--once"], 0),
    (&["up", "--once", "-o", "json"], 0),
    (&["up", "--once", "-f", "examples/troubles/too-few-hosts"], 1),
    (&["up", "--once", "-f", "crates/capm3/tests/invalid/values"], 1),
    (&["up", "--speed", "0"], 2),
    (&["up", "--bogus"], 2),
    (&["crds"], 0),
    (&["version"], 0),
    (&["--help"], 0),
    (&["render", "-f", "examples/three-racks"], 0),
    (&["render", "-f", "examples/three-racks", "-o", "json"], 0),
    (&["render", "-f", "crates/capm3/tests/invalid/values"], 1),
    (&["migrate", "-f", "examples/three-racks"], 0),
    (&["migrate", "-f", "crates/capm3/tests/invalid/identity", "-o", "json"], 1),
    (&["explain", "machine/worker-0", "-f", "examples/explain"], 0),
    (&["explain", "machine/worker-0", "-f", "crates/capm3/tests/invalid/values"], 1),
    (&["release", "host/rack1-host-1"], 2),
];

#[test]
fn a_closed_stdout_or_stderr_changes_no_exit_code() {
    // Logs find no reader either; those who write most of them come first.
    for (log, ends) in [("error", &ENDS[..]), ("debug", &ENDS[..3])] {
        for (arguments, code) in ends.iter().copied() {
            let ended = |command: &mut Command| command.status().unwrap().code();
            let read = ended(&mut capm3(arguments, log));
            assert_eq!(read, Some(code), "{arguments:?} with readers, CAPM3_LOG={log}");
            let unread = ended(capm3(arguments, log).stdout(closed()));
            assert_eq!(unread, Some(code), "{arguments:?} with stdout closed, CAPM3_LOG={log}");
            let unsaid = ended(capm3(arguments, log).stderr(closed()));
            assert_eq!(unsaid, Some(code), "{arguments:?} with stderr closed, CAPM3_LOG={log}");
        }
    }
}

/// A full disk is no reader that left: data that is lost is reported.
#[test]
fn data_that_cannot_be_stored_is_a_failure_and_an_error_that_cannot_be_printed_is_none() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["crds"][..], &["render", "-f", "examples/three-racks"]] {
        assert_eq!(
            capm3(arguments, "error").stdout(full()).status().unwrap().code(),
            Some(3),
            "{arguments:?}"
        );
    }
    assert_eq!(capm3(&["up", "--once"], "debug").stderr(full()).status().unwrap().code(), Some(0));
}

#[test]
fn a_server_goes_on_when_nobody_reads_what_it_says() {
    let arguments = ["up", "--listen", "127.0.0.1:0", "--profile", "instant"];
    let mut child = capm3(&arguments, "debug").stdout(Stdio::piped()).stderr(closed()).spawn().unwrap();
    let head = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(head.starts_with("RACK"), "{head}");
    // The rest of the table finds no reader either, for that end is closed by now.
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

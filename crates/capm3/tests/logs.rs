//! CAPM3_LOG: what it takes, and that every command heeds it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

/// Every command, and how it ends.
const COMMANDS: [(&[&str], i32); 9] = [
    (&["up", "--once"], 0),
    (&["manager", "--kubeconfig", "no/such/file"], 2),
    (&["crds"], 0),
    (&["manifests"], 0),
    (&["migrate", "-f", "examples/three-racks"], 0),
    (&["render", "-f", "examples/three-racks"], 0),
    (&["explain", "machine/worker-0", "-f", "examples/explain"], 0),
    (&["release", "host/rack1-host-1", "--kubeconfig", "no/such/file"], 2),
    (&["version"], 0),
];

fn capm3(arguments: &[&str], log: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .stdin(Stdio::null());
    command.env_remove("KUBECONFIG").env_remove("CAPM3_LOG").envs(log.map(|log| ("CAPM3_LOG", log)));
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_value_that_is_no_level_is_wrong_usage_in_every_command() {
    let expected = "error: CAPM3_LOG=bogus cannot be used: expected one of off, error, warn, info, debug, trace, \
                    or a list of such levels and MODULE=LEVEL, such as warn,capm3_engine=debug\n";
    for (arguments, _) in COMMANDS {
        let output = capm3(arguments, Some("bogus"));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), expected, "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn info_prints_info_lines_in_every_command_and_changes_nothing_else() {
    for (arguments, code) in COMMANDS {
        let (quiet, reported) = (capm3(arguments, Some("off")), capm3(arguments, Some("info")));
        assert_eq!((quiet.status.code(), reported.status.code()), (Some(code), Some(code)), "{arguments:?}");
        assert!(!stderr(&quiet).contains(" INFO "), "{arguments:?}: {}", stderr(&quiet));
        let line = format!(" INFO capm3::cli: capm3 {} starts version=", arguments[0]);
        assert!(stderr(&reported).contains(&line), "{arguments:?}: {}", stderr(&reported));
        assert!(quiet.stdout == reported.stdout, "{arguments:?} prints other data");
    }
}

#[test]
fn the_help_says_what_it_takes() {
    let help = String::from_utf8(capm3(&["--help"], None).stdout).unwrap();
    assert!(help.contains("CAPM3_LOG") && help.contains("warn,capm3_engine=debug"), "{help}");
}

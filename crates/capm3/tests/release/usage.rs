//! What the help teaches, and calls that cannot be used.

use crate::common::{capm3, is_expected};

#[test]
fn help_teaches() {
    let help = is_expected("release/help", capm3(&["release", "--help"], ""));
    for part in ["Examples:", "--dry-run", "--yes", "--no-wait", "capm3.metal3.io/release", "[default: 30m]"]
    {
        assert!(help.stdout.contains(part), "{part}: {}", help.text());
    }
}

#[test]
fn wrong_usage_ends_with_two() {
    for (arguments, part) in [
        (vec!["release"], "host/NAME"),
        (vec!["release", "machine/x"], "\"machine/x\" does not name a host; use host/NAME"),
        (vec!["release", "x"], "\"x\" does not name a host; use host/NAME"),
        (vec!["release", "host/x", "--timeout", "5"], "is not a duration"),
        (vec!["release", "host/x"], "no kubeconfig found: use --kubeconfig PATH or set KUBECONFIG"),
    ] {
        let run = capm3(&arguments, "");
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.text());
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.text());
    }
}

//! The Go toolchain that builds the pinned binaries.

use std::process::Command;

use anyhow::Result;

use super::CannotRun;

/// The oldest Go that the pinned modules build with, as (major, minor).
const OLDEST: (u32, u32) = (1, 26);

/// A `go` command, if there is one that is new enough.
pub fn command() -> Result<Command> {
    let output = go().args(["env", "GOVERSION"]).output();
    let version = match &output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => String::new(),
    };
    if release(&version).is_some_and(|found| found >= OLDEST) {
        return Ok(go());
    }
    Err(CannotRun(advice(&version)).into())
}

fn go() -> Command {
    let mut go = Command::new("go");
    // No other toolchain is fetched, no workspace around us is taken in, and no C compiler is needed.
    go.env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("CGO_ENABLED", "0");
    go
}

fn advice(found: &str) -> String {
    let (major, minor) = OLDEST;
    let found = if found.is_empty() { String::new() } else { format!(" (found {found})") };
    format!(
        "the real API server needs Go {major}.{minor} or later on the PATH{found}; install it or skip: \
         only `cargo xtask real` and `cargo xtask kubectl` need it"
    )
}

/// `go1.26.8` is (1, 26); so is `go1.26rc1` and `devel go1.26-abc`.
fn release(version: &str) -> Option<(u32, u32)> {
    let (_, numbers) = version.split_once("go")?;
    let (major, rest) = numbers.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_numbers() {
        assert_eq!(release("go1.26.8"), Some((1, 26)));
        assert_eq!(release("go1.9"), Some((1, 9)));
        assert_eq!(release("go1.27rc1"), Some((1, 27)));
        assert_eq!(release("devel go1.28-3f2a"), Some((1, 28)));
        assert_eq!(release(""), None);
        assert!((1, 9) < OLDEST);
    }

    #[test]
    fn the_advice_is_one_line_that_names_what_was_found() {
        assert!(!advice("").contains('\n'));
        assert!(advice("").starts_with("the real API server needs Go 1.26 or later on the PATH; install it"));
        assert!(advice("go1.20").contains("(found go1.20)"));
    }
}

//! The question before a host is released.

use std::io::{BufRead, IsTerminal, Write};

use capm3_engine::ObjectKey;

use crate::exit::Failure;

/// Whether the person at the terminal agrees.
pub fn is_agreed(host: &ObjectKey) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::Usage(
            "there is no terminal to ask on; add --yes to release the host".to_owned(),
        ));
    }
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "Release host {host}? [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = asked.and_then(|()| stdin.lock().read_line(&mut answer));
    read.map_err(|error| Failure::CouldNotRun(format!("cannot ask: {error}")))?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for (answer, expected) in [
            ("y\n", true),
            ("YES\n", true),
            (" y ", true),
            ("\n", false),
            ("", false),
            ("n", false),
            ("yo", false),
        ] {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }
}

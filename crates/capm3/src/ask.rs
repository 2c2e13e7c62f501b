//! A question before something is written.

use std::io::{BufRead, IsTerminal, Write};

use crate::exit::Failure;

/// Whether the person at the terminal agrees. `unattended` shows what to do where nobody can be asked.
pub fn is_agreed(question: &str, unattended: &str) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::Usage(format!("there is no terminal to ask on; {unattended}")));
    }
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
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

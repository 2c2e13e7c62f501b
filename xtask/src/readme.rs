//! The commands that the README tells a newcomer to type.

use std::fs;

use anyhow::{Context, Result};

use crate::repo;

/// The lines of the README's console blocks that start with `$ `.
pub fn commands() -> Result<Vec<String>> {
    let text = fs::read_to_string(repo::root().join("README.md")).context("reading README.md")?;
    Ok(console_commands(&text))
}

fn console_commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            commands.push(command.to_owned());
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_console_blocks_are_read() {
        let text = "```console\n$ cargo a\nout\n$ b\n```\n```rust\n$ no\n```\n";
        assert_eq!(console_commands(text), ["cargo a", "b"]);
    }

    #[test]
    fn the_readme_names_a_run_and_a_test_command() {
        let commands = commands().unwrap();
        assert!(commands.iter().any(|c| c.starts_with("cargo run --release -- up --once")), "{commands:?}");
        assert!(commands.iter().any(|c| c == "cargo test --workspace"), "{commands:?}");
    }
}

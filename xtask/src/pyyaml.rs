//! `cargo xtask pyyaml`: has PyYAML, the reader of cloud-init, read what the renderer writes.
//!
//! PyYAML is installed once into a virtual environment below `target/`.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};

use crate::repo;

/// What is installed.
const PYYAML: &str = "PyYAML==6.0.2";

/// Why it cannot run here at all.
pub fn obstacle() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import venv, ensurepip"]).output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned())
        }
        Err(error) => Some(format!("python3: {error}")),
    }
}

/// Makes the environment if there is none and runs the test.
pub fn run() -> Result<()> {
    let folder = repo::root().join("target/pyyaml");
    let python = folder.join("bin/python");
    if !has_yaml(&python) {
        finish(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        finish(Command::new(&python).args(["-m", "pip", "install", "--quiet", PYYAML]))?;
    }
    let test = ["test", "-p", "capm3-domain", "--test", "read_back_by_pyyaml", "--", "--ignored"];
    finish(Command::new("cargo").args(test).current_dir(repo::root()).env("CAPM3_PYTHON", &python))
}

fn has_yaml(python: &Path) -> bool {
    Command::new(python).args(["-c", "import yaml"]).status().is_ok_and(|status| status.success())
}

fn finish(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

//! Runs the programs of the unpacked packages by the Python of these packages.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::documents::Task;

/// The folder that Debian's packages are unpacked in.
pub struct Driver {
    root: PathBuf,
}

impl Driver {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Version of the package cloud-init, with its revision.
    pub fn version(&self) -> String {
        // The name of the folder is made by who unpacks; the version is Debian's own word.
        let file = self.root.join("cloud-init.version");
        fs::read_to_string(file).unwrap().trim().to_owned()
    }

    /// What the programs make of each document.
    pub fn run(&self, tasks: &[Task]) -> Vec<Value> {
        let nics: serde_json::Map<String, Value> =
            Task::nics().map(|(mac, name)| (mac, json!(name))).collect();
        let lines =
            tasks.iter().map(|task| format!("{}\n", json!({ "document": task.document, "nics": nics })));
        let input: String = lines.collect();
        let mut child = self.python().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // On a thread of its own: the answers fill the pipe before the questions end.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "the driver failed: {}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn python(&self) -> Command {
        let usr = self.root.join("usr");
        let is_python = |path: &PathBuf| {
            let version = path.file_name().and_then(|name| name.to_str()?.strip_prefix("python3."));
            version.is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let python = entries(&usr.join("bin")).into_iter().find(is_python).expect("a Python is unpacked");
        let is_library = |path: &PathBuf| path.to_string_lossy().ends_with("-linux-gnu");
        let libraries = [usr.join("lib"), self.root.join("lib")];
        let libraries: Vec<String> = libraries
            .iter()
            .flat_map(|folder| entries(folder))
            .filter(is_library)
            .map(|folder| folder.display().to_string())
            .collect();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node_parsers/python/driver.py");
        let mut command = Command::new(python);
        command.arg(script).arg(&self.root).env("PYTHONHOME", usr).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("LD_LIBRARY_PATH", libraries.join(":"));
        command
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

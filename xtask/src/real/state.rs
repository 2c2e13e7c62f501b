//! What is known about a cluster after the process that started it has ended.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{folder::RunFolder, process::Record};

/// The content of the state file. It is written before the first process starts and after each one, so that a broken
/// start can be cleaned up too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// URL of the API server.
    pub server: String,
    /// Whether the start was completed.
    pub ready: bool,
    /// In the order in which they were started.
    pub processes: Vec<Record>,
}

impl State {
    /// Reads the state of a folder; `None` if it holds no cluster.
    pub fn load(folder: &RunFolder) -> Result<Option<Self>> {
        let path = folder.state();
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let state = serde_json::from_slice(&text).with_context(|| {
            let folder = folder.path().display();
            format!("{} is damaged: end what still runs there by hand and remove {folder}", path.display())
        })?;
        Ok(Some(state))
    }

    /// Writes the state file of a folder.
    pub fn save(&self, folder: &RunFolder) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let beside = folder.path().join("state.json.new");
        folder.write(&beside, &format!("{text}\n"))?;
        fs::rename(&beside, folder.state()).with_context(|| format!("writing {}", folder.state().display()))
    }

    /// Whether everything that was started still runs.
    pub fn is_running(&self, folder: &RunFolder) -> bool {
        self.ready && self.processes.iter().all(|process| process.is_running(folder.path()))
    }

    /// Stops what still runs, last started first: a server must not outlive what it depends on. All are tried.
    pub fn stop(&self, folder: &RunFolder) -> Result<()> {
        let results: Vec<_> =
            self.processes.iter().rev().map(|process| process.stop(folder.path())).collect();
        results.into_iter().try_for_each(|result| result.map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            server: "https://127.0.0.1:3".to_owned(),
            ready: true,
            processes: vec![Record {
                name: "etcd".to_owned(),
                // No process has this number: it is above what any kernel gives.
                pid: i32::MAX,
                binary: "/bin/etcd".into(),
            }],
        }
    }

    #[test]
    fn the_state_file_is_read_as_it_was_written() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(temporary.path());
        state().save(&folder).unwrap();
        assert_eq!(State::load(&folder).unwrap(), Some(state()));
    }

    #[test]
    fn a_folder_without_a_state_file_holds_no_cluster() {
        let temporary = tempfile::tempdir().unwrap();
        assert_eq!(State::load(&RunFolder::at(temporary.path())).unwrap(), None);
    }

    #[test]
    fn a_damaged_state_file_names_the_way_out() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(temporary.path());
        folder.write(&folder.state(), "{").unwrap();
        let refusal = State::load(&folder).unwrap_err().to_string();
        assert!(refusal.contains("is damaged: end what still runs there"), "{refusal}");
    }

    #[test]
    fn processes_that_have_ended_need_no_stopping() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(temporary.path());
        assert!(!state().is_running(&folder));
        state().stop(&folder).unwrap();
    }
}

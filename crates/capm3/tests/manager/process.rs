//! `capm3 manager` as a process, and what it says.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use capm3_engine::clock::Stopwatch;
use rustix::process::Pid;
use serde_json::{Value, json};

use crate::common::Up;

/// A manager that runs, and its logs.
pub struct Manager {
    child: Child,
    health: SocketAddr,
    /// Where diagnostics are served.
    pub diagnostics: Option<SocketAddr>,
    pub logs: Arc<Mutex<Vec<Value>>>,
}

impl Manager {
    /// Without webhooks.
    pub fn start(up: &Up) -> Self {
        Self::start_with(up, &["--webhook-port=0"])
    }

    pub fn start_with(up: &Up, arguments: &[&str]) -> Self {
        Self::start_at(Path::new(&up.kubeconfig), arguments)
    }

    /// Of the cluster of a kubeconfig.
    pub fn start_at(kubeconfig: &Path, arguments: &[&str]) -> Self {
        Self::start_logging(kubeconfig, arguments, None)
    }

    /// The same with a value of CAPM3_LOG.
    pub fn start_logging(kubeconfig: &Path, arguments: &[&str], log: Option<&str>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_capm3"))
            .args(["manager", "--health-addr", "127.0.0.1:0", "--logging-format", "json"])
            .args(["--diagnostics-address=127.0.0.1:0"])
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env_remove("CAPM3_LOG")
            .envs(log.map(|log| ("CAPM3_LOG", log)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        // The last words of a command are no log entry.
        let mut lines = lines.map(|line| serde_json::from_str(&line).unwrap_or(json!({"line": line})));
        let (mut diagnostics, mut first) = (None, Vec::new());
        let found = |entry: &Value, name: &str| entry["fields"][name].as_str().map(|at| at.parse().unwrap());
        let health = lines.find_map(|entry| {
            diagnostics = diagnostics.or_else(|| found(&entry, "diagnostics"));
            let health = found(&entry, "health");
            first.push(entry);
            health
        });
        let (health, logs) = (health.unwrap(), Arc::new(Mutex::new(first)));
        let later = Arc::clone(&logs);
        std::thread::spawn(move || lines.for_each(|entry| later.lock().unwrap().push(entry)));
        Self { child, health, diagnostics, logs }
    }

    /// Code and text of an answer.
    pub fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.health).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Asks until `/readyz` answers with this code, 90 s at most; its text.
    pub fn until_readyz(&self, code: u16, what: &str) -> String {
        let (clock, mut last) = (Stopwatch::start(), (0, String::new()));
        while clock.elapsed() < Duration::from_secs(90) {
            last = self.get("/readyz");
            if last.0 == code {
                println!("{what}: {code} after {:.1} s", clock.elapsed().as_secs_f64());
                return last.1;
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
        panic!("{what}: {last:?} instead of {code}; logs: {:#?}", self.logs.lock().unwrap());
    }

    /// Levels and messages of log entries that begin with a word.
    pub fn logged(&self, word: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let logs = self.logs.lock().unwrap();
        let entries = logs.iter().map(|entry| (text(&entry["level"]), text(&entry["fields"]["message"])));
        entries.filter(|(_, message)| message.starts_with(word)).collect()
    }
}

impl Manager {
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits 90 s at most until something is logged that begins with a word.
    pub fn until_logged(&self, word: &str) {
        let begins =
            |entry: &Value| entry["fields"]["message"].as_str().is_some_and(|it| it.starts_with(word));
        self.until_entry(word, begins);
    }

    /// Waits 90 s at most for a log entry.
    pub fn until_entry(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let clock = Stopwatch::start();
        loop {
            let logs = self.logs.lock().unwrap();
            if logs.iter().any(&is_it) {
                break;
            }
            assert!(clock.elapsed() < Duration::from_secs(90), "no {what}: {logs:#?}");
            drop(logs);
            std::thread::park_timeout(Duration::from_millis(50));
        }
        println!("{what} after {:.1} s", clock.elapsed().as_secs_f64());
    }

    /// Waits for the end; the exit code and its last line.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let clock = Stopwatch::start();
        loop {
            let logs = self.logs.lock().unwrap();
            let last = logs.iter().find_map(|entry| Some(entry["line"].as_str()?.to_owned()));
            drop(logs);
            if last.is_some() || code == Some(0) || clock.elapsed() > Duration::from_secs(10) {
                return (code, last.unwrap_or_default());
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _told = self.child.kill();
        let _ended = self.child.wait();
    }
}

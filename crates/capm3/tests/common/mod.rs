//! What tests of the command line share: running it, comparing what it prints, and a cluster to run it on.

mod golden;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use capm3_engine::{Detail, ResourceKind, client::over_network};
use serde_json::{Value, json};

/// What one run printed.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn text(&self) -> String {
        format!("exit code {}\n\n{}\n{}", self.code, self.stdout, self.stderr)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{}", self.text()))
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the program in the root of the repository, with no kubeconfig but the one it is given.
pub fn capm3(arguments: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.args(arguments).current_dir(repository());
    command.env_remove("CAPM3_LOG").env_remove("KUBECONFIG").env("HOME", "/nonexistent");
    // The tests may run in a pod.
    command.env_remove("KUBERNETES_SERVICE_HOST");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read its input may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compares, or with `CAPM3_BLESS` writes down, what a run printed; `name` is below `tests/expected`.
pub fn is_expected(name: &str, run: Run) -> Run {
    golden::compare(name, &run.text());
    run
}

/// A cluster that `capm3 up` runs, and a kubeconfig for it.
pub struct Up {
    child: Child,
    pub kubeconfig: String,
}

impl Up {
    /// Brings a folder up and waits until nothing moves any more.
    pub fn start(folder: &Path) -> Self {
        Self::listening(folder, "127.0.0.1:0")
    }

    /// The same at an address of the caller's choice.
    pub fn listening(folder: &Path, address: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_capm3"))
            .args(["up", "--listen", address, "--profile", "instant", "-f"])
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let kubeconfig =
            lines.find_map(|line| line.strip_prefix("export KUBECONFIG=").map(str::to_owned)).unwrap();
        assert!(lines.any(|line| line == "Ctrl-C ends everything."), "everything is up");
        // Whatever it still says must find a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, kubeconfig }
    }

    /// The process.
    #[allow(dead_code, reason = "only some tests look at it")]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Every object of these kinds in namespace `metal3`.
    pub fn list(&self, kinds: &[ResourceKind]) -> Vec<Value> {
        let text = fs::read_to_string(&self.kubeconfig).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = over_network(&text, None, "test").await.unwrap();
            let mut objects = Vec::new();
            for kind in kinds {
                let page = client.list_page::<Value>(kind, "metal3", Detail::Whole, None).await.unwrap();
                for mut object in page.items {
                    object["apiVersion"] = json!(kind.api_version());
                    object["kind"] = json!(kind.kind);
                    objects.push(object);
                }
            }
            objects
        })
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _told = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ended = self.child.wait();
    }
}

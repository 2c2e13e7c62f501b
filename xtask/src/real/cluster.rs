//! A real etcd, API server and controller manager for as long as they are wanted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    args, build, etcd,
    folder::RunFolder,
    guard::Guard,
    kubeconfig,
    pins::Binary,
    pki::{Authority, MASTERS, TokenKey},
    ports::Ports,
    process::{self, Record},
    state::State,
    wait::{self, Stopwatch},
    workload::Workload,
};

const AUDIT_POLICY: &str = include_str!("../../../tools/kube/audit-policy.yaml");
/// How long a server may take to answer; a busy machine with two cores needs a quarter of it.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How often ports are chosen again because somebody was faster.
const ATTEMPTS: u32 = 3;

/// A running cluster. Dropping it, or the end of this process, stops its processes and removes its folder.
pub struct Cluster {
    folder: RunFolder,
    state: State,
    children: Vec<(String, Child)>,
    /// Where etcd listens.
    etcd: u16,
    /// None if it shall stay when we end.
    guard: Option<Guard>,
}

/// Paths of the built binaries.
struct Binaries {
    etcd: PathBuf,
    api_server: PathBuf,
    controller_manager: PathBuf,
    kubectl: PathBuf,
}

impl Cluster {
    /// Starts a cluster that lives as long as the returned value, in a folder of its own.
    pub fn start() -> Result<Self> {
        Self::start_in(&RunFolder::unused())
    }

    /// Starts a cluster in a folder and waits until it is ready. What is missing is built first.
    pub fn start_in(folder: &RunFolder) -> Result<Self> {
        let binaries = Binaries::ensure()?;
        let watch = Stopwatch::start();
        let mut attempt = 1;
        loop {
            match Self::try_start(folder, &binaries) {
                Ok(cluster) => {
                    let server = &cluster.state.server;
                    eprintln!("{server} is ready after {:.1} s", watch.elapsed().as_secs_f64());
                    return Ok(cluster);
                }
                Err(error)
                    if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") =>
                {
                    eprintln!("a port was taken meanwhile: choosing again");
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Where its API server records requests.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.audit_log()
    }

    /// Every object of a group of custom resources, as it is stored.
    pub async fn stored(&self, group: &str) -> Result<Vec<Value>> {
        etcd::objects_of(self.etcd, group).await
    }

    /// Where files may be that go with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where a process that belongs to it logs.
    pub fn log(&self, process: &str) -> PathBuf {
        self.folder.log(process)
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.kubeconfig()
    }

    /// Lets it run after this process has ended; `State::stop` stops it.
    pub fn keep(mut self) {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }

    fn try_start(folder: &RunFolder, binaries: &Binaries) -> Result<Self> {
        folder.create()?;
        let ports = Ports::choose()?;
        let mut cluster = Self {
            folder: folder.clone(),
            state: State {
                server: format!("https://127.0.0.1:{}", ports.api_server),
                ready: false,
                processes: Vec::new(),
            },
            children: Vec::new(),
            etcd: ports.etcd_client,
            guard: Some(Guard::of(folder)?),
        };
        cluster.state.save(folder)?;
        cluster.write_files()?;
        cluster.spawn(Binary::Etcd.name(), &binaries.etcd, &args::etcd(folder, &ports))?;
        let arguments = args::api_server(folder, &ports);
        cluster.spawn(Binary::ApiServer.name(), &binaries.api_server, &arguments)?;
        let admin = folder.kubeconfig();
        cluster.wait_for(Binary::ApiServer.name(), &binaries.kubectl, &admin, ports.api_server, "/readyz")?;
        // Only now: it gives up when it finds no API server for ten seconds.
        let arguments = args::controller_manager(folder, &ports);
        let name = Binary::ControllerManager.name();
        cluster.spawn(name, &binaries.controller_manager, &arguments)?;
        cluster.wait_for(name, &binaries.kubectl, &admin, ports.controller_manager, "/healthz")?;
        cluster.state.ready = true;
        cluster.state.save(folder)?;
        Ok(cluster)
    }

    fn write_files(&self) -> Result<()> {
        let folder = &self.folder;
        let authority = Authority::create()?;
        let server = authority.server()?;
        let token = TokenKey::create()?;
        // A user for each, so that the audit log tells them apart.
        let config = |user: &str| -> Result<String> {
            let client = authority.client(user, MASTERS)?;
            Ok(kubeconfig::text(&self.state.server, &authority.certificate(), user, &client))
        };
        for (path, text) in [
            (folder.authority(), authority.certificate()),
            (folder.server_certificate(), server.certificate),
            (folder.server_key(), server.key),
            (folder.token_private_key(), token.private),
            (folder.token_public_key(), token.public),
            (folder.audit_policy(), AUDIT_POLICY.to_owned()),
            (folder.kubeconfig(), config("admin")?),
            (folder.controller_manager_kubeconfig(), config("kube-controller-manager")?),
        ] {
            folder.write(&path, &text)?;
        }
        Ok(())
    }

    /// Starts a process that ends with the cluster. One of its arguments must name a file of the cluster's folder, by which it is
    /// recognised later.
    pub fn spawn(&mut self, name: &str, path: &Path, arguments: &[String]) -> Result<()> {
        let child = process::spawn(path, arguments, &self.folder.log(name))?;
        let pid = i32::try_from(child.id()).context("a process number that is none")?;
        self.children.push((name.to_owned(), child));
        self.state.processes.push(Record { name: name.to_owned(), pid, binary: path.to_owned() });
        self.state.save(&self.folder)
    }

    /// Ends a process that was started for the cluster.
    pub fn end(&mut self, name: &str) -> Result<()> {
        for (_, child) in self.children.iter_mut().filter(|(started, _)| started == name) {
            process::end(child)?;
        }
        self.children.retain(|(started, _)| started != name);
        self.state.processes.retain(|process| process.name != name);
        self.state.save(&self.folder)
    }

    /// Starts the API server of a workload cluster, whose objects are in the etcd of this one.
    pub fn start_workload(&mut self, name: &str) -> Result<Workload> {
        let (binaries, folder) = (Binaries::ensure()?, self.folder.clone());
        let workload = Workload::create(name)?;
        workload.write(&folder)?;
        let arguments = args::workload_api_server(&folder, self.etcd, name, workload.port());
        self.spawn(name, &binaries.api_server, &arguments)?;
        let admin = folder.of_workload(name, "kubeconfig");
        self.wait_for(name, &binaries.kubectl, &admin, workload.port(), "/readyz")?;
        Ok(workload)
    }

    /// Waits until a server answers, or says why it ended.
    fn wait_for(&mut self, name: &str, kubectl: &Path, admin: &Path, port: u16, path: &str) -> Result<()> {
        let mut ask = Command::new(kubectl);
        ask.arg("--kubeconfig")
            .arg(admin)
            .arg(format!("--server=https://127.0.0.1:{port}"))
            .args(["--request-timeout=5s", "get", "--raw", path])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let answered = wait::until(START_LIMIT, || {
            self.check_children()?;
            Ok(ask.status().context("asking with kubectl")?.success().then_some(()))
        })?;
        if answered.is_some() {
            return Ok(());
        }
        let tail = log_tail(&self.folder, name);
        bail!("{name} did not answer {path} within {} s; the end of its log:\n{tail}", START_LIMIT.as_secs())
    }

    /// An error if a process has ended, with its last output.
    pub fn check_children(&mut self) -> Result<()> {
        for (name, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let tail = log_tail(&self.folder, name);
                bail!("{name} ended ({status}); the end of its log:\n{tail}");
            }
        }
        Ok(())
    }
}

fn log_tail(folder: &RunFolder, process: &str) -> String {
    let text = fs::read_to_string(folder.log(process)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let (_, tail) = lines.split_at(lines.len().saturating_sub(20));
    tail.join("\n")
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.guard.is_none() {
            return;
        }
        // Last started first: a server must not outlive what it depends on.
        for (name, child) in self.children.iter_mut().rev() {
            if let Err(error) = process::end(child) {
                eprintln!("{name} (pid {}) does not end: {error:#}", child.id());
                return;
            }
        }
        if let Err(error) = self.folder.remove() {
            eprintln!("{error:#}");
        }
    }
}

impl Binaries {
    fn ensure() -> Result<Self> {
        Ok(Self {
            etcd: build::ensure(Binary::Etcd)?,
            api_server: build::ensure(Binary::ApiServer)?,
            controller_manager: build::ensure(Binary::ControllerManager)?,
            kubectl: build::ensure(Binary::Kubectl)?,
        })
    }
}

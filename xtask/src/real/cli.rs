//! The chores `cargo xtask real` and `cargo xtask kubectl`.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use clap::Subcommand;

use super::{
    Cluster, build,
    folder::{self, RunFolder},
    pins::Binary,
    state::State,
};

/// Who plays Cluster API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ClusterApi {
    Played,
    Real,
}

/// What to do with a real API server.
#[derive(Debug, Subcommand)]
pub enum Real {
    /// Start etcd, kube-apiserver and kube-controller-manager; prints `export KUBECONFIG=...`
    Up {
        /// Folder for data, keys and logs; must be empty or not exist [default: target/kube/run/up]
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Stop what `up` started and remove its folder
    Down {
        /// The folder that was given to `up`
        #[arg(long)]
        dir: Option<PathBuf>,
        /// Wait for that first, and say nothing if nothing is up then
        #[arg(long, hide = true)]
        when_input_ends: bool,
    },
    /// Say what runs; fails if only a part of a cluster does
    Status {
        /// The folder that was given to `up` [default: every one in target/kube/run]
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Ask the embedded server and a real one the same with raw requests, and compare the answers
    Run(crate::conformance::Args),
    /// Give a real server every manifest of the design documents, as printed and after `capm3 migrate`, and what single rows ask
    Seeds(crate::seeds::Args),
    /// Bring the three racks up, scale, upgrade, pause and delete them on both servers, with manager and world as clients; the real
    /// one has an installed release and asks its webhooks
    E2e {
        /// Who plays Cluster API; with the real one, its managers and clusterctl run the scenarios on real servers only
        #[arg(long, value_enum, default_value_t = ClusterApi::Played)]
        capi: ClusterApi,
        /// With the real one: a short scenario, at most 8 minutes once everything is built
        #[arg(long)]
        sample: bool,
    },
    /// Apply what `capm3 manifests` gives, and check the rights of the manager's account
    Install,
    /// Let a real server ask the webhooks of a manager that makes its own certificates: defaulting, refusals, conversion
    Webhooks,
    /// Build the image, check it with skopeo and umoci, and run it as a pod would; needs root and apt-get
    Image,
    /// Kill and stop the leader of two managers while a fleet comes up, is replaced and goes; nothing may be mixed up
    Replicas(crate::replicas::Options),
    /// Ask the embedded server and a real one the same with kubectl, and compare the answers
    Script(crate::kubectl_script::Args),
    /// Run one command against a server that is started for it; KUBECONFIG and the PATH to kubectl are set
    Exec {
        /// The command and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

/// `cargo xtask real`.
pub fn run(what: Real) -> Result<ExitCode> {
    match what {
        Real::Up { dir } => up(&folder(dir)),
        Real::Run(args) => crate::conformance::run(&args),
        Real::Seeds(args) => crate::seeds::run(&args),
        Real::E2e { capi: ClusterApi::Played, sample: false } => crate::e2e::run(),
        Real::E2e { capi: ClusterApi::Played, .. } => bail!("--sample needs --capi real"),
        Real::E2e { capi: ClusterApi::Real, sample } => crate::capi::run(sample),
        Real::Install => crate::install::run(),
        Real::Webhooks => crate::e2e::webhooks(),
        Real::Image => crate::image::run_on_a_server(),
        Real::Replicas(options) => crate::replicas::run(&options),
        Real::Script(args) => crate::kubectl_script::run(args),
        Real::Down { dir, when_input_ends: false } => down(&folder(dir)),
        Real::Down { dir, .. } => down_when_input_ends(&folder(dir)),
        Real::Status { dir } => status(dir),
        Real::Exec { command } => return exec(&command),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// `cargo xtask kubectl`: this process becomes kubectl, so that signals and exit codes are kubectl's.
pub fn kubectl(arguments: &[OsString]) -> Result<ExitCode> {
    let path = build::ensure(Binary::Kubectl)?;
    let error = Command::new(&path).args(arguments).exec();
    Err(error).with_context(|| format!("starting {}", path.display()))
}

/// Where the pinned kubectl is, built if it is not there.
pub fn kubectl_path() -> Result<PathBuf> {
    build::ensure(Binary::Kubectl)
}

fn folder(dir: Option<PathBuf>) -> RunFolder {
    dir.map_or_else(RunFolder::usual, |dir| RunFolder::at(&dir))
}

fn up(folder: &RunFolder) -> Result<()> {
    match State::load(folder)? {
        Some(state) if state.is_running(folder) => eprintln!("{} is already up", state.server),
        stale => {
            if stale.is_some() {
                down(folder)?;
            }
            Cluster::start_in(folder)?.keep();
        }
    }
    println!("export KUBECONFIG={}", folder.kubeconfig().display());
    Ok(())
}

fn down(folder: &RunFolder) -> Result<()> {
    let Some(state) = State::load(folder)? else {
        eprintln!("nothing is up in {}", folder.path().display());
        return Ok(());
    };
    state.stop(folder)?;
    folder.remove()?;
    eprintln!("{} is down", state.server);
    Ok(())
}

fn down_when_input_ends(folder: &RunFolder) -> Result<()> {
    io::copy(&mut io::stdin(), &mut io::sink())?;
    match State::load(folder)? {
        Some(_) => down(folder),
        None => Ok(()),
    }
}

fn status(dir: Option<PathBuf>) -> Result<()> {
    let folders = match dir {
        Some(dir) => vec![RunFolder::at(&dir)],
        None => all_folders()?,
    };
    let mut broken = Vec::new();
    let mut any = false;
    for folder in &folders {
        let Some(state) = State::load(folder)? else {
            continue;
        };
        any = true;
        println!("{} in {}", state.server, folder.path().display());
        for process in &state.processes {
            let running = if process.is_running(folder.path()) { "running" } else { "gone" };
            println!("  {running:<8} pid {:<8} {}", process.pid, process.name);
        }
        if !state.is_running(folder) {
            broken.push(format!("`cargo xtask real down --dir {}`", folder.path().display()));
        }
    }
    if !any {
        println!("nothing is up");
    }
    if !broken.is_empty() {
        bail!("not complete or still starting; to clean up: {}", broken.join(", "));
    }
    Ok(())
}

fn all_folders() -> Result<Vec<RunFolder>> {
    let runs = folder::runs();
    if !runs.exists() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(&runs).with_context(|| format!("reading {}", runs.display()))? {
        folders.push(entry?.path());
    }
    folders.sort();
    Ok(folders.iter().map(|path| RunFolder::at(path)).collect())
}

fn exec(command: &[OsString]) -> Result<ExitCode> {
    let (program, arguments) = command.split_first().context("no command was given")?;
    let kubectl = build::ensure(Binary::Kubectl)?;
    let cluster = Cluster::start()?;
    let ours = kubectl.parent().map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let status = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("PATH", env::join_paths(ours.into_iter().chain(env::split_paths(&path)))?)
        .status()
        .with_context(|| format!("starting {}", program.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

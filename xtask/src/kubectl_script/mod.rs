//! `cargo xtask real script`: kubectl scripts, run by the pinned kubectl against our server and against a real one. What
//! kubectl prints must be the same, command by command, and is checked in.
//!
//! The scripts are `xtask/tests/kubectl/script.txt`, for a server by itself, and `up/script.txt`, for `capm3 up` with
//! everything at work. The answers of the real server are beside them in `expected/`.
//! [`script`] reads the one and [`expected`] the other, [`server`] prepares a server, [`kubectl`] runs a command and
//! [`mask`] takes out what no two runs have in common.

mod expected;
mod kubectl;
mod mask;
mod script;
mod server;
mod three_racks;
mod up;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use self::{
    expected::{Expected, Verdict},
    kubectl::Kubectl,
    script::Step,
    three_racks::ThreeRacks,
    up::Up,
};
use crate::{
    embedded::Embedded,
    real::{self, Cluster},
    repo,
};

/// Where the scripts, their input and the answers are.
fn folder() -> PathBuf {
    repo::root().join("xtask/tests/kubectl")
}

/// A script and what is at work while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suite {
    /// A server with the CRDs and nobody else: every answer is the server's own.
    Server,
    /// `capm3 up` as people start it; on the real server the manager and the world.
    Up,
}

impl Suite {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Up => "up",
        }
    }

    fn folder(self) -> PathBuf {
        match self {
            Self::Server => folder(),
            Self::Up => folder().join("up"),
        }
    }

    /// What our own server answers.
    fn embedded(self, binary: &Path, steps: &[Step]) -> Result<Vec<Answer>> {
        match self {
            Self::Server => {
                // The server answers on threads of its own while kubectl is waited for on this one.
                let runtime = tokio::runtime::Runtime::new()?;
                let embedded = runtime.block_on(async { Embedded::start() })?;
                let kubectl = kubectl_for(binary, &embedded.kubeconfig())?;
                server::install_crds(&kubectl)?;
                answers("embedded", &kubectl, steps)
            }
            Self::Up => {
                let up = Up::start()?;
                answers("capm3 up", &kubectl_for(binary, up.kubeconfig())?, steps)
            }
        }
    }

    /// What a real server answers.
    fn real(self, binary: &Path, steps: &[Step]) -> Result<Vec<Answer>> {
        match self {
            Self::Server => {
                let cluster = Cluster::start()?;
                let kubectl = kubectl_for(binary, &cluster.kubeconfig())?;
                server::install_crds(&kubectl)?;
                answers("real", &kubectl, steps)
            }
            Self::Up => {
                let racks = ThreeRacks::start()?;
                answers("real", &kubectl_for(binary, &racks.kubeconfig())?, steps)
            }
        }
    }
}

fn kubectl_for(binary: &Path, kubeconfig: &Path) -> Result<Kubectl> {
    Kubectl::new(binary, kubeconfig, &folder().join("input"))
}

/// How the script is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Write what the real server answers as what is expected
    #[arg(long)]
    bless: bool,
    /// Leave the real server out
    #[arg(long, conflicts_with = "bless")]
    embedded_only: bool,
    /// Print every difference, also those that are known
    #[arg(long)]
    verbose: bool,
    /// Run only one of the two: `server` (nobody else at work) or `up` (controllers and world at work)
    #[arg(long, value_parser = ["server", "up"])]
    only: Option<String>,
}

/// Runs the scripts; fails with the differences.
pub fn run(args: Args) -> Result<()> {
    let binary = real::kubectl_path()?;
    let mut wrong = 0;
    for suite in [Suite::Server, Suite::Up] {
        if args.only.as_deref().is_none_or(|only| only == suite.name()) {
            wrong += run_suite(suite, &args, &binary)?;
        }
    }
    ensure!(wrong == 0, "{wrong} answers are not as expected; --bless takes those of the real server");
    Ok(())
}

/// How many answers are wrong.
fn run_suite(suite: Suite, args: &Args, binary: &Path) -> Result<usize> {
    let steps = script::read(&suite.folder())?;
    let real = if args.embedded_only { None } else { Some(suite.real(binary, &steps)?) };
    if let (true, Some(real)) = (args.bless, &real) {
        expected::write(&suite.folder(), real)?;
    }
    let answers = suite.embedded(binary, &steps)?;
    let expected = Expected::read(&suite.folder(), &steps)?;
    let known = expected.known();
    let ours = judge("embedded", &answers, args.verbose, |name, text| expected.judge(name, text, known));
    let theirs =
        real.map(|real| judge("real", &real, args.verbose, |name, text| expected.judge(name, text, &[])));
    let name = suite.name();
    let mut summary = format!("kubectl script {name}: {} commands, embedded {} ok", steps.len(), ours.ok);
    if ours.known > 0 {
        summary += &format!(" ({} differ as known)", ours.known);
    }
    if let Some(theirs) = &theirs {
        summary += &format!(", real {} ok", theirs.ok);
    }
    println!("{summary}");
    Ok(ours.wrong + theirs.map_or(0, |theirs| theirs.wrong))
}

/// A step's name and the output of kubectl.
type Answer = (String, String);

fn answers(server: &str, kubectl: &Kubectl, steps: &[Step]) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for step in steps {
        match kubectl.run(step) {
            Ok(outcome) => answers.push((step.name.clone(), outcome)),
            Err(error) => bail!("{server}: {}: {error:#}", step.name),
        }
    }
    Ok(answers)
}

/// How many answers were what.
struct Count {
    ok: usize,
    known: usize,
    wrong: usize,
}

fn judge(server: &str, answers: &[Answer], verbose: bool, verdict: impl Fn(&str, &str) -> Verdict) -> Count {
    let mut count = Count { ok: 0, known: 0, wrong: 0 };
    for (name, text) in answers {
        match verdict(name, text) {
            Verdict::Same => count.ok += 1,
            Verdict::KnownToDiffer(diff) => {
                count.known += 1;
                if verbose {
                    eprintln!("{server}: {name}, as known:\n{diff}");
                }
            }
            Verdict::Differs(diff) => {
                count.wrong += 1;
                eprintln!("{server}: {name}:\n{diff}");
            }
        }
    }
    count
}

//! `cargo xtask real script`: one kubectl script, run by the pinned kubectl against the embedded server and against a
//! real one. What kubectl prints must be the same, command by command, and is checked in.
//!
//! The script is `xtask/tests/kubectl/script.txt`, the answers of the real server are beside it in `expected/`.
//! [`script`] reads the one and [`expected`] the other, [`server`] prepares a server, [`kubectl`] runs a command and
//! [`mask`] takes out what no two runs have in common.

mod expected;
mod kubectl;
mod mask;
mod script;
mod server;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use self::{
    expected::{Expected, Verdict},
    kubectl::Kubectl,
    script::Step,
    server::Embedded,
};
use crate::{
    real::{self, Cluster},
    repo,
};

/// Where the script, its input and the answers are.
fn folder() -> PathBuf {
    repo::root().join("xtask/tests/kubectl")
}

/// How the script is run.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
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
}

/// Runs the script; fails with the differences.
pub fn run(args: Args) -> Result<()> {
    let steps = script::read(&folder())?;
    let binary = real::kubectl_path()?;
    let mut real = None;
    if !args.embedded_only {
        let cluster = Cluster::start()?;
        real = Some(answers("real", &binary, &cluster.kubeconfig(), &steps)?);
    }
    if let (true, Some(real)) = (args.bless, &real) {
        expected::write(&folder(), real)?;
    }
    let embedded = Embedded::start()?;
    let answers = answers("embedded", &binary, embedded.kubeconfig(), &steps)?;
    embedded.stop();
    let expected = Expected::read(&folder(), &steps)?;
    let known = expected.known();
    let ours = judge("embedded", &answers, args.verbose, |name, text| expected.judge(name, text, known));
    let theirs =
        real.map(|real| judge("real", &real, args.verbose, |name, text| expected.judge(name, text, &[])));
    let mut summary = format!("kubectl script: {} commands, embedded {} ok", steps.len(), ours.ok);
    if ours.known > 0 {
        summary += &format!(" ({} differ as known)", ours.known);
    }
    if let Some(theirs) = &theirs {
        summary += &format!(", real {} ok", theirs.ok);
    }
    println!("{summary}");
    let wrong = ours.wrong + theirs.map_or(0, |theirs| theirs.wrong);
    ensure!(wrong == 0, "{wrong} answers are not as expected; --bless takes those of the real server");
    Ok(())
}

/// A step's name and what kubectl said.
type Answer = (String, String);

fn answers(server: &str, binary: &Path, kubeconfig: &Path, steps: &[Step]) -> Result<Vec<Answer>> {
    let kubectl = Kubectl::new(binary, kubeconfig, &folder().join("input"))?;
    server::install_crds(&kubectl)?;
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

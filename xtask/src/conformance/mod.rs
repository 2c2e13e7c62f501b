//! `cargo xtask real run`: the same raw requests to the embedded server and to a real one, answer by answer.
//!
//! The requests are in `xtask/tests/conformance`, one file a subject, each case in a namespace of its own. [`case`]
//! reads them, [`play`] sends them and [`mask`] takes out of the answers what no two servers have in common. What
//! is left must be equal: code, content type, warnings, body; [`known`] lists where it is not.

mod case;
pub mod client;
mod known;
mod mask;
mod play;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub use self::play::prepare as install;
use self::{case::Case, client::Client, known::Known, play::Answers};
use crate::{compare, embedded::Embedded, real::Cluster, repo};

/// How the suite is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Only cases whose subject or name contains this
    filter: Option<String>,
    /// Print every answer of the real server, and the differences that are known
    #[arg(long)]
    verbose: bool,
}

fn folder() -> PathBuf {
    repo::root().join("xtask/tests/conformance")
}

/// Runs the suite; fails with the differences.
pub fn run(args: &Args) -> Result<()> {
    let (crds, mut cases) = case::read(&folder())?;
    let wanted = args.filter.clone().unwrap_or_default();
    cases.retain(|case| case.title().contains(&wanted));
    ensure!(!cases.is_empty(), "no case is named like {wanted:?}");
    let cluster = Cluster::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (real, embedded) = runtime.block_on(async {
        let server = Embedded::start()?;
        let (at_real, at_embedded) = (cluster.kubeconfig(), server.kubeconfig());
        tokio::try_join!(
            Box::pin(answers("real", &at_real, &crds, &cases)),
            Box::pin(answers("embedded", &at_embedded, &crds, &cases)),
        )
    })?;
    report(&cases, &real, &embedded, &Known::read(&folder())?, args.verbose)
}

fn report(
    cases: &[Case],
    real: &[Answers],
    embedded: &[Answers],
    known: &Known,
    verbose: bool,
) -> Result<()> {
    let (mut same, mut listed, mut wrong) = (0, 0, 0);
    for (case, (real, embedded)) in cases.iter().zip(real.iter().zip(embedded)) {
        let verdict = known.judge(&case.title(), &compare::differences(real, embedded));
        for (step, answer) in real.iter().filter(|_| verbose) {
            eprintln!("{}: {step}\n{answer:#}", case.title());
        }
        for line in verdict.wrong.iter().chain(verdict.known.iter().filter(|_| verbose)) {
            eprintln!("{line}");
        }
        same += usize::from(verdict.known.is_empty() && verdict.wrong.is_empty());
        listed += verdict.known.len();
        wrong += verdict.wrong.len();
    }
    let requests: usize = cases.iter().map(|case| case.steps.len()).sum();
    println!(
        "conformance: {} cases, {requests} requests to each server: {same} cases the same in everything, \
         {listed} single differences as known, {wrong} not known",
        cases.len(),
    );
    ensure!(wrong == 0, "{wrong} differences between the servers are not as known.txt says");
    Ok(())
}

async fn answers(
    name: &str,
    kubeconfig: &std::path::Path,
    crds: &[Value],
    cases: &[Case],
) -> Result<Vec<Answers>> {
    let client = Client::new(kubeconfig).await?;
    play::prepare(&client, crds).await.with_context(|| format!("preparing the {name} server"))?;
    let mut all = Vec::new();
    for (number, case) in (1..).zip(cases) {
        let answers = play::play(&client, case, number).await;
        all.push(answers.with_context(|| format!("{} on the {name} server", case.title()))?);
    }
    Ok(all)
}

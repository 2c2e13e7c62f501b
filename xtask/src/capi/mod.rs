//! `cargo xtask real e2e --capi real`: the real Cluster API beside our manager, on real API servers.
//!
//! clusterctl installs it and us from a folder with release files; its three managers and ours are processes with the rights of
//! their own Roles, whose webhooks the API server asks. Hosts and kubelets are played by the world, as clients with rights of
//! their own. Control planes have an external etcd: the checks of a stacked one need pods that run.
//!
//! `--sample` runs a short scenario that CI has time for: up, a node that hangs and comes back, one move, deletion.
//!
//! [`management`] is a management cluster with all of that, [`workload`] what a workload cluster needs, [`racks`], [`remediation`],
//! [`moving`] and [`templates`] are the scenarios.

mod clusterctl;
mod management;
mod managers;
mod moving;
mod racks;
mod remediation;
mod repository;
mod rights;
mod templates;
mod watched;
mod webhooks;
mod workload;

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};

use self::{management::Management, repository::Repository};
use crate::{
    e2e::build_manager,
    real::{Binary, build_all, components, ensure_built, wait::Stopwatch},
    repo,
};

/// How long the sample may take once everything is built.
const SAMPLE: Duration = Duration::from_secs(480);

/// Runs the scenarios, or a sample of them, on clusters that are started for them.
pub fn run(is_sample: bool) -> Result<()> {
    let watch = Stopwatch::start();
    let binary = build_manager()?;
    let repository = Repository::create(&binary, &components::ensure()?)?;
    build_all()?;
    ensure_built(Binary::Clusterctl)?;
    managers::build()?;
    say(&format!("built: {:.0} s", watch.elapsed().as_secs_f64()));
    let watch = Stopwatch::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut here = Management::start("here", &repository, &binary)?;
    let mut there = Management::start("there", &repository, &binary)?;
    let played = runtime.block_on(async {
        match is_sample {
            true => Box::pin(sample(&repository, &mut here, &mut there)).await,
            false => Box::pin(play(&repository, &mut here, &mut there)).await,
        }
    });
    if played.is_err() {
        keep_logs(&[&here, &there])?;
    }
    played?;
    let took = watch.elapsed();
    say(&format!("{}: {:.0} s", if is_sample { "the sample" } else { "all scenarios" }, took.as_secs_f64()));
    ensure!(!is_sample || took <= SAMPLE, "the sample took {took:?}, more than {SAMPLE:?}");
    Ok(())
}

/// Up over three racks, scaled, a node healed, moved once and deleted where it came to.
async fn sample(repository: &Repository, here: &mut Management, there: &mut Management) -> Result<()> {
    let workloads = workload::Workloads::none()?;
    here.begin(&workloads).await?;
    there.begin(&workloads).await?;
    let watch = Stopwatch::start();
    let racks = Box::pin(racks::come_up(here, &workloads)).await?;
    report("three racks", watch);
    let watch = Stopwatch::start();
    remediation::begin(here).await?;
    Box::pin(remediation::power_cycle(here, &racks)).await?;
    report("healed", watch);
    let watch = Stopwatch::start();
    Box::pin(moving::one_way(repository, here, there)).await?;
    report("moved", watch);
    let watch = Stopwatch::start();
    Box::pin(racks::delete(there)).await?;
    racks.end(here, &workloads)?;
    report("deleted", watch);
    rights::check(here)?;
    rights::check(there)
}

async fn play(repository: &Repository, here: &mut Management, there: &mut Management) -> Result<()> {
    let workloads = workload::Workloads::none()?;
    here.begin(&workloads).await?;
    let watch = Stopwatch::start();
    let racks = Box::pin(racks::up(here, &workloads)).await?;
    report("three racks", watch);
    let watch = Stopwatch::start();
    remediation::begin(here).await?;
    Box::pin(remediation::power_cycle(here, &racks)).await?;
    Box::pin(remediation::replace(here, &racks)).await?;
    report("healed and replaced", watch);
    let watch = Stopwatch::start();
    there.begin(&workloads).await?;
    Box::pin(moving::there_and_back(repository, here, there)).await?;
    report("moved", watch);
    let watch = Stopwatch::start();
    Box::pin(racks::down(here, &workloads, racks)).await?;
    report("deleted", watch);
    let watch = Stopwatch::start();
    Box::pin(templates::play(repository, here, &workloads)).await?;
    report("templates", watch);
    rights::check(here)?;
    rights::check(there)
}

fn report(what: &str, watch: Stopwatch) {
    say(&format!("{what}: {:.0} s", watch.elapsed().as_secs_f64()));
}

/// Copies the logs of all processes to a place that stays.
fn keep_logs(clusters: &[&Management]) -> Result<()> {
    let kept = repo::root().join("target/kube/capi-logs");
    for management in clusters {
        let folder = kept.join(management.name());
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        for entry in fs::read_dir(management.folder())? {
            let path = entry?.path();
            let is_log = path.extension().is_some_and(|it| it == "log");
            if let Some(name) = path.file_name().filter(|_| is_log) {
                fs::copy(&path, folder.join(Path::new(name)))?;
            }
        }
    }
    say(&format!("the logs are in {}", kept.display()));
    Ok(())
}

fn say(what: &str) {
    eprintln!("capi: {what}");
}

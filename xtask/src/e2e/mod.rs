//! `cargo xtask real e2e`: the three racks on a real API server and on the embedded one, at the same time, with the
//! manager and the world as two clients of each.
//!
//! The real server has what a release of `capm3 manifests` installs: it asks the webhooks of the manager, which has the
//! arguments of its Deployment, so that it competes for the Lease, and the rights of its Roles and no others. Up, rest, a
//! scrape of its metrics, scale with the manager killed in the middle, scale down, a version that is not served, objects in v1beta1 only, an upgrade, a
//! pause, delete. After each step the rows must be right, nothing may be used twice, and every object must be the same on both
//! servers but for what [`mask`] lists.

mod absence;
mod change;
mod definitions;
mod deployed;
mod health;
mod judge;
mod manager;
mod mask;
mod pause;
mod scenario;
mod scrape;
mod server;
mod stage;
mod stored_older;
mod upgrade;
mod versions;
mod webhooks;

use anyhow::{Result, ensure};

pub use self::{
    health::is_ready,
    judge::{hosts_are_free, racks},
    manager::{Manager, USER_AGENT},
    scenario::three_racks,
    server::Server,
    stage::{NAMESPACE, Stage, text},
    upgrade::run as upgrade,
    webhooks::run as webhooks,
};
use crate::compare;

/// Builds the manager and says where it is.
pub fn build_manager() -> Result<std::path::PathBuf> {
    manager::build()
}

/// Runs the scenario on a cluster that is started for it and on an embedded server.
pub fn run() -> Result<()> {
    let binary = manager::build()?;
    let real = Server::start_deployed()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (real, embedded) = runtime.block_on(async {
        let embedded = Server::start_embedded()?;
        tokio::try_join!(Box::pin(scenario::run(&real, &binary)), Box::pin(scenario::run(&embedded, &binary)))
    })?;
    let mut differences = 0;
    for (real, embedded) in real.iter().zip(&embedded) {
        let found = compare::differences(&real.objects, &embedded.objects);
        match found.len() {
            0 => say(&format!("{}: {} objects, the same on both servers", real.name, real.objects.len())),
            count => say(&format!("{}: {count} differences\n{}", real.name, found.join("\n"))),
        }
        differences += found.len();
    }
    for (what, why) in mask::MASKED {
        say(&format!("not compared: {what} ({why})"));
    }
    ensure!(differences == 0, "{differences} differences between the real server and the embedded one");
    Ok(())
}

fn say(what: &str) {
    eprintln!("e2e: {what}");
}

//! `capm3 release`: asks for the release of a host whose machine is gone, and follows it.
//!
//! Whether it may be released is judged by the rule of the controller; the request is an annotation, and the manager, which
//! proves once more that the machine is gone, carries it out. Nothing else of the host is written here.

mod follow;
mod seen;
mod text;

use std::time::Duration;

use capm3_api::{neighbours::BareMetalHost, vocabulary::annotation};
use capm3_engine::{ApiError, Clock, ObjectKey, ResourceKind};
use capm3_offline::explain::{Releasable, Release, Target, releasable};
use clap::Args;
use serde_json::json;

use crate::{
    ask,
    exit::{self, Failure},
    explain::{found, live},
    manager::duration,
    remote::{Remote, RemoteArgs},
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-release";

/// What to do without a kubeconfig.
const WAYS: &str = "use --kubeconfig PATH or set KUBECONFIG";

/// How often a host that changes meanwhile is read again.
const TRIES: usize = 5;

/// What `release` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ReleaseArgs {
    /// The host: host/NAME, baremetalhost/NAME, or bmh/NAME
    #[arg(value_name = "host/NAME", value_parser = host)]
    host: Target,
    /// Namespace of the host; without it, that of the kubeconfig's context
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Release without asking for confirmation
    #[arg(short, long)]
    yes: bool,
    /// Print what would happen and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Request the release and exit; do not follow it
    #[arg(long)]
    no_wait: bool,
    /// How long to follow the release: a number with s, m or h
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration)]
    timeout: Duration,
}

const HELP: &str = "A host whose Metal3Machine is not found is left as it is, because the Metal3Machine may come back: \
after a restore, or once its kind is served again. `capm3 explain host/NAME` shows such a host. If the machine is \
gone for good, release the host with this command. The data on its disk is then lost.\n\n\
The command shows the host and what will happen, asks for confirmation, and writes the request on the host as \
annotation capm3.metal3.io/release. The manager proves that the machine is gone, which takes a minute after its \
start, and carries out the request. Each step is printed as it happens.\n\n\
A host that is in use, reserved or paused is refused, with advice on what to do instead.\n\n\
Exit codes: 0 the host is free, 1 it is not released, 2 wrong usage or no terminal to ask on, 3 the cluster \
cannot be read or written, 130 after Ctrl-C (the release continues).\n\n\
Examples:\n  \
  capm3 release host/rack1-host-1 -n metal3 --dry-run       what would happen\n  \
  capm3 release host/rack1-host-1 -n metal3                 ask, release and follow\n  \
  capm3 release bmh/rack1-host-1 -n metal3 --yes --no-wait  request it from a script";

/// Only a host can be released.
fn host(text: &str) -> Result<Target, String> {
    let target: Target = text.parse().map_err(|_| format!("{text:?} does not name a host; use host/NAME"))?;
    target.is_host().then_some(target).ok_or_else(|| format!("{text:?} does not name a host; use host/NAME"))
}

/// Runs `release`.
pub fn run(args: &ReleaseArgs) -> Result<(), Failure> {
    let remote = args.remote.connect(USER_AGENT, WAYS)?;
    let namespace = args.namespace.clone().unwrap_or_else(|| remote.namespace().to_owned());
    let Some((key, release)) = request(args, &remote, &namespace)? else { return Ok(()) };
    if args.no_wait {
        let explain = format!("capm3 explain host/{} -n {}", key.name, key.namespace);
        return exit::print(&format!("the release is requested; `{explain}` shows its progress\n"));
    }
    remote.run(|client| follow::follow(client, &key, &release.machine, args.timeout))
}

/// Shows the host, asks, and writes the request; `None` if there is nothing to follow.
fn request(
    args: &ReleaseArgs,
    remote: &Remote,
    namespace: &str,
) -> Result<Option<(ObjectKey, Box<Release>)>, Failure> {
    let mut shown = String::new();
    for _ in 0..TRIES {
        let (key, judged) = judge(args, remote, namespace)?;
        let release = match judged {
            Releasable::Yes(release) => release,
            Releasable::IsFree => {
                exit::print(&format!("BareMetalHost {key} has no consumer: it is free\n"))?;
                return Ok(None);
            }
            Releasable::No { why, way_out } => {
                return Err(Failure::Invalid(text::refusal(&key, &why, &way_out)));
            }
            Releasable::Unknown(why) => {
                return Err(Failure::CouldNotRun(format!("host {key} is not released: {why}")));
            }
        };
        // The operator writes the status of a host often: what reads as before was agreed to before.
        let summary = text::render_text(&key, &release, None);
        if summary != shown {
            exit::print(&text::render_text(&key, &release, Some(Clock::system().now())))?;
            if args.dry_run {
                exit::print("nothing is written (--dry-run)\n")?;
                return Ok(None);
            }
            if release.is_requested {
                exit::print("the release is requested already\n")?;
            } else if !args.yes && !is_agreed(&key)? {
                return Err(Failure::Invalid(format!("host {key} is not released: nothing is written")));
            }
            shown = summary;
        }
        if release.is_requested || write(remote, &key, &release)? {
            return Ok(Some((key, release)));
        }
    }
    Err(Failure::CouldNotRun(format!(
        "the host changed {TRIES} times meanwhile; nothing is written; try again"
    )))
}

/// Whether the person at the terminal agrees.
fn is_agreed(host: &ObjectKey) -> Result<bool, Failure> {
    ask::is_agreed(&format!("Release host {host}?"), "add --yes to release the host")
}

/// Reads everything again and judges the host.
fn judge(args: &ReleaseArgs, remote: &Remote, namespace: &str) -> Result<(ObjectKey, Releasable), Failure> {
    let mut remarks = Vec::new();
    let site = live::of_hosts(remote, namespace, &args.host, &mut remarks)?;
    remarks.extend(site.problems.iter().map(|problem| format!("left out: {problem}")));
    for remark in &remarks {
        exit::say(remark);
    }
    let key = found(&site, &args.host, Some(namespace))?;
    let judged = releasable(&site, &key);
    let judged = judged.ok_or_else(|| Failure::Invalid(format!("BareMetalHost {key} is not found")))?;
    Ok((key, judged))
}

/// Writes the request on the very version of the host that was judged; false if the host has changed.
fn write(remote: &Remote, key: &ObjectKey, release: &Release) -> Result<bool, Failure> {
    let patch = json!({"metadata": {
        "resourceVersion": release.version,
        "annotations": {annotation::RELEASE_HOST: release.machine.to_string()},
    }});
    let kind = ResourceKind::of::<BareMetalHost>();
    let written = remote.run(|client| async move { client.merge_patch(&kind, key, None, &patch).await });
    match written {
        Ok(_) => Ok(true),
        Err(ApiError::Conflict { .. }) => Ok(false),
        Err(error) => Err(Failure::CouldNotRun(format!(
            "cannot write the request on BareMetalHost {key}: {}",
            error.with_causes()
        ))),
    }
}

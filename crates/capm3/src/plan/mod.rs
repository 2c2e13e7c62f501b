//! `capm3 plan`: what the controllers will do, when, and where it stops, from files or a running cluster and changed manifests.

mod html;
mod live;
mod text;

use std::path::PathBuf;

use capm3_engine::{
    Clock, ObjectKey,
    manifests::{self, Document},
};
use capm3_offline::plan::{self, Durations, Options, Plan, Planned};
use clap::{Args, ValueEnum};
use tracing::info;

use crate::{
    exit::{self, Failure},
    numbers, paint,
    problems::{self, refusals},
    remote::RemoteArgs,
};

/// What `plan` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct PlanArgs {
    /// Files or folders of manifests, or - for standard input: everything, or what changes in the cluster
    #[arg(short, long = "filename", value_name = "FILE", required_unless_present_any = ["from", "kubeconfig", "context"])]
    filename: Vec<PathBuf>,
    /// Objects of a cluster in files, as `kubectl get -o yaml` prints them, instead of a running cluster
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kubeconfig", "context"])]
    from: Vec<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Namespace to read of the cluster; without it, that of the kubeconfig's context
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Minutes from the start of the deployment of an image until the Node has joined
    #[arg(long, value_name = "MINUTES", default_value_t = 20, value_parser = numbers::whole::<u32>)]
    minutes_provision: u32,
    /// Minutes that a host takes to be deprovisioned and cleaned
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = numbers::whole::<u32>)]
    minutes_clean: u32,
    /// This host fails at the start: its machine is given up and replaced (repeatable)
    #[arg(long, value_name = "NAME")]
    fail_host: Vec<String>,
    /// Every host of this failure domain fails at the start (repeatable)
    #[arg(long, value_name = "NAME")]
    fail_domain: Vec<String>,
    /// What to print: a table, everything as JSON or YAML, or a page with a timeline of the hosts
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

const HELP: &str = "Shows what the controllers would do, in order and with times: which machine comes on which host, in which rack, with \
which data template, index and addresses; which machine goes, and which host returns when. In a roll-out (a changed template, \
version or number of replicas) it follows maxSurge, maxUnavailable and node reuse. If hosts, addresses or racks do not \
suffice, it shows where it stops, why, and what would help.\n\n\
It runs the decisions of the controllers themselves, those of the provider and simulated ones of Cluster API and of the host operator. \
Nothing is written. With --kubeconfig or --from, the manifests of -f are merged into the objects of the cluster as kubectl apply \
does it, so a manifest may contain only the fields that change. Of Secrets only the names are read.\n\n\
A machine that does not exist yet is called OWNER-new-NUMBER. Which of several equal hosts it takes is decided by its uid, \
so the plan names all of them (one of ...). Machines that come at the same time share their indexes and addresses in the same way. \
An index or address is left out (?) if it depends on which host another machine takes.\n\n\
A host that fails (--fail-host, --fail-domain) is marked as unhealthy, and the machine on it is given up as by a health check.\n\n\
Exit codes: 0 every machine that is asked for is ready in the end; 1 it stops before, or a manifest is refused; 2 wrong \
usage; 3 the cluster cannot be read.\n\n\
Examples:\n  \
  capm3 plan -f examples/three-racks                                  a new cluster\n  \
  capm3 plan --kubeconfig ~/.kube/config -n metal3 -f changed.yaml    a roll-out in a running cluster\n  \
  capm3 plan --from objects.yaml -f changed.yaml                      the same without a connection\n  \
  capm3 plan --from objects.yaml --fail-domain rack2                  what happens without a rack\n  \
  capm3 plan -f site -o html > plan.html                              a timeline for the browser\n\n\
To get such files from a cluster:\n  \
  P=ipam.metal3.io; kubectl get -n metal3 -o yaml > objects.yaml \\\n  \
  cluster-api,bmh,ippools.$P,ipclaims.$P,ipaddresses.$P";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Steps in a table, and a summary
    Table,
    /// One JSON document
    Json,
    /// The same as YAML
    Yaml,
    /// A page with a timeline
    Html,
}

/// Runs `plan`.
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let state = state(args)?;
    let changes = read(&args.filename)?;
    judge(&state, &changes)?;
    let minutes = |minutes: u32| std::time::Duration::from_secs(u64::from(minutes) * 60);
    let options = Options {
        durations: Durations {
            provision: minutes(args.minutes_provision),
            clean: minutes(args.minutes_clean),
        },
        failed_hosts: args.fail_host.clone(),
        failed_domains: args.fail_domain.clone(),
    };
    let planned = plan::plan(&state, &changes, &options, Clock::system().now());
    let Planned { plan, problems } = planned.map_err(|error| Failure::Invalid(error.to_string()))?;
    for line in problems::lines(&problems) {
        exit::say(format_args!("left out: {line}"));
    }
    info!(steps = plan.steps.len(), finishes = plan.finishes, "the plan is made");
    print(args.output, &plan)?;
    text::reasons(&plan).iter().for_each(exit::say);
    if plan.finishes { Ok(()) } else { Err(Failure::Problems) }
}

fn print(output: Output, plan: &Plan) -> Result<(), Failure> {
    match output {
        Output::Table => exit::print(&text::table(plan, paint::colours_stdout())),
        Output::Json => exit::print_json(serde_json::to_string_pretty(plan)),
        Output::Yaml => exit::print(&plan::to_yaml(plan)),
        Output::Html => exit::print(&html::page(plan)),
    }
}

/// What is there; empty if the files of -f are everything.
fn state(args: &PlanArgs) -> Result<Vec<Document>, Failure> {
    if !args.from.is_empty() {
        return read(&args.from);
    }
    if args.remote.is_named() {
        return live::objects(&args.remote, args.namespace.as_deref());
    }
    Ok(Vec::new())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let reading = manifests::read(paths)?;
    for line in problems::lines(&reading.problems) {
        exit::say(format_args!("left out: {line}"));
    }
    Ok(reading.documents)
}

/// What no server would take cannot be planned. A manifest that is merged into an object of the cluster need not be complete, and
/// what a server has given out is there whatever we think of it.
fn judge(state: &[Document], changes: &[Document]) -> Result<(), Failure> {
    let place = |document: &Document| -> (String, ObjectKey) { (document.kind().to_owned(), document.key()) };
    let known: std::collections::BTreeSet<_> = state.iter().map(place).collect();
    let relevant: std::collections::BTreeSet<String> =
        plan::wanted().into_iter().map(|kind| kind.kind).collect();
    let is_new = |document: &&Document| {
        relevant.contains(document.kind())
            && !known.contains(&place(document))
            && document.value_at("metadata.resourceVersion").is_none()
    };
    let mut refused = refusals(&changes.iter().filter(is_new).collect::<Vec<_>>())?;
    if refused.is_empty() {
        return Ok(());
    }
    refused.sort();
    for line in problems::lines(&refused) {
        exit::say(format_args!("error: {line}"));
    }
    Err(Failure::Problems)
}

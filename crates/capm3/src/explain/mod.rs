//! `capm3 explain`: where a machine or a host stands and why, from a running cluster or from files.

pub mod host_text;
pub mod live;
pub mod text;

use std::{collections::BTreeMap, path::PathBuf};

use capm3_engine::{
    Clock, ObjectKey,
    manifests::{self, Document, Problem},
};
use capm3_offline::explain::{Site, Target, explain, explain_host, find, is_relevant};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use tracing::info;

use crate::{
    exit::{self, Failure},
    paint,
    problems::{self, refusals},
    remote::RemoteArgs,
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-explain";

/// What to do without a kubeconfig.
const WAYS: &str = "use --kubeconfig PATH, set KUBECONFIG, or give manifests with -f";

/// What `explain` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ExplainArgs {
    /// The machine or host: machine/NAME, metal3machine/NAME, m3m/NAME, or NAME; host/NAME, baremetalhost/NAME, or bmh/NAME
    #[arg(value_name = "machine/NAME|host/NAME")]
    target: Target,
    /// Files or folders of manifests, or - for standard input, instead of a running cluster
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["kubeconfig", "context"])]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Namespace of the machine or host; without it, that of the kubeconfig's context, or any that the files have
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// What to print: a summary with tables, or everything as JSON
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

const HELP: &str = "Shows the state of a machine, since when, what it waits for, who must act and what to do. \
Then it lists each step of the machine, and each host of its namespace with the reason why it is used or not. \
For a host it shows which machine uses it, whether it is free, reserved or orphaned (its machine is not found, \
or has no record of it), how far its release is, who must act and what to do.\n\n\
It computes what the controllers would decide from the same objects. It writes nothing, and reads only the names of \
Secrets. Manifests are validated as an API server with the provider's rules does: if one is refused, the errors \
are printed and nothing is explained. For objects that come from a cluster, the same errors are warnings.\n\n\
Exit codes: 0 explained, whatever the state; 1 no such machine or host, or a manifest is refused; 2 wrong usage; \
3 the cluster cannot be read.\n\n\
Examples:\n  \
  capm3 explain machine/my-cluster-cp-x7k2m -n metal3      in the cluster of the current context\n  \
  capm3 explain m3m/my-cluster-cp-x7k2m -n metal3 -o json  the same for scripts\n  \
  capm3 explain host/rack1-host-1 -n metal3                which machine uses it, or why none does\n  \
  capm3 explain machine/worker-0 -f examples/explain       from files, without a cluster\n\n\
To get such files from a cluster:\n  \
  P=ipam.metal3.io; kubectl get -n metal3 -o yaml > objects.yaml \\\n  \
  cluster-api,bmh,ippools.$P,ipclaims.$P,ipaddresses.$P";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A summary, then tables
    Text,
    /// One JSON document
    Json,
}

/// Runs `explain`.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut remarks = Vec::new();
    let (site, namespace, clock) = if args.filename.is_empty() {
        let remote = args.remote.connect(USER_AGENT, WAYS)?;
        let namespace = args.namespace.clone().unwrap_or_else(|| remote.namespace().to_owned());
        let site = match args.target.is_host() {
            true => live::of_hosts(&remote, &namespace, &args.target, &mut remarks)?,
            false => live::of_machines(&remote, &namespace, &mut remarks)?,
        };
        (site, Some(namespace), Some(Clock::system()))
    } else {
        (files(args, &mut remarks)?, args.namespace.clone(), None)
    };
    remarks.extend(left_out(&site.problems));
    for remark in &remarks {
        exit::say(remark);
    }
    let key = found(&site, &args.target, namespace.as_deref())?;
    exit::print(&answer(args, &site, &key, clock.map(|clock| clock.now()))?)
}

/// The machine or host that is meant.
pub fn found(site: &Site, target: &Target, namespace: Option<&str>) -> Result<ObjectKey, Failure> {
    find(site, target, namespace).map_err(|error| match error.is_usage() {
        true => Failure::Usage(error.to_string()),
        false => Failure::Invalid(error.to_string()),
    })
}

fn answer(
    args: &ExplainArgs,
    site: &Site,
    key: &ObjectKey,
    now: Option<Timestamp>,
) -> Result<String, Failure> {
    let gone = |kind: &str| Failure::Invalid(format!("{kind} {key} is not found"));
    if args.target.is_host() {
        let explanation = explain_host(site, key).ok_or_else(|| gone("BareMetalHost"))?;
        return match args.output {
            Output::Text => Ok(host_text::render_text(&explanation, now, paint::colours_stdout())),
            Output::Json => json(serde_json::to_string_pretty(&explanation)),
        };
    }
    let explanation = explain(site, key).ok_or_else(|| gone("Metal3Machine"))?;
    match args.output {
        Output::Text => Ok(text::render_text(&explanation, now, paint::colours_stdout())),
        Output::Json => json(serde_json::to_string_pretty(&explanation)),
    }
}

fn left_out(problems: &[Problem]) -> impl Iterator<Item = String> {
    problems::lines(problems).into_iter().map(|line| format!("left out: {line}"))
}

fn json(text: serde_json::Result<String>) -> Result<String, Failure> {
    text.map(|text| format!("{text}\n")).map_err(|error| Failure::CouldNotRun(error.to_string()))
}

/// The objects of the files. Files without any Secret say nothing about Secrets.
fn files(args: &ExplainArgs, remarks: &mut Vec<String>) -> Result<Site, Failure> {
    let reading = manifests::read(&args.filename)?;
    info!(objects = reading.documents.len(), problems = reading.problems.len(), "manifests are read");
    remarks.extend(left_out(&reading.problems));
    let has = |kind: &str| reading.documents.iter().any(|document| document.kind() == kind);
    let knows_secrets = has("Secret");
    if !knows_secrets && !args.target.is_host() {
        remarks.push(
            "no Secrets in the files: cannot check whether the Secrets that the machine needs exist"
                .to_owned(),
        );
    }
    judge(&reading.documents, remarks)?;
    // Files without any machine are no sign that the machine of a host is gone.
    let unread =
        (!has("Metal3Machine")).then(|| ("Metal3Machine".to_owned(), "is not in the files".to_owned()));
    Ok(Site::read(&reading.documents, knows_secrets).lacking(BTreeMap::from_iter(unread)))
}

/// What no server would take is no ground for an explanation. What a server has given out is there whatever we think of
/// it: a value that looks wrong is only reported.
fn judge(documents: &[Document], remarks: &mut Vec<String>) -> Result<(), Failure> {
    let judged = documents.iter().filter(|document| is_relevant(document));
    let (given_out, written): (Vec<&Document>, Vec<&Document>) =
        judged.partition(|document| document.value_at("metadata.resourceVersion").is_some());
    let mut refused = refusals(&written)?;
    refused.sort();
    if !refused.is_empty() {
        for line in problems::lines(&refused) {
            exit::say(format_args!("error: {line}"));
        }
        return Err(Failure::Problems);
    }
    remarks
        .extend(problems::lines(&refusals(&given_out)?).into_iter().map(|line| format!("warning: {line}")));
    Ok(())
}

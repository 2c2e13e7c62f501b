//! `capm3 explain`: where a machine stands and why, from a running cluster or from files.

mod text;

use std::path::PathBuf;

use capm3_engine::{
    ApiError, Clock, ObjectKey,
    manifests::{self, Document, Problem},
};
use capm3_offline::explain::{Explanation, Site, Target, explain, find, has_a_say, wanted};
use capm3_provider::host_crd;
use clap::{Args, ValueEnum};

use crate::{
    exit::{self, Failure},
    paint,
    problems::{self, refusals},
    remote::{Remote, RemoteArgs, unreadable},
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-explain";

/// What `explain` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ExplainArgs {
    /// The machine: machine/NAME, metal3machine/NAME, m3m/NAME, or NAME; that of Cluster API or the Metal3Machine
    #[arg(value_name = "machine/NAME")]
    machine: Target,
    /// Files or folders of manifests, or - for standard input, instead of a running cluster
    #[arg(short, long = "filename", value_name = "FILE")]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Namespace of the machine; without it, that of the kubeconfig's context, or whichever one the files have
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// What to print: a story with tables, or everything as JSON
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

const HELP: &str = "Says where the machine stands, since when, what it waits for, who must act and what to do; then\n\
every step on its way and every host of its namespace with the reason that it was taken or not.\n\
The decisions are those of the controllers, made anew from the same objects. Nothing is written,\n\
and of Secrets only the names are read. Manifests are judged as an API server with the\n\
provider's rules does: what it would refuse is told, and nothing is explained; of what a cluster\n\
has given out it is only told. Ends with 0 whatever the state, with 1 if there is no such\n\
machine or a manifest is refused, with 3 if the cluster cannot be read.\n\n\
Examples:\n  \
  capm3 explain machine/my-cluster-cp-x7k2m -n metal3      in the cluster of the current context\n  \
  capm3 explain m3m/my-cluster-cp-x7k2m -n metal3 -o json  the same for scripts\n  \
  capm3 explain machine/worker-0 -f examples/explain       from files, with no cluster at all\n\n\
Such files come from a cluster by\n  \
  P=ipam.metal3.io; kubectl get -n metal3 -o yaml > objects.yaml \\\n  \
  cluster-api,bmh,ippools.$P,ipclaims.$P,ipaddresses.$P";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A story, then tables
    Text,
    /// One JSON document
    Json,
}

/// Runs `explain`.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut remarks = Vec::new();
    let (site, namespace, clock) = if args.filename.is_empty() {
        let remote = args.remote.connect(USER_AGENT)?;
        let namespace = args.namespace.clone().unwrap_or_else(|| remote.namespace().to_owned());
        (live(&remote, &namespace, &mut remarks)?, Some(namespace), Some(Clock::system()))
    } else {
        (files(args, &mut remarks)?, args.namespace.clone(), None)
    };
    remarks.extend(left_out(&site.problems));
    for remark in &remarks {
        eprintln!("{remark}");
    }
    let key = find(&site, &args.machine, namespace.as_deref()).map_err(|error| match error.is_usage() {
        true => Failure::Usage(error.to_string()),
        false => Failure::Invalid(error.to_string()),
    })?;
    let explanation = explain(&site, &key);
    let explanation =
        explanation.ok_or_else(|| Failure::Invalid(format!("Metal3Machine {key} is not there")))?;
    let text = match args.output {
        Output::Text => text::story(&explanation, clock.map(|clock| clock.now()), paint::colours_stdout()),
        Output::Json => json(&explanation)?,
    };
    exit::print(&text)
}

fn left_out(problems: &[Problem]) -> impl Iterator<Item = String> {
    problems::lines(problems).into_iter().map(|line| format!("left out: {line}"))
}

fn json(explanation: &Explanation) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(explanation);
    text.map(|text| format!("{text}\n")).map_err(|error| Failure::CouldNotRun(error.to_string()))
}

/// The objects of the files. Files without any Secret say nothing about Secrets.
fn files(args: &ExplainArgs, remarks: &mut Vec<String>) -> Result<Site, Failure> {
    let reading = manifests::read(&args.filename)?;
    remarks.extend(left_out(&reading.problems));
    let knows_secrets = reading.documents.iter().any(|document| document.kind() == "Secret");
    if !knows_secrets {
        remarks.push(
            "no Secrets in the files: whether those that the machine needs are there is not judged"
                .to_owned(),
        );
    }
    judge(&reading.documents, remarks)?;
    Ok(Site::read(&reading.documents, knows_secrets))
}

/// What no server would take is no ground for an explanation. What a server has given out is there whatever we think of
/// it: that it looks wrong is only told.
fn judge(documents: &[Document], remarks: &mut Vec<String>) -> Result<(), Failure> {
    let judged = documents.iter().filter(|document| has_a_say(document));
    let (given_out, written): (Vec<&Document>, Vec<&Document>) =
        judged.partition(|document| document.value_at("metadata.resourceVersion").is_some());
    let mut refused = refusals(&written)?;
    refused.sort();
    if !refused.is_empty() {
        for line in problems::lines(&refused) {
            eprintln!("error: {line}");
        }
        return Err(Failure::Problems);
    }
    remarks
        .extend(problems::lines(&refusals(&given_out)?).into_iter().map(|line| format!("warning: {line}")));
    Ok(())
}

/// The objects of one namespace of a cluster. Whoever may not list Secrets can still be told the rest.
fn live(remote: &Remote, namespace: &str, remarks: &mut Vec<String>) -> Result<Site, Failure> {
    let (mut documents, mut knows_secrets): (Vec<Document>, bool) = (Vec::new(), true);
    for (kind, detail) in wanted() {
        match remote.list(&kind, namespace, detail) {
            Ok(listed) => documents.extend(listed),
            Err(ApiError::Refused { code: 403, .. }) if kind.kind == "Secret" => {
                remarks.push(
                    "Secrets may not be listed: whether those that the machine needs are there is not judged"
                        .to_owned(),
                );
                knows_secrets = false;
            }
            Err(error) => {
                return Err(unreadable(&format!("{} of namespace {namespace}", kind.plural), &error));
            }
        }
    }
    // Whoever may not read it takes it as complete, as the controllers do.
    let crd = remote.document(&host_crd::definitions(), &ObjectKey::new("", host_crd::NAME));
    documents.extend(crd.ok().flatten());
    Ok(Site::read(&documents, knows_secrets))
}

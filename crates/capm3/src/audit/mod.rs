//! `capm3 audit`: leaks and contradictions between the objects of a running cluster or of files, and their repair.
//!
//! The rules are the provider's. Here objects are read, findings are printed, and repairs are carried out after a question.

mod files;
mod fix;
mod live;
mod text;

use std::{path::PathBuf, time::Duration};

use capm3_engine::Clock;
use capm3_provider::audit::{self, By, Finding, Inventory, Options, Report, Severity};
use clap::{Args, ValueEnum};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    exit::{self, Failure},
    manager::duration,
    paint,
    remote::RemoteArgs,
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-audit";

/// What to do without a kubeconfig.
const WAYS: &str = "use --kubeconfig PATH, set KUBECONFIG, or give manifests with -f";

/// What `audit` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct AuditArgs {
    /// Files or folders of manifests, or - for standard input, instead of a running cluster
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["kubeconfig", "context"])]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Namespace to look at; without it, that of the kubeconfig's context, or all of the files
    #[arg(short, long, value_name = "NAME", conflicts_with = "filename")]
    namespace: Option<String>,
    /// Look at all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "filename"])]
    all_namespaces: bool,
    /// What to print: findings for people, all of it as JSON or YAML, or the names of the objects only
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Carry out the repairs that are safe, after a preview and a question
    #[arg(long, conflicts_with_all = ["before_move", "explain"])]
    fix: bool,
    /// With --fix: do not ask
    #[arg(short, long, requires = "fix")]
    yes: bool,
    /// Also check what `clusterctl move` would lose or leave behind
    #[arg(long)]
    before_move: bool,
    /// Print the entry of a code, such as CAPM3-C001, and exit
    #[arg(long, value_name = "CODE", conflicts_with_all = ["filename", "kubeconfig", "context"])]
    explain: Option<String>,
    /// How long nobody must have changed the objects of a finding
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    grace: Duration,
    /// After which time the objects of findings are read again, where one look does not tell whether somebody is at work
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    settle: Duration,
}

const HELP: &str = "Looks for leaks and contradictions between hosts, machines, claims, data, addresses, Secrets and Nodes, such as \
a host consumed by a machine that does not exist, an address without claim, or an index given twice. Each finding has a \
severity, a code, what contradicts what, the facts that show it, and the repair. docs/audit.md lists all rules.\n\n\
It reads Secrets as metadata only, and writes nothing without --fix. With --fix each repair is guarded by the version of the \
object that was judged, and what does not exist is proven once more. A host in use is never touched: the command for it \
is printed, and what needs a person says so.\n\n\
Exit codes: 0 no finding of severity error (with --fix: none is left), 1 errors were found, 2 wrong usage, 3 the cluster cannot be read or written.\n\n\
Examples:\n  \
  capm3 audit -n metal3                        in the cluster of the current context\n  \
  capm3 audit -n metal3 --fix                  repair what is safe to repair, after a question\n  \
  capm3 audit -n metal3 --before-move          before `clusterctl move`\n  \
  capm3 audit -f objects.yaml -o json          from files, for scripts\n  \
  capm3 audit --explain CAPM3-C001             what a code means";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Findings for people
    Text,
    /// One JSON document
    Json,
    /// The same as YAML
    Yaml,
    /// The names of the objects, one per line
    Name,
}

impl AuditArgs {
    fn options(&self, now: Timestamp) -> Options {
        Options { now, grace: SignedDuration::try_from(self.grace).unwrap_or(audit::GRACE) }
    }

    fn judge(&self, inventory: &Inventory, now: Timestamp) -> Report {
        let options = self.options(now);
        match self.before_move {
            true => audit::before_move(inventory, &options),
            false => audit::audit(inventory, &options),
        }
    }
}

/// What was looked at, and what was found.
struct Look {
    inventory: Inventory,
    report: Report,
}

/// Runs `audit`.
pub fn run(args: &AuditArgs) -> Result<(), Failure> {
    if let Some(code) = &args.explain {
        return explain(code);
    }
    let now = Clock::system().now();
    if !args.filename.is_empty() {
        if args.fix {
            return Err(Failure::Usage(
                "--fix needs a cluster: files are not written; use --kubeconfig without -f, or run the printed commands"
                    .to_owned(),
            ));
        }
        let inventory = files::read(&args.filename)?;
        let report = args.judge(&inventory, now);
        return print(args, &Look { inventory, report });
    }
    let remote = args.remote.connect(USER_AGENT, WAYS)?;
    let namespace = match (&args.namespace, args.all_namespaces) {
        (_, true) => String::new(),
        (Some(namespace), _) => namespace.clone(),
        (None, _) => remote.namespace().to_owned(),
    };
    let look = live::look(args, &remote, &namespace)?;
    match args.fix {
        true => fix::run(args, &remote, &namespace, look),
        false => print(args, &look),
    }
}

fn explain(code: &str) -> Result<(), Failure> {
    let Some(rule) = audit::rule(code) else {
        let last = audit::RULES.last().map_or("", |rule| rule.code);
        return Err(Failure::Usage(format!(
            "no rule has code {code}; there are CAPM3-C001 to {last} and CAPM3-M001 to CAPM3-M009"
        )));
    };
    exit::print(&audit::page::entry(rule))
}

fn print(args: &AuditArgs, look: &Look) -> Result<(), Failure> {
    exit::print(&shown(args.output, look)?)?;
    ended(&look.report.findings)
}

/// Errors end with code 1.
fn ended<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Result<(), Failure> {
    let has_error = findings.into_iter().any(|finding| finding.severity == Severity::Error);
    if has_error { Err(Failure::Problems) } else { Ok(()) }
}

fn shown(output: Output, look: &Look) -> Result<String, Failure> {
    let json = || -> Result<Value, Failure> {
        let findings = serde_json::to_value(&look.report.findings);
        let findings = findings.map_err(|error| Failure::CouldNotRun(error.to_string()))?;
        Ok(json!({"objects": look.inventory.len(), "heldBack": look.report.held_back, "findings": findings}))
    };
    Ok(match output {
        Output::Text => text::render(look, paint::colours_stdout()),
        Output::Json => format!("{:#}\n", json()?),
        Output::Yaml => capm3_domain::render::yaml::to_yaml(&json()?),
        Output::Name => {
            look.report.findings.iter().map(|finding| format!("{}\n", text::name(finding))).collect()
        }
    })
}

/// Whether `--fix` repairs a finding.
fn is_fixable(finding: &Finding) -> bool {
    finding.repair.by == By::Fix && finding.settled
}

//! `capm3 lint`: mistakes in manifests and network data, before a host boots.

pub mod brief;
mod fix;
mod github;
mod sarif;
mod text;

use std::path::PathBuf;

use capm3_domain::lint::{self, Severity, Target};
use capm3_engine::manifests::{self, Document, Reading};
use capm3_offline::lint::{Options, Refused, Report, lint};
use clap::{Args, ValueEnum};
use tracing::info;

use crate::{
    exit::{self, Failure},
    problems,
};

/// What `lint` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LintArgs {
    /// Files or folders of manifests, or - for standard input
    #[arg(short, long = "filename", value_name = "FILE", required_unless_present = "explain")]
    filename: Vec<PathBuf>,
    /// What reads the network data of the nodes: cloud-init=VERSION,RENDERER (either may be left out), glean, talos, ironic or
    /// nova. May be given several times; without it, cloud-init of every known version, glean and talos
    #[arg(long, value_name = "TARGET", value_parser = targets)]
    target: Vec<Targets>,
    /// How mistakes are printed
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// What counts as an error
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,
    /// Correct what can be corrected safely: the difference is printed, and after a question the files are changed
    #[arg(long)]
    fix: bool,
    /// With --fix: change the files without a question
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Print what a code means and what to do, such as CAPM3-L030
    #[arg(long, value_name = "CODE", conflicts_with_all = ["filename", "target", "output", "deny", "fix"])]
    explain: Option<String>,
}

const HELP: &str = "Finds mistakes in manifests, and in the network data that they lead to. Manifests are validated as an API server with \
the provider's rules does. Then references, pools, hosts and templates are compared with each other, and the network data \
of each template is rendered and checked as whatever reads it on the node does: cloud-init, glean or Talos.\n\n\
Every mistake has a code, a place in the file, the reason why it is one, and what helps. An error means that a machine does not come \
up, or not as asked. A warning means that something is allowed and probably not meant. Without --target, what \
only some readers of network data do not understand is a warning that names them; with --target it is an error.\n\n\
The exit code is 1 if there are errors, with --deny warnings also if there are warnings. A file that cannot be read is an \
error; the other files are checked all the same.\n\n\
Examples:\n  \
  capm3 lint -f my-cluster/                                      all manifests of a folder\n  \
  capm3 lint -f my-cluster/ --target cloud-init=24.1.7,netplan   for nodes with Ubuntu 24.04\n  \
  capm3 lint -f my-cluster/ -o sarif > lint.sarif                for a code host; -o github for GitHub Actions\n  \
  capm3 lint -f my-cluster/ --fix                                correct what is safe to correct\n  \
  capm3 lint --explain CAPM3-L030                                what a code means";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people, with the lines of the files
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Workflow commands of GitHub Actions, which are shown at the lines of a pull request
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings too
    Warnings,
}

/// What one --target stands for.
#[derive(Debug, Clone)]
struct Targets(Vec<Target>);

fn targets(text: &str) -> Result<Targets, String> {
    Target::parse(text).map(Targets)
}

/// Runs `lint`.
pub fn run(args: &LintArgs) -> Result<(), Failure> {
    if let Some(code) = &args.explain {
        return explain(code);
    }
    let texts = manifests::texts(&args.filename)?;
    let mut reading = Reading::default();
    for (file, text) in &texts {
        let Reading { documents, problems } = manifests::parse(file, text);
        reading.documents.extend(documents);
        reading.problems.extend(problems);
    }
    let Reading { documents, problems } = reading;
    info!(objects = documents.len(), problems = problems.len(), "manifests are read");
    let refused = refused(&documents)?;
    let report = lint(&texts, &documents, problems, &refused, &options(args));
    match args.output {
        Output::Text => exit::print(&text::report(&report, &texts))?,
        Output::Json => exit::print_json(serde_json::to_string_pretty(&report))?,
        Output::Sarif => exit::print_json(serde_json::to_string_pretty(&sarif::report(&report, &texts)))?,
        Output::Github => exit::print(&github::report(&report))?,
    }
    let is_fixed = args.fix && fix::apply(&report, &texts, args.yes)?;
    verdict(&report, args.deny, is_fixed)
}

/// What an API server would refuse.
fn refused(documents: &[Document]) -> Result<Vec<Refused>, Failure> {
    let documents: Vec<&Document> = documents.iter().collect();
    let refused = problems::refused_fields(&documents)?.into_iter();
    Ok(refused
        .map(|it| Refused { document: it.document, field: it.field, message: it.message, code: it.code })
        .collect())
}

fn options(args: &LintArgs) -> Options {
    let named: Vec<Target> = args.target.iter().flat_map(|targets| targets.0.clone()).collect();
    let are_named = !named.is_empty();
    let targets = if are_named { named } else { Target::all() };
    Options { targets, are_named, ..Options::default() }
}

/// What was corrected does not count.
fn verdict(report: &Report, deny: Option<Deny>, is_fixed: bool) -> Result<(), Failure> {
    let mut left = report.mistakes.iter().filter(|mistake| !is_fixed || mistake.edit.is_none());
    let denied = left.any(|mistake| mistake.severity == Severity::Error || deny.is_some());
    if denied { Err(Failure::Problems) } else { Ok(()) }
}

fn explain(code: &str) -> Result<(), Failure> {
    match lint::explain(code) {
        Some(page) => exit::print(&page),
        None => {
            let known = format!("{code} is no code of lint; docs/lint.md lists them");
            Err(Failure::Usage(match code.to_ascii_uppercase().starts_with("CAPM3-L") {
                true => known,
                false => format!("{known}, and docs/troubleshooting.md describes the others"),
            }))
        }
    }
}

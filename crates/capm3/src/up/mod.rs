//! `capm3 up`: embedded API server, simulated world and provider in this process.

mod example;
mod explain;
mod feed;
mod hints;
mod kubeconfig;
mod live;
mod naming;
mod once;
mod serve;
mod table;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use capm3_engine::{
    clock::Stopwatch,
    manifests::{self, Limits, Problem, Reading},
};
use capm3_lab::{Lab, Options, Progress, manifests::Findings, report::Report};
use capm3_world::Profile;
use clap::{Args, ValueEnum};
use tracing::info;

use self::{feed::Feed, naming::Naming};
use crate::{
    exit::{self, Failure},
    lint::brief as lint,
    numbers, problems,
};

/// Bytes that are read from one pipe or from standard input: far more than a site has, far less than the memory.
const PIPE_LIMIT: u64 = 64 * 1024 * 1024;

/// Bring a cluster up on simulated racks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    capm3 up                             three racks; then use kubectl until Ctrl-C\n  \
    capm3 up --once                      the same, print the result and exit\n  \
    capm3 up --once -o json              the result as one JSON document\n  \
    capm3 up -f my-cluster/              your own manifests")]
pub struct UpArgs {
    /// Manifests to bring up: a file, a folder of YAML files, or - for standard input; without it, the three-rack example
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    files: Vec<PathBuf>,

    /// Exit when every requested machine is ready (0), or cannot become ready (1, with an explanation); time is
    /// simulated, and kubectl is not served
    #[arg(long)]
    once: bool,

    /// How the result is printed
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Table)]
    output: Output,

    /// How long the simulated hosts and nodes take for each step [default: demo, or instant with --once]
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,

    /// How many times faster than the profile says
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = numbers::fraction)]
    speed: f64,

    /// Loopback address at which kubectl is served; without a port, 7443. Not with --once, which serves nothing
    #[arg(long, default_value = "127.0.0.1:7443", value_name = "ADDR", value_parser = address, conflicts_with = "once")]
    listen: SocketAddr,

    /// Seed of names, uids and durations
    #[arg(long, default_value_t = 1, value_parser = numbers::whole::<u64>)]
    seed: u64,
}

/// Port at which kubectl is served unless another one is chosen.
const PORT: u16 = 7443;

/// An address with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_usual_port = bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT));
    text.parse().or(with_usual_port).map_err(|_| "expected an address such as 127.0.0.1:7443".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One row per machine
    Table,
    /// One JSON document
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileArg {
    /// Nothing takes time
    Instant,
    /// Seconds, to watch
    Demo,
    /// Minutes, as real hosts take
    Realistic,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::Instant => Self::Instant,
            ProfileArg::Demo => Self::Demo,
            ProfileArg::Realistic => Self::Realistic,
        }
    }
}

impl UpArgs {
    fn options(&self) -> Options {
        let usual = if self.once { ProfileArg::Instant } else { ProfileArg::Demo };
        Options {
            seed: self.seed,
            profile: self.profile.unwrap_or(usual).into(),
            speed: self.speed,
            real_time: !self.once,
            ..Options::default()
        }
    }
}

/// Runs the command.
pub fn run(args: &UpArgs) -> Result<(), Failure> {
    if args.speed <= 0.0 || !args.speed.is_finite() {
        return Err(Failure::Usage(format!("--speed {} is not a number above 0", args.speed)));
    }
    let stopwatch = Stopwatch::start();
    let manifests = read(args)?;
    info!(objects = manifests.documents.len(), problems = manifests.problems.len(), "manifests are read");
    if manifests.documents.is_empty() && manifests.problems.is_empty() {
        return Err(Failure::Invalid("no object in the files: there is nothing to bring up".to_owned()));
    }
    if args.once { once::run(args, &manifests, stopwatch) } else { serve::run(args, &manifests, stopwatch) }
}

fn read(args: &UpArgs) -> Result<Reading, Failure> {
    if args.files.is_empty() {
        return Ok(example::three_racks());
    }
    let limits = Limits { pipe: PIPE_LIMIT, ..Limits::default() };
    Ok(manifests::read_within(&args.files, limits)?)
}

/// A lab with nothing in it yet, and where its steps go.
async fn start(args: &UpArgs, manifests: &Reading) -> Result<(Lab, Arc<Feed>), Failure> {
    let lab = Lab::start(&args.options()).await.map_err(|e| Failure::CouldNotRun(e.to_string()))?;
    let feed = Arc::new(Feed::held(Naming::of_manifests(&manifests.documents)));
    let progress: Arc<dyn Progress> = feed.clone();
    lab.report_progress(&progress);
    Ok((lab, feed))
}

/// Puts the manifests into a lab, or tells every problem of them. What the simulation does not know is left out.
async fn put(lab: &Lab, manifests: &Reading) -> Result<(), Failure> {
    let Findings { mut problems, mut left_out, older } = lab.put_documents(&manifests.documents).await;
    let counts = |problem: &Problem| {
        !left_out.iter().any(|other| (&other.file, other.line) == (&problem.file, problem.line))
    };
    problems.extend(manifests::contradictions(&manifests.documents).into_iter().filter(counts));
    problems.extend(manifests.problems.iter().cloned());
    left_out.sort();
    problems::warnings(&left_out).into_iter().for_each(exit::say);
    if problems.is_empty() {
        let objects = manifests.documents.len() - left_out.len();
        if objects == 0 {
            return Err(Failure::Invalid(
                "every object is left out: there is nothing to bring up".to_owned(),
            ));
        }
        info!(objects, "manifests are in the API server");
        // The simulation has no NICs and switches that would show what these do to a node.
        let errors = lint::errors(&manifests.documents);
        problems::warnings(&errors).into_iter().for_each(exit::say);
        return Ok(());
    }
    problems.sort();
    exit::say(problems::lines(&problems).join("\n"));
    problems::hints(&older).into_iter().for_each(exit::say);
    Err(Failure::Invalid(problems::summary(&problems)))
}

fn print(output: Output, report: &Report) -> Result<(), Failure> {
    match output {
        Output::Table => exit::print(&format!("{}\n", table::table(report, live::width_of_stdout()))),
        Output::Json => exit::print_json(serde_json::to_string_pretty(report)),
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_may_lack_its_port() {
        let table = [
            ("127.0.0.1:1", Some("127.0.0.1:1")),
            ("127.0.0.2", Some("127.0.0.2:7443")),
            ("::1", Some("[::1]:7443")),
            ("[::1]", Some("[::1]:7443")),
            ("[::1]:1", Some("[::1]:1")),
            ("localhost", None),
            ("127.0.0.1:", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = address(text).ok();
            assert_eq!(found.map(|it| it.to_string()).as_deref(), expected, "{text:?}");
        }
    }
}

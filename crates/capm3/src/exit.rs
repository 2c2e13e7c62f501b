//! How a command ends.

use std::{
    fmt::Display,
    io::{ErrorKind, Write},
    process::ExitCode,
};

use capm3_engine::manifests::ReadError;

use crate::stop::StopSignal;

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It ran and found problems, which were printed already.
    #[error("")]
    Problems,
    /// What the user gave cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// The user called it wrongly.
    #[error("{0}")]
    Usage(String),
    /// It could not run.
    #[error("{0}")]
    CouldNotRun(String),
    /// Another process leads.
    #[error("{0}")]
    LeadershipLost(String),
    /// A signal ended it before it was done.
    #[error("{1}")]
    Stopped(StopSignal, String),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Problems | Self::Invalid(_) | Self::LeadershipLost(_) => 1,
            Self::Usage(_) => 2,
            Self::CouldNotRun(_) => 3,
            Self::Stopped(signal, _) => signal.exit_code(),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match &error {
            _ if error.is_usage() => Self::Usage(error.to_string()),
            ReadError::Unreadable { path, source } if source.kind() == ErrorKind::InvalidData => {
                Self::Invalid(format!("{}: is not UTF-8 text: save it as UTF-8", path.display()))
            }
            _ => Self::CouldNotRun(error.to_string()),
        }
    }
}

/// Writes data to stdout. A reader that has seen enough, such as `head`, closes the pipe: the output ends, and the exit code
/// is that of the work. ripgrep does the same; kubectl dies of SIGPIPE (141), which would hide whether the work went well.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::CouldNotRun(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON document to stdout.
pub fn print_json(text: serde_json::Result<String>) -> Result<(), Failure> {
    print(&format!("{}\n", text.map_err(|error| Failure::CouldNotRun(error.to_string()))?))
}

/// Writes a line to stderr. Nobody may be there to read it: then it is dropped, and the work goes on. `eprintln!` would
/// panic.
pub fn say(line: impl Display) {
    let line = format!("{line}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints the failure, if any, and gives the exit code.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            if !text.is_empty() {
                say(format_args!("error: {text}"));
            }
            ExitCode::from(failure.code())
        }
    }
}

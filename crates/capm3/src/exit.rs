//! How a command ends.

use std::process::ExitCode;

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
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Problems | Self::Invalid(_) => 1,
            Self::Usage(_) => 2,
            Self::CouldNotRun(_) => 3,
        }
    }
}

/// Prints the failure, if any, and gives the exit code.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            if !text.is_empty() {
                eprintln!("error: {text}");
            }
            ExitCode::from(failure.code())
        }
    }
}

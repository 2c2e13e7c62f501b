//! What is logged, and how.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::flags::{self, WithoutEffect};

/// Form of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per entry
    Text,
    /// One JSON document per line
    Json,
}

/// Flags of the logs, as Kubernetes components name them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Logs")]
pub struct LogArgs {
    /// Format of the logs on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    logging_format: LogFormat,

    /// How much is logged: 0 to 3 info, 4 debug, 5 and more trace; CAPM3_LOG wins over it
    ///
    /// Level 4 adds each reconcile with its duration. Level 5 adds each request to an API server with verb, path, status and
    /// duration, without what is sent and answered.
    #[arg(short = 'v', long = "v", default_value = "0", value_name = "LEVEL", value_parser = clap::value_parser!(i32),
        allow_negative_numbers = true)]
    verbosity: i32,

    /// Accepted, without effect: set CAPM3_LOG to a list such as info,capm3_engine=debug
    #[arg(long, value_name = "LIST")]
    vmodule: Option<String>,

    /// Accepted, without effect: entries are written at once
    #[arg(long, value_name = "DURATION", value_parser = flags::duration)]
    log_flush_frequency: Option<Duration>,

    /// Accepted, without effect: everything goes to stderr
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = flags::boolean, value_name = "BOOL")]
    log_text_split_stream: Option<bool>,

    /// Accepted, without effect: entries are written at once
    #[arg(long, value_name = "SIZE")]
    log_text_info_buffer_size: Option<String>,

    /// Accepted, without effect: everything goes to stderr
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = flags::boolean, value_name = "BOOL")]
    log_json_split_stream: Option<bool>,

    /// Accepted, without effect: entries are written at once
    #[arg(long, value_name = "SIZE")]
    log_json_info_buffer_size: Option<String>,
}

/// What is logged at a verbosity: other crates only from info on, their details would bury ours.
pub fn level_of(verbosity: i32) -> &'static str {
    match verbosity {
        ..=3 => "info",
        4 => "info,capm3=debug",
        5.. => "info,capm3=trace",
    }
}

impl LogArgs {
    /// Form of the logs.
    pub fn format(&self) -> LogFormat {
        self.logging_format
    }

    /// What is logged.
    pub fn level(&self) -> &'static str {
        level_of(self.verbosity)
    }

    /// Flags that were set and do nothing.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let (at_once, one_stream) = ("entries are written at once", "everything goes to stderr");
        flags::without_effect([
            (
                self.vmodule.as_ref().is_some_and(|list| !list.is_empty()),
                "--vmodule",
                "set CAPM3_LOG instead",
            ),
            (self.log_flush_frequency.is_some(), "--log-flush-frequency", at_once),
            (self.log_text_split_stream == Some(true), "--log-text-split-stream", one_stream),
            (self.log_text_info_buffer_size.is_some(), "--log-text-info-buffer-size", at_once),
            (self.log_json_split_stream == Some(true), "--log-json-split-stream", one_stream),
            (self.log_json_info_buffer_size.is_some(), "--log-json-info-buffer-size", at_once),
        ])
    }
}

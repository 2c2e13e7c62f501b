//! Logs: to stderr, at the level that CAPM3_LOG says, else at that of the command, until a [`Level`] changes it.

use std::{env, ffi::OsStr, fmt, sync::Arc};

use tracing_subscriber::{EnvFilter, reload};

use crate::{exit::Failure, manager::LogFormat};

/// The variable that says what is logged.
const VARIABLE: &str = "CAPM3_LOG";

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

type Replace = dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync;

/// What is logged, to be changed while the process runs.
#[derive(Clone)]
pub struct Level(Arc<Replace>);

impl Level {
    fn new(replace: impl Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(replace))
    }

    /// Logs these levels from now on.
    pub fn set(&self, level: &'static str) -> Result<(), reload::Error> {
        (self.0)(EnvFilter::new(level))
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Level")
    }
}

/// Starts logging; `usual` is the level where the variable is not set.
pub fn start(usual: &str, format: LogFormat) -> Result<Level, Failure> {
    let filter = filter(env::var_os(VARIABLE).as_deref(), usual).map_err(Failure::Usage)?;
    // What cannot be written is dropped: the subscriber would report it with `eprintln!`, which panics then.
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let logs = logs.log_internal_errors(false);
    Ok(match format {
        LogFormat::Text => {
            let logs = logs.with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            Level::new(move |filter| handle.reload(filter))
        }
        LogFormat::Json => {
            let logs = logs.json().with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            Level::new(move |filter| handle.reload(filter))
        }
    })
}

/// What is logged by the value of the variable; an empty one counts as none.
fn filter(value: Option<&OsStr>, usual: &str) -> Result<EnvFilter, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(EnvFilter::new(usual));
    };
    let directives: Option<Vec<&str>> = value.to_str().map(|text| text.split(',').map(str::trim).collect());
    let directives = directives.filter(|directives| directives.iter().all(|text| is_directive(text)));
    directives.and_then(|directives| EnvFilter::try_new(directives.join(",")).ok()).ok_or_else(|| {
        format!(
            "{VARIABLE}={} cannot be used: expected one of {}, or a list of such levels and MODULE=LEVEL, such as \
             warn,capm3_engine=debug",
            value.display(),
            LEVELS.join(", ")
        )
    })
}

/// A level, or a module with a level. The subscriber would take any other word for a module, and log nothing of all the
/// rest.
fn is_directive(text: &str) -> bool {
    let (module, level) = text.rsplit_once('=').unwrap_or(("capm3", text));
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    module.split("::").all(is_word) && LEVELS.contains(&level.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_modules_with_levels_are_accepted_and_nothing_else() {
        let table = [
            ("info", true),
            ("INFO", true),
            ("off", true),
            ("warn,capm3_engine=debug", true),
            ("warn, capm3_engine::informer=trace", true),
            ("bogus", false),
            ("info,bogus", false),
            ("capm3_engine", false),
            ("capm3_engine=loud", false),
            ("=info", false),
            ("capm3 engine=info", false),
            ("info,", false),
            (" ", false),
        ];
        for (value, expected) in table {
            assert_eq!(filter(Some(OsStr::new(value)), "error").is_ok(), expected, "{value:?}");
        }
    }

    #[test]
    fn without_a_value_the_level_is_that_of_the_command() {
        for value in [None, Some(OsStr::new(""))] {
            assert_eq!(filter(value, "warn").unwrap().to_string(), "warn");
        }
        assert_eq!(filter(Some(OsStr::new("info")), "warn").unwrap().to_string(), "info");
    }
}

//! Whether the API server is new enough for the manager.
//!
//! Asks for its version until it answers. Without an answer the manager runs on: a server that is down now may be supported.

use std::time::Duration;

use capm3_engine::{ApiClient, client::ServerVersion};

use crate::exit::Failure;

/// The CRDs have validation rules (CEL), which are stable since this version.
const OLDEST: (u32, u32) = (1, 29);

/// Until the next try, if there was no answer.
const RETRY: Duration = Duration::from_secs(10);

/// Returns only if the version of the server is not supported.
pub async fn unsupported(client: ApiClient) -> Failure {
    loop {
        match client.server_version().await.map(|version| problem(&version)) {
            Ok(Some(problem)) => return Failure::CouldNotRun(problem),
            Ok(None) => return std::future::pending().await,
            Err(error) => tracing::debug!(%error, "the version of the API server cannot be read"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Why a version is not supported. One that cannot be understood is accepted.
fn problem(version: &ServerVersion) -> Option<String> {
    let numbers = version.numbers()?;
    let (major, minor) = OLDEST;
    (numbers < OLDEST).then(|| {
        format!(
            "the API server is Kubernetes {}.{}, and capm3 needs {major}.{minor} or newer: upgrade the management cluster",
            numbers.0, numbers.1
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_is_certainly_too_old_is_a_problem() {
        for (major, minor, is_problem) in [
            ("1", "28", true),
            ("1", "28+", true),
            ("0", "99", true),
            ("1", "29", false),
            ("1", "29+", false),
            ("1", "36", false),
            ("2", "0", false),
            ("1", "", false),
            ("", "28", false),
            ("one", "28", false),
        ] {
            let version =
                ServerVersion { major: major.into(), minor: minor.into(), git_version: String::new() };
            assert_eq!(problem(&version).is_some(), is_problem, "{major}.{minor}");
        }
    }
}

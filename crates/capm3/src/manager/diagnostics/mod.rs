//! Diagnostics: `/metrics` and the log level over HTTPS, to users whom the API server knows and who may; with
//! `--insecure-diagnostics` only `/metrics`, to everybody. Every replica serves them, whoever leads.

mod access;
mod answer;
mod flags;

use std::time::Duration;

use capm3_admission::https::{self, Limits, Served, Server, TlsOptions};
use capm3_engine::{ApiClient, metrics::Metrics};
use tracing::info;

pub use self::flags::DiagnosticsArgs;
use self::{access::Access, answer::Diagnostics};
use crate::{exit::Failure, logs::Level};

/// What scrapers may take up: there are few of them, and every answer that is not taken yet is kept.
fn limits() -> Limits {
    Limits {
        connections: 16,
        streams: 4,
        progress: Duration::from_secs(20),
        body: Duration::from_secs(5),
        ..Limits::default()
    }
}

/// Serves them; none if they are switched off. The client asks who may see them.
pub async fn start(
    args: &DiagnosticsArgs,
    tls: &TlsOptions,
    client: &ApiClient,
    metrics: Metrics,
    level: Level,
) -> Result<Option<Server>, Failure> {
    let Some(address) = args.address() else { return Ok(None) };
    let failed = |error: &dyn std::fmt::Display| {
        Failure::CouldNotRun(format!("--diagnostics-address {address}: {error}"))
    };
    let (tls, access) = match args.is_insecure() {
        true => (None, None),
        false => {
            let certificate = https::self_signed("capm3-diagnostics").map_err(|error| failed(&error))?;
            let config = tls.server(Served::new(certificate)).map_err(|error| failed(&error))?;
            (Some(config), Some(Access::new(client.clone())))
        }
    };
    let listener = address.bind().await.map_err(|error| {
        failed(&format_args!("{error}; choose another port, or 0 to serve no diagnostics"))
    })?;
    let server = https::serve(listener, tls, Diagnostics { metrics, access, level }, limits());
    let server = server.map_err(|error| failed(&error))?;
    info!(diagnostics = %server.local_addr(), insecure = args.is_insecure(), "diagnostics server started");
    Ok(Some(server))
}

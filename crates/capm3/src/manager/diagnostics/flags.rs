//! Flags of the diagnostics, as the Go manager names them.

use clap::{ArgAction, Args};

use crate::manager::flags::{self, ListenAddress};

/// Where metrics are served, and to whom.
#[derive(Debug, Args)]
#[command(next_help_heading = "Diagnostics")]
pub struct DiagnosticsArgs {
    /// Address of /metrics and /debug/flags/v, over HTTPS; 0 serves none
    ///
    /// A request needs the token of a user who may `get` the path /metrics or `put` the path /debug/flags/v. The API server is
    /// asked by TokenReview and SubjectAccessReview. The certificate is made at every start and signed by itself.
    #[arg(long, default_value = ":8443", value_name = "ADDR", value_parser = address)]
    diagnostics_address: Place,

    /// Serve /metrics over plain HTTP to everybody, and nothing else
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_parser = flags::boolean, value_name = "BOOL")]
    insecure_diagnostics: bool,
}

impl DiagnosticsArgs {
    /// Where; none if nothing is served.
    pub fn address(&self) -> Option<&ListenAddress> {
        match &self.diagnostics_address {
            Place::At(address) => Some(address),
            Place::Nowhere => None,
        }
    }

    /// Whether everybody may read metrics without TLS.
    pub fn is_insecure(&self) -> bool {
        self.insecure_diagnostics
    }
}

/// Where something is served.
#[derive(Debug, Clone)]
enum Place {
    Nowhere,
    At(ListenAddress),
}

/// An address, or `0` for none as the Go manager takes it.
fn address(text: &str) -> Result<Place, String> {
    if text == "0" { Ok(Place::Nowhere) } else { flags::listen_address(text).map(Place::At) }
}

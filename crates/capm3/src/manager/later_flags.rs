//! Flags of the migration of stored objects, and of parts that are not there yet. The latter are accepted so that the arguments of an
//! existing Deployment need no change.

use capm3_provider::crd_migration::{Phases, SkippedPhase};
use clap::Args;

use super::flags::{self, ListenAddress, WithoutEffect};

/// Diagnostics and the migration of stored objects, as the Go manager names them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted for existing Deployments")]
pub struct LaterArgs {
    /// Accepted, without effect: metrics are not served yet
    #[arg(long, value_name = "ADDR", value_parser = flags::listen_address)]
    diagnostics_address: Option<ListenAddress>,

    /// Accepted, without effect: metrics are not served yet
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = flags::boolean, value_name = "BOOL")]
    insecure_diagnostics: Option<bool>,

    /// Phases of the storage version migration to skip: StorageVersionMigration, CleanupManagedFields
    ///
    /// Objects of the nine kinds that are stored in an older version are stored anew once per generation of their CRD, in the
    /// whole cluster, and field managers of versions that are not served any more are removed.
    #[arg(long, value_delimiter = ',', value_name = "PHASE")]
    skip_crd_migration_phases: Vec<SkippedPhase>,
}

impl LaterArgs {
    /// The phases of the migration that are not skipped; none if all are.
    pub fn crd_migration(&self) -> Option<Phases> {
        Some(Phases::without(&self.skip_crd_migration_phases)).filter(|phases| phases.is_any())
    }

    /// Flags that were set and do nothing.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let metrics = "metrics are not served yet";
        flags::without_effect([
            (self.diagnostics_address.is_some(), "--diagnostics-address", metrics),
            (self.insecure_diagnostics == Some(true), "--insecure-diagnostics", metrics),
        ])
    }
}

//! Flags of parts that are not there yet. They are accepted so that the arguments of an existing Deployment need no change.

use clap::{Args, ValueEnum};

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

    /// Accepted, without effect: stored objects are not migrated yet
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PHASE")]
    skip_crd_migration_phases: Vec<MigrationPhase>,
}

/// A phase of the migration of stored objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MigrationPhase {
    /// Stored objects are rewritten in the storage version
    #[value(name = "StorageVersionMigration")]
    StorageVersion,
    /// Managed fields of versions that are not served any more are removed
    #[value(name = "CleanupManagedFields")]
    ManagedFields,
}

impl LaterArgs {
    /// Flags that were set and do nothing.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let metrics = "metrics are not served yet";
        flags::without_effect([
            (self.diagnostics_address.is_some(), "--diagnostics-address", metrics),
            (self.insecure_diagnostics == Some(true), "--insecure-diagnostics", metrics),
            (
                !self.skip_crd_migration_phases.is_empty(),
                "--skip-crd-migration-phases",
                "stored objects are not migrated yet",
            ),
        ])
    }
}

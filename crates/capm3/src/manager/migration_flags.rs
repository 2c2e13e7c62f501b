//! Flags of the migration of stored objects.

use capm3_provider::crd_migration::{Phases, SkippedPhase};
use clap::Args;

/// The migration of stored objects, as the Go manager names it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Migration of stored objects")]
pub struct MigrationArgs {
    /// Phases of the storage version migration to skip: StorageVersionMigration, CleanupManagedFields
    ///
    /// Objects of the nine kinds that are stored in an older version are stored again once per generation of their CRD, in the
    /// whole cluster, and field managers of versions that are not served any more are removed.
    #[arg(long, value_delimiter = ',', value_name = "PHASE")]
    skip_crd_migration_phases: Vec<SkippedPhase>,
}

impl MigrationArgs {
    /// The phases of the migration that are not skipped; none if all are.
    pub fn crd_migration(&self) -> Option<Phases> {
        Some(Phases::without(&self.skip_crd_migration_phases)).filter(|phases| phases.is_any())
    }
}

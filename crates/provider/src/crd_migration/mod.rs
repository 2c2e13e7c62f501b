//! Storage version migration: objects that the API server stored in an older version are stored in the present one, and field
//! managers of versions that are no longer served are dropped.
//!
//! Without it a version can never be removed from a CRD: `status.storedVersions` names every version that was ever stored. Each
//! of the nine kinds is migrated once per generation of its CRD, in the whole cluster, also where the provider watches one
//! namespace only. The last writes are `status.storedVersions` and the annotation with the generation: a crash before them
//! starts the kind again, and a migrated object costs one write that changes nothing.

mod decide;
mod driver;

use std::str::FromStr;

pub use decide::{CrdError, Listed, Migration, migration_of};
pub(crate) use driver::run;

/// The parts of the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Objects are stored in the storage version of the CRD.
    pub storage_version: bool,
    /// Field managers of versions that are not served are dropped.
    pub managed_fields: bool,
}

impl Default for Phases {
    fn default() -> Self {
        Self { storage_version: true, managed_fields: true }
    }
}

impl Phases {
    /// All phases but these.
    pub fn without(skipped: &[SkippedPhase]) -> Self {
        Self {
            storage_version: !skipped.contains(&SkippedPhase::StorageVersionMigration),
            managed_fields: !skipped.contains(&SkippedPhase::CleanupManagedFields),
        }
    }

    /// Whether there is anything to do.
    pub fn is_any(self) -> bool {
        self.storage_version || self.managed_fields
    }
}

/// A phase that a user can skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedPhase {
    /// See [`Phases::storage_version`].
    StorageVersionMigration,
    /// See [`Phases::managed_fields`].
    CleanupManagedFields,
}

impl FromStr for SkippedPhase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "StorageVersionMigration" => Ok(Self::StorageVersionMigration),
            "CleanupManagedFields" => Ok(Self::CleanupManagedFields),
            _ => Err(format!(
                "{text:?} is not a migration phase; use StorageVersionMigration or CleanupManagedFields"
            )),
        }
    }
}

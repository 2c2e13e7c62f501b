//! Migrates kind after kind and checks later whether CRDs have changed. A kind that fails is tried again later; the others go on.

use std::time::Duration;

use capm3_api::crd;
use capm3_engine::{ActError, ApiClient, ApiError, Detail, Executor, ObjectKey, WriteGate};
use serde_json::Value;
use thiserror::Error;
use tracing::{debug, info, warn};

use super::{CrdError, Listed, Migration, Phases, migration_of};
use crate::{host_crd::definitions, plan::Plan};

/// How often CRDs are read to see whether they have changed.
const CHECK_AGAIN: Duration = Duration::from_secs(600);

/// How soon a kind that could not be migrated is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Why a kind is not migrated yet.
#[derive(Debug, Error)]
enum MigrationError {
    #[error("cannot read CustomResourceDefinition {name}")]
    Read { name: String, source: ApiError },
    #[error("cannot list {kind}")]
    List { kind: String, source: ApiError },
    #[error(transparent)]
    Crd(#[from] CrdError),
    #[error(transparent)]
    Write(#[from] ActError),
    #[error("{count} of {all} {kind} changed while they were migrated")]
    Changed { kind: String, count: usize, all: usize },
}

impl MigrationError {
    /// Whether the account lacks a right, which only a person can grant.
    fn is_forbidden(&self) -> bool {
        let source = match self {
            Self::Read { source, .. } | Self::List { source, .. } => source,
            Self::Write(error) => &error.source,
            Self::Crd(_) | Self::Changed { .. } => return false,
        };
        matches!(source, ApiError::Refused { code: 403, .. })
    }
}

/// Runs for ever, while the gate lets this process write.
pub(crate) async fn run(client: ApiClient, executor: Executor, gate: WriteGate, phases: Phases) {
    loop {
        gate.opened().await;
        let mut pause = CHECK_AGAIN;
        for name in own_crds() {
            let Err(error) = migrate(&client, &executor, &name, phases).await else { continue };
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            if error.is_forbidden() {
                // The Role of the Go provider covers six of the nine kinds.
                warn!(
                    crd = name,
                    cause,
                    "storage version migration: {error}; grant the rights of the shipped Role, or set \
                     --skip-crd-migration-phases; retries after 10 min"
                );
            } else {
                warn!(crd = name, cause, "storage version migration: {error}; retries after 30 s");
                pause = RETRY_AFTER;
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Names of the CRDs of the nine kinds. The address kinds have one version only.
fn own_crds() -> Vec<String> {
    let all = crd::all();
    let several = all.iter().filter(|crd| {
        crd.pointer("/spec/versions").and_then(Value::as_array).is_some_and(|versions| versions.len() > 1)
    });
    let names = several.filter_map(|crd| crd.pointer("/metadata/name")?.as_str().map(str::to_owned));
    names.collect()
}

async fn migrate(
    client: &ApiClient,
    executor: &Executor,
    name: &str,
    phases: Phases,
) -> Result<(), MigrationError> {
    let crd = client.get::<Value>(&definitions(), &ObjectKey::new("", name)).await;
    let crd = crd.map_err(|source| MigrationError::Read { name: name.to_owned(), source })?;
    // A kind that is not installed has no objects.
    let Some(migration) = crd.map(|crd| migration_of(&crd, phases)).transpose()?.flatten() else {
        return Ok(());
    };
    let (all, count, changed) = migrate_objects(client, executor, &migration).await?;
    if changed > 0 {
        return Err(MigrationError::Changed { kind: migration.kind.kind.clone(), count: changed, all });
    }
    executor.act(&Plan { writes: migration.finish(), ..Plan::done() }).await?;
    let kind = &migration.kind;
    info!(
        crd = name,
        "{count} of {all} {} stored again; {} is the only stored version", kind.kind, kind.version
    );
    Ok(())
}

/// Writes every object that needs it. Answers how many there are, how many were written, and how many changed meanwhile.
async fn migrate_objects(
    client: &ApiClient,
    executor: &Executor,
    migration: &Migration,
) -> Result<(usize, usize, usize), MigrationError> {
    let (mut all, mut count, mut changed) = (0, 0, 0);
    let mut token: Option<String> = None;
    loop {
        let page = client.list_page::<Listed>(&migration.kind, "", Detail::Metadata, token.as_deref()).await;
        let page =
            page.map_err(|source| MigrationError::List { kind: migration.kind.kind.clone(), source })?;
        for object in &page.items {
            all += 1;
            let Some(write) = migration.write_of(object) else { continue };
            match executor.act(&Plan { writes: vec![write], ..Plan::done() }).await {
                Ok(()) => count += 1,
                Err(error) => match &error.source {
                    // Gone, or written by somebody else.
                    ApiError::NotFound { .. } => debug!(%error, "the object is deleted"),
                    ApiError::Conflict { .. } if migration.is_done_on_conflict(object) => {}
                    ApiError::Conflict { .. } => changed += 1,
                    _ => return Err(error.into()),
                },
            }
        }
        token = page.metadata.continue_;
        if token.is_none() {
            return Ok((all, count, changed));
        }
    }
}

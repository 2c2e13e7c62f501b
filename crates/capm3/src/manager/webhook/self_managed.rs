//! Certificates that the manager makes itself: reads and writes what [`capm3_admission::self_managed`] decides.
//!
//! Every replica does this, whoever leads: a replica that does not lead answers reviews too. All writes are guarded by a
//! resourceVersion, so of several replicas one makes each step and the others read it.

use std::{collections::BTreeMap, time::Duration};

use capm3_admission::{
    https::{PairError, Served},
    self_managed::{self, IssueError, Material, Service, Trust, carry_out, decide},
};
use capm3_engine::{ApiClient, Clock, Detail, ObjectKey, ResourceKind, client::ApiError};
use serde_json::{Value, json};
use thiserror::Error;
use tracing::{info, warn};

/// Name of the Secret. It is not that of cert-manager, which would write it too.
const SECRET: &str = "capm3-webhook-self-managed-cert";
/// How often the Secret and the configurations are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// The same after a check that failed.
const RETRY: Duration = Duration::from_secs(5);
/// How often a write is tried again at once because another replica was faster.
const TRIES: usize = 5;

/// Why certificates are not as they should be.
#[derive(Debug, Error)]
enum CheckError {
    #[error("{object}: {}", source.with_causes())]
    Api { object: String, source: ApiError },
    #[error("Secret {0} exists and is of another type than {type}: delete it if nobody needs it", type = Material::SECRET_TYPE)]
    AnotherSecret(ObjectKey),
    #[error("Secret {0} is written by others again and again")]
    Contended(ObjectKey),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error(transparent)]
    Pair(#[from] PairError),
}

/// Keeps the certificate of the webhooks valid and trusted.
pub struct SelfManaged {
    client: ApiClient,
    clock: Clock,
    service: Service,
    served: Served,
    /// The certificate that is served, PEM.
    certificate: String,
    /// The authorities that were last written to the API server, PEM.
    bundle: String,
    /// Versions of CRDs that were last found to be right: they are large, and are read again only when they change.
    right: BTreeMap<String, String>,
    /// The last problem, logged once.
    problem: String,
}

impl SelfManaged {
    /// Certificates for a Service, put into `served`.
    pub fn new(client: ApiClient, clock: Clock, service: Service, served: Served) -> Self {
        let (certificate, bundle, problem) = Default::default();
        Self { client, clock, service, served, certificate, bundle, right: BTreeMap::new(), problem }
    }

    /// Checks at every interval until it is dropped.
    pub async fn run(mut self) {
        loop {
            let pause = match self.check().await {
                Ok(()) => {
                    self.problem.clear();
                    POLL_INTERVAL
                }
                Err(error) => {
                    self.log_problem(&error);
                    RETRY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    fn log_problem(&mut self, error: &CheckError) {
        let text = error.to_string();
        if self.problem != text {
            warn!(
                error = text,
                "the certificates of the webhooks cannot be kept up to date; retries every 5 s"
            );
            self.problem = text;
        }
    }

    /// One check: the Secret first, so that what is served and trusted is what all replicas know.
    async fn check(&mut self) -> Result<(), CheckError> {
        let material = self.material().await?;
        if material.certificate() != self.certificate {
            self.served.replace(material.certified()?);
            material.certificate().clone_into(&mut self.certificate);
            info!("the webhook server serves another certificate");
        }
        let bundle = material.bundle();
        if bundle != self.bundle {
            self.right.clear();
            self.bundle.clone_from(&bundle);
        }
        self.trust_configurations(&bundle).await?;
        self.trust_definitions(&bundle).await
    }

    /// What the Secret holds, after the step that is due.
    async fn material(&self) -> Result<Material, CheckError> {
        let (kind, key) = (secrets(), ObjectKey::new(&self.service.namespace, SECRET));
        let failed = |source| CheckError::Api { object: format!("Secret {key}"), source };
        let names = self.service.host_names();
        for _ in 0..TRIES {
            let secret: Option<Value> = self.client.get(&kind, &key).await.map_err(failed)?;
            if secret.as_ref().is_some_and(|it| it.get("type") != Some(&json!(Material::SECRET_TYPE))) {
                return Err(CheckError::AnotherSecret(key));
            }
            let material = secret.as_ref().and_then(Material::of_secret);
            let (facts, now) = (material.as_ref().and_then(Material::facts), self.clock.now());
            let step = decide(facts.as_ref(), &names, now);
            let new = match (carry_out(step, material.as_ref(), &names, now)?, material) {
                (Some(new), _) => new,
                (None, Some(material)) => return Ok(material),
                (None, None) => return Err(IssueError::NoAuthority.into()),
            };
            match self.store(&kind, &key, secret, &new).await {
                Ok(_) => {
                    info!(?step, secret = %key, "made certificates for the webhooks");
                    return Ok(new);
                }
                Err(ApiError::AlreadyExists { .. } | ApiError::Conflict { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(CheckError::Contended(key))
    }

    async fn store(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        secret: Option<Value>,
        material: &Material,
    ) -> Result<Value, ApiError> {
        let Some(mut secret) = secret else {
            let metadata = json!({"name": key.name, "namespace": key.namespace});
            let secret = json!({
                "metadata": metadata, "type": Material::SECRET_TYPE, "data": material.secret_data(),
            });
            return self.client.create(kind, &key.namespace, secret).await;
        };
        if let Some(members) = secret.as_object_mut() {
            members.insert("data".to_owned(), material.secret_data());
        }
        self.client.replace(kind, key, &secret).await
    }

    async fn trust_configurations(&self, bundle: &str) -> Result<(), CheckError> {
        for self_managed::Configuration { kind, plural, name } in self_managed::configurations() {
            let (kind, key) = (configuration_kind(kind, plural), ObjectKey::new("", name));
            let object: Option<Value> = match self.client.get(&kind, &key).await {
                // Nobody calls webhooks that are not registered.
                Ok(None) | Err(ApiError::NotServed { .. }) => continue,
                object => object.map_err(|source| failed(&kind, &key, source))?,
            };
            let trust = object.map(|it| self_managed::configuration(&it, &self.service, bundle));
            self.patch(&kind, &key, trust.unwrap_or(Trust::NotOurs)).await?;
        }
        Ok(())
    }

    async fn trust_definitions(&mut self, bundle: &str) -> Result<(), CheckError> {
        let kind = ResourceKind::definitions();
        for name in self_managed::definitions() {
            let key = ObjectKey::new("", name.clone());
            let failed = |source| failed(&kind, &key, source);
            let metadata = self.client.get_with(&kind, &key, Detail::Metadata).await.map_err(failed)?;
            let Some(stored) = metadata.as_ref().and_then(version) else { continue };
            if self.right.get(&name) == Some(&stored) {
                continue;
            }
            let Some(object): Option<Value> = self.client.get(&kind, &key).await.map_err(failed)? else {
                continue;
            };
            let trust = self_managed::definition(&object, &self.service, bundle);
            if trust == Trust::NotOurs {
                let Service { namespace, name: service } = &self.service;
                warn!(
                    "CustomResourceDefinition {name} is not converted by Service {namespace}/{service}: it is left as it is"
                );
            }
            let patched = self.patch(&kind, &key, trust).await?;
            if let Some(version) = version(patched.as_ref().unwrap_or(&object)) {
                self.right.insert(name, version);
            }
        }
        Ok(())
    }

    /// Puts an object right if it is not; gives the stored one then.
    async fn patch(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        trust: Trust,
    ) -> Result<Option<Value>, CheckError> {
        let Trust::Patch(patch) = trust else { return Ok(None) };
        let stored = match self.client.merge_patch(kind, key, None, &patch).await {
            // Somebody else has written it, perhaps another replica the same. The next check finds out.
            Err(ApiError::Conflict { .. }) => return Ok(None),
            stored => stored.map_err(|source| failed(kind, key, source))?,
        };
        info!(object = %format_args!("{kind} {key}"), "wrote the authority of the webhooks");
        Ok(Some(stored))
    }
}

fn secrets() -> ResourceKind {
    ResourceKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        plural: "secrets".to_owned(),
    }
}

fn configuration_kind(kind: &str, plural: &str) -> ResourceKind {
    ResourceKind {
        group: "admissionregistration.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

fn failed(kind: &ResourceKind, key: &ObjectKey, source: ApiError) -> CheckError {
    CheckError::Api { object: format!("{kind} {key}"), source }
}

fn version(object: &Value) -> Option<String> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
#[path = "self_managed_tests.rs"]
mod tests;

//! The writing verbs: what may be written, by which rules, and what is recorded about it.
//!
//! A [`Writer`] exists only while a cluster is locked. Requests go through `create`, `update` (also for patches) and
//! `delete`; the server's own clean-up goes through `rewrite` and `begin_delete`.

mod create;
mod data;
mod delete;
mod finalizers;
mod prepare;
mod source;
mod update;

use std::sync::Arc;

use serde_json::Value;

use self::source::Source;
pub(crate) use self::{
    delete::{DeleteOptions, Policy},
    prepare::check_type,
};
use crate::{
    admission::{AdmissionRequest, Operation},
    cluster::State,
    depth,
    field::FieldError,
    meta,
    record::WriteRecord,
    resource::{Resource, ResourceKey, Special, Version},
    server_context::Env,
    status::{ApiError, ApiResult},
    store::{
        Store,
        object::{ObjectKey, Stored},
    },
};

/// Name under which the server's own writes are recorded.
const SERVER: &str = "capm3-apiserver";

/// Who writes, and with what request.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) user_agent: &'a str,
    pub(crate) verb: &'static str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

impl Origin<'_> {
    /// The server itself, cleaning up.
    pub(crate) fn server() -> Self {
        Self { user_agent: SERVER, verb: "gc", subresource: None, body: &[] }
    }
}

/// What a request is about, resolved against the cluster.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) resource: Arc<Resource>,
    pub(crate) version: Arc<Version>,
    /// Empty for cluster-scoped resources and for requests across namespaces.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Option<Arc<str>>,
    /// Whether the status subresource is meant.
    pub(crate) status: bool,
}

impl Place {
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey {
            resource: self.resource.key.clone(),
            namespace: Arc::clone(&self.namespace),
            name: name.into(),
        }
    }

    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::NotFound(self.resource.subject(self.name()))
    }

    /// A body that cannot be taken for an object of the kind.
    pub(crate) fn undecodable(&self, why: &str) -> ApiError {
        let kind = &self.resource.kind;
        let version = &self.version.name;
        ApiError::BadRequest(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    }
}

/// What happens to fields that are unknown or written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl FieldValidation {
    /// Turns complaints into warnings, or into the reason of a refusal.
    fn judge(self, complaints: Vec<String>) -> Result<Vec<String>, String> {
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Strict if !complaints.is_empty() => {
                Err(format!("strict decoding error: {}", complaints.join(", ")))
            }
            Self::Warn | Self::Strict => Ok(complaints),
        }
    }
}

/// Options of create, update and patch.
#[derive(Clone, Copy, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
}

/// What became of an object.
pub(crate) struct Outcome {
    pub(crate) object: Arc<Stored>,
    /// Whether it is gone now.
    pub(crate) removed: bool,
    /// What the caller should know although it worked.
    pub(crate) warnings: Vec<String>,
}

impl Outcome {
    fn new(object: Arc<Stored>, removed: bool) -> Self {
        Self { object, removed, warnings: Vec::new() }
    }

    fn kept(object: Arc<Stored>) -> Self {
        Self::new(object, false)
    }

    fn warning(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// Writes to one locked cluster.
pub(crate) struct Writer<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) env: &'a Env,
    pub(crate) cluster: Option<&'a str>,
    pub(crate) origin: Origin<'a>,
}

impl Writer<'_> {
    pub(crate) fn store(&self) -> &Store {
        &self.state.store
    }

    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.state.store
    }

    /// The stored object a request names.
    fn find(&self, place: &Place) -> ApiResult<(ObjectKey, Arc<Stored>)> {
        let key = place.key(place.name());
        let stored = self.store().get(&key).cloned().ok_or_else(|| place.not_found())?;
        Ok((key, stored))
    }

    /// A stored object in the version of the request.
    fn in_version(&self, stored: &Stored, version: &Version) -> ApiResult<Value> {
        self.convert(stored.value(), version)
    }

    fn convert(&self, object: Value, version: &Version) -> ApiResult<Value> {
        if meta::str_at(&object, "apiVersion") == version.api_version {
            return Ok(object);
        }
        self.env.convert(object, &version.api_version).map_err(ApiError::Internal)
    }

    /// An object as it is stored, with what the schema of the stored version fills in: a real server does that each
    /// time it reads from its storage.
    fn to_storage(&self, place: &Place, object: Value) -> ApiResult<Value> {
        let storage = &place.resource.storage;
        if meta::str_at(&object, "apiVersion") == storage.api_version {
            return Ok(object);
        }
        let mut object = self.convert(object, storage)?;
        if let Some(schema) = &storage.schema {
            schema.normalise(&mut object);
        }
        Ok(object)
    }

    /// Checks kind, version and types of a body, and brings its metadata into stored form. Gives what is to be
    /// reported of fields that were removed.
    fn decode(&self, place: &Place, object: &mut Value, source: &Source<'_>) -> ApiResult<Vec<String>> {
        prepare::check_type(place, object)?;
        if !depth::fits(object, depth::MAX_DEPTH) {
            return Err(ApiError::too_deep());
        }
        let noticed = prepare::unknown_metadata(object).iter().map(unknown_field).collect();
        let is_custom = place.resource.is_custom();
        let read = meta::normalise::normalise(object)
            .map_err(|error| if is_custom { error.to_string() } else { error.within_object() })
            .and_then(|()| data::read(&place.resource, object));
        read.map_err(|why| source.undecodable(place, &why)).map(|()| noticed)
    }

    /// Prunes and defaults, or drops nulls where there is no schema. Returns the warnings for the caller, beginning
    /// with what was `noticed` before, or why the object is refused.
    fn normalise(
        &self,
        place: &Place,
        object: &mut Value,
        validation: FieldValidation,
        mut noticed: Vec<String>,
    ) -> Result<Vec<String>, String> {
        match &place.version.schema {
            None => {
                meta::normalise::drop_nulls(object);
                noticed.extend(prepare::drop_unknown(place, object).iter().map(unknown_field));
                data::complete(&place.resource, object);
            }
            Some(schema) if validation == FieldValidation::Ignore => schema.normalise(object),
            Some(schema) => noticed.extend(schema.normalise_strictly(object).iter().map(unknown_field)),
        }
        validation.judge(noticed)
    }

    fn mutate(
        &self,
        place: &Place,
        old: Option<&Value>,
        object: &mut Value,
        options: WriteOptions,
    ) -> ApiResult<()> {
        let Some(admission) = self.env.admission() else {
            return Ok(());
        };
        let name = meta::name(object).to_owned();
        let request = self.admission_request(place, &name, old, options.dry_run);
        admission.mutate(&request, object).map_err(ApiError::Denied)?;
        meta::normalise::normalise(object).map_err(|error| ApiError::Internal(error.to_string()))?;
        self.normalise(place, object, FieldValidation::Ignore, Vec::new())
            .map(drop)
            .map_err(ApiError::Internal)
    }

    /// Gives what the caller should know although the object is let pass.
    fn admit(
        &self,
        place: &Place,
        old: Option<&Value>,
        object: &Value,
        dry_run: bool,
    ) -> ApiResult<Vec<String>> {
        let Some(admission) = self.env.admission() else {
            return Ok(Vec::new());
        };
        let request = self.admission_request(place, meta::name(object), old, dry_run);
        admission.validate(&request, object).map_err(ApiError::Denied)
    }

    fn admission_request<'r>(
        &self,
        place: &'r Place,
        name: &'r str,
        old: Option<&'r Value>,
        dry_run: bool,
    ) -> AdmissionRequest<'r> {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        AdmissionRequest {
            operation,
            group: &place.resource.group,
            version: &place.version.name,
            resource: &place.resource.plural,
            kind: &place.resource.kind,
            subresource: place.status.then_some("status"),
            namespace: &place.namespace,
            name,
            old,
            dry_run,
        }
    }

    /// What is wrong with an object by itself, or with what changed since `old`.
    fn judge(&self, place: &Place, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = meta::validate::object_meta(object, place.resource.special == Special::Namespace);
        errors.extend(finalizers::judge(&place.resource, object));
        errors.extend(data::judge(&place.resource, object));
        if let Some(schema) = &place.version.schema {
            errors.extend(schema.validate(object, old));
        }
        if place.resource.special == Special::Crd {
            errors.extend(crate::crd::parse(object).err().unwrap_or_default());
        }
        errors
    }

    /// Changes an object on the server's own behalf; it goes if nothing holds it any more.
    pub(crate) fn rewrite(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Value)) {
        let Some(stored) = self.store().get(key).cloned() else {
            return;
        };
        let old = stored.value();
        let mut value = old.clone();
        change(&mut value);
        if value == old {
            return;
        }
        let written = if is_finished(&value) {
            self.store_mut().remove(key, Some(value))
        } else {
            self.store_mut().put(key, value)
        };
        self.record(key, written.map(|object| object.revision), 200);
    }

    /// Records what was done to one object.
    pub(crate) fn record(&self, key: &ObjectKey, revision: Option<u64>, code: u16) {
        self.record_named(&key.resource, &key.namespace, &key.name, revision, code);
    }

    /// The same for a request that may not have had a name.
    pub(crate) fn record_named(
        &self,
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        revision: Option<u64>,
        code: u16,
    ) {
        if !self.env.recorder.is_observed() {
            return;
        }
        let digest = || format!("{:016x}", crate::ids::fnv1a(self.origin.body));
        self.env.recorder.push(WriteRecord {
            sequence: 0,
            cluster: self.cluster.map(str::to_owned),
            user_agent: self.origin.user_agent.to_owned(),
            verb: self.origin.verb.to_owned(),
            resource: resource.to_string(),
            subresource: self.origin.subresource.map(str::to_owned),
            namespace: Some(namespace).filter(|it| !it.is_empty()).map(str::to_owned),
            name: name.to_owned(),
            resource_version: revision,
            body_digest: if self.origin.verb == "gc" { String::new() } else { digest() },
            code,
        });
    }

    /// Runs `work` in the name of the server.
    pub(crate) fn as_server<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let origin = std::mem::replace(&mut self.origin, Origin::server());
        let result = work(self);
        self.origin = origin;
        result
    }
}

fn unknown_field(path: &String) -> String {
    format!("unknown field {path:?}")
}

/// Whether a deleting object has nothing left that holds it. A namespace also waits for its content.
fn is_finished(object: &Value) -> bool {
    meta::is_deleting(object)
        && meta::finalizers(object).next().is_none()
        && !crate::namespace::is_held(object)
}

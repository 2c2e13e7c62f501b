//! Create: a new object gets its name, uid, timestamps and first generation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Outcome, Place, Source, WriteOptions, Writer, finalizers, prepare};
use crate::{
    crd, meta, namespace,
    resource::{ResourceKey, Special},
    status::{ApiError, ApiResult},
    store::object::Stored,
};

/// How often a generated name may collide before the create is refused.
const NAME_ATTEMPTS: usize = 8;
/// The longest prefix that leaves room for the suffix in a DNS label.
const MAX_PREFIX: usize = 58;

impl Writer<'_> {
    /// Stores a new object; `noticed` holds warnings about the body for its caller.
    pub(crate) fn create(
        &mut self,
        place: &Place,
        mut object: Value,
        mut noticed: Vec<String>,
        options: WriteOptions,
    ) -> ApiResult<Outcome> {
        noticed.extend(self.decode(place, &mut object, &Source::Body)?);
        prepare::scope(place, &mut object)?;
        if meta::resource_version(&object).is_some() {
            return Err(ApiError::Unclassified(
                "resourceVersion should not be set on objects to be created".to_owned(),
            ));
        }
        self.require_room(place, meta::name(&object))?;
        let normalised = self.normalise(place, &mut object, options.validation, noticed);
        let mut warnings = normalised.map_err(|why| Source::Body.undecodable(place, &why))?;
        self.stamp(place, &mut object);
        self.mutate(place, None, &mut object, options)?;
        self.complete_name(place, &mut object);
        let errors = self.judge(place, &object, None);
        if !errors.is_empty() {
            return Err(ApiError::Invalid(place.resource.kind_subject(meta::name(&object)), errors));
        }
        warnings.extend(finalizers::warnings(&place.resource, &object, None));
        warnings.extend(self.admit(place, None, &object, options.dry_run)?);
        let key = place.key(meta::name(&object));
        if self.store().get(&key).is_some() {
            return Err(ApiError::AlreadyExists(place.resource.subject(&key.name)));
        }
        let object = self.to_storage(place, object)?;
        if options.dry_run {
            return Ok(Outcome::kept(Arc::new(Stored::unsaved(&object))).warning(warnings));
        }
        let stored = self.store_mut().put(&key, object).ok_or(ApiError::NoSuchResource)?;
        Ok(Outcome::kept(stored).warning(warnings))
    }

    /// The namespace must exist and not be going away, and so must the CRD.
    fn require_room(&self, place: &Place, name: &str) -> ApiResult<()> {
        if self.store().table(&place.resource.key).is_none_or(|table| table.closing) {
            let message = "create not allowed while custom resource definition is terminating";
            return Err(ApiError::MethodNotAllowed(message.to_owned()));
        }
        if !place.resource.namespaced {
            return Ok(());
        }
        let namespaces = self.store().table(&ResourceKey::new("", "namespaces"));
        let Some(namespace) = namespaces.and_then(|table| table.objects.get("", &place.namespace)) else {
            let subject = crate::status::Subject::new("", "namespaces", &place.namespace);
            return Err(ApiError::NotFound(Box::new(subject)));
        };
        if namespace.head.is_deleting {
            return Err(ApiError::NamespaceTerminating(
                place.resource.subject(name),
                place.namespace.to_string(),
            ));
        }
        Ok(())
    }

    /// What only the server may set.
    fn stamp(&mut self, place: &Place, object: &mut Value) {
        for field in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
            meta::remove(object, field);
        }
        let uid = self.state.ids.uid();
        let now = self.env.now();
        meta::set(object, "uid", uid);
        meta::set(object, "creationTimestamp", now.as_str());
        if place.resource.has_generation {
            meta::set(object, "generation", 1);
        }
        if prepare::drops_status_on_create(place)
            && let Some(fields) = object.as_object_mut()
        {
            fields.shift_remove("status");
        }
        match place.resource.special {
            Special::Pod => set_pending(object),
            Special::Namespace => namespace::prepare(object),
            Special::Crd => crd::prepare(object, &now),
            _ => {}
        }
    }

    fn complete_name(&mut self, place: &Place, object: &mut Value) {
        let prefix = meta::text(object, "generateName").to_owned();
        if !meta::name(object).is_empty() || prefix.is_empty() {
            return;
        }
        let prefix: String = prefix.chars().take(MAX_PREFIX).collect();
        for _ in 0..NAME_ATTEMPTS {
            let name = format!("{prefix}{}", self.state.ids.suffix());
            let taken = self.store().get(&place.key(&name)).is_some();
            meta::set(object, "name", name);
            if !taken {
                return;
            }
        }
    }
}

/// Nothing here runs a pod, so it stays as it begins.
fn set_pending(pod: &mut Value) {
    if let Some(fields) = pod.as_object_mut() {
        fields.insert("status".to_owned(), json!({"phase": "Pending"}));
    }
}

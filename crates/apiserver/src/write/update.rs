//! Update: the rules between a stored object and the one that is to replace it. Patches come here as whole objects.

use std::sync::Arc;

use serde_json::Value;

use super::{Outcome, Place, Source, WriteOptions, Writer, data, finalizers, is_finished, prepare};
use crate::{
    crd,
    field::FieldError,
    meta,
    resource::Special,
    status::{ApiError, ApiResult},
    store::object::Stored,
};

impl Writer<'_> {
    /// Replaces an object by PUT; `noticed` holds warnings about the body for its caller.
    pub(crate) fn update(
        &mut self,
        place: &Place,
        object: Value,
        noticed: Vec<String>,
        options: WriteOptions,
    ) -> ApiResult<Outcome> {
        self.replace(place, object, noticed, options, &Source::Body)
    }

    /// Replaces an object by what `patch` makes of it; a refusal shows the result as `show` does.
    pub(crate) fn patch(
        &mut self,
        place: &Place,
        noticed: Vec<String>,
        options: WriteOptions,
        patch: impl FnOnce(&mut Value) -> ApiResult<()>,
        show: &dyn Fn(&Value) -> String,
    ) -> ApiResult<Outcome> {
        let (_, stored) = self.find(place)?;
        let mut object = self.in_version(&stored, &place.version)?;
        patch(&mut object)?;
        let source = Source::Patch { patched: object.clone(), show };
        self.replace(place, object, noticed, options, &source)
    }

    fn replace(
        &mut self,
        place: &Place,
        mut new: Value,
        mut noticed: Vec<String>,
        options: WriteOptions,
        source: &Source<'_>,
    ) -> ApiResult<Outcome> {
        noticed.extend(self.decode(place, &mut new, source)?);
        check_name(place, &new, source)?;
        prepare::scope(place, &mut new)?;
        let (key, stored) = self.find(place)?;
        let old = self.in_version(&stored, &place.version)?;
        check_version(place, &new, &stored, source)?;
        let normalised = self.normalise(place, &mut new, options.validation, noticed);
        let mut warnings = normalised.map_err(|why| source.undecodable(place, &why))?;
        let mut new = split_status(place, new, &old);
        restore_metadata(&mut new, &old);
        self.mutate(place, Some(&old), &mut new, options)?;
        restore_metadata(&mut new, &old);
        if place.resource.special == Special::Crd {
            crd::refresh(&mut new);
        }
        count_generation(place, &mut new, &old);
        self.judge_update(place, &new, &old)?;
        warnings.extend(finalizers::warnings(&place.resource, &new, Some(&old)));
        warnings.extend(self.admit(place, Some(&old), &new, options.dry_run)?);
        let unchanged = new == old;
        let new = self.to_storage(place, new)?;
        // What is stored in the version of the request has been compared already.
        let is_converted = *stored.head.api_version != *place.version.api_version;
        // An object in an older storage version is stored again by any write: a storage migration rests on it.
        let is_outdated = *stored.head.api_version != *place.resource.storage.api_version;
        if (unchanged && !is_outdated) || (is_converted && new == stored.value()) {
            return Ok(Outcome::kept(stored).warning(warnings));
        }
        if options.dry_run {
            return Ok(Outcome::kept(Arc::new(Stored::unsaved(&new))).warning(warnings));
        }
        let removed = is_finished(&new);
        let store = self.store_mut();
        let object = if removed { store.remove(&key, Some(new)) } else { store.put(&key, new) };
        let object = object.ok_or(ApiError::NoSuchResource)?;
        Ok(Outcome::new(object, removed).warning(warnings))
    }

    fn judge_update(&self, place: &Place, new: &Value, old: &Value) -> ApiResult<()> {
        let mut errors = meta::validate::object_meta_update(new, old);
        errors.extend(data::judge_update(&place.resource, new, old));
        errors.extend(self.judge(place, new, Some(old)));
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ApiError::Invalid(place.resource.kind_subject(place.name()), errors))
        }
    }
}

/// A patch that takes the name away is left to validation.
fn check_name(place: &Place, new: &Value, source: &Source<'_>) -> ApiResult<()> {
    let found = meta::name(new);
    if found == place.name() || (found.is_empty() && source.is_patch()) {
        return Ok(());
    }
    let message =
        format!("the name of the object ({found}) does not match the name on the URL ({})", place.name());
    Err(ApiError::BadRequest(message))
}

/// Optimistic locking: a version that is named must be the stored one.
fn check_version(place: &Place, new: &Value, stored: &Stored, source: &Source<'_>) -> ApiResult<()> {
    let (asked, actual) = (meta::uid(new), &*stored.head.uid);
    if !source.is_patch() && !asked.is_empty() && asked != actual {
        let reason =
            format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}");
        return Err(ApiError::Conflict(place.resource.subject(place.name()), reason));
    }
    match meta::resource_version(new) {
        Some(version) if version == stored.revision.to_string() => Ok(()),
        Some(version) if version.parse::<u64>().is_err() => {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &crate::field::quote(version),
                "must be an unsigned integer",
            );
            Err(ApiError::Invalid(place.resource.subject(place.name()), vec![error]))
        }
        Some(_) => Err(ApiError::Modified(place.resource.subject(place.name()))),
        None if place.resource.unconditional_update => Ok(()),
        None => {
            let error =
                FieldError::invalid("metadata.resourceVersion", "0x0", "must be specified for an update");
            Err(ApiError::Invalid(place.resource.subject(place.name()), vec![error]))
        }
    }
}

/// The main endpoint cannot change the status, the status endpoint nothing else.
fn split_status(place: &Place, mut new: Value, old: &Value) -> Value {
    if !place.version.has_status {
        return new;
    }
    if place.status {
        let mut kept = old.clone();
        set_status(&mut kept, new.get("status").cloned());
        return kept;
    }
    set_status(&mut new, old.get("status").cloned());
    new
}

fn set_status(object: &mut Value, status: Option<Value>) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match status {
        Some(status) => {
            fields.insert("status".to_owned(), status);
        }
        None => {
            fields.shift_remove("status");
        }
    }
}

/// Fields a client may leave out or get wrong without being refused.
fn restore_metadata(new: &mut Value, old: &Value) {
    let kept = |field: &str| meta::of(old).and_then(|metadata| metadata.get(field)).cloned();
    let Some(metadata) = meta::of_mut(new) else { return };
    for field in ["resourceVersion", "creationTimestamp", "generation"] {
        match kept(field) {
            Some(value) => {
                metadata.insert(field.to_owned(), value);
            }
            None => {
                metadata.shift_remove(field);
            }
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if let Some(value) = kept(field) {
            metadata.entry(field).or_insert(value);
        }
    }
    if let Some(value) = kept("deletionTimestamp") {
        metadata.insert("deletionTimestamp".to_owned(), value);
    }
}

/// The generation counts changes of what the user wants: everything but metadata and, where it is split off, status.
fn count_generation(place: &Place, new: &mut Value, old: &Value) {
    if !place.resource.has_generation || place.status {
        return;
    }
    let ignored = |field: &str| field == "metadata" || (place.version.has_status && field == "status");
    let covers = |a: &Value, b: &Value| {
        let fields = a.as_object().into_iter().flatten();
        fields.filter(|(field, _)| !ignored(field)).all(|(field, value)| b.get(field) == Some(value))
    };
    if !covers(new, old) || !covers(old, new) {
        meta::set(new, "generation", meta::generation(old) + 1);
    }
}

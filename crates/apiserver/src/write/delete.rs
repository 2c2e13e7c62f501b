//! Delete: preconditions, propagation policies, and the difference between marking and removing.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Outcome, Place, Writer, is_finished};
use crate::{
    admission::{AdmissionRequest, Operation},
    decode, meta, namespace,
    negotiate::Format,
    resource::Special,
    status::{ApiError, ApiResult},
    store::object::{ObjectKey, Stored},
};

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// What a deletion asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    /// `None` leaves the choice to finalizers that are already there, then to background.
    pub(crate) policy: Option<Policy>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Reads the body of a DELETE; an empty one asks for nothing special.
    pub(crate) fn parse(body: &[u8], format: Format) -> ApiResult<Self> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        let body = decode::decode(body, format)?.value;
        let precondition = |field: &str| {
            body.get("preconditions")
                .map(|it| meta::str_at(it, field))
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
        };
        let dry_run =
            body.get("dryRun").and_then(Value::as_array).is_some_and(|stages| stages.contains(&json!("All")));
        Ok(Self {
            policy: Self::policy(
                Some(meta::str_at(&body, "propagationPolicy")),
                body.get("orphanDependents").and_then(Value::as_bool),
            )?,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            dry_run,
        })
    }

    /// The policy by its name, or by the older boolean.
    pub(crate) fn policy(name: Option<&str>, orphan: Option<bool>) -> ApiResult<Option<Policy>> {
        match (name.filter(|name| !name.is_empty()), orphan) {
            (Some("Background"), _) => Ok(Some(Policy::Background)),
            (Some("Foreground"), _) => Ok(Some(Policy::Foreground)),
            (Some("Orphan"), _) | (None, Some(true)) => Ok(Some(Policy::Orphan)),
            (None, Some(false)) => Ok(Some(Policy::Background)),
            (None, None) => Ok(None),
            (Some(other), _) => Err(ApiError::bad_request(format!(
                "DeleteOptions is invalid: propagationPolicy: Unsupported value: {other:?}: supported values: \
                 \"Background\", \"Foreground\", \"Orphan\""
            ))),
        }
    }
}

impl Writer<'_> {
    /// Deletes an object for a client.
    pub(crate) fn delete(&mut self, place: &Place, options: &DeleteOptions) -> ApiResult<Outcome> {
        let (key, stored) = self.find(place)?;
        check_preconditions(place, &stored, options)?;
        if place.resource.special == Special::Namespace && namespace::is_protected(place.name()) {
            let reason = "this namespace may not be deleted".to_owned();
            return Err(ApiError::Forbidden(place.resource.subject(place.name()), reason));
        }
        self.admit_delete(place, &stored, options.dry_run)?;
        if options.dry_run {
            let (value, removed) = self.after_delete(&stored, options.policy);
            return Ok(Outcome::new(Arc::new(Stored::unsaved(&value)), removed));
        }
        self.begin_delete(&key, options.policy).ok_or_else(|| place.not_found())
    }

    fn admit_delete(&self, place: &Place, stored: &Stored, dry_run: bool) -> ApiResult<()> {
        let Some(admission) = self.env.admission() else {
            return Ok(());
        };
        let object = self.in_version(stored, &place.version)?;
        let request = self.admission_request(place, place.name(), Some(&object), dry_run);
        let request = AdmissionRequest { operation: Operation::Delete, ..request };
        admission.validate(&request, &object).map(drop).map_err(ApiError::Denied)
    }

    /// Marks an object as deleting, or removes it if nothing holds it. Decides nothing about who may.
    pub(crate) fn begin_delete(&mut self, key: &ObjectKey, policy: Option<Policy>) -> Option<Outcome> {
        let stored = self.store().get(key).cloned()?;
        let (value, removed) = self.after_delete(&stored, policy);
        let old = stored.value();
        if value == old {
            return Some(if removed {
                Outcome::new(self.store_mut().remove(key, None)?, true)
            } else {
                Outcome::kept(stored)
            });
        }
        let store = self.store_mut();
        let object = if removed { store.remove(key, Some(value)) } else { store.put(key, value) }?;
        Some(Outcome::new(object, removed))
    }

    /// What a deletion makes of an object, and whether nothing holds it then. One that nothing held before stays as
    /// it is, for it goes at once.
    fn after_delete(&self, stored: &Stored, policy: Option<Policy>) -> (Value, bool) {
        let mut value = stored.value();
        let finalizers = deletion_finalizers(&value, policy);
        if finalizers.is_empty() && !namespace::is_held(&value) {
            return (value, true);
        }
        meta::set_finalizers(&mut value, finalizers);
        self.mark_deleting(&mut value);
        let removed = is_finished(&value);
        (value, removed)
    }

    fn mark_deleting(&self, value: &mut Value) {
        if meta::is_deleting(value) {
            return;
        }
        // Controllers that compare generations must notice that the object's meaning changed.
        let generation = meta::generation(value);
        if generation > 0 {
            meta::set(value, "generation", generation + 1);
        }
        meta::set(value, "deletionTimestamp", self.env.now());
        if !namespace::is_namespace(value) {
            meta::set(value, "deletionGracePeriodSeconds", 0);
        }
        namespace::set_terminating(value);
    }
}

fn check_preconditions(place: &Place, stored: &Stored, options: &DeleteOptions) -> ApiResult<()> {
    let conflict =
        |reason: String| Err(ApiError::Conflict(place.resource.kind_subject(place.name()), reason));
    let (uid, version) = (&*stored.head.uid, stored.revision.to_string());
    if let Some(asked) = options.uid.as_deref().filter(|asked| *asked != uid) {
        return conflict(format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({uid}). The object might have been \
             deleted and then recreated"
        ));
    }
    if let Some(asked) = options.resource_version.as_deref().filter(|asked| *asked != version) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The \
             object might have been modified"
        ));
    }
    Ok(())
}

/// The finalizers of the object once the policy has added or taken those of the garbage collector.
fn deletion_finalizers(object: &Value, policy: Option<Policy>) -> Vec<String> {
    let (orphan, foreground) = match policy {
        Some(policy) => (policy == Policy::Orphan, policy == Policy::Foreground),
        None => (meta::has_finalizer(object, meta::ORPHAN), meta::has_finalizer(object, meta::FOREGROUND)),
    };
    let mut finalizers: Vec<String> = meta::finalizers(object)
        .filter(|it| !matches!(*it, meta::ORPHAN | meta::FOREGROUND))
        .map(str::to_owned)
        .collect();
    if orphan {
        finalizers.push(meta::ORPHAN.to_owned());
    }
    if foreground {
        finalizers.push(meta::FOREGROUND.to_owned());
    }
    finalizers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delete_options_are_read_from_the_body() {
        let options = DeleteOptions::parse(
            br#"{"propagationPolicy":"Foreground","preconditions":{"uid":"u","resourceVersion":"5"}}"#,
            Format::Json,
        )
        .unwrap();
        assert_eq!(options.policy, Some(Policy::Foreground));
        assert_eq!((options.uid.as_deref(), options.resource_version.as_deref()), (Some("u"), Some("5")));
        assert_eq!(DeleteOptions::parse(b"", Format::Json).unwrap(), DeleteOptions::default());
        assert!(DeleteOptions::parse(b"{", Format::Json).is_err());
        assert!(DeleteOptions::policy(Some("Sideways"), None).is_err());
    }

    #[test]
    fn the_policy_decides_the_finalizers_of_the_collector() {
        let object = json!({"metadata": {"finalizers": ["x/y", "orphan"]}});
        let table = [
            (None, vec!["x/y", "orphan"]),
            (Some(Policy::Background), vec!["x/y"]),
            (Some(Policy::Foreground), vec!["x/y", "foregroundDeletion"]),
        ];
        for (policy, expected) in table {
            assert_eq!(deletion_finalizers(&object, policy), expected, "{policy:?}");
        }
    }
}

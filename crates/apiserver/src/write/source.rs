//! Where an object that is to be stored comes from: it decides how one that is no object of its kind is refused.

use serde_json::Value;

use super::Place;
use crate::{
    field::{FieldError, quote},
    status::ApiError,
};

/// A whole body, or what a patch made of a stored object.
pub(super) enum Source<'a> {
    Body,
    Patch {
        patched: Value,
        /// What a refusal shows of it.
        show: &'a dyn Fn(&Value) -> String,
    },
}

impl Source<'_> {
    pub(super) fn is_patch(&self) -> bool {
        matches!(self, Self::Patch { .. })
    }

    /// The body is the caller's mistake; a patch may only not fit this object, and `kubectl edit` opens the editor
    /// again if it hears so.
    pub(super) fn undecodable(&self, place: &Place, why: &str) -> ApiError {
        match self {
            Self::Body => place.undecodable(why),
            Self::Patch { patched, show } => {
                let error = FieldError::invalid("patch", &quote(&show(patched)), why);
                ApiError::Invalid(Box::default(), vec![error])
            }
        }
    }
}

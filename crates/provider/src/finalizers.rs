//! Finalizers on and off.

use capm3_api::metadata::MetadataExt;
use kube::core::ObjectMeta;

/// Puts a finalizer behind those that are there.
pub(crate) fn add_finalizer(metadata: &mut ObjectMeta, finalizer: &str) {
    if !metadata.has_finalizer(finalizer) {
        metadata.finalizers.get_or_insert_default().push(finalizer.to_owned());
    }
}

/// Takes a finalizer off.
pub(crate) fn remove_finalizer(metadata: &mut ObjectMeta, finalizer: &str) {
    if let Some(finalizers) = &mut metadata.finalizers {
        finalizers.retain(|f| f != finalizer);
    }
}

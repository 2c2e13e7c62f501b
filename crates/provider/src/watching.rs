//! Subscriptions that wake controllers.

use capm3_engine::Object;

use crate::context::Context;

/// Calls `wake` for an object as it was and as it is, whenever it changes: who was concerned before and who is now.
pub(crate) fn subscribe<K: Object>(context: &Context, wake: impl Fn(&K) + Send + Sync + 'static) {
    if let Some(store) = context.caches.store::<K>() {
        store.subscribe(move |change| {
            for object in [&change.old, &change.new].into_iter().flatten() {
                wake(object);
            }
        });
    }
}

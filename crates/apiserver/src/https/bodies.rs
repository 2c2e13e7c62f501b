//! Room for the bodies of requests: all that are read at the same time fit into a fixed number of bytes, and who finds no
//! room waits. Takes what a request announces; knows nothing of its content.

use std::sync::Arc;

use http_body::SizeHint;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::server;

/// Room is given out in pieces of so many bytes.
const UNIT: usize = 1024;
/// Bytes of all bodies together.
const ALL_BYTES: usize = 32 * 1024 * 1024;
/// A body of at most so many bytes always finds room, so that large ones keep nobody from small changes.
const SMALL: u64 = 16 * 1024;

/// Room for bodies.
pub(super) struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL_BYTES / UNIT)))
    }
}

/// The units that a body needs: those of the most that is kept of it, none for a small one.
fn units(hint: &SizeHint) -> u32 {
    match hint.upper() {
        Some(bytes) if bytes <= SMALL => 0,
        announced => {
            let most = announced.map_or(server::BODY_LIMIT, |bytes| {
                usize::try_from(bytes).unwrap_or(usize::MAX).min(server::BODY_LIMIT)
            });
            u32::try_from(most.div_ceil(UNIT)).unwrap_or(u32::MAX)
        }
    }
}

impl Bodies {
    /// Waits for room, first come, first served; it is free again when the result is dropped.
    pub(super) async fn room(&self, hint: &SizeHint) -> Option<OwnedSemaphorePermit> {
        match units(hint) {
            0 => None,
            units => Arc::clone(&self.0).acquire_many_owned(units).await.ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn hint(upper: Option<u64>) -> SizeHint {
        let mut hint = SizeHint::new();
        upper.into_iter().for_each(|upper| hint.set_upper(upper));
        hint
    }

    #[test]
    fn a_body_takes_room_for_what_is_kept_of_it() {
        let most = u32::try_from(server::BODY_LIMIT / UNIT).unwrap();
        let table = [
            (Some(0), 0),
            (Some(SMALL), 0),
            (Some(SMALL + 1), 17),
            (Some(1 << 20), 1024),
            (Some(u64::MAX), most),
            (None, most),
        ];
        for (upper, expected) in table {
            assert_eq!(units(&hint(upper)), expected, "{upper:?}");
        }
    }

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_do_not_wait() {
        let bodies = Bodies::default();
        let mut taken = Vec::new();
        while let Some(room) = bodies.room(&hint(Some(1 << 20))).now_or_never() {
            taken.push(room.unwrap());
        }
        assert_eq!(taken.len(), 32);
        assert!(bodies.room(&hint(Some(SMALL))).now_or_never().is_some());
        taken.pop();
        assert!(bodies.room(&hint(Some(1 << 20))).now_or_never().is_some());
    }
}

//! Bodies: room for those that are read, and answers that are sent piece by piece.
//!
//! All bodies together fit into a fixed number of bytes; who finds no room waits. Small ones have a room of their own, so
//! that large conversions keep nobody from small changes. An answer keeps the room of its request until it is taken.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::slots::InFlight;

/// Room is given out in pieces of so many bytes.
const UNIT: usize = 1024;
/// Up to here a body is small.
const SMALL: usize = 1024 * 1024;
/// Bytes of all small bodies together.
const SMALL_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of all other bodies together; one of the largest always fits.
const LARGE_BYTES: usize = 96 * 1024 * 1024;
/// What is handed to the connection at once: it takes the next piece only when it has sent some.
const PIECE: usize = 64 * 1024;

/// Room for bodies.
pub(super) struct Rooms {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Default for Rooms {
    fn default() -> Self {
        let room = |bytes: usize| Arc::new(Semaphore::new(bytes / UNIT));
        Self { small: room(SMALL_BYTES), large: room(LARGE_BYTES) }
    }
}

impl Rooms {
    /// Waits for room for a body that announces this size, or for the largest that is read; first come, first served.
    pub(super) async fn take(&self, announced: Option<u64>, limit: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = announced.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(limit).min(limit);
        let room = if bytes <= SMALL { &self.small } else { &self.large };
        let units = u32::try_from(bytes.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX);
        Arc::clone(room).acquire_many_owned(units).await.ok()
    }
}

/// An answer on its way. Its pieces are copies, so that a client which does not read holds no more than one of them.
pub(super) struct Answer {
    rest: Bytes,
    in_flight: InFlight,
    _room: Option<OwnedSemaphorePermit>,
}

impl Answer {
    pub(super) fn new(body: Vec<u8>, in_flight: InFlight, room: Option<OwnedSemaphorePermit>) -> Self {
        Self { rest: Bytes::from(body), in_flight, _room: room }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.in_flight.progresses();
        let length = self.rest.len().min(PIECE);
        if length == 0 {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(self.rest.copy_to_bytes(length).to_vec().into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::review::Route;

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_do_not_wait() {
        let (rooms, limit) = (Rooms::default(), Route::Convert.body_limit());
        let first = rooms.take(None, limit).now_or_never().unwrap().unwrap();
        assert!(rooms.take(Some(u64::MAX), limit).now_or_never().is_none(), "no room for two of the largest");
        assert!(rooms.take(Some(32 << 20), limit).now_or_never().is_some());
        let small: Vec<_> =
            (0..32).map(|_| rooms.take(Some(1 << 20), limit).now_or_never().unwrap()).collect();
        assert!(rooms.take(Some(0), limit).now_or_never().is_none(), "even an empty one takes room");
        drop((first, small));
        assert!(rooms.take(Some(0), limit).now_or_never().is_some());
        assert!(rooms.take(None, limit).now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_answer_is_sent_in_pieces() {
        let slots = super::super::slots::Slots::new(1);
        let slot = slots.take().await;
        let text: Vec<u8> = (0..PIECE * 2 + 5).map(|index| u8::try_from(index % 251).unwrap()).collect();
        let mut answer = Answer::new(text.clone(), slot.begin(), None);
        assert_eq!(answer.size_hint().exact(), Some(text.len() as u64));
        let (mut sent, mut pieces) = (Vec::new(), Vec::new());
        while let Some(Ok(frame)) = http_body_util::BodyExt::frame(&mut answer).await {
            let piece = frame.into_data().unwrap();
            pieces.push(piece.len());
            sent.extend_from_slice(&piece);
        }
        assert_eq!(pieces, [PIECE, PIECE, 5]);
        assert_eq!(sent, text);
        assert!(!slot.is_idle());
        drop(answer);
        assert!(slot.is_idle());
    }
}

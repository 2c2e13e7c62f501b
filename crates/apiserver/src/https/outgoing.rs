//! The body of an answer as it is sent: cut into pieces, counted until each has left, ended when the listener stops.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tower::BoxError;

use super::{
    request::Caller,
    slots::{InFlight, Slot},
    unread_responses::{Answer, Held},
};
use crate::response::{PolledFrame, ResponseBody};

/// Bytes handed over at once, so that it shows whether a large answer is being read.
const PIECE: usize = 64 * 1024;

/// The body of an answer. One to somebody known is a request in flight until it is sent.
pub(super) struct Outgoing {
    body: ResponseBody,
    /// What the body gave that is not handed over yet, and what it counts.
    rest: Option<(Bytes, Arc<Held>)>,
    /// What the body itself holds.
    kept: Option<Held>,
    tracked: Option<Tracked>,
}

struct Tracked {
    slot: Arc<Slot>,
    answer: Arc<Answer>,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    _in_flight: InFlight,
}

impl Outgoing {
    /// An answer to somebody known.
    pub(super) fn new(caller: &Caller, body: ResponseBody, in_flight: InFlight) -> Self {
        let answer = caller.unread.answer(caller.slot.id, caller.slot.cut());
        let tracked = Tracked {
            slot: Arc::clone(&caller.slot),
            answer,
            stopped: Box::pin(caller.stop.clone().cancelled_owned()),
            _in_flight: in_flight,
        };
        let mut outgoing = Self { body, rest: None, kept: None, tracked: Some(tracked) };
        outgoing.count_kept();
        outgoing
    }

    /// A short answer to an unauthenticated client, whose whole connection is short-lived.
    pub(super) fn refusal(body: ResponseBody) -> Self {
        Self { body, rest: None, kept: None, tracked: None }
    }

    /// Counts what the body holds by now.
    fn count_kept(&mut self) {
        let Some(tracked) = &self.tracked else { return };
        let bytes = self.body.held_bytes();
        if self.kept.as_ref().map_or(0, Held::bytes) != bytes {
            self.kept = (bytes > 0).then(|| tracked.answer.hold(bytes));
        }
    }

    /// Keeps what the body gave, to be handed over piece by piece.
    fn keep(&mut self, bytes: Bytes) {
        self.count_kept();
        if let Some(tracked) = &self.tracked {
            let held = Arc::new(tracked.answer.hold(bytes.len()));
            self.rest = Some((bytes, held));
        }
    }

    /// The next piece; it is counted until the connection has sent it.
    fn piece(&mut self) -> Option<Bytes> {
        let (rest, held) = self.rest.as_mut()?;
        let piece = Piece { bytes: rest.split_to(PIECE.min(rest.len())), _held: Arc::clone(held) };
        if rest.is_empty() {
            self.rest = None;
        }
        if let Some(tracked) = &self.tracked {
            tracked.answer.is_read();
            tracked.slot.progresses();
        }
        Some(Bytes::from_owner(piece))
    }
}

/// A part of an answer, and the count of the whole.
struct Piece {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        loop {
            if let Some(piece) = self.piece() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let polled = Pin::new(&mut self.body).poll_frame(context);
            let Some(tracked) = &mut self.tracked else { return polled };
            match polled {
                // Watchers see an end and not a broken connection.
                Poll::Pending if tracked.stopped.as_mut().poll(context).is_ready() => {
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => self.keep(bytes),
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64);
        let hint = self.body.size_hint();
        let mut all = SizeHint::new();
        all.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            all.set_upper(upper + rest);
        }
        all
    }
}

//! A watch as a response body: polled by whoever reads the answer, driven by the event log of one resource.
//!
//! It holds a position in the log and nothing of the log itself. It spawns nothing; dropping it ends it.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Sleep;

use crate::{
    cluster::Cluster,
    read::Filter,
    resource::ResourceKey,
    status::ApiError,
    store::{
        log::{Event, EventKind, Position},
        object::Stored,
        table::WatcherId,
    },
    view::{View, bytes},
};

/// How often a quiet watch gets a bookmark.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Events put into one chunk, so that a watcher that starts far back does not hold the lock for long.
const EVENTS_PER_CHUNK: usize = 200;
/// Bytes of objects after which a chunk is full, so that a watcher that does not read holds little. One object always
/// fits.
const BYTES_PER_CHUNK: usize = 64 * 1024;

/// Whether a chunk with so many events of so many bytes takes no more.
fn is_full(events: usize, bytes: usize) -> bool {
    events >= EVENTS_PER_CHUNK || bytes >= BYTES_PER_CHUNK
}

/// What a watch asks for.
pub(crate) struct WatchOptions {
    /// 0 asks for the present state first.
    pub(crate) revision: u64,
    pub(crate) timeout: Option<Duration>,
    pub(crate) bookmarks: bool,
    /// Present state first, then a bookmark that says so.
    pub(crate) initial_events: bool,
}

/// The running watch.
pub(crate) struct Watch {
    cluster: Arc<Cluster>,
    resource: ResourceKey,
    epoch: u64,
    id: WatcherId,
    filter: Filter,
    view: View,
    bookmarks: bool,
    initial: VecDeque<Arc<Stored>>,
    /// Bytes of these.
    initial_bytes: usize,
    /// The revision of the bookmark that ends the initial events.
    end_of_initial: Option<u64>,
    /// Where to read on; `None` once the watch is over.
    position: Option<Position>,
    /// Events up to this revision are not shown: the caller asked for later ones.
    floor: u64,
    timeout: Option<Duration>,
    timers: Option<Timers>,
}

struct Timers {
    end: Option<Pin<Box<Sleep>>>,
    bookmark: Pin<Box<Sleep>>,
}

/// What the log had to say.
enum News {
    Chunk(Bytes),
    Nothing {
        revision: u64,
    },
    /// The resource is no longer served.
    Gone,
}

impl Watch {
    /// Starts a watch; `None` if the resource is not served.
    pub(crate) fn open(
        cluster: &Arc<Cluster>,
        resource: ResourceKey,
        filter: Filter,
        view: View,
        options: &WatchOptions,
    ) -> Option<Self> {
        let present = options.initial_events || options.revision == 0;
        let (id, epoch, initial, position, current) = cluster.with(|state| {
            let (id, current) = (state.store.new_watcher(), state.store.revision());
            let table = state.store.table(&resource)?;
            let initial: VecDeque<_> = if present { filter.objects(table).into() } else { VecDeque::new() };
            // An expired revision has no position; the first one has been dropped by then, so reading it says so.
            let position =
                if present { table.log.end() } else { table.log.after(options.revision).unwrap_or_default() };
            Some((id, table.epoch, initial, position, current))
        })?;
        Some(Self {
            cluster: Arc::clone(cluster),
            resource,
            epoch,
            id,
            filter,
            view,
            bookmarks: options.bookmarks,
            initial_bytes: initial.iter().map(|object| object.json.len()).sum(),
            initial,
            end_of_initial: (options.initial_events && options.bookmarks).then_some(current),
            position: Some(position),
            floor: if present { 0 } else { options.revision },
            timeout: options.timeout,
            timers: None,
        })
    }

    /// Bytes of objects that stay in memory until the watch is read further, even if they change meanwhile.
    pub(crate) fn held_bytes(&self) -> usize {
        self.initial_bytes
    }

    /// The next chunk of newline-separated events; `None` at the end.
    pub(crate) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(chunk) = self.next_initial() {
            return Poll::Ready(Some(chunk));
        }
        let Some(position) = self.position else {
            return Poll::Ready(None);
        };
        let is_over = self.poll_end(context);
        match self.read_log(position, context) {
            News::Chunk(chunk) => {
                if is_over {
                    self.position = None;
                }
                Poll::Ready(Some(chunk))
            }
            News::Gone => self.finish(None),
            News::Nothing { revision } if is_over => {
                let last = self.bookmarks.then(|| self.bookmark(revision));
                self.finish(last)
            }
            News::Nothing { revision } => self.poll_bookmark(revision, context),
        }
    }

    fn next_initial(&mut self) -> Option<Bytes> {
        if self.initial.is_empty() {
            let revision = self.end_of_initial.take()?;
            return Some(line("BOOKMARK", &bytes(&self.view.bookmark(revision, true))).into());
        }
        let (mut chunk, mut events) = (Vec::new(), 0);
        while !is_full(events, chunk.len())
            && let Some(object) = self.initial.pop_front()
        {
            show(&mut chunk, &self.cluster, &mut self.view, "ADDED", &object);
            self.initial_bytes -= object.json.len();
            events += 1;
        }
        Some(chunk.into())
    }

    /// Reads on from `position`, or registers to be woken.
    fn read_log(&mut self, position: Position, context: &Context<'_>) -> News {
        let mut next = position;
        let cluster = Arc::clone(&self.cluster);
        let events = cluster.with(|state| {
            let revision = state.store.revision();
            let Some(table) = state.store.table(&self.resource).filter(|table| table.epoch == self.epoch)
            else {
                return Err(News::Gone);
            };
            let Some(events) = table.log.since(position) else {
                return Ok((Err(table.log.oldest()), revision));
            };
            let (mut wanted, mut bytes) = (Vec::new(), 0);
            for event in events {
                if is_full(wanted.len(), bytes) {
                    break;
                }
                next += 1;
                if let Some((kind, object)) = self.transition(event) {
                    bytes += object.json.len();
                    wanted.push((kind, object));
                }
            }
            if wanted.is_empty() {
                state.store.register_waker(
                    &self.resource,
                    self.id,
                    self.filter.namespace.as_ref(),
                    context.waker(),
                );
            }
            Ok((Ok(wanted), revision))
        });
        self.position = Some(next);
        match events {
            Err(news) => news,
            Ok((Err(oldest), _)) => {
                self.position = None;
                News::Chunk(expired(self.floor, oldest))
            }
            Ok((Ok(wanted), revision)) if wanted.is_empty() => News::Nothing { revision },
            Ok((Ok(wanted), _)) => {
                let mut chunk = Vec::new();
                for (kind, object) in &wanted {
                    show(&mut chunk, &self.cluster, &mut self.view, kind, object);
                }
                News::Chunk(chunk.into())
            }
        }
    }

    /// What an event means to a watcher that sees only what its selectors match.
    fn transition(&self, event: &Event) -> Option<(&'static str, Arc<Stored>)> {
        let object = &event.object;
        if object.revision <= self.floor
            || self.filter.namespace.as_deref().is_some_and(|it| *it != *object.head.namespace)
        {
            return None;
        }
        let before = event.previous.as_ref().is_some_and(|previous| self.filter.selects(previous));
        let after = event.kind != EventKind::Deleted && self.filter.selects(object);
        let kind = match (before, after) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return None,
        };
        if kind == "DELETED" && event.kind == EventKind::Modified {
            // Leaving the selector looks like a deletion of the last state that matched, at the new revision.
            let last = event.previous.as_ref().map(|previous| Stored::new(previous.value(), object.revision));
            return last.map(|last| (kind, Arc::new(last)));
        }
        Some((kind, Arc::clone(object)))
    }

    /// Timers exist only for watches that asked for something timed, so that others need no runtime.
    fn timers(&mut self) -> Option<&mut Timers> {
        if !self.bookmarks && self.timeout.is_none() {
            return None;
        }
        let timeout = self.timeout;
        Some(self.timers.get_or_insert_with(|| Timers {
            end: timeout.map(|timeout| Box::pin(tokio::time::sleep(timeout))),
            bookmark: Box::pin(tokio::time::sleep(BOOKMARK_INTERVAL)),
        }))
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> bool {
        let end = self.timers().and_then(|timers| timers.end.as_mut());
        end.is_some_and(|end| end.as_mut().poll(context).is_ready())
    }

    fn poll_bookmark(&mut self, revision: u64, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let due = self.bookmarks
            && self.timers().is_some_and(|timers| timers.bookmark.as_mut().poll(context).is_ready());
        if !due {
            return Poll::Pending;
        }
        if let Some(timers) = self.timers() {
            timers.bookmark = Box::pin(tokio::time::sleep(BOOKMARK_INTERVAL));
        }
        Poll::Ready(Some(self.bookmark(revision)))
    }

    fn bookmark(&self, revision: u64) -> Bytes {
        line("BOOKMARK", &bytes(&self.view.bookmark(revision.max(self.floor), false))).into()
    }

    fn finish(&mut self, last: Option<Bytes>) -> Poll<Option<Bytes>> {
        self.position = None;
        Poll::Ready(last)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let waker = self.cluster.with(|state| state.store.table_mut(&self.resource)?.forget(self.id));
        drop(waker);
    }
}

fn line(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    append(&mut line, kind, object);
    line
}

fn append(line: &mut Vec<u8>, kind: &str, object: &[u8]) {
    line.reserve(object.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
}

/// Adds the line of one event to a chunk.
fn show(chunk: &mut Vec<u8>, cluster: &Cluster, view: &mut View, kind: &str, object: &Stored) {
    match view.object(&cluster.env, object) {
        Ok(object) => append(chunk, kind, &object),
        Err(error) => append(chunk, "ERROR", &bytes(&error.to_status())),
    }
    view.without_headers();
}

fn expired(asked: u64, oldest: u64) -> Bytes {
    let status: Value =
        ApiError::Expired(format!("too old resource version: {asked} ({oldest})")).to_status();
    line("ERROR", &bytes(&json!(status))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_full_by_count_or_by_bytes() {
        let table = [
            (0, 0, false),
            (EVENTS_PER_CHUNK - 1, BYTES_PER_CHUNK - 1, false),
            (EVENTS_PER_CHUNK, 0, true),
            (1, BYTES_PER_CHUNK, true),
        ];
        for (events, bytes, expected) in table {
            assert_eq!(is_full(events, bytes), expected, "{events} events, {bytes} bytes");
        }
    }
}

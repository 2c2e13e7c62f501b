//! The stream of a watch: one JSON document a line.

use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use tokio::time::Instant;

use super::{
    ApiError, Guard, Hold, bounded, decode,
    limits::{LimitExceeded, Limits, bytes_within},
    pace::Pace,
};
use crate::{ObjectKey, read_json::read_json};

/// Time without a byte after which a watch counts as dead; the server was asked to end it before.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A buffer that was larger than this is given back after use.
const SMALL: usize = 64 * 1024;

/// One event of a watch.
#[derive(Debug)]
pub enum WatchEvent<K> {
    /// The object was added or changed.
    Applied(K),
    /// The object was deleted; this is its last state.
    Deleted(K),
    /// Everything up to this version has been sent.
    Bookmark(String),
    /// An object of this key changed, but cannot be read.
    Unreadable {
        /// Namespace and name.
        key: ObjectKey,
        /// Version of the change.
        version: u64,
        /// Why it cannot be read.
        source: serde_json::Error,
    },
}

/// An open watch.
#[derive(Debug)]
pub struct WatchStream {
    body: Body,
    buffer: BytesMut,
    /// So many bytes of the buffer are known to hold no end of a line.
    scanned: usize,
    limits: Limits,
    hold: Hold,
    pace: Pace,
    opened: Instant,
    /// When the first byte of the current line came.
    line_began: Option<Instant>,
}

/// What is waited for longest, and is late then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Late {
    /// Anything at all.
    Server,
    /// The end of a line.
    Line,
    /// The end of the watch.
    Watch,
}

/// How long to wait for the next bytes, and what is late afterwards.
fn read_timeout(limits: &Limits, line: Option<Duration>, watch: Duration) -> (Duration, Late) {
    let line = line.map_or(Duration::MAX, |age| limits.line_time.saturating_sub(age));
    let watch = limits.watch_time.saturating_sub(watch);
    let waits = [(line, Late::Line), (watch, Late::Watch), (IDLE_TIMEOUT, Late::Server)];
    waits.into_iter().min_by_key(|(wait, _)| *wait).unwrap_or((IDLE_TIMEOUT, Late::Server))
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    type_: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: super::PageMeta,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: u16,
}

impl WatchStream {
    pub(crate) fn new(body: Body, guard: &Guard) -> Self {
        let (limits, now) = (guard.limits, Instant::now());
        Self {
            body,
            buffer: BytesMut::new(),
            scanned: 0,
            limits,
            hold: guard.receiving(),
            pace: Pace::new(limits.watch_rate, now),
            opened: now,
            line_began: None,
        }
    }

    /// The next event; `None` when the server closed the watch.
    pub async fn next<K: DeserializeOwned>(&mut self) -> Result<Option<WatchEvent<K>>, ApiError> {
        let Some(line) = self.next_line().await? else {
            return Ok(None);
        };
        let line: Line<'_> = decode(&line)?;
        let object = line.object.get().as_bytes();
        match line.type_ {
            "ADDED" | "MODIFIED" => Ok(Some(read_object(object, WatchEvent::Applied)?)),
            "DELETED" => Ok(Some(read_object(object, WatchEvent::Deleted)?)),
            "BOOKMARK" => {
                let bookmark: Bookmark = decode(object)?;
                Ok(Some(WatchEvent::Bookmark(bookmark.metadata.resource_version.unwrap_or_default())))
            }
            _ => {
                let code = decode::<ErrorObject>(object).map_or(500, |e| e.code);
                Err(bounded::refused(code, Some(object), self.limits.error))
            }
        }
    }

    async fn next_line(&mut self) -> Result<Option<BytesMut>, ApiError> {
        loop {
            if let Some(line) = self.take_line() {
                let pause = self.pace.take(line.len(), Instant::now());
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            let now = Instant::now();
            let (wait, late) =
                read_timeout(&self.limits, self.line_began.map(|began| now - began), now - self.opened);
            // Bookmarks come every minute and the server ends a watch after five: no byte for longer means a dead connection.
            let frame = match (wait, late) {
                (Duration::ZERO, _) => Err(None),
                _ => tokio::time::timeout(wait, self.body.frame()).await.map_err(Some),
            };
            match (frame, late) {
                (Ok(None), _) | (Err(_), Late::Watch) => return Ok(None),
                (Ok(Some(frame)), _) => {
                    if let Ok(data) = frame.map_err(ApiError::transport)?.into_data() {
                        self.take_in(&data)?;
                    }
                }
                (Err(_), Late::Line) => {
                    let limit = self.limits.line_time;
                    return Err(LimitExceeded::Time { what: "a line of the watch", limit }.into());
                }
                (Err(elapsed), Late::Server) => {
                    return Err(elapsed.map_or_else(|| ApiError::transport("no answer"), ApiError::transport));
                }
            }
        }
    }

    /// Only the last line can be incomplete, so only it counts.
    fn take_in(&mut self, data: &[u8]) -> Result<(), ApiError> {
        let first = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
        bytes_within("a line of the watch", self.buffer.len() + first, self.limits.line)?;
        self.hold.resize(self.buffer.len() + data.len())?;
        self.buffer.extend_from_slice(data);
        self.line_began.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// The first line of the buffer, if it is complete.
    fn take_line(&mut self) -> Option<BytesMut> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + end;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        self.scanned = 0;
        if end > SMALL {
            self.buffer = BytesMut::from(&*self.buffer);
        }
        self.line_began = (!self.buffer.is_empty()).then(Instant::now);
        // Less is always admitted.
        let _admitted = self.hold.resize(self.buffer.len());
        Some(line)
    }
}

#[derive(Deserialize)]
struct Named {
    metadata: NamedMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NamedMeta {
    namespace: String,
    name: String,
    resource_version: String,
}

/// One object that cannot be read costs itself only: it is reported by its key.
fn read_object<K: DeserializeOwned>(
    text: &[u8],
    event: impl FnOnce(K) -> WatchEvent<K>,
) -> Result<WatchEvent<K>, ApiError> {
    match read_json(text) {
        Ok(object) => Ok(event(object)),
        Err(source) => {
            let NamedMeta { namespace, name, resource_version } = decode::<Named>(text)?.metadata;
            let version = resource_version.parse().unwrap_or(0);
            let source = bounded::in_few_words(source);
            Ok(WatchEvent::Unreadable { key: ObjectKey::new(namespace, name), version, source })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_watch_and_a_stall_have_their_own_timeouts() {
        let limits = Limits::WORKLOAD;
        let seconds = Duration::from_secs;
        let table = [
            (None, seconds(0), (IDLE_TIMEOUT, Late::Server)),
            (Some(seconds(0)), seconds(0), (seconds(30), Late::Line)),
            (Some(seconds(29)), seconds(100), (seconds(1), Late::Line)),
            (Some(seconds(31)), seconds(100), (seconds(0), Late::Line)),
            (None, seconds(599), (seconds(1), Late::Watch)),
            (Some(seconds(1)), seconds(599), (seconds(1), Late::Watch)),
            (None, seconds(9999), (seconds(0), Late::Watch)),
        ];
        for (line, watch, expected) in table {
            assert_eq!(read_timeout(&limits, line, watch), expected, "{line:?} {watch:?}");
        }
        assert_eq!(
            read_timeout(&Limits::OWN, Some(seconds(9999)), seconds(9999)),
            (IDLE_TIMEOUT, Late::Server)
        );
    }
}

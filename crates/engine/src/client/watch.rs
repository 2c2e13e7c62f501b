//! The stream of a watch: one JSON document a line.

use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::ApiError;
use crate::ObjectKey;

/// Silence after which a watch counts as dead; the server was asked to end it before.
const SILENCE: Duration = Duration::from_secs(300);

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
    pub(crate) fn new(body: Body) -> Self {
        Self { body, buffer: BytesMut::new() }
    }

    /// The next event; `None` when the server closed the watch.
    pub async fn next<K: DeserializeOwned>(&mut self) -> Result<Option<WatchEvent<K>>, ApiError> {
        let Some(line) = self.next_line().await? else {
            return Ok(None);
        };
        let line: Line<'_> = read(&line)?;
        let object = line.object.get().as_bytes();
        match line.type_ {
            "ADDED" | "MODIFIED" => Ok(Some(read_object(object, WatchEvent::Applied)?)),
            "DELETED" => Ok(Some(read_object(object, WatchEvent::Deleted)?)),
            "BOOKMARK" => {
                let bookmark: Bookmark = read(object)?;
                Ok(Some(WatchEvent::Bookmark(bookmark.metadata.resource_version.unwrap_or_default())))
            }
            _ => {
                let code = read::<ErrorObject>(object).map_or(500, |e| e.code);
                Err(ApiError::from_answer(code, object))
            }
        }
    }

    async fn next_line(&mut self) -> Result<Option<BytesMut>, ApiError> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let mut line = self.buffer.split_to(end + 1);
                line.truncate(end);
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            // Bookmarks come every minute and the server ends a watch after five: longer silence is a dead connection.
            let frame =
                tokio::time::timeout(SILENCE, self.body.frame()).await.map_err(ApiError::transport)?;
            match frame {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(ApiError::transport)?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
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

/// One object that cannot be read costs itself only: it is told by its key.
fn read_object<K: DeserializeOwned>(
    text: &[u8],
    event: impl FnOnce(K) -> WatchEvent<K>,
) -> Result<WatchEvent<K>, ApiError> {
    match serde_json::from_slice(text) {
        Ok(object) => Ok(event(object)),
        Err(source) => {
            let NamedMeta { namespace, name, resource_version } = read::<Named>(text)?.metadata;
            let version = resource_version.parse().unwrap_or(0);
            Ok(WatchEvent::Unreadable { key: ObjectKey::new(namespace, name), version, source })
        }
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(text).map_err(|source| ApiError::Unreadable { source })
}

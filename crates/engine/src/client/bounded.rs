//! Reads the bodies of answers as far as the limits of the client allow.
//!
//! Takes a body and a [`Guard`]; gives what was sent, or the limit that it exceeds. Bytes are counted while they are held,
//! in the part of the budget that the server has. Nothing is decompressed: no encoding is asked for, and an answer that
//! is encoded anyway is not JSON.

use std::{sync::Arc, time::Duration};

use http_body_util::BodyExt;
use kube::client::Body;
use serde::de::Error as _;

use super::{
    ANSWER, ApiClient, ApiError, Ask, Budget, Detail, Guard, PageMeta,
    items::Items,
    limits::{LimitExceeded, bytes_within},
    page_path,
};
use crate::ResourceKind;

/// The reader's words about what it cannot read may quote all of it.
const LONGEST_WORDS: usize = 300;

/// One page of a list that was read object by object.
pub(crate) struct ReadPage {
    /// Version and continuation.
    pub(crate) metadata: PageMeta,
    /// Its size.
    pub(crate) bytes: usize,
}

impl ApiClient {
    /// The same client for a server that somebody else named: it stays within the limits and its part of the budget.
    #[must_use]
    pub fn within(&self, budget: &Budget) -> Self {
        Self { guard: Arc::new(budget.guard()), ..self.clone() }
    }

    pub(crate) fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Reads one page of a list and shows the text of each object as it comes.
    pub(crate) async fn read_page(
        &self,
        kind: &ResourceKind,
        detail: Detail,
        token: Option<&str>,
        take: &mut (dyn FnMut(&[u8]) -> Result<(), ApiError> + Send),
    ) -> Result<ReadPage, ApiError> {
        let limits = self.guard.limits;
        let path = page_path(kind, "", limits.page_objects, None, token) + self.selection.as_str();
        self.turn().await;
        let opening = self.exchange(Ask { accept: detail.accept(true), ..Ask::get(&path) });
        let timeout = limits.answer_time.min(ANSWER);
        let response = tokio::time::timeout(timeout, opening).await.map_err(ApiError::transport)??;
        let page = read_items(response.into_body(), &self.guard, take);
        in_time("a page of the list", limits.answer_time, page).await?
    }
}

async fn read_items(
    mut body: Body,
    guard: &Guard,
    take: &mut (dyn FnMut(&[u8]) -> Result<(), ApiError> + Send),
) -> Result<ReadPage, ApiError> {
    let (mut items, mut hold, mut bytes) = (Items::new(guard.limits), guard.receiving(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(ApiError::transport)?.into_data() else { continue };
        bytes += data.len();
        bytes_within("a page of the list", bytes, guard.limits.page)?;
        items.feed(&data, take)?;
        hold.resize(items.held())?;
    }
    let metadata = items.finish()?;
    let token = metadata.continue_.as_deref().unwrap_or_default();
    bytes_within("the token that continues the list", token.len(), guard.limits.token)?;
    Ok(ReadPage { metadata, bytes })
}

/// Ends what takes longer than the limit.
pub(crate) async fn in_time<T>(
    what: &'static str,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, LimitExceeded> {
    tokio::time::timeout(limit, work).await.map_err(|_| LimitExceeded::Time { what, limit })
}

/// The whole body of an answer.
pub(super) async fn answer(body: Body, guard: &Guard) -> Result<Vec<u8>, ApiError> {
    if !guard.is_foreign() {
        return Ok(body.collect().await.map_err(ApiError::transport)?.to_bytes().into());
    }
    let limit = guard.limits.answer;
    match read(body, guard, limit).await? {
        Some(text) => Ok(text),
        None => Err(LimitExceeded::Bytes { what: "the answer", limit }.into()),
    }
}

/// What a body that is no success says. Of one that is too long only the code counts.
pub(super) async fn refusal(code: u16, body: Body, guard: &Guard) -> Result<ApiError, ApiError> {
    let limit = guard.limits.error;
    let text = read(body, guard, limit).await?;
    Ok(refused(code, text.as_deref(), limit))
}

/// The same for a body that has been read; `None` is one that is too long.
pub(super) fn refused(code: u16, text: Option<&[u8]>, limit: usize) -> ApiError {
    match text.filter(|text| text.len() <= limit) {
        Some(text) => ApiError::from_answer(code, text),
        None => {
            let words = format!(r#"{{"message": "the reason has more than {limit} bytes and is not read"}}"#);
            ApiError::from_answer(code, words.as_bytes())
        }
    }
}

/// Up to `limit` bytes; `None` if there are more.
async fn read(mut body: Body, guard: &Guard, limit: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let (mut text, mut hold) = (Vec::new(), guard.receiving());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(ApiError::transport)?.into_data() else { continue };
        if text.len() + data.len() > limit {
            return Ok(None);
        }
        hold.resize(text.len() + data.len())?;
        text.extend_from_slice(&data);
    }
    Ok(Some(text))
}

/// An answer that cannot be read, in few words.
pub(crate) fn unreadable(source: serde_json::Error) -> ApiError {
    ApiError::Unreadable { source: in_few_words(source) }
}

/// An error that does not quote a long text.
pub(crate) fn in_few_words(error: serde_json::Error) -> serde_json::Error {
    let words = error.to_string();
    if words.len() <= LONGEST_WORDS {
        return error;
    }
    serde_json::Error::custom(format!("{}...", shortened(&words, LONGEST_WORDS)))
}

/// The beginning of a text, cut between two characters.
pub fn shortened(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
#[path = "bounded_tests.rs"]
mod tests;

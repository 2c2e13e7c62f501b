//! A watch of the kind that seems absent: passes on what the server sends, and sends what the fault demands.

use std::sync::Arc;

use bytes::Bytes;
use capm3_apiserver::{ApiServer, ResponseBody};
use futures::stream;
use http::{Request, header};
use http_body::Frame;
use http_body_util::{BodyExt, Either, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::{BoxError, Service};

use super::{AnswerFault, Phase, Shared, fault::Turn, rewrite::spoil};
use crate::faults::AnswerFuture;

/// An open watch.
pub(super) struct Watching {
    shared: Arc<Shared>,
    server: ApiServer,
    body: ResponseBody,
    phase: watch::Receiver<Phase>,
    /// What is to be done before the server is listened to.
    first: Turn,
    /// Whether the watcher wants only metadata.
    metadata_only: bool,
    is_over: bool,
}

/// Opens a watch at the server and follows the fault from then on.
pub(super) fn ask(shared: &Arc<Shared>, server: &ApiServer, request: Request<Body>) -> AnswerFuture {
    let (shared, mut server) = (Arc::clone(shared), server.clone());
    let accept = request.headers().get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let metadata_only = accept.contains("PartialObjectMetadata");
    Box::pin(async move {
        let mut phase = shared.phase.subscribe();
        let is_on = *phase.borrow_and_update() == Phase::On;
        let response = server.call(request).await?;
        if !response.status().is_success() {
            return Ok(response.map(Either::Left));
        }
        let first = if is_on { shared.fault.opens() } else { Turn::Nothing };
        Ok(response.map(|body| {
            let watching = Watching { shared, server, body, phase, first, metadata_only, is_over: false };
            let frames = stream::unfold(watching, |mut watching| async move {
                let frame = watching.next().await?;
                Some((frame.map(Frame::data), watching))
            });
            Either::Right(StreamBody::new(frames).boxed_unsync())
        }))
    })
}

impl Watching {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        while !self.is_over {
            let turn = match std::mem::replace(&mut self.first, Turn::Nothing) {
                Turn::Nothing => tokio::select! {
                    biased;
                    changed = self.phase.changed() => {
                        changed.ok()?;
                        match *self.phase.borrow_and_update() {
                            Phase::Before => Turn::Nothing,
                            Phase::On => self.shared.fault.begins(),
                            Phase::Over => self.shared.fault.ends(),
                        }
                    }
                    frame = self.body.frame() => match frame?.map(Frame::into_data) {
                        Ok(Ok(chunk)) => return Some(Ok(self.shown(chunk))),
                        Ok(Err(_)) => Turn::Nothing,
                        Err(error) => return Some(Err(error)),
                    },
                },
                turn => turn,
            };
            match self.events_at(turn).await {
                Ok(text) if text.is_empty() => {}
                events => return Some(events),
            }
        }
        None
    }

    /// The events of a turn; may be none.
    async fn events_at(&mut self, turn: Turn) -> Result<Bytes, BoxError> {
        let (event, objects) = match turn {
            Turn::Nothing => return Ok(Bytes::new()),
            Turn::Close => {
                self.is_over = true;
                return Ok(Bytes::new());
            }
            Turn::Expire => {
                self.is_over = true;
                return Ok(line("ERROR", &expired()).into());
            }
            Turn::TellDeleted => ("DELETED", self.live().await?),
            Turn::TellAdded => ("ADDED", self.live().await?),
            Turn::TellUnreadable => {
                let mut live = self.live().await?;
                live.retain(|object| self.shared.is_victim(object));
                live.iter_mut().for_each(spoil);
                ("MODIFIED", live)
            }
        };
        Ok(objects.iter().map(|object| line(event, object)).collect::<String>().into())
    }

    /// What the server sends, as the fault shows it.
    fn shown(&self, chunk: Bytes) -> Bytes {
        let is_on = *self.phase.borrow() == Phase::On;
        if !is_on || self.shared.fault != AnswerFault::Unreadable {
            return chunk;
        }
        let mut text = String::new();
        for line in chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Value>(line) {
                Ok(mut event) => {
                    let is_change = event.get("type").is_some_and(|it| *it == "ADDED" || *it == "MODIFIED");
                    let object = event.get_mut("object").filter(|it| is_change && self.shared.is_victim(it));
                    object.into_iter().for_each(spoil);
                    text.push_str(&event.to_string());
                }
                Err(_) => text.push_str(&String::from_utf8_lossy(line)),
            }
            text.push('\n');
        }
        text.into()
    }

    /// The objects of the kind that nobody deletes, as the server has them.
    async fn live(&self) -> Result<Vec<Value>, BoxError> {
        let accept = match self.metadata_only {
            true => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            false => "application/json",
        };
        let request = Request::get(self.shared.kind.collection_path("")).header(header::ACCEPT, accept);
        let response = self.server.clone().call(request.body(Body::empty())?).await?;
        let mut list: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
        let items = list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
        let is_live = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_none();
        Ok(items.unwrap_or_default().into_iter().filter(is_live).collect())
    }
}

fn line(event: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": event, "object": object}))
}

fn expired() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "too old resource version: the lab wants another list"})
}

//! Objects in memory behind a `tower::Service`: create, get, list, watch, merge patch and delete with finalizers,
//! preconditions and owner references. No schemas, no validation.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Objects = BTreeMap<(String, String), Value>;
type Stream = stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>;

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<String, Objects>,
    log: Vec<(u64, String, Value)>,
    watchers: Vec<(String, mpsc::UnboundedSender<Value>)>,
    pub writes: u64,
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

fn at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl State {
    fn publish(&mut self, plural: &str, type_: &str, object: &mut Value) {
        self.version += 1;
        self.writes += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let event = json!({"type": type_, "object": object});
        self.log.push((self.version, plural.to_owned(), event.clone()));
        self.watchers.retain(|(watched, to)| watched != plural || to.send(event.clone()).is_ok());
    }

    fn put(&mut self, plural: &str, key: (String, String), mut object: Value) -> Value {
        let gone = !object["metadata"]["deletionTimestamp"].is_null()
            && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        let objects = self.objects.entry(plural.to_owned()).or_default();
        let type_ = match (gone, objects.contains_key(&key)) {
            (true, _) => "DELETED",
            (_, true) => "MODIFIED",
            (_, false) => "ADDED",
        };
        self.publish(plural, type_, &mut object);
        let objects = self.objects.entry(plural.to_owned()).or_default();
        if gone {
            objects.remove(&key);
            self.collect(at(&object, "/metadata/uid"));
        } else {
            objects.insert(key, object.clone());
        }
        object
    }

    /// Deletes what only the owner with that uid kept.
    fn collect(&mut self, uid: &str) {
        let orphaned = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            !owners.is_empty() && owners.iter().all(|owner| owner["uid"] == uid)
        };
        let found: Vec<(String, (String, String))> = self
            .objects
            .iter()
            .flat_map(|(plural, objects)| {
                objects.iter().filter(|(_, o)| orphaned(o)).map(|(k, _)| (plural.clone(), k.clone()))
            })
            .collect();
        for (plural, key) in found {
            self.delete(&plural, &key);
        }
    }

    fn delete(&mut self, plural: &str, key: &(String, String)) -> Option<Value> {
        let mut object = self.objects.get(plural)?.get(key)?.clone();
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-08-01T00:00:00Z");
            object = self.put(plural, key.clone(), object);
        }
        Some(object)
    }
}

impl Server {
    pub fn all(&self, plural: &str) -> Vec<Value> {
        self.0.lock().unwrap().objects.get(plural).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    pub fn get(&self, plural: &str, name: &str) -> Option<Value> {
        self.all(plural).into_iter().find(|object| at(object, "/metadata/name") == name)
    }

    pub fn writes(&self) -> u64 {
        self.0.lock().unwrap().writes
    }

    pub fn create(&self, plural: &str, mut object: Value) -> Result<Value, Value> {
        let mut state = self.0.lock().unwrap();
        let key = (at(&object, "/metadata/namespace").to_owned(), at(&object, "/metadata/name").to_owned());
        if state.objects.get(plural).is_some_and(|o| o.contains_key(&key)) {
            return Err(json!({"code": 409, "reason": "AlreadyExists", "message": key.1}));
        }
        let uid = format!("uid-{}", state.version + 1);
        let born = format!("2026-08-01T00:{:02}:{:02}Z", state.version / 60 % 60, state.version % 60);
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".into(), json!(uid));
        metadata.insert("creationTimestamp".into(), json!(born));
        metadata.insert("generation".into(), json!(1));
        Ok(state.put(plural, key, object))
    }

    pub fn patch(
        &self,
        plural: &str,
        key: &(String, String),
        status: bool,
        patch: &Value,
    ) -> Result<Value, Value> {
        let mut state = self.0.lock().unwrap();
        let Some(old) = state.objects.get(plural).and_then(|o| o.get(key)).cloned() else {
            return Err(json!({"code": 404, "reason": "NotFound", "message": key.1}));
        };
        let wanted = at(patch, "/metadata/resourceVersion");
        if !wanted.is_empty() && wanted != at(&old, "/metadata/resourceVersion") {
            return Err(json!({"code": 409, "reason": "Conflict", "message": key.1}));
        }
        let mut merged = old.clone();
        json_patch::merge(&mut merged, patch);
        let mut new = old.clone();
        let (from, to) = (merged.as_object().unwrap(), new.as_object_mut().unwrap());
        for part in ["metadata", "spec", "data", "status"] {
            if (part == "status") == status {
                match from.get(part) {
                    Some(value) => drop(to.insert(part.to_owned(), value.clone())),
                    None => drop(to.remove(part)),
                }
            }
        }
        if new == old {
            return Ok(old);
        }
        if new["spec"] != old["spec"] {
            new["metadata"]["generation"] = json!(old["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
        }
        Ok(state.put(plural, key.clone(), new))
    }

    pub fn delete(&self, plural: &str, key: &(String, String)) -> Result<Value, Value> {
        let mut state = self.0.lock().unwrap();
        let left = state.delete(plural, key);
        let there = state.objects.get(plural).is_some_and(|o| o.contains_key(key));
        match left {
            None => Err(json!({"code": 404, "reason": "NotFound", "message": key.1})),
            Some(object) if there => Ok(object),
            Some(_) => Ok(json!({"kind": "Status", "status": "Success"})),
        }
    }

    fn list(&self, plural: &str, namespace: &str) -> Value {
        let state = self.0.lock().unwrap();
        let objects = state.objects.get(plural).into_iter().flat_map(BTreeMap::iter);
        let items: Vec<&Value> =
            objects.filter(|((ns, _), _)| namespace.is_empty() || ns == namespace).map(|(_, o)| o).collect();
        json!({"metadata": {"resourceVersion": state.version.to_string()}, "items": items})
    }

    fn watch(&self, plural: &str, since: u64) -> Stream {
        let mut state = self.0.lock().unwrap();
        let (to, from) = mpsc::unbounded_channel();
        for (version, watched, event) in &state.log {
            if *version > since && watched == plural {
                to.send(event.clone()).unwrap();
            }
        }
        state.watchers.push((plural.to_owned(), to));
        stream::unfold(from, |mut from| async move {
            let event = from.recv().await?;
            Some((Ok(Frame::data(Bytes::from(format!("{event}\n")))), from))
        })
        .boxed()
    }

    async fn answer(self, request: Request<Body>) -> Response<StreamBody<Stream>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (namespace, plural, name, status) = route(parts.uri.path());
        let query = parts.uri.query().unwrap_or_default();
        let key = (namespace.clone(), name.clone());
        let result = match (&parts.method, name.is_empty()) {
            (&Method::GET, true) if query.contains("watch=1") => {
                let since =
                    query.split("resourceVersion=").nth(1).and_then(|v| v.split('&').next()?.parse().ok());
                return Response::new(StreamBody::new(self.watch(&plural, since.unwrap_or(0))));
            }
            (&Method::GET, true) => Ok(self.list(&plural, &namespace)),
            (&Method::GET, false) => {
                let state = self.0.lock().unwrap();
                let found = state.objects.get(&plural).and_then(|o| o.get(&key)).cloned();
                found.ok_or_else(|| json!({"code": 404, "reason": "NotFound", "message": name}))
            }
            (&Method::POST, _) => self.create(&plural, body),
            (&Method::PATCH, _) => self.patch(&plural, &key, status, &body),
            (&Method::DELETE, _) => self.delete(&plural, &key),
            _ => Err(json!({"code": 405})),
        };
        let (code, value) = match result {
            Ok(value) => (200, value),
            Err(value) => (value["code"].as_u64().unwrap() as u16, value),
        };
        let body = stream::once(async move { Ok(Frame::data(Bytes::from(value.to_string()))) }).boxed();
        Response::builder().status(code).body(StreamBody::new(body)).unwrap()
    }
}

/// Namespace, plural, name and whether the status is meant.
fn route(path: &str) -> (String, String, String, bool) {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let skip = if parts[0] == "api" { 2 } else { 3 };
    parts.drain(..skip);
    let namespace = if parts[0] == "namespaces" {
        parts.remove(0);
        parts.remove(0).to_owned()
    } else {
        String::new()
    };
    let name = parts.get(1).copied().unwrap_or_default().to_owned();
    (namespace, parts[0].to_owned(), name, parts.get(2) == Some(&"status"))
}

impl tower::Service<Request<Body>> for Server {
    type Response = Response<StreamBody<Stream>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

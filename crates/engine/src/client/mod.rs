//! Requests to an API server over any `tower::Service`: a network connection, the embedded server, or that with
//! faults in between.
//!
//! Takes kinds, keys and JSON; gives the server's answer or an [`ApiError`] that says whether trying again helps.

mod activity;
mod bounded;
mod budget;
mod error;
mod in_cluster;
mod items;
mod kubeconfig;
pub mod limits;
#[cfg(any(test, target_feature = "crt-static"))]
mod names;
mod network;
mod pace;
mod rate;
mod sent;
mod token;
mod version;
mod watch;

use std::{sync::Arc, time::Duration};

use http::{Method, Request, header};
use kube::client::Body;
use percent_encoding::utf8_percent_encode;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

pub use activity::Activity;
pub use bounded::shortened;
pub(crate) use bounded::{in_few_words, in_time};
pub use budget::Budget;
pub(crate) use budget::{Guard, Hold};
pub use error::{ApiError, Subject};
pub use in_cluster::{InClusterError, ServiceAccount, server_of_pod};
pub use kubeconfig::KubeconfigProblem;
pub use network::{NetworkError, over_network, over_network_by_secret};
pub use rate::RateLimit;
pub use version::ServerVersion;
pub use watch::{WatchEvent, WatchStream};

use self::sent::Sent;
use crate::{Object, ObjectKey, ResourceKind, metrics::RequestCounts, read_json::read_json};

/// How long a server may take for a whole answer, and to open a watch.
const ANSWER: Duration = Duration::from_secs(30);

/// Objects of a page.
const PAGE: usize = 500;

/// A client with a name of its own, so that the server can tell whose requests are whose.
#[derive(Clone)]
pub struct ApiClient {
    inner: kube::Client,
    user_agent: String,
    prefix: Arc<String>,
    /// Ends the query of every list and watch; empty for all objects. Shared, because clients are copied often.
    selection: Arc<String>,
    guard: Arc<Guard>,
    rate: Option<RateLimit>,
    activity: Option<Activity>,
    host: String,
    requests: RequestCounts,
}

/// One page of a list.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>"))]
pub struct Page<K> {
    /// Version and continuation.
    pub metadata: PageMeta,
    /// Objects of the page; one that cannot be read is left out by the caller.
    #[serde(default = "Vec::new", deserialize_with = "null_is_empty")]
    pub items: Vec<K>,
}

/// A real server writes a list of metadata that has no items as null.
fn null_is_empty<'de, D, K>(items: D) -> Result<Vec<K>, D::Error>
where
    D: serde::Deserializer<'de>,
    K: Deserialize<'de>,
{
    Ok(Option::<Vec<K>>::deserialize(items)?.unwrap_or_default())
}

/// A server may write an empty token where there is no next page.
fn empty_is_none<'de, D: serde::Deserializer<'de>>(token: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(token)?.filter(|token| !token.is_empty()))
}

/// Version and continuation of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PageMeta {
    /// Version of the list.
    pub resource_version: Option<String>,
    /// Where the next page starts.
    #[serde(rename = "continue", deserialize_with = "empty_is_none")]
    pub continue_: Option<String>,
}

/// What a deletion led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// Finalizers hold the object, which is left so.
    Held(Value),
    /// The object was removed.
    Done,
    /// There was none.
    Absent,
}

/// How much of each object a list or a watch fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Everything.
    #[default]
    Whole,
    /// Only the metadata.
    Metadata,
}

impl Detail {
    fn accept(self, list: bool) -> &'static str {
        match (self, list) {
            (Self::Whole, _) => "application/json",
            (Self::Metadata, true) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            (Self::Metadata, false) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }
    }
}

/// What is asked of the server.
struct Ask<'a> {
    method: Method,
    path: &'a str,
    accept: &'static str,
    content_type: Option<&'static str>,
    body: Vec<u8>,
}

impl<'a> Ask<'a> {
    fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            accept: Detail::Whole.accept(false),
            content_type: None,
            body: Vec::new(),
        }
    }

    fn write(method: Method, path: &'a str, content_type: &'static str, body: &Value) -> Self {
        Self {
            method,
            content_type: Some(content_type),
            body: body.to_string().into_bytes(),
            ..Self::get(path)
        }
    }
}

impl ApiClient {
    /// A client over a service.
    pub fn new(inner: kube::Client, user_agent: impl Into<String>) -> Self {
        Self {
            inner,
            user_agent: user_agent.into(),
            prefix: Arc::default(),
            selection: Arc::default(),
            activity: None,
            guard: Arc::new(Guard::OWN),
            rate: None,
            host: "in-process".to_owned(),
            requests: RequestCounts::default(),
        }
    }

    /// The same client, whose requests wait for their turn at this rate; none: no limit.
    #[must_use]
    pub fn at_rate(self, rate: Option<RateLimit>) -> Self {
        Self { rate, ..self }
    }

    /// The same client, whose connections note there what arrives.
    #[must_use]
    pub(crate) fn with_activity(self, activity: Activity) -> Self {
        Self { activity: Some(activity), ..self }
    }

    /// The same client, of a server with this host and port.
    #[must_use]
    pub(crate) fn of_host(self, host: String) -> Self {
        Self { host, ..self }
    }

    /// The same client, whose requests are counted together with others.
    #[must_use]
    pub fn counted_in(self, requests: RequestCounts) -> Self {
        Self { requests, ..self }
    }

    /// Host and port of the server, and the requests to it; copies count together.
    pub fn requests(&self) -> (String, RequestCounts) {
        (self.host.clone(), self.requests.clone())
    }

    /// When anything last arrived from the server; none for one in this process, which always answers.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_ref()
    }

    /// Reads the version of the server.
    pub async fn server_version(&self) -> Result<ServerVersion, ApiError> {
        decode(&self.send(Ask::get("/version")).await?)
    }

    /// Asks for something small, so that a server which is there answers. Which answer it is does not matter.
    pub(crate) async fn probe(&self) {
        let _answer = self.send(Ask::get("/version")).await;
    }

    /// The same client for an API that is served below a path.
    pub fn below(&self, prefix: impl Into<String>) -> Self {
        Self { prefix: Arc::new(prefix.into()), ..self.clone() }
    }

    /// The same client, whose lists and watches see only the objects with this value in a field.
    #[must_use]
    pub fn selecting(self, field: &str, value: &str) -> Self {
        let selector = format!("{field}={value}");
        let selection =
            format!("&fieldSelector={}", utf8_percent_encode(&selector, percent_encoding::NON_ALPHANUMERIC));
        Self { selection: Arc::new(selection), ..self }
    }

    /// The namespace that its kubeconfig names, `default` if it names none.
    pub fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    /// Reads one object; `None` when there is none.
    pub async fn get<T: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
    ) -> Result<Option<T>, ApiError> {
        self.get_with(kind, key, Detail::Whole).await
    }

    /// Reads as much of one object as `detail` says; `None` when the server says that this very object is not there.
    pub async fn get_with<T: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        detail: Detail,
    ) -> Result<Option<T>, ApiError> {
        match self.send(Ask { accept: detail.accept(false), ..Ask::get(&kind.object_path(key)) }).await {
            Ok(body) => Ok(Some(decode(&body)?)),
            Err(error) if error.is_absence_of(kind, key) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the resources that the server lists for a group and version, as an `APIResourceList`.
    pub async fn discover<T: DeserializeOwned>(&self, kind: &ResourceKind) -> Result<T, ApiError> {
        decode(&self.send(Ask::get(&kind.discovery_path())).await?)
    }

    /// Reads one object of a Rust type; `None` when there is none.
    pub async fn get_object<K: Object>(&self, key: &ObjectKey) -> Result<Option<K>, ApiError> {
        self.get(&ResourceKind::of::<K>(), key).await
    }

    /// Reads one page of a list; an empty namespace means everywhere.
    pub async fn list_page<T: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        detail: Detail,
        continue_: Option<&str>,
    ) -> Result<Page<T>, ApiError> {
        let path = page_path(kind, namespace, PAGE, None, continue_) + self.selection.as_str();
        decode(&self.send(Ask { accept: detail.accept(true), ..Ask::get(&path) }).await?)
    }

    /// Reads one page of the objects that a label selector names, which must need no escapes in a URL but `=`.
    pub async fn list_selected<T: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        selector: Option<&str>,
        continue_: Option<&str>,
    ) -> Result<Page<T>, ApiError> {
        let path = page_path(kind, namespace, PAGE, selector, continue_);
        decode(&self.send(Ask { accept: Detail::Whole.accept(true), ..Ask::get(&path) }).await?)
    }

    /// Opens a watch from a version.
    pub async fn watch(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        detail: Detail,
        resource_version: &str,
    ) -> Result<WatchStream, ApiError> {
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={resource_version}{}",
            kind.collection_path(namespace),
            self.selection
        );
        self.turn().await;
        let opening = self.exchange(Ask { accept: detail.accept(false), ..Ask::get(&path) });
        let response = tokio::time::timeout(ANSWER, opening).await.map_err(ApiError::transport)??;
        Ok(WatchStream::new(response.into_body(), &self.guard))
    }

    /// Creates an object; its `apiVersion` and `kind` are filled in.
    pub async fn create(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        object: Value,
    ) -> Result<Value, ApiError> {
        decode(&self.create_for_text(kind, namespace, object).await?)
    }

    /// Like [`Self::create`]; gives the stored object as text, for who reads it by a type.
    pub(crate) async fn create_for_text(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        mut object: Value,
    ) -> Result<Vec<u8>, ApiError> {
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".to_owned(), kind.api_version().into());
            map.insert("kind".to_owned(), kind.kind.clone().into());
        }
        let path = kind.collection_path(namespace);
        self.send(Ask::write(Method::POST, &path, "application/json", &object)).await
    }

    /// Applies a JSON merge patch, to a subresource if one is named.
    pub async fn merge_patch(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        decode(&self.merge_patch_for_text(kind, key, subresource, patch).await?)
    }

    /// Like [`Self::merge_patch`]; gives the stored object as text, for who reads it by a type.
    pub(crate) async fn merge_patch_for_text(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Vec<u8>, ApiError> {
        let mut path = kind.object_path(key);
        if let Some(subresource) = subresource {
            path.push('/');
            path.push_str(subresource);
        }
        self.send(Ask::write(Method::PATCH, &path, "application/merge-patch+json", patch)).await
    }

    /// Replaces an object. It is guarded by the version in its metadata: a server that has another one says conflict.
    pub async fn replace(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let path = kind.object_path(key);
        decode(&self.send(Ask::write(Method::PUT, &path, "application/json", object)).await?)
    }

    /// Deletes an object, only the one with that uid if a uid is given.
    pub async fn delete(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        uid: Option<&str>,
    ) -> Result<Deletion, ApiError> {
        self.delete_if(kind, key, uid, None).await
    }

    /// The same, only if the object still has that version: a server that has another one says conflict.
    pub async fn delete_version(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        uid: Option<&str>,
        version: &str,
    ) -> Result<Deletion, ApiError> {
        self.delete_if(kind, key, uid, Some(version)).await
    }

    async fn delete_if(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        uid: Option<&str>,
        version: Option<&str>,
    ) -> Result<Deletion, ApiError> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        let guards = [("uid", uid), ("resourceVersion", version)];
        let guards: Map<String, Value> =
            guards.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect();
        if let Some(options) = options.as_object_mut().filter(|_| !guards.is_empty()) {
            options.insert("preconditions".to_owned(), guards.into());
        }
        let path = kind.object_path(key);
        let body = self.send(Ask::write(Method::DELETE, &path, "application/json", &options)).await;
        match body {
            Ok(body) => {
                let answer: Value = decode(&body)?;
                let is_status = answer.get("kind").and_then(Value::as_str) == Some("Status");
                Ok(if is_status { Deletion::Done } else { Deletion::Held(answer) })
            }
            Err(error) if error.is_absence_of(kind, key) => Ok(Deletion::Absent),
            Err(error) => Err(error),
        }
    }

    /// The whole exchange within the time limit: a request that hangs must not hold a worker for ever.
    async fn send(&self, ask: Ask<'_>) -> Result<Vec<u8>, ApiError> {
        // A write waits before its gate, which must be asked just before it is sent.
        if ask.method == Method::GET {
            self.turn().await;
        }
        let exchange = async { bounded::answer(self.exchange(ask).await?.into_body(), &self.guard).await };
        tokio::time::timeout(ANSWER, exchange).await.map_err(ApiError::transport)?
    }

    /// Waits for the turn of a request; the time for its answer begins only then. Reads do so themselves, who writes must.
    pub(crate) async fn turn(&self) {
        if let Some(rate) = &self.rate {
            rate.wait().await;
        }
    }

    async fn exchange(&self, ask: Ask<'_>) -> Result<http::Response<Body>, ApiError> {
        let (method, path) = (ask.method.clone(), format!("{}{}", self.prefix, ask.path));
        let mut request = Request::builder()
            .method(ask.method)
            .uri(&path)
            .header(header::USER_AGENT, &self.user_agent)
            .header(header::ACCEPT, ask.accept);
        if let Some(content_type) = ask.content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let request = request.body(Body::from(ask.body)).map_err(ApiError::transport)?;
        let sent = Sent::now(&method);
        let response = self.inner.send(request).await;
        let status = response.as_ref().ok().map(|answer| answer.status().as_u16());
        self.requests.add(&method, status);
        sent.answered(&self.host, &path, status);
        let response = response.map_err(ApiError::transport)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        Err(bounded::refusal(code, response.into_body(), &self.guard).await?)
    }
}

fn page_path(
    kind: &ResourceKind,
    namespace: &str,
    limit: usize,
    selector: Option<&str>,
    token: Option<&str>,
) -> String {
    let mut path = format!("{}?limit={limit}", kind.collection_path(namespace));
    for (name, value) in [("labelSelector", selector), ("continue", token)] {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", value.replace('=', "%3D")));
        }
    }
    path
}

impl std::fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiClient")
            .field("user_agent", &self.user_agent)
            .field("prefix", &self.prefix)
            .finish()
    }
}

/// Reads an answer.
pub(crate) fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    read_json(body).map_err(bounded::unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_items_is_empty_however_the_server_writes_it() {
        for body in
            [r#"{"metadata": {}}"#, r#"{"metadata": {}, "items": null}"#, r#"{"metadata": {}, "items": []}"#]
        {
            let page: Page<Value> = decode(body.as_bytes()).unwrap();
            assert!(page.items.is_empty(), "{body}");
        }
        assert!(decode::<Page<Value>>(br#"{"metadata": {}, "items": {}}"#).is_err());
    }
}

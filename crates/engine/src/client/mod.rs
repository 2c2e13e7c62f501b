//! Requests to an API server over any `tower::Service`: a network connection, the embedded server, or that with
//! faults in between.
//!
//! Takes kinds, keys and JSON; gives the server's answer or an [`ApiError`] that says whether trying again helps.

mod error;
mod watch;

use http::{Method, Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use error::ApiError;
pub use watch::{WatchEvent, WatchStream};

use crate::{Object, ObjectKey, ResourceKind};

/// A client with a name of its own, so that the server can tell whose requests are whose.
#[derive(Clone)]
pub struct ApiClient {
    inner: kube::Client,
    user_agent: String,
    prefix: String,
}

/// One page of a list.
#[derive(Debug, Deserialize)]
pub struct Page<K> {
    /// Version and continuation.
    pub metadata: PageMeta,
    /// Objects of the page; one that cannot be read is left out by the caller.
    #[serde(default = "Vec::new")]
    pub items: Vec<K>,
}

/// Version and continuation of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PageMeta {
    /// Version of the list.
    pub resource_version: Option<String>,
    /// Where the next page starts.
    #[serde(rename = "continue")]
    pub continue_: Option<String>,
}

impl ApiClient {
    /// A client over a service.
    pub fn new(inner: kube::Client, user_agent: impl Into<String>) -> Self {
        Self { inner, user_agent: user_agent.into(), prefix: String::new() }
    }

    /// The same client for an API that is served below a path.
    pub fn below(&self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self.clone() }
    }

    /// Reads one object; `None` when there is none.
    pub async fn get<T: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
    ) -> Result<Option<T>, ApiError> {
        match self.send(Method::GET, &kind.object_path(key), None, Vec::new()).await {
            Ok(body) => Ok(Some(decode(&body)?)),
            Err(ApiError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
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
        continue_: Option<&str>,
    ) -> Result<Page<T>, ApiError> {
        let mut path = format!("{}?limit=500", kind.collection_path(namespace));
        if let Some(token) = continue_ {
            path.push_str("&continue=");
            path.push_str(token);
        }
        decode(&self.send(Method::GET, &path, None, Vec::new()).await?)
    }

    /// Opens a watch from a version.
    pub async fn watch(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        resource_version: &str,
    ) -> Result<WatchStream, ApiError> {
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={resource_version}",
            kind.collection_path(namespace)
        );
        let response = self.exchange(Method::GET, &path, None, Vec::new()).await?;
        Ok(WatchStream::new(response.into_body()))
    }

    /// Creates an object; its `apiVersion` and `kind` are filled in.
    pub async fn create(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        mut object: Value,
    ) -> Result<Value, ApiError> {
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".to_owned(), kind.api_version().into());
            map.insert("kind".to_owned(), kind.kind.clone().into());
        }
        let path = kind.collection_path(namespace);
        decode(&self.send(Method::POST, &path, Some("application/json"), encode(&object)).await?)
    }

    /// Applies a JSON merge patch, to a subresource if one is named.
    pub async fn merge_patch(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        let mut path = kind.object_path(key);
        if let Some(subresource) = subresource {
            path.push('/');
            path.push_str(subresource);
        }
        decode(&self.send(Method::PATCH, &path, Some("application/merge-patch+json"), encode(patch)).await?)
    }

    /// Deletes an object, only the one with that uid if a uid is given. Gives what is left of the object while
    /// finalizers hold it, `None` once it is gone.
    pub async fn delete(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        uid: Option<&str>,
    ) -> Result<Option<Value>, ApiError> {
        let options = match uid {
            Some(uid) => json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}),
            None => json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
        };
        let body = self
            .send(Method::DELETE, &kind.object_path(key), Some("application/json"), encode(&options))
            .await;
        match body {
            Ok(body) => {
                let answer: Value = decode(&body)?;
                Ok((answer.get("kind").and_then(Value::as_str) != Some("Status")).then_some(answer))
            }
            Err(ApiError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, ApiError> {
        let response = self.exchange(method, path, content_type, body).await?;
        let body = response.into_body().collect().await.map_err(ApiError::transport)?;
        Ok(body.to_bytes().into())
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<http::Response<Body>, ApiError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(header::USER_AGENT, &self.user_agent)
            .header(header::ACCEPT, "application/json");
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let request = request.body(Body::from(body)).map_err(ApiError::transport)?;
        let response = self.inner.send(request).await.map_err(ApiError::transport)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(ApiError::transport)?;
        Err(ApiError::from_answer(code, &body.to_bytes()))
    }
}

impl std::fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiClient")
            .field("user_agent", &self.user_agent)
            .field("prefix", &self.prefix)
            .finish()
    }
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|source| ApiError::Unreadable { source })
}

fn encode(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

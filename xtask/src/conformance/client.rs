//! Raw requests and whole answers.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result};
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

/// How long a whole answer may take; watches are asked to end by themselves.
const LIMIT: Duration = Duration::from_secs(30);

/// A client of one server.
#[derive(Clone)]
pub struct Client(kube::Client);

/// What is sent.
pub struct Ask<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub content_type: &'a str,
    pub accept: &'a str,
    pub body: String,
}

/// What came back.
pub struct Answer {
    pub code: u16,
    pub content_type: String,
    pub warnings: Vec<String>,
    /// JSON as it is, events of a watch as a list, anything else as text.
    pub body: Value,
}

impl From<kube::Client> for Client {
    fn from(client: kube::Client) -> Self {
        Self(client)
    }
}

impl Client {
    pub async fn new(kubeconfig: &Path) -> Result<Self> {
        let text = fs::read_to_string(kubeconfig).context("reading the kubeconfig")?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(Kubeconfig::from_yaml(&text)?, &options).await?;
        Ok(Self(kube::Client::try_from(config)?))
    }

    pub async fn send(&self, ask: Ask<'_>) -> Result<Answer> {
        let exchange = async {
            let request = Request::builder()
                .method(ask.method)
                .uri(ask.path)
                .header("user-agent", "conformance")
                .header("accept", ask.accept);
            let request = if ask.body.is_empty() {
                request.body(Body::empty())
            } else {
                request.header("content-type", ask.content_type).body(Body::from(ask.body.into_bytes()))
            };
            let response = self.0.send(request?).await?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            anyhow::Ok(Answer {
                code: parts.status.as_u16(),
                content_type: header(&parts.headers, "content-type").into_iter().next().unwrap_or_default(),
                warnings: header(&parts.headers, "warning"),
                body: read(&String::from_utf8_lossy(&bytes)),
            })
        };
        tokio::time::timeout(LIMIT, exchange).await.context("no answer in time")?
    }
}

fn header(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

fn read(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let events: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    events.map_or_else(|_| json!(text), Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_object_a_list_of_events_or_a_text() {
        assert_eq!(read(r#"{"a": 1}"#), json!({"a": 1}));
        assert_eq!(read("{\"a\": 1}\n{\"a\": 2}\n"), json!([{"a": 1}, {"a": 2}]));
        assert_eq!(read("404 page not found\n"), json!("404 page not found\n"));
    }
}

//! How a server is asked to store, and what it says.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    server::{JSON, Server, collection, text},
    verdict::Verdict,
};
use crate::conformance::client::{Answer, Ask};

/// How a whole object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Create,
    Replace,
}

/// Whether a write is to last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    Stored,
    Tried,
}

/// What a server answers to a write.
pub struct Reply {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
}

impl Reply {
    fn of(answer: &Answer) -> Self {
        Self { verdict: Verdict::of(answer), warnings: answer.warnings.clone() }
    }
}

impl Server {
    /// The answer to a write that is not done.
    pub async fn ask(&self, way: Way, document: &Value) -> Result<Reply> {
        self.send_write(way, document, Lasting::Tried).await
    }

    /// Writes an object, if it is not refused.
    pub async fn write(&self, way: Way, document: &Value) -> Result<Reply> {
        self.send_write(way, document, Lasting::Stored).await
    }

    /// Merges a patch into an object as its version shows it, if that is not refused.
    pub async fn patch(&self, document: &Value, patch: &Value) -> Result<Reply> {
        self.merge(&self.path_of(document).await?, patch).await
    }

    /// Merges a patch into the status of an object as its version shows it, if that is not refused.
    pub async fn patch_status(&self, document: &Value, patch: &Value) -> Result<Reply> {
        self.merge(&format!("{}/status", self.path_of(document).await?), patch).await
    }

    async fn merge(&self, path: &str, patch: &Value) -> Result<Reply> {
        let path = format!("{path}?{}", self.query(Lasting::Stored));
        let content_type = "application/merge-patch+json";
        let body = patch.to_string();
        let ask = Ask { method: "PATCH", path: &path, content_type, accept: JSON, body };
        Ok(Reply::of(&self.client.send(ask).await?))
    }

    /// An object as a client of a version reads it.
    pub async fn read(&self, document: &Value, api_version: &str) -> Result<Value> {
        let mut asked = document.clone();
        if let Some(members) = asked.as_object_mut() {
            members.insert("apiVersion".to_owned(), json!(api_version));
        }
        let path = self.path_of(&asked).await?;
        let answer = self.send("GET", &path, None).await?;
        ensure!(answer.code == 200, "{path}: {}", answer.body);
        Ok(answer.body)
    }

    /// In the words of kubectl where the kind is not served: it does not ask then.
    async fn send_write(&self, way: Way, document: &Value, lasting: Lasting) -> Result<Reply> {
        if self.plural(document).await?.is_none() {
            let (kind, version) = (text(document, "/kind"), text(document, "/apiVersion"));
            let verdict = Verdict::refused(format!("no matches for kind {kind:?} in version {version:?}"));
            return Ok(Reply { verdict, warnings: Vec::new() });
        }
        Ok(Reply::of(&self.deliver(way, document, lasting).await?))
    }

    async fn deliver(&self, way: Way, document: &Value, lasting: Lasting) -> Result<Answer> {
        let (method, path) = match way {
            Way::Create => ("POST", self.collection_of(document).await?),
            Way::Replace => ("PUT", self.path_of(document).await?),
        };
        self.send(method, &format!("{path}?{}", self.query(lasting)), Some(document)).await
    }

    fn query(&self, lasting: Lasting) -> String {
        let fields = if self.is_strict { "Strict" } else { "Ignore" };
        let dry = if lasting == Lasting::Tried { "&dryRun=All" } else { "" };
        format!("fieldValidation={fields}{dry}")
    }

    async fn collection_of(&self, document: &Value) -> Result<String> {
        let plural = self.plural(document).await?;
        Ok(collection(document, &plural.with_context(|| format!("not served: {document}"))?))
    }

    async fn path_of(&self, document: &Value) -> Result<String> {
        Ok(format!("{}/{}", self.collection_of(document).await?, text(document, "/metadata/name")))
    }
}

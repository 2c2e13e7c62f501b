//! What a server says to a document that somebody gives to kubectl: a creation that is not stored, strict about fields.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{
    server::{Server, put_into_namespace, text},
    writing::Way,
};
use crate::conformance::client::Answer;

/// The answer to one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    /// With the message.
    Refused(String),
}

impl Verdict {
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    pub fn of(answer: &Answer) -> Self {
        match answer.code {
            200 | 201 => Self::Accepted,
            _ => Self::refused(text(&answer.body, "/message")),
        }
    }
}

impl Server {
    /// The answer to each document of a text.
    pub async fn verdicts(&self, text: &str) -> Result<Vec<Verdict>> {
        let documents: Vec<Value> = match serde_saphyr::from_multiple(text) {
            Ok(documents) => documents,
            Err(error) => return Ok(vec![Verdict::refused(format!("not valid YAML: {error}"))]),
        };
        ensure!(!documents.is_empty(), "a text without a document");
        let mut verdicts = Vec::new();
        for document in documents {
            verdicts.push(self.verdict(document).await?);
        }
        Ok(verdicts)
    }

    async fn verdict(&self, mut document: Value) -> Result<Verdict> {
        for member in ["kind", "apiVersion"] {
            if text(&document, &format!("/{member}")).is_empty() {
                return Ok(Verdict::refused(format!("{member} not set")));
            }
        }
        put_into_namespace(&mut document);
        Ok(self.ask(Way::Create, &document).await?.verdict)
    }
}

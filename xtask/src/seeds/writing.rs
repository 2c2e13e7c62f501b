//! How a server is asked to store, and what it says.
//!
//! The embedded server has the admission rules and the conversion built in. A real one would ask webhooks; here it gets
//! the CRDs without them, and both are asked in process, in the order in which a server asks: the document is decoded,
//! what its author left out is filled in, the schema of its version is applied, the rules judge. An older document must
//! then fit the schema of the stored version too, once it is converted; that is what is stored. So on a real server
//! schemas, strictness about fields, warnings of old versions and storage are the server's own, rules and conversion ours.

use anyhow::{Context, Result, ensure};
use capm3_admission::{convert, fill_in, is_ours, judge, validator_name};
use capm3_api::{v1beta1, v1beta2};
use serde_json::{Value, json};

use super::{
    server::{JSON, Server, collection, group_of, text},
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

/// What a server says to a write.
pub struct Said {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
}

impl Said {
    fn of(answer: &Answer) -> Self {
        Self { verdict: Verdict::of(answer), warnings: answer.warnings.clone() }
    }

    fn refused(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::refused(why), warnings: Vec::new() }
    }
}

/// What is said to a write before it is done, and what would be stored; nothing if it is refused.
struct Asked {
    said: Said,
    stored: Option<Value>,
}

impl From<Said> for Asked {
    fn from(said: Said) -> Self {
        Self { said, stored: None }
    }
}

impl Server {
    /// What is said to a write that is not done.
    pub async fn ask(&self, way: Way, document: &Value) -> Result<Said> {
        if self.has_rules {
            return Ok(Said::of(&self.deliver(way, document, Lasting::Tried).await?));
        }
        Ok(self.ask_with_rules(way, document).await?.said)
    }

    /// Writes an object, if it is not refused.
    pub async fn write(&self, way: Way, document: &Value) -> Result<Said> {
        if self.has_rules {
            return Ok(Said::of(&self.deliver(way, document, Lasting::Stored).await?));
        }
        let Asked { mut said, stored } = self.ask_with_rules(way, document).await?;
        if let Some(stored) = stored {
            said.verdict = Verdict::of(&self.deliver(way, &stored, Lasting::Stored).await?);
        }
        Ok(said)
    }

    /// Merges a patch into an object of the stored version, if that is not refused.
    pub async fn patch(&self, document: &Value, patch: &Value) -> Result<Said> {
        let path = self.path_of(document).await?;
        let mut said = Said { verdict: Verdict::Accepted, warnings: Vec::new() };
        if !self.has_rules {
            let old = self.read(document, text(document, "/apiVersion")).await?;
            let tried = self.send_patch(&format!("{path}?{}", self.query(Lasting::Tried)), patch).await?;
            if tried.code != 200 {
                return Ok(Said::of(&tried));
            }
            said = judged(Some(&old), &tried.body);
            if said.verdict != Verdict::Accepted {
                return Ok(said);
            }
        }
        let answer = self.send_patch(&format!("{path}?{}", self.query(Lasting::Stored)), patch).await?;
        said.verdict = Verdict::of(&answer);
        said.warnings.extend(answer.warnings);
        Ok(said)
    }

    /// An object as a client of a version reads it.
    pub async fn read(&self, document: &Value, api_version: &str) -> Result<Value> {
        let asked = if self.has_rules { api_version } else { v1beta2::API_VERSION };
        let found = self.read_as_it_is(document, asked).await?;
        if asked == api_version {
            return Ok(found);
        }
        convert(found, api_version).map_err(anyhow::Error::msg)
    }

    /// Stores an older object without conversion, as a server without webhook does, and gives what it reads back: what the
    /// schemas of both versions know of it.
    pub async fn store_as_it_is(&self, document: &Value) -> Result<(Said, Value)> {
        let said = Said::of(&self.deliver(Way::Replace, document, Lasting::Stored).await?);
        Ok((said, self.read_as_it_is(document, text(document, "/apiVersion")).await?))
    }

    async fn read_as_it_is(&self, document: &Value, api_version: &str) -> Result<Value> {
        let mut asked = document.clone();
        if let Some(members) = asked.as_object_mut() {
            members.insert("apiVersion".to_owned(), json!(api_version));
        }
        let path = self.path_of(&asked).await?;
        let answer = self.send("GET", &path, None).await?;
        ensure!(answer.code == 200, "{path}: {}", answer.body);
        Ok(answer.body)
    }

    async fn ask_with_rules(&self, way: Way, document: &Value) -> Result<Asked> {
        let as_written = self.deliver(way, document, Lasting::Tried).await?;
        // Only what cannot be decoded is refused before the rules are asked.
        if !is_ours(group_of(document)) || as_written.code == 400 {
            let said = Said::of(&as_written);
            let stored = (said.verdict == Verdict::Accepted).then(|| document.clone());
            return Ok(Asked { said, stored });
        }
        let mut filled = document.clone();
        if let Err(denial) = fill_in(&mut filled) {
            return Ok(Said::refused(denial.message).into());
        }
        let answer = self.deliver(way, &filled, Lasting::Tried).await?;
        if Verdict::of(&answer) != Verdict::Accepted {
            return Ok(Said::of(&answer).into());
        }
        let old = match way {
            Way::Create => None,
            Way::Replace => Some(self.read(document, text(document, "/apiVersion")).await?),
        };
        // Not what is in the answer: without conversion it has lost what the stored version does not know.
        let mut said = judged(old.as_ref(), &filled);
        said.warnings.extend(answer.warnings);
        if said.verdict != Verdict::Accepted {
            return Ok(said.into());
        }
        if text(&filled, "/apiVersion") != v1beta1::API_VERSION {
            return Ok(Asked { said, stored: Some(filled) });
        }
        match convert(filled, v1beta2::API_VERSION) {
            Ok(stored) => {
                said.verdict = Verdict::of(&self.deliver(way, &stored, Lasting::Tried).await?);
                let stored = (said.verdict == Verdict::Accepted).then_some(stored);
                Ok(Asked { said, stored })
            }
            Err(why) => Ok(Said::refused(why).into()),
        }
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

    async fn send_patch(&self, path: &str, patch: &Value) -> Result<Answer> {
        let content_type = "application/merge-patch+json";
        let body = patch.to_string();
        self.client.send(Ask { method: "PATCH", path, content_type, accept: JSON, body }).await
    }
}

/// What the rules say, in the words of a server that was told so by a webhook.
fn judged(old: Option<&Value>, new: &Value) -> Said {
    let answer = judge(old, new);
    let webhook = validator_name(group_of(new), text(new, "/kind"));
    let verdict = match answer.denial {
        Some(denial) => Verdict::refused(denial.told_by(&webhook).message),
        None => Verdict::Accepted,
    };
    Said { verdict, warnings: answer.warnings }
}

//! Who may see diagnostics: takes the token of a request, a verb and a path, asks the API server whose token it is and
//! what that user may.
//!
//! Answers are kept for a while, so that a scrape costs the API server nothing most of the time. What is kept, and how many
//! questions are asked at once, is bounded: anybody can send tokens. A token is kept as its digest and never printed.

use std::{collections::BTreeMap, time::Duration};

use capm3_engine::{ApiClient, ResourceKind, client::ApiError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{sync::Semaphore, time::Instant};

/// How long an answer is believed.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
/// The same for a refusal: a right that was just granted should soon count.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// Answers that are kept.
const ANSWERS: usize = 256;
/// Questions to the API server at once.
const QUESTIONS: usize = 4;

/// Whether a request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Allowed,
    /// It has no token, or nobody knows the token.
    Unauthenticated,
    /// This user may not.
    Forbidden(String),
    /// The API server does not say.
    Unknown(String),
}

type Question = [u8; 32];

/// Judges requests.
pub struct Access {
    client: ApiClient,
    answers: Mutex<BTreeMap<Question, (Verdict, Instant)>>,
    asking: Semaphore,
}

impl Access {
    /// By the reviews of this API server.
    pub fn new(client: ApiClient) -> Self {
        Self { client, answers: Mutex::default(), asking: Semaphore::new(QUESTIONS) }
    }

    /// Whether the bearer of an `Authorization` header may do this.
    pub async fn judge(&self, authorization: Option<&str>, verb: &str, path: &str) -> Verdict {
        let Some(token) = authorization.and_then(bearer) else { return Verdict::Unauthenticated };
        let question: Question = Sha256::digest(format!("{verb} {path} {token}")).into();
        if let Some(known) = self.known(&question) {
            return known;
        }
        let Ok(_turn) = self.asking.acquire().await else {
            return Verdict::Unknown("the manager stops".to_owned());
        };
        // Another request with this token may have asked meanwhile.
        if let Some(known) = self.known(&question) {
            return known;
        }
        match self.ask(token, verb, path).await {
            Ok(verdict) => {
                self.keep(question, verdict.clone());
                verdict
            }
            Err(error) => Verdict::Unknown(error.with_causes()),
        }
    }

    fn known(&self, question: &Question) -> Option<Verdict> {
        let answers = self.answers.lock();
        let (verdict, until) = answers.get(question)?;
        (Instant::now() < *until).then(|| verdict.clone())
    }

    fn keep(&self, question: Question, verdict: Verdict) {
        let now = Instant::now();
        let lasts = if verdict == Verdict::Allowed { ALLOWED_FOR } else { REFUSED_FOR };
        let mut answers = self.answers.lock();
        answers.retain(|_, (_, until)| now < *until);
        if answers.len() >= ANSWERS {
            let soonest = answers.iter().min_by_key(|(_, (_, until))| *until).map(|(question, _)| *question);
            soonest.map(|question| answers.remove(&question));
        }
        answers.insert(question, (verdict, now + lasts));
    }

    async fn ask(&self, token: &str, verb: &str, path: &str) -> Result<Verdict, ApiError> {
        let review = kind("authentication.k8s.io", "TokenReview", "tokenreviews");
        let answer = self.client.create(&review, "", json!({"spec": {"token": token}})).await?;
        let status = answer.get("status").unwrap_or(&Value::Null);
        if status.get("authenticated") != Some(&Value::Bool(true)) {
            return Ok(Verdict::Unauthenticated);
        }
        let user = status.get("user").cloned().unwrap_or_default();
        let name = user.get("username").and_then(Value::as_str).unwrap_or_default().to_owned();
        let review = kind("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews");
        let question = json!({"spec": {
            "user": name, "groups": user.get("groups"), "uid": user.get("uid"), "extra": user.get("extra"),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }});
        let answer = self.client.create(&review, "", question).await?;
        match answer.pointer("/status/allowed") {
            Some(Value::Bool(true)) => Ok(Verdict::Allowed),
            _ => Ok(Verdict::Forbidden(name)),
        }
    }
}

/// The token of a header such as `Bearer abc`.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty())
}

fn kind(group: &str, kind: &str, plural: &str) -> ResourceKind {
    ResourceKind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_are_taken() {
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            ("", None),
        ] {
            assert_eq!(bearer(header), expected, "{header:?}");
        }
    }
}

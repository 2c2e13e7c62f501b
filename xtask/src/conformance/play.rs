//! Sends the requests of a case and keeps the answers.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    case::{Case, Step},
    client::{Answer, Ask, Client},
    mask::Mask,
};
use crate::compare::Objects;

/// Masked answers by number and request of the step.
pub type Answers = Objects;

const JSON: &str = "application/json";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How often a question is asked again, and how long after.
const ATTEMPTS: u32 = 150;
const PAUSE: Duration = Duration::from_millis(200);

/// Installs the kinds and waits until they are served.
pub async fn prepare(client: &Client, crds: &[Value]) -> Result<()> {
    for crd in crds {
        let answer = send(client, "POST", CRDS, Some(crd)).await?;
        ensure!(answer.code == 201, "a CRD is refused: {}", answer.body);
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = (text("/spec/group"), text("/spec/versions/0/name"));
        let path = format!("/apis/{group}/{version}/{}", text("/spec/names/plural"));
        let mut attempts = 0;
        while send(client, "GET", &path, None).await?.code != 200 {
            attempts += 1;
            ensure!(attempts < ATTEMPTS, "{path} is not served");
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Plays one case in a namespace that is made for it.
pub async fn play(client: &Client, case: &Case, number: usize) -> Result<Answers> {
    let namespace = format!("case-{number}");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let made = send(client, "POST", "/api/v1/namespaces", Some(&object)).await?;
    ensure!(made.code == 201, "namespace {namespace} is refused: {}", made.body);
    let mut kept = BTreeMap::from([("NS".to_owned(), namespace)]);
    let mut mask = Mask::new()?;
    let mut answers = Answers::new();
    for (number, step) in (1..).zip(&case.steps) {
        let answer = ask(client, step, &kept).await.with_context(|| step.ask.clone())?;
        for (name, pointer) in &step.keep {
            let value = answer.body.pointer(pointer);
            let value = value.with_context(|| format!("{}: no {pointer} in {}", step.ask, answer.body))?;
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            kept.insert(name.clone(), text);
        }
        let shown = json!({"code": answer.code, "contentType": answer.content_type,
            "warnings": answer.warnings, "body": answer.body});
        answers.insert(format!("step {number}, {}", step.ask), mask.apply(&shown));
    }
    Ok(answers)
}

async fn send(client: &Client, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
    let body = body.map(Value::to_string).unwrap_or_default();
    client.send(Ask { method, path, content_type: JSON, accept: JSON, body }).await
}

async fn ask(client: &Client, step: &Step, kept: &BTreeMap<String, String>) -> Result<Answer> {
    let line = filled(&step.ask, kept)?;
    let Some((method, path)) = line.split_once(' ') else { bail!("not `METHOD /path`") };
    let body = match &step.body {
        None => String::new(),
        Some(Value::String(text)) => filled(text, kept)?,
        Some(value) => filled(&value.to_string(), kept)?,
    };
    let (content_type, accept) = (content_type(step.content_type.as_deref()), accept(step.accept.as_deref()));
    for _ in 0..ATTEMPTS {
        let answer = client.send(Ask { method, path, content_type, accept, body: body.clone() }).await?;
        let has = step.until_has.as_ref().is_none_or(|pointer| answer.body.pointer(pointer).is_some());
        if has && step.until.is_none_or(|code| code == answer.code) {
            return Ok(answer);
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("never answered with {:?} {:?}", step.until, step.until_has)
}

fn content_type(name: Option<&str>) -> &str {
    match name {
        None => JSON,
        Some("merge") => "application/merge-patch+json",
        Some("json-patch") => "application/json-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some(whole) => whole,
    }
}

fn accept(name: Option<&str>) -> &str {
    match name {
        None => JSON,
        Some("table") => "application/json;as=Table;v=v1;g=meta.k8s.io",
        Some("metadata") => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        Some("metadata-list") => "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        Some(whole) => whole,
    }
}

fn filled(text: &str, kept: &BTreeMap<String, String>) -> Result<String> {
    let mut filled = text.replace("$NS", "${NS}");
    for (name, value) in kept {
        filled = filled.replace(&format!("${{{name}}}"), value);
    }
    ensure!(!filled.contains("${"), "{filled} speaks of something that was not kept");
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_filled_in_and_what_was_not_is_reported() {
        let kept = BTreeMap::from([("NS".to_owned(), "case-1".to_owned()), ("v".to_owned(), "7".to_owned())]);
        assert_eq!(filled("/api/$NS/x?v=${v}", &kept).unwrap(), "/api/case-1/x?v=7");
        assert!(filled("${other}", &kept).is_err());
    }
}

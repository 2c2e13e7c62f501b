//! What is asked and what must be answered: reviews as an API server sends them, of the kinds that a fleet consists of.
//!
//! The right answers are those of `capm3_admission` in this process; what the rules say is tested elsewhere. Each question has
//! a uid of its own, so an answer to another one shows.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use capm3_admission::{
    convert,
    review::{self, Route},
};
use serde_json::{Value, json};

use super::super::fleet_objects as objects;
use crate::{repo, webhook_client::Answer};

/// Stands for the uid; as long as one.
const UID: &str = "UIDUIDUI-DUID-UIDU-IDUI-DUIDUIDUIDUI";
const STORED: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const OLDER: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
/// Objects of a conversion review.
pub const CONVERTED: usize = 50;

/// One question and its answer, both without their uid.
pub struct Question {
    pub path: String,
    body: (String, String),
    answer: (String, String),
}

/// All questions, asked in turn.
pub struct Questions {
    pub admission: Vec<Question>,
    pub conversion: Vec<Question>,
}

impl Question {
    fn new(path: String, review: &Value) -> Result<Self> {
        let body = review.to_string();
        let route = Route::of(&path).with_context(|| format!("nothing is served at {path}"))?;
        let reply = review::answer(route, body.as_bytes());
        ensure!(reply.code == 200, "{path}: {}", String::from_utf8_lossy(&reply.body));
        Ok(Self { path, body: around_uid(&body)?, answer: around_uid(&String::from_utf8(reply.body)?)? })
    }

    /// The body with a number as its uid.
    pub fn body(&self, number: usize) -> Bytes {
        let (before, after) = &self.body;
        Bytes::from([before.as_str(), &uid(number), after].concat())
    }

    /// What is wrong with an answer, if anything is.
    pub fn problem(&self, number: usize, answer: &Answer) -> Option<String> {
        let (before, after) = &self.answer;
        let rest = answer.body.strip_prefix(before.as_bytes());
        let rest = rest.and_then(|rest| rest.strip_prefix(uid(number).as_bytes()));
        let is_right = answer.code == 200 && rest == Some(after.as_bytes());
        (!is_right)
            .then(|| format!("{}: {} {}", self.path, answer.code, String::from_utf8_lossy(&answer.body)))
    }
}

fn uid(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-{number:012x}")
}

fn around_uid(text: &str) -> Result<(String, String)> {
    let (before, after) = text.split_once(UID).context("a review without its uid")?;
    ensure!(!after.contains(UID), "a review with two uids");
    Ok((before.to_owned(), after.to_owned()))
}

impl Questions {
    /// Templates of the three racks, the objects of a machine, older forms, and one that is refused.
    pub fn new() -> Result<Self> {
        let mut asked = Vec::new();
        for manifest in capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))? {
            let is_ours = ["infrastructure.cluster.x-k8s.io/", "ipam.metal3.io/"];
            let version = manifest.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            if is_ours.iter().any(|group| version.starts_with(group)) {
                asked.push(manifest.object);
            }
        }
        let of_a_machine = [
            objects::metal3_machine(),
            objects::data_claim(),
            objects::data(),
            objects::ip_claim(),
            objects::ip_address(),
        ];
        asked
            .extend(of_a_machine.into_iter().map(|object| numbered(&object, 7)).collect::<Result<Vec<_>>>()?);
        asked.push(without_checksum()?);
        let mut admission = Vec::new();
        for object in asked {
            let mut forms = vec![object.clone()];
            if version(&object) == STORED {
                forms.push(older(object)?);
            }
            for object in forms {
                for (task, operation) in
                    [("mutate", "CREATE"), ("validate", "CREATE"), ("validate", "UPDATE")]
                {
                    admission
                        .push(Question::new(path(task, &object)?, &admission_review(operation, &object))?);
                }
            }
        }
        let refused = admission.iter().filter(|it| it.answer.1.contains(r#""allowed":false"#)).count();
        ensure!(refused > 0 && refused < admission.len(), "{refused} of {} are refused", admission.len());
        let numbers = 0..CONVERTED;
        let machines: Vec<Value> =
            numbers.map(|number| numbered(&objects::metal3_machine(), number)).collect::<Result<_>>()?;
        let older: Vec<Value> = machines.iter().cloned().map(older).collect::<Result<_>>()?;
        let conversion = [(OLDER, &machines), (STORED, &older)].map(|(to, objects)| {
            Question::new(
                "/convert".to_owned(),
                &json!({
                    "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                    "request": {"uid": UID, "desiredAPIVersion": to, "objects": objects},
                }),
            )
        });
        Ok(Self { admission, conversion: conversion.into_iter().collect::<Result<_>>()? })
    }
}

fn numbered(object: &Value, number: usize) -> Result<Value> {
    Ok(serde_json::from_str(&object.to_string().replace(objects::NUMBER, &format!("{number:05}")))?)
}

fn without_checksum() -> Result<Value> {
    let mut machine = numbered(&objects::metal3_machine(), 8)?;
    if let Some(image) = machine.pointer_mut("/spec/image").and_then(Value::as_object_mut) {
        image.remove("checksum");
    }
    Ok(machine)
}

fn older(object: Value) -> Result<Value> {
    convert(object, OLDER).map_err(anyhow::Error::msg)
}

fn version(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}

/// The path of a kind, whose version is that in which objects are stored.
fn path(task: &str, object: &Value) -> Result<String> {
    let kind = object.get("kind").and_then(Value::as_str).context("an object without a kind")?;
    let end = format!("-{}", kind.to_lowercase());
    Route::paths()
        .find(|path| path.starts_with(&format!("/{task}-")) && path.ends_with(&end))
        .with_context(|| format!("no path for {kind}"))
}

fn admission_review(operation: &str, object: &Value) -> Value {
    let text = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    let (group, version) = version(object).split_once('/').unwrap_or_default();
    let kind = json!({"group": group, "version": version, "kind": text("/kind")});
    let plural = format!("{}s", text("/kind").as_str().unwrap_or_default().to_lowercase());
    let resource = json!({"group": group, "version": version, "resource": plural});
    let old = if operation == "UPDATE" { object.clone() } else { Value::Null };
    let user = json!({
        "username": "system:serviceaccount:capi-system:capi-manager", "uid": "0a1b2c3d-0000-4000-8000-000000000000",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:capi-system", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/pod-name": ["capi-controller-manager-5d8f9c7b6d-x2x4z"]},
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": UID, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": text("/metadata/name"), "namespace": text("/metadata/namespace"), "operation": operation,
            "userInfo": user, "object": object, "oldObject": old, "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": format!("{operation}Options")},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, body: &str) -> Answer {
        Answer { code, body: Bytes::from(body.to_owned()) }
    }

    #[test]
    fn only_the_answer_to_the_very_question_is_right() {
        let questions = Questions::new().unwrap();
        assert!(questions.admission.len() > 30, "{}", questions.admission.len());
        for question in questions.admission.iter().chain(&questions.conversion) {
            let route = Route::of(&question.path).unwrap();
            let text =
                |number| String::from_utf8(review::answer(route, &question.body(number)).body).unwrap();
            let (own, other) = (text(12), text(13));
            assert_eq!(question.problem(12, &answer(200, &own)), None);
            for wrong in [answer(200, &other), answer(500, &own), answer(200, &own[..own.len() - 1])] {
                let problem = question.problem(12, &wrong);
                assert!(problem.is_some_and(|problem| problem.starts_with(&question.path)));
            }
        }
    }

    #[test]
    fn a_conversion_is_of_a_whole_list() {
        for question in Questions::new().unwrap().conversion {
            let review: Value = serde_json::from_slice(&question.body(1)).unwrap();
            assert_eq!(review["request"]["objects"].as_array().unwrap().len(), CONVERTED);
            assert!(question.answer.1.contains(r#""status":"Success""#));
        }
    }
}

//! Golden vectors of admission: schema defaults, defaulting, schema validation, validation, in a server's order. Once
//! by the functions that the embedded server calls, once by the reviews that a real one sends.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

// The reader has more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_admission::{
    AdmissionAnswer,
    review::{self, Route},
};
use capm3_apiserver::ObjectSchema;
use serde_json::{Value, json};
use support::{Case, same};

/// How the rules are asked.
struct Rules {
    fill_in: fn(&mut Value) -> Result<(), String>,
    judge: fn(Option<&Value>, &Value) -> Judged,
}

/// What validation says.
struct Judged {
    /// None if it is let pass.
    code: Option<u16>,
    details: Value,
    warnings: Vec<String>,
}

#[test]
fn golden_webhook() {
    let definitions = capm3_api::crd::all();
    let rules = Rules {
        fill_in: |object| capm3_admission::fill_in(object).map_err(|denial| denial.message),
        judge: |old, object| {
            let AdmissionAnswer { denial, warnings } = capm3_admission::judge(old, object);
            let code = denial.as_ref().map(|denial| denial.code);
            Judged { code, details: denial.map(|denial| denial.details).unwrap_or_default(), warnings }
        },
    };
    support::run("webhook", |case| judge(case, &definitions, &rules));
}

#[test]
fn golden_webhook_by_reviews() {
    let definitions = capm3_api::crd::all();
    let rules = Rules { fill_in: fill_in_by_review, judge: judge_by_review };
    support::run("webhook", |case| judge(case, &definitions, &rules));
}

/// The response to a review of an object at the path of its kind, as an API server sends it.
fn reviewed(task: &str, old: Option<&Value>, object: &Value) -> Value {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, _) = text("/apiVersion").split_once('/').unwrap();
    let version = if group == capm3_api::ipam::GROUP { "v1alpha1" } else { "v1beta2" };
    let path = format!("/{task}-{}-{version}-{}", group.replace('.', "-"), text("/kind").to_lowercase());
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({"uid": "u", "operation": operation, "object": object, "oldObject": old});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let reply = review::answer(Route::of(&path).unwrap(), review.to_string().as_bytes());
    assert_eq!(reply.code, 200, "{}", String::from_utf8_lossy(&reply.body));
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    answer["response"].clone()
}

fn fill_in_by_review(object: &mut Value) -> Result<(), String> {
    let response = reviewed("mutate", None, object);
    if response["allowed"] != true {
        return Err(response["status"]["message"].to_string());
    }
    if let Some(patch) = response["patch"].as_str() {
        let patch: json_patch::Patch =
            serde_json::from_slice(&BASE64_STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(object, &patch).unwrap();
    }
    Ok(())
}

fn judge_by_review(old: Option<&Value>, object: &Value) -> Judged {
    let response = reviewed("validate", old, object);
    let status = &response["status"];
    assert_eq!(response["allowed"] == true, status.is_null(), "{response}");
    let warnings = response["warnings"].as_array().into_iter().flatten();
    Judged {
        code: status["code"].as_u64().map(|code| code.try_into().unwrap()),
        details: status["details"].clone(),
        warnings: warnings.map(|warning| warning.as_str().unwrap().to_owned()).collect(),
    }
}

/// Both layers are asked whatever the other says, so that each can be compared alone.
fn judge(case: &Case, definitions: &[Value], rules: &Rules) -> Result<(), String> {
    let mut object = case.input["object"].clone();
    let mut old = Some(case.input["oldObject"].clone()).filter(|old| !old.is_null());
    let schema = schema_of(&object, definitions)?;
    for object in old.iter_mut().chain([&mut object]) {
        schema.normalise(object);
        (rules.fill_in)(object)?;
        schema.normalise(object);
    }
    let mut schema_errors: Vec<String> = schema
        .validate(&object, None)
        .iter()
        .map(|error| format!("{}: {}", error.path, error.kind))
        .collect();
    schema_errors.sort();
    let Judged { code, details, warnings } = (rules.judge)(old.as_ref(), &object);
    let expected = &case.expected;
    let empty = json!([]);
    same("schema errors", &json!(schema_errors), expected.get("schema_errors").unwrap_or(&empty))?;
    let verdict = &expected["validating_webhook"];
    same("validating", &json!(code.is_none()), &verdict["allowed"])?;
    same("code", &json!(code), &verdict["code"])?;
    let cause = |cause: &Value| {
        let kind = cause["reason"].as_str().unwrap_or_default().trim_start_matches("FieldValue");
        format!("{}: {kind}", cause["field"].as_str().unwrap_or_default())
    };
    let listed =
        |error: &Value| format!("{}: {}", error["field"].as_str().unwrap(), error["type"].as_str().unwrap());
    same("errors", &sorted(&details["causes"], cause), &sorted(&verdict["errors"], listed))?;
    let reported = |expected: &&Value| !warnings.iter().any(|ours| expected.as_str() == Some(ours));
    if let Some(missing) = verdict["warnings"].as_array().into_iter().flatten().find(reported) {
        return Err(format!("nobody warns: {missing}"));
    }
    same("allowed", &json!(code.is_none() && schema_errors.is_empty()), &expected["allowed"])?;
    match expected.get("defaulted") {
        Some(defaulted) => same("defaulted", &object, defaulted),
        None => Ok(()),
    }
}

fn sorted(list: &Value, text: impl Fn(&Value) -> String) -> Value {
    let mut texts: Vec<String> = list.as_array().into_iter().flatten().map(text).collect();
    texts.sort();
    json!(texts)
}

fn schema_of(object: &Value, definitions: &[Value]) -> Result<ObjectSchema, String> {
    let kind = &object["kind"];
    let definition = definitions.iter().find(|it| it["spec"]["names"]["kind"] == *kind);
    let version =
        object["apiVersion"].as_str().and_then(|it| it.split_once('/')).map_or("", |(_, version)| version);
    let schema = definition.and_then(|definition| ObjectSchema::of(definition, version));
    schema.ok_or_else(|| format!("no schema of {kind} {version}"))
}

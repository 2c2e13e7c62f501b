//! Golden vectors of admission: schema defaults, defaulting, schema validation, validation, in a server's order.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

// The reader offers more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use capm3_admission::Answer;
use capm3_apiserver::ObjectSchema;
use serde_json::{Value, json};
use support::{Case, same};

/// Both layers are asked whatever the other says, so that each can be compared alone.
#[test]
fn golden_webhook() {
    let definitions = capm3_api::crd::all();
    support::run("webhook", |case| judge(case, &definitions));
}

fn judge(case: &Case, definitions: &[Value]) -> Result<(), String> {
    let mut object = case.input["object"].clone();
    let mut old = Some(case.input["oldObject"].clone()).filter(|old| !old.is_null());
    let schema = schema_of(&object, definitions)?;
    for object in old.iter_mut().chain([&mut object]) {
        schema.normalise(object);
        capm3_admission::fill_in(object).map_err(|denial| denial.message)?;
        schema.normalise(object);
    }
    let mut schema_errors: Vec<String> = schema
        .validate(&object, None)
        .iter()
        .map(|error| format!("{}: {}", error.path, error.kind))
        .collect();
    schema_errors.sort();
    let Answer { denial, warnings } = capm3_admission::judge(old.as_ref(), &object);
    let expected = &case.expected;
    let empty = json!([]);
    same("schema errors", &json!(schema_errors), expected.get("schema_errors").unwrap_or(&empty))?;
    let verdict = &expected["validating_webhook"];
    same("validating", &json!(denial.is_none()), &verdict["allowed"])?;
    same("code", &json!(denial.as_ref().map(|denial| denial.code)), &verdict["code"])?;
    let details = denial.as_ref().map(|denial| denial.details.clone()).unwrap_or_default();
    let cause = |cause: &Value| {
        let kind = cause["reason"].as_str().unwrap_or_default().trim_start_matches("FieldValue");
        format!("{}: {kind}", cause["field"].as_str().unwrap_or_default())
    };
    let listed =
        |error: &Value| format!("{}: {}", error["field"].as_str().unwrap(), error["type"].as_str().unwrap());
    same("errors", &sorted(&details["causes"], cause), &sorted(&verdict["errors"], listed))?;
    let told = |expected: &&Value| !warnings.iter().any(|ours| expected.as_str() == Some(ours));
    if let Some(missing) = verdict["warnings"].as_array().into_iter().flatten().find(told) {
        return Err(format!("nobody warns: {missing}"));
    }
    same("allowed", &json!(denial.is_none() && schema_errors.is_empty()), &expected["allowed"])?;
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

//! Golden vectors of index allocation: one pass over a template, its claims and data.
// A member that is missing reads as null.
#![allow(clippy::indexing_slicing)]

// The runner has more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use capm3_api::{
    neighbours::Cluster,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Memory, ObjectKey};
use capm3_provider::plan::{End, Plan};

use capm3_provider::kinds;
use capm3_provider::metal3datatemplate::{decide, observe};
use serde_json::{Value, json};
use support::Case;

#[test]
fn golden_index_allocation() {
    support::run("index-allocation", judge);
}

fn judge(case: &Case) -> Result<(), String> {
    let mut memory = load(case);
    let key = key_of(&case.input["template"]);
    let before = memory.clone();
    let mut had_data = false;
    let mut end = End::Done;
    for second in 0..case.input["passes"].as_i64().unwrap_or(1) {
        had_data = holders(&memory, &key) > 0;
        end = memory.drive(|memory| plan(memory, &key, second));
    }
    let ours = report(&memory, &before, &key, had_data, &end);
    let mut expected = case.expected.clone();
    if let Some(error) = expected["error"].as_object_mut() {
        error.retain(|member, _| member == "class");
        if error["class"] == "plain" {
            // The reference answers nothing else when it gives up; we go on.
            expected.as_object_mut().expect("is an object").retain(|member, _| !member.starts_with("has_"));
        }
    }
    for member in expected.as_object().into_iter().flatten() {
        support::same(member.0, &ours[member.0], member.1)?;
    }
    support::same("error", &ours["error"], &expected["error"])?;
    comes_to_rest(memory, &key)
}

fn plan(memory: &Memory, key: &ObjectKey, second: i64) -> Option<Plan> {
    observe(memory, key).map(|snapshot| decide(&snapshot, &format!("2026-01-02T03:04:{second:02}Z")))
}

/// Whatever the pass left, a few more passes write nothing more.
fn comes_to_rest(mut memory: Memory, key: &ObjectKey) -> Result<(), String> {
    for second in 10..13 {
        memory.drive(|memory| plan(memory, key, second));
    }
    match plan(&memory, key, 20) {
        Some(plan) if !plan.is_quiet() => Err(format!("never comes to rest: {plan}")),
        _ => Ok(()),
    }
}

fn load(case: &Case) -> Memory {
    let mut memory = kinds::memory();
    memory.put_whole::<Metal3DataTemplate>(case.input["template"].clone());
    let list = |member: &str| case.input[member].as_array().cloned().unwrap_or_default();
    list("datas").into_iter().for_each(|data| memory.put_whole::<Metal3Data>(data));
    list("claims").into_iter().for_each(|claim| memory.put_whole::<Metal3DataClaim>(claim));
    list("clusters").into_iter().for_each(|cluster| memory.put_whole::<Cluster>(cluster));
    memory
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// How many data objects hold an index of the template for somebody.
fn holders(memory: &Memory, template: &ObjectKey) -> usize {
    let datas = memory.list::<Metal3Data>();
    let ours = |data: &&Value| {
        data["spec"]["template"]["name"] == json!(template.name)
            && data["metadata"]["namespace"] == json!(template.namespace)
            && data["spec"]["claim"].is_object()
            && data["spec"]["index"].is_number()
    };
    datas.iter().filter(ours).count()
}

/// The outcome in the words of the vectors.
fn report(memory: &Memory, before: &Memory, key: &ObjectKey, had_data: bool, end: &End) -> Value {
    let mut claims = memory.list::<Metal3DataClaim>();
    let messages = claims.iter_mut().filter_map(|claim| {
        let status = claim["status"].as_object_mut()?;
        // The reference has no conditions on claims.
        status.remove("conditions");
        status.remove("errorMessage")
    });
    // What the reference returns as an error of the pass stands on the claim.
    let error = match end {
        _ if messages.count() > 0 => json!({"class": "plain"}),
        End::WaitFor(_) => json!({"class": "transient"}),
        _ => Value::Null,
    };
    let live = claims.iter().filter(|claim| {
        claim["metadata"]["deletionTimestamp"].is_null()
            && claim["spec"]["template"]["name"] == json!(key.name)
    });
    let template = memory.list::<Metal3DataTemplate>().remove(0);
    json!({
        "has_data": had_data,
        "has_claims": live.count() > 0,
        "error": error,
        "status_indexes": entries(&template["status"]["indexes"]),
        "datas": memory.list::<Metal3Data>().iter().map(|data| shown(data, before)).collect::<Vec<_>>(),
        "claims": claims.iter().map(|claim| json!({
            "name": claim["metadata"]["name"], "namespace": claim["metadata"]["namespace"],
            "finalizers": claim["metadata"]["finalizers"], "status": claim["status"],
        })).collect::<Vec<_>>(),
    })
}

/// The reference does not give the names of data.
fn entries(indexes: &Value) -> Vec<Value> {
    let mut entries = indexes.as_array().cloned().unwrap_or_default();
    entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| {
        entry.remove("dataName");
    });
    entries
}

fn shown(data: &Value, before: &Memory) -> Value {
    let old = before.list::<Metal3Data>().iter().any(|old| key_of(old) == key_of(data));
    let metadata = &data["metadata"];
    let deleting = if metadata["deletionTimestamp"].is_null() { Value::Null } else { json!(true) };
    json!({
        "name": metadata["name"], "namespace": metadata["namespace"], "created": !old, "deleting": deleting,
        "labels": metadata["labels"], "finalizers": metadata["finalizers"],
        "ownerReferences": metadata["ownerReferences"], "spec": data["spec"],
    })
}

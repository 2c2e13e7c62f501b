//! Golden vectors of the address manager: a pool, its claims and addresses, and steps with a settled pool after each.
// A member that is missing reads as null.
#![allow(clippy::indexing_slicing)]

// The runner has more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, IpAddressClaim},
};
use capm3_domain::address::Address;
use capm3_engine::{Memory, ObjectKey, Write};
use capm3_provider::plan::{End, Plan};

use capm3_provider::ippool::{decide, observe};
use capm3_provider::kinds;
use serde_json::{Value, json};
use support::Case;

#[test]
fn golden_ipam() {
    support::run("ipam", judge);
}

fn judge(case: &Case) -> Result<(), String> {
    let within = &case.expected["addresses_within"];
    if within.is_null() {
        let memory = play(case, 0)?;
        let ours = report(&memory, &key_of(&case.input["pool"]));
        return compare(&ours, &case.expected);
    }
    for run in 0..case.input["runs"].as_u64().unwrap_or(1) {
        let memory = play(case, run)?;
        let ours = report(&memory, &key_of(&case.input["pool"]));
        support::same("count", &ours["count"], &case.expected["count"])?;
        for address in memory.list::<IpAddress>() {
            let address = &address["spec"]["address"];
            let known = within.as_array().is_some_and(|within| within.contains(address));
            known.then_some(()).ok_or(format!("{address} is not within {within}"))?;
        }
    }
    Ok(())
}

fn compare(ours: &Value, expected: &Value) -> Result<(), String> {
    let objects = ["ip_claims", "ip_addresses", "ip_address_claims", "capi_ip_addresses"];
    members(ours, expected, &["count", "status_indexes"])?;
    members(ours, expected, &objects)?;
    let classes = |errors: &Value| -> Vec<Value> {
        errors.as_array().into_iter().flatten().map(|error| error["class"].clone()).collect()
    };
    let (ours, expected) = (classes(&ours["reconcile_errors"]), classes(&expected["reconcile_errors"]));
    support::same("errors", &json!(ours), &json!(expected))
}

/// The vectors leave out what is empty.
fn members(ours: &Value, expected: &Value, members: &[&str]) -> Result<(), String> {
    for member in members {
        let absent = if ours[member].is_array() { json!([]) } else { json!({}) };
        support::same(member, &ours[member], expected.get(member).unwrap_or(&absent))?;
    }
    Ok(())
}

fn play(case: &Case, run: u64) -> Result<Memory, String> {
    let mut memory = load(case, run);
    let key = key_of(&case.input["pool"]);
    let mut clock = 0;
    settle(&mut memory, &key, &mut clock)?;
    for step in case.input["steps"].as_array().into_iter().flatten() {
        take(&mut memory, &key, step)?;
        settle(&mut memory, &key, &mut clock)?;
    }
    Ok(memory)
}

fn load(case: &Case, run: u64) -> Memory {
    let mut memory = kinds::memory().recording();
    memory.put_whole::<IpPool>(case.input["pool"].clone());
    let list = |member: &str| case.input[member].as_array().cloned().unwrap_or_default();
    for mut claim in list("ipClaims") {
        if run > 0 {
            claim["metadata"]["uid"] = json!(format!("uid-{run}"));
        }
        memory.put_whole::<IpClaim>(claim);
    }
    for mut address in list("ipAddresses") {
        // The reference's writer leaves an empty name out.
        if address["spec"]["claim"]["name"] == json!("") {
            address["spec"]["claim"] = json!({});
        }
        memory.put_whole::<IpAddress>(address);
    }
    list("ipAddressClaims").into_iter().for_each(|claim| memory.put_whole::<IpAddressClaim>(claim));
    list("capiIPAddresses").into_iter().for_each(|address| memory.put_whole::<CapiIpAddress>(address));
    memory
}

fn take(memory: &mut Memory, pool: &ObjectKey, step: &Value) -> Result<(), String> {
    let (word, value) = step.as_object().and_then(|step| step.iter().next()).ok_or("a step says nothing")?;
    match word.as_str() {
        "createIPClaim" => memory.put_whole::<IpClaim>(value.clone()),
        "deleteIPClaim" => {
            memory.delete::<IpClaim>(&ObjectKey::new(&pool.namespace, value.as_str().unwrap_or_default()));
        }
        "setPoolSpec" => {
            memory.change::<IpPool>(pool, &json!({"spec": null}));
            memory.change::<IpPool>(pool, &json!({"spec": value}));
        }
        "clearErrors" => {
            for claim in memory.list::<IpClaim>() {
                memory.change::<IpClaim>(&key_of(&claim), &json!({"status": {"errorMessage": null}}));
            }
        }
        "createIPAddressClaim" => memory.put_whole::<IpAddressClaim>(value.clone()),
        "deleteIPAddressClaim" => {
            let key = ObjectKey::new(&pool.namespace, value.as_str().unwrap_or_default());
            memory.delete::<IpAddressClaim>(&key);
        }
        other => return Err(format!("nothing takes the step {other}")),
    }
    Ok(())
}

/// Passes until one writes nothing and none is due later.
fn settle(memory: &mut Memory, key: &ObjectKey, clock: &mut u32) -> Result<(), String> {
    for _ in 0..8 {
        *clock += 1;
        let now = format!("2026-01-02T03:{:02}:{:02}Z", *clock / 60, *clock % 60);
        let pass = |memory: &Memory| -> Option<Plan> { Some(decide(&observe(memory, key)?, &now)) };
        let quiet = pass(memory).is_none_or(|plan| plan.is_quiet());
        let end = memory.drive(pass);
        if quiet && !matches!(end, End::After(_)) {
            return Ok(());
        }
    }
    Err("the pool never comes to rest".to_owned())
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// An address of one kind that only keeps its name from being given to a claim of the other kind. The reference has no
/// such lock (decision 0060), so the vectors do not know it.
fn is_lock(address: &Value) -> bool {
    address["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|owner| owner["kind"] == "IPAddressClaim")
}

/// The outcome in the words of the vectors.
fn report(memory: &Memory, key: &ObjectKey) -> Value {
    let pool = memory.list::<IpPool>().remove(0);
    let deleting = |object: &Value| match &object["metadata"]["deletionTimestamp"] {
        Value::Null => Value::Null,
        _ => json!(true),
    };
    let claim = |claim: &Value| {
        let (metadata, status) = (&claim["metadata"], &claim["status"]);
        json!({"name": metadata["name"], "namespace": metadata["namespace"], "finalizers": metadata["finalizers"],
            "deleting": deleting(claim), "address": status["address"]["name"], "error": status["errorMessage"]})
    };
    let address = |address: &Value| {
        let metadata = &address["metadata"];
        json!({"name": metadata["name"], "namespace": metadata["namespace"], "finalizers": metadata["finalizers"],
            "labels": metadata["labels"], "owners": metadata["ownerReferences"], "deleting": deleting(address),
            "spec": address["spec"]})
    };
    let capi_claim = |claim: &Value| {
        let (metadata, status) = (&claim["metadata"], &claim["status"]);
        let conditions: Vec<Value> =
            status["conditions"].as_array().into_iter().flatten().map(words).collect();
        let conditions = if conditions.is_empty() { Value::Null } else { json!(conditions) };
        json!({"name": metadata["name"], "namespace": metadata["namespace"], "finalizers": metadata["finalizers"],
            "deleting": deleting(claim), "address": status["addressRef"]["name"], "conditions": conditions})
    };
    let mut claims = memory.list::<IpClaim>();
    claims.sort_by_key(|claim| key_of(claim).name);
    json!({
        "count": count(memory, key),
        "status_indexes": pool["status"].get("indexes").cloned().unwrap_or(json!({})),
        "ip_claims": claims.iter().map(claim).collect::<Vec<_>>(),
        "ip_addresses": memory.list::<IpAddress>().iter().filter(|it| !is_lock(it)).map(address).collect::<Vec<_>>(),
        "ip_address_claims": memory.list::<IpAddressClaim>().iter().map(capi_claim).collect::<Vec<_>>(),
        "capi_ip_addresses": memory.list::<CapiIpAddress>().iter().map(address).collect::<Vec<_>>(),
        "reconcile_errors": memory.log().iter().filter_map(complaint).collect::<Vec<_>>(),
    })
}

/// What a condition says, without when.
fn words(condition: &Value) -> Value {
    let mut condition = condition.clone();
    if let Some(members) = condition.as_object_mut() {
        members.retain(|member, _| ["message", "reason", "status", "type"].contains(&member.as_str()));
    }
    condition
}

/// What the reference returns as an error of the pass stands on the claim.
fn complaint(write: &Write) -> Option<Value> {
    let Write::Patch { patch, .. } = write else {
        return None;
    };
    let status = &patch["status"];
    let failed = |condition: &&Value| condition["status"] == "False";
    let condition = status["conditions"].as_array().into_iter().flatten().find(failed);
    let text = status["errorMessage"].as_str().or(condition.and_then(|c| c["message"].as_str()))?;
    Some(json!({"class": "plain", "text": text}))
}

/// How many addresses are given out or reserved; the reservations of a pool that is being deleted do not count.
fn count(memory: &Memory, key: &ObjectKey) -> Option<usize> {
    let snapshot = observe(memory, key)?;
    let reserved =
        snapshot.pool.spec.pre_allocations.values().filter(|_| !snapshot.pool.metadata.is_deleting());
    let given = snapshot.all_addresses.read(());
    let given = given.iter().map(|address| address.address());
    let all = given.chain(reserved.map(String::as_str)).filter_map(|text| text.parse::<Address>().ok());
    Some(all.collect::<BTreeSet<_>>().len())
}

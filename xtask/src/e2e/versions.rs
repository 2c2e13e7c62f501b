//! Clients of v1beta1 and of v1beta2 see the same object: what the server gives in one version is what the conversion makes
//! of what it gives in the other, and back, for every object of every kind that has both.

use super::{
    Stage,
    change::{ByName, differing},
    definitions,
    stage::text,
};
use anyhow::{Context, Result, ensure};
use capm3_admission::convert;
use capm3_api::{v1beta1, v1beta2};
use serde_json::Value;

/// Compares every object, read alone and in a list; how many there are.
pub async fn run(stage: &Stage) -> Result<usize> {
    let mut compared = 0;
    let mut differences = Vec::new();
    for crd in definitions::converted() {
        let kind = text(&crd, "/spec/names/kind");
        let (older, newer) =
            tokio::try_join!(stage.read_all(kind, v1beta1::VERSION), stage.read_all(kind, v1beta2::VERSION))?;
        ensure!(!newer.is_empty(), "there is no {kind} to be compared");
        ensure!(older.len() == newer.len(), "{} {kind} in v1beta1, {} in v1beta2", older.len(), newer.len());
        compared += newer.len();
        differences.extend(differing(&converted(&newer, v1beta1::API_VERSION)?, &older));
        let back = converted(&older, v1beta2::API_VERSION)?;
        differences.extend(differing(&without_zeros(back), &without_zeros(newer)));
    }
    ensure!(
        differences.is_empty(),
        "clients of the two versions see different objects:\n{}",
        differences.join("\n")
    );
    Ok(compared)
}

/// v1beta1 writes a zero where v1beta2 may write nothing, so on the way back the two are one.
fn without_zeros(objects: ByName) -> ByName {
    objects.into_iter().map(|(name, object)| (name, without_zero_members(object))).collect()
}

fn without_zero_members(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, without_zero_members(value)));
            Value::Object(members.filter(|(_, value)| !is_zero(value)).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_zero_members).collect()),
        other => other,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Array(_) => false,
    }
}

fn converted(objects: &ByName, to: &str) -> Result<ByName> {
    let one = |(name, object): (&String, &Value)| {
        let object = convert(object.clone(), to).map_err(anyhow::Error::msg);
        Ok((name.clone(), object.with_context(|| format!("converting {name} to {to}"))?))
    };
    objects.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_zero_and_nothing_are_one_and_everything_else_counts() {
        let object = json!({"a": 0, "b": {"c": false}, "d": [{"e": "", "f": 1}], "g": null, "h": []});
        assert_eq!(without_zero_members(object), json!({"d": [{"f": 1}], "h": []}));
    }
}

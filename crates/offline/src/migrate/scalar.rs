//! Numbers, truth values and text: what YAML made of a value where the schema wants another.

use serde_json::{Number, Value, json};

use super::{draft::Draft, path::Path, shape::Schema};

/// Brings one value to the type of the schema where it can mean only one thing, and says where it cannot.
pub(super) fn settle(draft: &mut Draft<'_>, path: &Path, schema: Schema<'_>) {
    let Some(value) = path.find(&draft.value) else { return };
    if value.is_null() || value.is_object() || value.is_array() || draft.is_disputed(path) {
        return;
    }
    let outcome = if schema.expects("integer") {
        integer(value, schema.expects_32_bits())
    } else if schema.expects("boolean") {
        truth(value)
    } else if schema.expects("string") {
        text(value)
    } else {
        Outcome::Fits
    };
    match outcome {
        Outcome::Fits => {}
        Outcome::Means(meant, why) => {
            // With its quotes, for they are what changes.
            let (from, to) = (value.to_string(), meant.to_string());
            if let Some(place) = path.find_mut(&mut draft.value) {
                *place = meant;
            }
            draft.note(path, from, to, why);
        }
        Outcome::Wrong(message, proposal) => draft.error(path, message, Some(proposal.to_owned())),
    }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// As it should be.
    Fits,
    /// Another value is meant, and why.
    Means(Value, &'static str),
    /// What is wrong, and what to write.
    Wrong(String, &'static str),
}

use Outcome::{Fits, Means, Wrong};

fn integer(value: &Value, has_32_bits: bool) -> Outcome {
    let (number, meant) = match value {
        Value::Number(number) => match (number.as_i64(), whole(number)) {
            (Some(number), _) => (number, None),
            (None, Some(number)) => (number, Some("a whole number without a fraction")),
            (None, None) => {
                let has_fraction = number.as_f64().is_some_and(|number| number.fract() != 0.0);
                let what = if has_fraction { "not a whole number" } else { TOO_LARGE };
                return Wrong(format!("is {number}, which is {what}"), "a whole number");
            }
        },
        Value::String(text) => match text.parse::<i64>() {
            Ok(number) => (number, Some("a number, which needs no quotes")),
            Err(_) => {
                return Wrong(
                    format!("is the text {text:?} where a whole number is expected"),
                    "a whole number",
                );
            }
        },
        other => {
            return Wrong(format!("is {other} for YAML where a whole number is expected"), "a whole number");
        }
    };
    if has_32_bits && i32::try_from(number).is_err() {
        return Wrong(format!("is {number}, which is {TOO_LARGE}"), "a whole number");
    }
    meant.map_or(Fits, |why| Means(json!(number), why))
}

const TOO_LARGE: &str = "larger than the field can hold";

/// The whole number that is written with a fraction of nothing, as far as no digit of it can have been lost.
fn whole(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT)?;
    format!("{number:.0}").parse().ok()
}

fn truth(value: &Value) -> Outcome {
    match value {
        Value::Bool(_) => Fits,
        Value::String(text) if text == "true" || text == "false" => {
            Means(json!(text == "true"), "a boolean, which needs no quotes")
        }
        other => Wrong(format!("is {other} where a boolean is expected"), "true or false"),
    }
}

fn text(value: &Value) -> Outcome {
    match value {
        Value::String(_) => Fits,
        other => Wrong(format!("is {other} for YAML where text is expected"), "quotes around it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_read_where_it_can_mean_nothing_else() {
        let meant = |value: Value| match integer(&value, true) {
            Fits => Some(value),
            Means(meant, _) => Some(meant),
            Wrong(..) => None,
        };
        for (value, expected) in [
            (json!(5), Some(5)),
            (json!(-1), Some(-1)),
            (json!("5"), Some(5)),
            (json!("-5"), Some(-5)),
            (json!(5.0), Some(5)),
            (json!(1500.5), None),
            (json!(1e23), None),
            (json!(2_147_483_647), Some(2_147_483_647)),
            (json!(2_147_483_648_i64), None),
            (json!("2147483648"), None),
            (json!(u64::MAX), None),
            (json!("5a"), None),
            (json!(""), None),
            (json!(" 5"), None),
            (json!(true), None),
        ] {
            assert_eq!(meant(value.clone()), expected.map(|number: i32| json!(number)), "{value}");
        }
        assert_eq!(integer(&json!(2_147_483_648_i64), false), Fits);
    }

    #[test]
    fn a_truth_value_in_quotes_is_read_and_another_word_is_not() {
        assert_eq!(truth(&json!(true)), Fits);
        assert!(matches!(truth(&json!("false")), Means(Value::Bool(false), _)));
        for value in [json!("yes"), json!("True"), json!(1)] {
            assert!(matches!(truth(&value), Wrong(..)), "{value}");
        }
    }
}

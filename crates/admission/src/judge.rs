//! The two questions of an API server: what is to be filled in, and may it be stored.

use capm3_domain::validation;
use serde_json::Value;

use crate::{
    Denial,
    kinds::{group_version, is_ours, text},
};

/// What is said to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Why it is refused; none if it is let pass.
    pub denial: Option<Denial>,
    /// What the author should be told, refused or not.
    pub warnings: Vec<String>,
}

/// Fills in what the author left out.
///
/// # Errors
/// Something that is no object, or cannot be read in its version.
pub fn fill_in(object: &mut Value) -> Result<(), Box<Denial>> {
    let (group, _) = known(object)?;
    if is_ours(group) {
        let kind = text(object, "/kind").to_owned();
        validation::fill_in(&kind, object);
    }
    Ok(())
}

/// Judges a new object, or what an update makes of `old`.
pub fn judge(old: Option<&Value>, new: &Value) -> Answer {
    answer(old, new).unwrap_or_else(|denial| Answer { denial: Some(*denial), warnings: Vec::new() })
}

fn answer(old: Option<&Value>, new: &Value) -> Result<Answer, Box<Denial>> {
    let (group, _) = known(new)?;
    if !is_ours(group) {
        return Ok(Answer::default());
    }
    let verdict = validation::review(text(new, "/kind"), old, new);
    let denial = verdict.refusal.map(|refusal| Denial::of(new, &refusal));
    Ok(Answer { denial, warnings: verdict.warnings })
}

/// Group and version of something that is at least an object.
fn known(object: &Value) -> Result<(&str, &str), Box<Denial>> {
    if object.is_object() {
        return Ok(group_version(object));
    }
    let message = "expected an object, such as a Metal3Machine, but got something else";
    Err(Box::new(Denial::bad_request(message)))
}

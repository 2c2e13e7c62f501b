//! The two questions of an API server: what is to be filled in, and may it be stored.

use capm3_domain::validation::{self, Verdict};
use serde_json::Value;

use crate::{
    Denial,
    conversion::{as_read, is_older, older, stored},
    kinds::{group_version, is_ours, text},
};

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdmissionAnswer {
    /// Why it is refused; none if it is let pass.
    pub denial: Option<Denial>,
    /// Warnings for the author, refused or not.
    pub warnings: Vec<String>,
}

/// Fills in what the author left out.
///
/// # Errors
/// Something that is no object, or cannot be read in its version.
pub fn fill_in(object: &mut Value) -> Result<(), Box<Denial>> {
    if !is_ours(group(object)?) {
        return Ok(());
    }
    let kind = text(object, "/kind").to_owned();
    if !is_older(object) {
        validation::fill_in(&kind, object);
        return Ok(());
    }
    let before = stored(object)?.into_owned();
    let mut after = before.clone();
    validation::fill_in(&kind, &mut after);
    // Only a change is worth the way there and back.
    if after != before {
        *object = older(&after)?;
    }
    Ok(())
}

/// Judges a new object, or what an update makes of `old`, in any served version.
pub fn judge(old: Option<&Value>, new: &Value) -> AdmissionAnswer {
    answer(old, new).unwrap_or_else(|denial| AdmissionAnswer { denial: Some(*denial), warnings: Vec::new() })
}

fn answer(old: Option<&Value>, new: &Value) -> Result<AdmissionAnswer, Box<Denial>> {
    if !is_ours(group(new)?) {
        return Ok(AdmissionAnswer::default());
    }
    let kind = text(new, "/kind");
    let written =
        if is_older(new) { validation::v1beta1::review(kind, old, new) } else { Verdict::default() };
    let old = old.map(as_read).transpose()?;
    let meant = validation::review(kind, old.as_ref(), &as_read(new)?);
    let verdict = written.and(meant);
    let denial = verdict.refusal.map(|refusal| Denial::of(new, &refusal));
    Ok(AdmissionAnswer { denial, warnings: verdict.warnings })
}

/// The group of something that is at least an object.
fn group(object: &Value) -> Result<&str, Box<Denial>> {
    if object.is_object() {
        return Ok(group_version(object).0);
    }
    let message = "expected an object, such as a Metal3Machine, but got something else";
    Err(Box::new(Denial::bad_request(message)))
}

//! The options of a write as its query gives them: takes texts, gives what they mean, or everything that is wrong
//! with them.

use serde_json::{Value, json};

use crate::{
    field::{FieldError, quote},
    request::Query,
    status::{ApiError, ApiResult, Subject},
    write::{FieldValidation, WriteOptions},
};

/// The longest name of a field manager.
const MAX_MANAGER: usize = 128;

/// Judges what `verb` is asked to do.
pub(crate) fn judge(query: &Query, verb: &str) -> ApiResult<WriteOptions> {
    let kind = match verb {
        "create" => "CreateOptions",
        "update" => "UpdateOptions",
        "patch" => "PatchOptions",
        _ => "DeleteOptions",
    };
    let (mut errors, is_deletion) = (Vec::new(), kind == "DeleteOptions");
    if !is_deletion && query.field_manager.len() > MAX_MANAGER {
        errors.push(FieldError::too_long("fieldManager", MAX_MANAGER as u64));
    }
    if !matches!(query.dry_run.as_str(), "" | "All") {
        let shown = format!("[{}]", quote(&query.dry_run));
        errors.push(FieldError::not_supported("dryRun", &shown, &[json!("All")]));
    }
    let validation = match query.field_validation.as_str() {
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        "" | "Warn" => FieldValidation::Warn,
        _ if is_deletion => FieldValidation::Warn,
        other => {
            let supported = ["", "Ignore", "Strict", "Warn"].map(Value::from);
            errors.push(FieldError::not_supported("fieldValidation", &quote(other), &supported));
            FieldValidation::Warn
        }
    };
    if errors.is_empty() {
        Ok(WriteOptions { dry_run: query.dry_run == "All", validation })
    } else {
        Err(ApiError::Invalid(Box::new(Subject::new("meta.k8s.io", kind, "")), errors))
    }
}

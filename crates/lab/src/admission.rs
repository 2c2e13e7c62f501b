//! The provider's admission rules and conversion as a plug-in of the embedded server: what the webhooks do for a real one, without
//! the way over HTTPS. Answers read as if a webhook had given them, so both servers say the same.

use capm3_admission::{AdmissionAnswer, defaulter_name, is_ours, validator_name};
use capm3_apiserver::{Admission, AdmissionRequest, Conversion, Denial, Operation, RewriteApiVersion};
use serde_json::Value;

/// The rules, in process.
#[derive(Debug, Clone, Copy)]
pub struct InProcess;

/// Webhooks are registered for whole objects of the provider's kinds, created or updated.
fn concerns_us(request: &AdmissionRequest<'_>) -> bool {
    is_ours(request.group) && request.subresource.is_none() && request.operation != Operation::Delete
}

impl Admission for InProcess {
    fn mutate(&self, request: &AdmissionRequest<'_>, object: &mut Value) -> Result<(), Box<Denial>> {
        if !concerns_us(request) {
            return Ok(());
        }
        let webhook = defaulter_name(request.group, request.kind);
        capm3_admission::fill_in(object).map_err(|denial| denied(*denial, &webhook, Vec::new()))
    }

    fn validate(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<Vec<String>, Box<Denial>> {
        if !concerns_us(request) {
            return Ok(Vec::new());
        }
        match capm3_admission::judge(request.old, object) {
            AdmissionAnswer { denial: None, warnings } => Ok(warnings),
            AdmissionAnswer { denial: Some(denial), warnings } => {
                Err(denied(denial, &validator_name(request.group, request.kind), warnings))
            }
        }
    }
}

/// Only the provider's own kinds have several versions of different shape; of the others every version is alike.
impl Conversion for InProcess {
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, String> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        match is_ours(group) {
            true => capm3_admission::convert(object, api_version),
            false => RewriteApiVersion.convert(object, api_version),
        }
    }
}

fn denied(denial: capm3_admission::Denial, webhook: &str, warnings: Vec<String>) -> Box<Denial> {
    let capm3_admission::Denial { code, reason, message, details, .. } = denial.with_webhook_prefix(webhook);
    Box::new(Denial { code, reason: reason.to_owned(), message, details, warnings })
}

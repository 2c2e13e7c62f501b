//! What callers ask about themselves: who am I, and may I? And what servers ask about their callers: whose token is this,
//! and may that user? Takes the question, gives it back with the answer, and keeps nothing. There is one user, who may do
//! everything.

use serde_json::{Value, json};

use crate::{
    call::Call,
    field::FieldError,
    handler::Answer,
    meta::str_at,
    response,
    status::{ApiError, ApiResult, Subject},
    user, write,
};

impl Call<'_> {
    pub(crate) fn review(self) -> Answer {
        self.write_options()?;
        let (mut question, _) = self.decode()?;
        write::check_type(&self.place, &mut question)?;
        let spec = question.get("spec").cloned().unwrap_or_else(|| json!({}));
        let (metadata, spec, status) = match self.place.resource.kind.as_str() {
            "SelfSubjectReview" => (json!({"creationTimestamp": self.cluster.env.now()}), None, who()),
            "SelfSubjectAccessReview" => {
                check_attributes(&self.place.resource.group, &spec)?;
                (json!({}), Some(spec), json!({"allowed": true}))
            }
            "TokenReview" => {
                let token = str_at(&spec, "token").to_owned();
                if token.is_empty() {
                    return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
                }
                let status = whose(self.cluster.env.tokens.contains(&token));
                (json!({}), Some(spec), status)
            }
            "SubjectAccessReview" => {
                check_attributes(&self.place.resource.group, &spec)?;
                check_user(&self.place.resource.group, &spec)?;
                let groups = spec.get("groups").and_then(Value::as_array);
                let is_master = groups.is_some_and(|groups| groups.iter().any(|it| it == user::MASTERS));
                (json!({}), Some(spec), json!({"allowed": is_master}))
            }
            _ if str_at(&spec, "namespace").is_empty() => {
                return Err(ApiError::bad_request("no namespace on request"));
            }
            _ => (json!({}), Some(json!({})), rules()),
        };
        let mut answer = json!({"kind": self.place.resource.kind, "apiVersion": self.place.version.api_version,
            "metadata": metadata});
        if let Some(fields) = answer.as_object_mut() {
            fields.extend(spec.map(|spec| ("spec".to_owned(), spec)));
            fields.insert("status".to_owned(), status);
        }
        Ok(response::value(201, &answer))
    }
}

fn who() -> Value {
    json!({"userInfo": the_user()})
}

fn the_user() -> Value {
    json!({"username": user::NAME, "groups": [user::MASTERS, user::AUTHENTICATED]})
}

/// The answer about a token.
fn whose(is_known: bool) -> Value {
    match is_known {
        true => json!({"authenticated": true, "user": the_user()}),
        false => json!({"user": {}, "error": "invalid bearer token"}),
    }
}

/// A question about somebody says about whom.
fn check_user(group: &str, spec: &Value) -> ApiResult<()> {
    let has_groups = spec.get("groups").and_then(Value::as_array).is_some_and(|groups| !groups.is_empty());
    if has_groups || !str_at(spec, "user").is_empty() {
        return Ok(());
    }
    let error = FieldError::invalid("spec.user", "\"\"", "at least one of user or group must be specified");
    Err(ApiError::Invalid(Box::new(Subject::new(group, "", "")), vec![error]))
}

fn rules() -> Value {
    json!({"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": false})
}

/// A question is about a resource or about a path.
fn check_attributes(group: &str, spec: &Value) -> ApiResult<()> {
    let has = |field: &str| spec.get(field).is_some_and(|it| !it.is_null());
    let error = match (has("resourceAttributes"), has("nonResourceAttributes")) {
        (false, false) => FieldError::invalid(
            "spec.resourceAttributes",
            "null",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (true, true) => FieldError::invalid(
            "spec.nonResourceAttributes",
            &spec.get("nonResourceAttributes").map(Value::to_string).unwrap_or_default(),
            "cannot be specified in combination with resourceAttributes",
        ),
        _ => return Ok(()),
    };
    Err(ApiError::Invalid(Box::new(Subject::new(group, "", "")), vec![error]))
}

//! From a request to an answer: routes it, resolves the place, chooses the verb, and counts how it went.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, header, request::Parts};

use crate::{
    call::{Call, Subresource},
    cluster::Cluster,
    event,
    negotiate::{self, Accepted, Format},
    request::{Query, Route, Target, route},
    resource::{ResourceKey, Special},
    response::{self, ResponseBody},
    server_info,
    status::{ApiError, ApiResult},
    write::{Origin, Place},
};

/// What became of a request.
pub(crate) type Answer = ApiResult<Response<ResponseBody>>;

/// Answers one request to one cluster; `path` has no cluster prefix any more.
pub(crate) fn handle(
    cluster: &Arc<Cluster>,
    path: &str,
    parts: &Parts,
    body: &Bytes,
) -> Response<ResponseBody> {
    let user_agent = header_text(&parts.headers, header::USER_AGENT).unwrap_or_default();
    let accept = header_text(&parts.headers, header::ACCEPT);
    let (verb, resource, subresource, answer) = match route(path) {
        Some(Route::Objects(target)) => {
            let key = ResourceKey::new(&target.group, &target.plural);
            let (verb, answer) = objects(cluster, &target, &key, parts, body, user_agent);
            let subresource = target.subresource.unwrap_or_default();
            (verb, key.as_str().to_owned(), subresource, answer)
        }
        other => {
            let answer = server_info::answer(cluster, other, &parts.method, accept);
            ("get", path.to_owned(), String::new(), answer)
        }
    };
    let response = answer.unwrap_or_else(|error| response::error(&error));
    let code = response.status().as_u16();
    cluster.env.counters.add(user_agent, verb, &resource, &subresource, code);
    match negotiate::accepted(accept).map(|accepted| accepted.format) {
        Some(Format::Yaml) => response::into_yaml(response),
        _ => response,
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What a request does; the names are those of audit logs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    fn of(method: &Method, target: &Target, query: &Query) -> Option<Self> {
        match (method.as_str(), target.name.is_some()) {
            ("GET" | "HEAD", _) if query.watch && target.subresource.is_none() => Some(Self::Watch),
            ("GET" | "HEAD", true) => Some(Self::Get),
            ("GET" | "HEAD", false) => Some(Self::List),
            ("POST", false) => Some(Self::Create),
            ("PUT", true) => Some(Self::Update),
            ("PATCH", true) => Some(Self::Patch),
            ("DELETE", true) => Some(Self::Delete),
            ("DELETE", false) => Some(Self::DeleteCollection),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    fn works_on_subresources(self) -> bool {
        matches!(self, Self::Get | Self::Update | Self::Patch)
    }
}

fn objects<'a>(
    cluster: &'a Arc<Cluster>,
    target: &'a Target,
    key: &ResourceKey,
    parts: &'a Parts,
    body: &'a Bytes,
    user_agent: &'a str,
) -> (&'static str, Answer) {
    let query = match Query::parse(parts.uri.query().unwrap_or_default()) {
        Ok(query) => query,
        Err(message) => return ("get", Err(ApiError::BadRequest(message))),
    };
    let Some(verb) = Verb::of(&parts.method, target, &query) else {
        return ("other", Err(ApiError::not_allowed()));
    };
    let answer = resolve(cluster, target, key, verb, &parts.method).and_then(|(place, subresource)| {
        let origin =
            Origin { user_agent, verb: verb.name(), subresource: target.subresource.as_deref(), body };
        let deprecation = place.version.deprecation.clone();
        let call = Call {
            cluster,
            target,
            place,
            subresource,
            query,
            shape: shape(&parts.headers, verb)?.shape,
            content_type: header_text(&parts.headers, header::CONTENT_TYPE),
            body,
            origin,
        };
        let answer = call.run(verb);
        match deprecation {
            None => answer,
            Some(text) => {
                let response = answer.unwrap_or_else(|error| response::error(&error));
                Ok(response::warning_first(response, &text))
            }
        }
    });
    (verb.name(), answer)
}

/// A watch is a stream of JSON documents; anything else can also be YAML.
fn shape(headers: &HeaderMap, verb: Verb) -> ApiResult<Accepted> {
    let accepted = negotiate::accepted(header_text(headers, header::ACCEPT));
    accepted.filter(|it| verb != Verb::Watch || it.format == Format::Json).ok_or(ApiError::NotAcceptable)
}

/// Finds the resource and checks that the path fits it.
fn resolve(
    cluster: &Cluster,
    target: &Target,
    key: &ResourceKey,
    verb: Verb,
    method: &Method,
) -> ApiResult<(Place, Option<Subresource>)> {
    let resource_of =
        |key| cluster.with(|state| state.store.table(key).map(|table| Arc::clone(&table.resource)));
    let asked = resource_of(key).ok_or(ApiError::NoSuchResource)?;
    let version = asked.version(&target.version).ok_or(ApiError::NoSuchResource)?;
    if asked.special == Special::Review && target.name.is_some() {
        return Err(ApiError::NoSuchResource);
    }
    // Kubernetes answers HEAD only where it serves custom resources.
    if (asked.special == Special::Review && verb != Verb::Create)
        || (*method == Method::HEAD && !asked.is_custom())
    {
        return Err(ApiError::not_allowed());
    }
    let resource = resource_of(&event::stored_in(key)).ok_or(ApiError::NoSuchResource)?;
    let subresource = match target.subresource.as_deref() {
        None => None,
        Some("status") if version.has_status => Some(Subresource::Status),
        Some("scale") if version.scale.is_some() => Some(Subresource::Scale),
        // Where kinds come and go, Kubernetes speaks of the object and not of what it lacks.
        Some("status" | "scale") if asked.is_custom() => {
            let name = target.name.as_deref().unwrap_or_default();
            return Err(ApiError::NotFound(asked.subject(name)));
        }
        Some(_) => return Err(ApiError::NoSuchResource),
    };
    if subresource.is_some() && !verb.works_on_subresources() {
        return Err(ApiError::not_allowed());
    }
    match (resource.namespaced, target.namespace.is_some()) {
        (true, false) if target.name.is_some() => return Err(ApiError::NoSuchResource),
        (true, false) if matches!(verb, Verb::Create | Verb::DeleteCollection) => {
            return Err(ApiError::not_allowed());
        }
        (false, true) => return Err(ApiError::NoSuchResource),
        _ => {}
    }
    let place = Place {
        resource,
        version,
        namespace: target.namespace.as_deref().unwrap_or_default().into(),
        name: target.name.as_deref().map(Into::into),
        status: subresource == Some(Subresource::Status),
    };
    Ok((place, subresource))
}

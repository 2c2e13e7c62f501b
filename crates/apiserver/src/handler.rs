//! From an understood request to an answer: resolves the place, chooses the verb, runs it, counts and records it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, header, request::Parts};
use serde_json::Value;

use crate::{
    cluster::Cluster,
    discovery, meta,
    negotiate::{self, Shape},
    patch::Patch,
    read::{self, Filter},
    request::{Query, Route, Target, route},
    resource::ResourceKey,
    response::{self, ResponseBody},
    status::{self, ApiError, ApiResult},
    view::View,
    watch::{Watch, WatchOptions},
    write::{DeleteOptions, Origin, Outcome, Place, WriteOptions, Writer},
};

type Answer = ApiResult<Response<ResponseBody>>;

/// Answers one request to one cluster; `path` has no cluster prefix any more.
pub(crate) fn handle(
    cluster: &Arc<Cluster>,
    path: &str,
    parts: &Parts,
    body: &Bytes,
) -> Response<ResponseBody> {
    let user_agent = header_text(&parts.headers, header::USER_AGENT).unwrap_or_default();
    let (verb, resource, subresource, answer) = match route(path) {
        Some(Route::Objects(target)) => {
            let key = ResourceKey::new(&target.group, &target.plural);
            let (verb, answer) = objects(cluster, &target, &key, parts, body, user_agent);
            (verb, key.as_str().to_owned(), target.subresource.unwrap_or_default(), answer)
        }
        other => ("get", path.to_owned(), String::new(), about(cluster, other)),
    };
    let response = answer.unwrap_or_else(|error| response::error(&error));
    cluster.env.counters.add(user_agent, verb, &resource, &subresource, response.status().as_u16());
    response
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Requests about the server itself.
fn about(cluster: &Cluster, route: Option<Route>) -> Answer {
    let found = match route {
        Some(Route::Health) => return Ok(response::text("ok")),
        Some(Route::Version) => Some(discovery::version()),
        Some(Route::CoreVersions) => Some(discovery::core_versions()),
        Some(Route::Groups) => Some(cluster.with(|state| discovery::groups(&state.store))),
        Some(Route::Group(name)) => cluster.with(|state| discovery::group(&state.store, &name)),
        Some(Route::Resources { group, version }) => {
            cluster.with(|state| discovery::resources(&state.store, &group, &version))
        }
        Some(Route::Objects(_)) | None => None,
    };
    found.map(|body| response::value(200, &body)).ok_or(ApiError::NoSuchResource)
}

/// What a request does; the names are those of audit logs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
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

    fn works_on_status(self) -> bool {
        matches!(self, Self::Get | Self::Update | Self::Patch)
    }
}

fn not_allowed() -> ApiError {
    ApiError::MethodNotAllowed("the server does not allow this method on the requested resource".to_owned())
}

/// A request about objects, resolved.
struct Call<'a> {
    cluster: &'a Arc<Cluster>,
    target: &'a Target,
    place: Place,
    query: Query,
    shape: Shape,
    content_type: Option<&'a str>,
    body: &'a Bytes,
    origin: Origin<'a>,
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
        return ("other", Err(not_allowed()));
    };
    let answer = resolve(cluster, target, key, verb).and_then(|place| {
        let accept = header_text(&parts.headers, header::ACCEPT);
        let origin =
            Origin { user_agent, verb: verb.name(), subresource: target.subresource.as_deref(), body };
        let call = Call {
            cluster,
            target,
            place,
            query,
            shape: negotiate::shape(accept).ok_or(ApiError::NotAcceptable)?,
            content_type: header_text(&parts.headers, header::CONTENT_TYPE),
            body,
            origin,
        };
        call.run(verb)
    });
    (verb.name(), answer)
}

/// Finds the resource and checks that the path fits it.
fn resolve(cluster: &Cluster, target: &Target, key: &ResourceKey, verb: Verb) -> ApiResult<Place> {
    let resource = cluster.with(|state| state.store.table(key).map(|table| Arc::clone(&table.resource)));
    let resource = resource.ok_or(ApiError::NoSuchResource)?;
    let version = resource.version(&target.version).ok_or(ApiError::NoSuchResource)?;
    let status = match target.subresource.as_deref() {
        None => false,
        Some("status") if version.has_status => true,
        Some(_) => return Err(ApiError::NoSuchResource),
    };
    if status && !verb.works_on_status() {
        return Err(not_allowed());
    }
    match (resource.namespaced, target.namespace.is_some()) {
        (true, false) if target.name.is_some() => return Err(ApiError::NoSuchResource),
        (true, false) if matches!(verb, Verb::Create | Verb::DeleteCollection) => return Err(not_allowed()),
        (false, true) => return Err(ApiError::NoSuchResource),
        _ => {}
    }
    let namespace = target.namespace.as_deref().unwrap_or_default().into();
    Ok(Place { resource, version, namespace, name: target.name.as_deref().map(Into::into), status })
}

impl Call<'_> {
    fn run(self, verb: Verb) -> Answer {
        match verb {
            Verb::Get => self.get(),
            Verb::List => self.list(),
            Verb::Watch => self.watch(),
            Verb::Create => self.create(),
            Verb::Update => self.update(),
            Verb::Patch => self.patch(),
            Verb::Delete => self.delete(),
            Verb::DeleteCollection => self.delete_collection(),
        }
    }

    fn view(&self) -> View {
        let resource = &self.place.resource;
        View::new(&resource.kind, &resource.list_kind, Arc::clone(&self.place.version), self.shape)
    }

    fn filter(&self) -> ApiResult<Filter> {
        let mut query = self.query.clone();
        if let Some(name) = &self.target.name {
            query.field_selector = format!("metadata.name={name}");
        }
        // Cluster-scoped objects live in the empty namespace, which is also a quick way to find them by name.
        let namespace = match self.place.resource.namespaced {
            true => self.target.namespace.as_ref().map(|_| Arc::clone(&self.place.namespace)),
            false => Some(Arc::clone(&self.place.namespace)),
        };
        Filter::new(namespace, &query, &self.place.version)
    }

    fn get(self) -> Answer {
        let key = self.place.key(self.place.name());
        let stored = self
            .cluster
            .with(|state| state.store.get(&key).cloned())
            .ok_or_else(|| self.place.not_found())?;
        self.view().object(&self.cluster.env, &stored).map(|body| response::json(200, body))
    }

    fn list(self) -> Answer {
        let filter = self.filter()?;
        let page = self.cluster.with(|state| {
            let table = state.store.table(&self.place.resource.key).ok_or(ApiError::NoSuchResource)?;
            read::list(table, state.store.revision(), &filter, &self.query)
        })?;
        let body = self.view().list(&self.cluster.env, &page.metadata, &page.objects)?;
        Ok(response::json(200, body))
    }

    fn watch(self) -> Answer {
        let query = &self.query;
        let initial_events = query.send_initial_events.unwrap_or_default();
        if query.send_initial_events.is_some() && query.resource_version_match != "NotOlderThan" {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(ApiError::BadRequest(format!("resourceVersionMatch: Forbidden: {detail}")));
        }
        let options = WatchOptions {
            revision: read::parse_revision(&query.resource_version)?,
            timeout: query.timeout_seconds.map(Duration::from_secs),
            bookmarks: query.allow_bookmarks,
            initial_events,
        };
        let watch =
            Watch::open(self.cluster, self.place.resource.key.clone(), self.filter()?, self.view(), &options);
        watch.map(response::watch).ok_or(ApiError::NoSuchResource)
    }

    fn write_options(&self) -> WriteOptions {
        WriteOptions { dry_run: self.query.dry_run, strict: self.query.strict }
    }

    fn decode(&self) -> ApiResult<Value> {
        if !negotiate::is_json(self.content_type) {
            return Err(ApiError::UnsupportedMediaType("application/json"));
        }
        serde_json::from_slice(self.body).map_err(|error| {
            ApiError::BadRequest(format!(
                "{} in version {:?} cannot be handled: {error}",
                self.place.resource.kind, self.place.version.name
            ))
        })
    }

    /// Runs a write, lets the server react to it, and records how it went; `name` is for a write that was refused.
    fn write(
        &self,
        name: &str,
        work: impl FnOnce(&mut Writer<'_>) -> ApiResult<Outcome>,
    ) -> ApiResult<Outcome> {
        self.cluster.with(|state| {
            let mut writer = self.cluster.writer(state, self.origin);
            let result = work(&mut writer);
            let (revision, code) = match &result {
                Ok(outcome) => (
                    Some(outcome.object.revision).filter(|it| *it > 0),
                    if self.origin.verb == "create" { 201 } else { 200 },
                ),
                Err(error) => (None, error.code()),
            };
            let name = result.as_ref().map_or(name, |outcome| meta::name(&outcome.object.head));
            writer.record_named(&self.place.resource.key, &self.place.namespace, name, revision, code);
            writer.settle();
            result
        })
    }

    fn show(&self, code: u16, outcome: &Outcome) -> Answer {
        self.view().object(&self.cluster.env, &outcome.object).map(|body| response::json(code, body))
    }

    fn create(self) -> Answer {
        let options = self.write_options();
        let object = self.decode();
        let name = object.as_ref().map_or("", |object| meta::name(object)).to_owned();
        let outcome = self.write(&name, |writer| writer.create(&self.place, object?, options))?;
        self.show(201, &outcome)
    }

    fn update(self) -> Answer {
        let options = self.write_options();
        let outcome = self.write(self.place.name(), |writer| {
            self.decode().and_then(|object| writer.update(&self.place, object, options))
        })?;
        self.show(200, &outcome)
    }

    fn patch(self) -> Answer {
        let options = self.write_options();
        let kind = negotiate::patch_type(self.content_type);
        let outcome = self.write(self.place.name(), |writer| {
            let patch = Patch::parse(kind, &self.place.resource, self.body)?;
            writer.patch(&self.place, options, |object| patch.apply(object))
        })?;
        self.show(200, &outcome)
    }

    fn delete_options(&self) -> ApiResult<DeleteOptions> {
        let mut options = DeleteOptions::parse(self.body)?;
        let asked =
            DeleteOptions::policy(self.query.propagation_policy.as_deref(), self.query.orphan_dependents)?;
        options.policy = options.policy.or(asked);
        options.dry_run |= self.query.dry_run;
        Ok(options)
    }

    fn delete(self) -> Answer {
        let outcome = self.write(self.place.name(), |writer| {
            self.delete_options().and_then(|options| writer.delete(&self.place, &options))
        })?;
        if !outcome.removed {
            return self.show(200, &outcome);
        }
        let subject = self.place.resource.subject(self.place.name());
        Ok(response::value(200, &status::deleted(&subject, meta::uid(&outcome.object.head))))
    }

    fn delete_collection(self) -> Answer {
        let (filter, options) = (self.filter()?, self.delete_options()?);
        let page = self.cluster.with(|state| {
            let table = state.store.table(&self.place.resource.key).ok_or(ApiError::NoSuchResource)?;
            let page = read::list(table, state.store.revision(), &filter, &self.query)?;
            let mut writer = self.cluster.writer(state, self.origin);
            for object in &page.objects {
                let place = Place { name: Some(meta::name(&object.head).into()), ..self.place.clone() };
                // An object that the collector took meanwhile is what was asked for.
                let result = writer.delete(&place, &options);
                let code = result.as_ref().map_or_else(ApiError::code, |_| 200);
                let revision = result.ok().map(|outcome| outcome.object.revision);
                writer.record_named(&place.resource.key, &place.namespace, place.name(), revision, code);
                writer.settle();
            }
            Ok(page)
        })?;
        let body = self.view().list(&self.cluster.env, &page.metadata, &page.objects)?;
        Ok(response::json(200, body))
    }
}

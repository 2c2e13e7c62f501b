//! A request about objects, resolved: runs the verb and shapes the answer. The rules themselves are in `read`,
//! `watch` and `write`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::Value;

use crate::{
    cluster::Cluster,
    decode::{self, BODY_TYPES, DecodeError, Decoded},
    handler::{Answer, Verb},
    meta,
    negotiate::{self, Format, Shape},
    patch::Patch,
    read::{self, Filter, Page},
    request::{Query, Target},
    resource::Special,
    response,
    status::{self, ApiError, ApiResult},
    view::View,
    watch::{Watch, WatchOptions},
    write::{DeleteOptions, Origin, Outcome, Place, WriteOptions, Writer},
    write_query,
};

/// The parts of an object that can be addressed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource {
    Status,
    Scale,
}

/// A request about objects.
pub(crate) struct Call<'a> {
    pub(crate) cluster: &'a Arc<Cluster>,
    pub(crate) target: &'a Target,
    pub(crate) place: Place,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) query: Query,
    pub(crate) shape: Shape,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) body: &'a Bytes,
    pub(crate) origin: Origin<'a>,
}

impl Call<'_> {
    pub(crate) fn run(self, verb: Verb) -> Answer {
        let is_scale = self.subresource == Some(Subresource::Scale);
        match verb {
            Verb::Get if is_scale => self.get_scale(),
            Verb::Update if is_scale => self.update_scale(),
            Verb::Patch if is_scale => self.patch_scale(),
            Verb::Get => self.get(),
            Verb::List => self.list(),
            Verb::Watch => self.watch(),
            Verb::Create if self.place.resource.special == Special::Review => self.review(),
            Verb::Create => self.create(),
            Verb::Update => self.update(),
            Verb::Patch => self.patch(),
            Verb::Delete => self.delete(),
            Verb::DeleteCollection => self.delete_collection(),
        }
    }

    fn view(&self) -> View {
        View::new(
            Arc::clone(&self.place.resource),
            Arc::clone(&self.place.version),
            self.shape,
            self.query.include,
        )
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
        self.show_page(&page)
    }

    fn show_page(&self, page: &Page) -> Answer {
        self.view()
            .list(&self.cluster.env, &page.metadata, &page.objects)
            .map(|body| response::json(200, body))
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

    pub(crate) fn write_options(&self) -> ApiResult<WriteOptions> {
        write_query::judge(&self.query, self.origin.verb)
    }

    fn body_format(&self) -> ApiResult<Format> {
        negotiate::body_format(self.content_type).ok_or(ApiError::UnsupportedMediaType(BODY_TYPES))
    }

    /// The body, and the warnings for its caller.
    pub(crate) fn decode(&self) -> ApiResult<(Value, Vec<String>)> {
        let format = self.body_format()?;
        if format == Format::Protobuf && self.place.resource.is_custom() {
            return Err(ApiError::UnsupportedMediaType(BODY_TYPES));
        }
        let Decoded { value, duplicates } =
            decode::decode(self.body, format).map_err(|error| match error {
                DecodeError::Malformed(text) => self.place.undecodable(&text),
                other => other.into(),
            })?;
        let listed = duplicates.iter().map(|path| format!("duplicate field {path:?}"));
        Ok((value, listed.collect()))
    }

    /// Runs a write, lets the server react to it, and records how it went; `name` is for a write that was refused.
    pub(crate) fn write(
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
            let name = result.as_ref().map_or(name, |outcome| &*outcome.object.head.name);
            writer.record_named(&self.place.resource.key, &self.place.namespace, name, revision, code);
            writer.settle();
            result
        })
    }

    fn show(&self, code: u16, outcome: &Outcome) -> Answer {
        self.view()
            .object(&self.cluster.env, &outcome.object)
            .map(|body| response::warning(response::json(code, body), &outcome.warnings))
    }

    fn create(self) -> Answer {
        let options = self.write_options()?;
        let body = self.decode();
        let name = body.as_ref().map_or("", |(object, _)| meta::name(object)).to_owned();
        let outcome = self.write(&name, |writer| {
            let (object, noticed) = body?;
            writer.create(&self.place, object, noticed, options)
        })?;
        self.show(201, &outcome)
    }

    fn update(self) -> Answer {
        let options = self.write_options()?;
        let outcome = self.write(self.place.name(), |writer| {
            let (object, noticed) = self.decode()?;
            writer.update(&self.place, object, noticed, options)
        })?;
        self.show(200, &outcome)
    }

    fn patch(self) -> Answer {
        let options = self.write_options()?;
        let kind = negotiate::patch_type(self.content_type);
        let outcome = self.write(self.place.name(), |writer| {
            let (patch, noticed) = Patch::parse(kind, &self.place.resource, self.body)?;
            let show = |patched: &Value| patch.show(patched);
            writer.patch(&self.place, noticed, options, |object| patch.apply(object), &show)
        })?;
        self.show(200, &outcome)
    }

    fn delete_options(&self) -> ApiResult<DeleteOptions> {
        let format = self.body_format()?;
        let mut options = DeleteOptions::parse(self.body, format)?;
        let asked =
            DeleteOptions::policy(self.query.propagation_policy.as_deref(), self.query.orphan_dependents)?;
        options.policy = options.policy.or(asked);
        options.dry_run |= self.write_options()?.dry_run;
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
        Ok(response::value(200, &status::deleted(&subject, &outcome.object.head.uid)))
    }

    fn delete_collection(self) -> Answer {
        let (filter, options) = (self.filter()?, self.delete_options()?);
        let page = self.cluster.with(|state| {
            let table = state.store.table(&self.place.resource.key).ok_or(ApiError::NoSuchResource)?;
            let page = read::list(table, state.store.revision(), &filter, &self.query)?;
            let mut writer = self.cluster.writer(state, self.origin);
            for object in &page.objects {
                let place = Place { name: Some((&*object.head.name).into()), ..self.place.clone() };
                // An object that the collector took meanwhile is what was asked for.
                let result = writer.delete(&place, &options);
                let code = result.as_ref().map_or_else(ApiError::code, |_| 200);
                let revision = result.ok().map(|outcome| outcome.object.revision);
                writer.record_named(&place.resource.key, &place.namespace, place.name(), revision, code);
                writer.settle();
            }
            Ok::<Page, ApiError>(page)
        })?;
        self.show_page(&page)
    }
}

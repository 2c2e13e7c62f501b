//! Requests about the server itself: health, version, discovery, OpenAPI. Reads only.

use bytes::Bytes;
use http::{Method, Response};
use serde_json::Value;

use crate::{
    cluster::Cluster,
    discovery,
    handler::Answer,
    negotiate, openapi,
    request::Route,
    response::{self, ResponseBody},
    status::ApiError,
};

/// Answers what is not about objects.
pub(crate) fn answer(
    cluster: &Cluster,
    route: Option<Route>,
    method: &Method,
    accept: Option<&str>,
) -> Answer {
    let route = route.ok_or(ApiError::NoSuchResource)?;
    if *method != Method::GET && !(*method == Method::HEAD && takes_head(cluster, &route)) {
        return Err(ApiError::not_allowed());
    }
    if route == Route::Health {
        return Ok(response::text("ok"));
    }
    if let Some(aggregated) = aggregated(cluster, &route, accept) {
        return Ok(aggregated);
    }
    if route == Route::OpenApiV2 && accept.is_some_and(|accept| accept.contains(openapi::v2::ASKED_TYPE)) {
        let body = response::json(200, Bytes::from_static(openapi::v2::BINARY));
        return Ok(response::of_type(body, openapi::v2::BINARY_TYPE));
    }
    negotiate::accepted(accept).ok_or(ApiError::NotAcceptable)?;
    document(cluster, route).map(|body| response::value(200, &body)).ok_or(ApiError::NoSuchResource)
}

/// Kubernetes answers HEAD in some places only.
fn takes_head(cluster: &Cluster, route: &Route) -> bool {
    match route {
        Route::Version | Route::CoreVersions => false,
        Route::Resources { group, .. } => cluster.with(|state| {
            state.store.tables().all(|table| table.resource.group != *group || table.resource.is_custom())
        }),
        _ => true,
    }
}

fn aggregated(cluster: &Cluster, route: &Route, accept: Option<&str>) -> Option<Response<ResponseBody>> {
    let is_core = match route {
        Route::CoreVersions => true,
        Route::Groups => false,
        _ => return None,
    };
    if !negotiate::wants_aggregated(accept) {
        return None;
    }
    let body = cluster.with(|state| discovery::aggregated::document(&state.store, is_core));
    Some(response::of_type(response::value(200, &body), discovery::aggregated::MEDIA_TYPE))
}

fn document(cluster: &Cluster, route: Route) -> Option<Value> {
    match route {
        Route::Version => Some(discovery::version(&cluster.version())),
        Route::CoreVersions => Some(discovery::core_versions()),
        Route::Groups => Some(cluster.with(|state| discovery::groups(&state.store))),
        Route::Group(name) => cluster.with(|state| discovery::group(&state.store, &name)),
        Route::Resources { group, version } => {
            cluster.with(|state| discovery::resources(&state.store, &group, &version))
        }
        Route::OpenApiV2 => Some(openapi::v2::document()),
        Route::OpenApiIndex => Some(cluster.with(|state| openapi::index(&state.store))),
        Route::OpenApi { group, version } => {
            cluster.with(|state| openapi::document(&state.store, &group, &version))
        }
        Route::Health | Route::Objects(_) => None,
    }
}

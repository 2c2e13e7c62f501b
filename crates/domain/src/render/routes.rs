//! Routes of a network.

use capm3_api::v1beta2::{Gateway, Route};
use serde_json::{Value, json};

use super::{
    address::Family,
    error::{Problem, RenderError},
    objects::Inputs,
    services,
};

pub(super) fn render(
    routes: &[Route],
    family: Family,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<Vec<Value>, RenderError> {
    let numbered = routes.iter().enumerate();
    numbered
        .map(|(index, route)| render_route(route, family, inputs, &format!("{path}.routes[{index}]")))
        .collect()
}

/// A prefix that is not given counts as 0, the default route.
fn render_route(
    route: &Route,
    family: Family,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<Value, RenderError> {
    let prefix = route.prefix.unwrap_or_default();
    let netmask = family.netmask(prefix).ok_or_else(|| {
        let problem = Problem::BadPrefix { prefix, family: family.name() };
        RenderError::new(problem, format!("{path}.prefix"), "")
    })?;
    Ok(json!({
        "network": route.network,
        "netmask": netmask,
        "gateway": gateway_of(&route.gateway, inputs, &format!("{path}.gateway"))?,
        "services": services::render(route.services.as_ref(), inputs, &format!("{path}.services"))?,
    }))
}

/// The first source that is given. A route without gateway is of no use to a node, so it is refused.
fn gateway_of<'a>(gateway: &'a Gateway, inputs: &Inputs<'a>, path: &str) -> Result<&'a str, RenderError> {
    if let Some(address) = gateway.string.as_deref().filter(|address| !address.is_empty()) {
        return Ok(address);
    }
    let Some(pool) = pool_of(gateway, inputs, path)? else {
        return Err(RenderError::new(Problem::NoGateway, path, "no source is given"));
    };
    let address = inputs.address(pool, Problem::NoGatewayPool, path)?;
    if address.gateway.is_empty() {
        return Err(RenderError::new(Problem::NoGateway, path, format!("pool {pool} has none")));
    }
    Ok(&address.gateway)
}

fn pool_of<'a>(
    gateway: &'a Gateway,
    inputs: &Inputs<'a>,
    path: &str,
) -> Result<Option<&'a str>, RenderError> {
    if let Some(source) = &gateway.from_pool_annotation {
        let path = format!("{path}.fromPoolAnnotation");
        let pool = inputs.objects.pool_of(source, &path);
        return pool
            .map(Some)
            .map_err(|error| RenderError::new(Problem::NoGatewayPool, path, error.problem.to_string()));
    }
    let reference = gateway.from_pool_ref.as_ref().map(|reference| reference.name.as_str());
    let given = |name: &&str| !name.is_empty();
    Ok(reference.filter(given).or(gateway.from_ip_pool.as_deref().filter(given)))
}

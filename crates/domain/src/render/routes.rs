//! Routes of a network.

use capm3_api::v1beta2::{Gateway, Route};
use serde_json::{Value, json};

use super::{
    address::Family,
    error::{Problem, RenderError},
    objects::Inputs,
    remedy::Remedy,
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
    family.require(&route.network, &format!("{path}.network"), "the route")?;
    Ok(json!({
        "network": route.network,
        "netmask": netmask,
        "gateway": gateway_of(&route.gateway, family, inputs, &format!("{path}.gateway"))?,
        "services": services::render(route.services.as_ref(), inputs, &format!("{path}.services"))?,
    }))
}

/// The first source that is given. A route without gateway is of no use to a node, so it is refused.
fn gateway_of<'a>(
    gateway: &'a Gateway,
    family: Family,
    inputs: &Inputs<'a>,
    path: &str,
) -> Result<&'a str, RenderError> {
    if let Some(address) = gateway.string.as_deref().filter(|address| !address.is_empty()) {
        family.require(address, path, "the route").map_err(|error| error.at("string"))?;
        return Ok(address);
    }
    let Some((pool, member)) = pool_of(gateway, inputs, path)? else {
        return Err(RenderError::new(Problem::NoGateway, path, "no source is given"));
    };
    let annotation = gateway.from_pool_annotation.as_ref();
    let found = gateway_of_pool(pool, family, inputs, path);
    found.map_err(|error| inputs.objects.blamed_on(annotation, error).at(member))
}

fn gateway_of_pool<'a>(
    pool: &str,
    family: Family,
    inputs: &Inputs<'a>,
    path: &str,
) -> Result<&'a str, RenderError> {
    let address = inputs.address(pool, Problem::NoGatewayPool, path)?;
    if address.gateway.is_empty() {
        let remedy = Remedy::beside(format!("give pool {pool} a gateway and replace the machine"))
            .or_template("give the route a gateway");
        let error = RenderError::new(Problem::NoGateway, path, format!("pool {pool} has none"));
        return Err(error.remedied(remedy));
    }
    family.require(&address.gateway, path, &format!("pool {pool}"))?;
    Ok(&address.gateway)
}

/// The first source that is given, and the member that gives it.
fn pool_of<'a>(
    gateway: &'a Gateway,
    inputs: &Inputs<'a>,
    path: &str,
) -> Result<Option<(&'a str, &'static str)>, RenderError> {
    if let Some(source) = &gateway.from_pool_annotation {
        let pool = inputs.objects.pool_of(source, &format!("{path}.fromPoolAnnotation"));
        let pool = pool.map_err(|error| error.reported_as(Problem::NoGatewayPool))?;
        return Ok(Some((pool, "fromPoolAnnotation")));
    }
    let reference = gateway.from_pool_ref.as_ref().map(|reference| reference.name.as_str());
    let given = |name: &&str| !name.is_empty();
    if let Some(pool) = reference.filter(given) {
        return Ok(Some((pool, "fromPoolRef")));
    }
    let named = gateway.from_ip_pool.as_deref().filter(given);
    Ok(named.map(|pool| (pool, "fromIPPool")))
}

//! Services of a node or of a route: DNS servers. Their family is not checked: a node with both families reaches either.

use capm3_api::v1beta2::NetworkServices;
use serde_json::{Value, json};

use super::{
    error::{Problem, RenderError},
    objects::Inputs,
};

/// Servers that the template lists, then those of the pool that it names.
pub(super) fn render(
    services: Option<&NetworkServices>,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<Vec<Value>, RenderError> {
    let Some(services) = services else {
        return Ok(Vec::new());
    };
    let pool = services.dns_from_ip_pool.as_deref().filter(|pool| !pool.is_empty());
    let from_pool = match pool {
        Some(pool) => {
            let path = format!("{path}.dnsFromIPPool");
            inputs.address(pool, Problem::NoAddress, &path)?.dns_servers.as_slice()
        }
        None => &[],
    };
    let servers = services.dns.iter().chain(from_pool);
    Ok(servers.map(|server| json!({"address": server, "type": "dns"})).collect())
}

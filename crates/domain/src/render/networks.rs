//! Networks of a node: static ones with an address of a pool or of a range that follows the index, then those that give
//! addresses themselves.

use capm3_api::v1beta2::{DynamicNetwork, InlineRange, Networks, StaticNetwork};
use serde_json::{Value, json};

use super::{
    address::Family,
    error::{Problem, RenderError},
    inline::{inline_address, inline_prefix},
    objects::Inputs,
    routes,
};

/// In this order, each kind in the order of the template: IPv4, IPv6, DHCPv4, DHCPv6, SLAAC.
pub(super) fn render(networks: &Networks, inputs: &Inputs<'_>) -> Result<Vec<Value>, RenderError> {
    let fixed = [("ipv4", &networks.ipv4, "ipv4", Family::V4), ("ipv6", &networks.ipv6, "ipv6", Family::V6)];
    let dynamic = [
        ("ipv4DHCP", &networks.ipv4_dhcp, "ipv4_dhcp", Family::V4),
        ("ipv6DHCP", &networks.ipv6_dhcp, "ipv6_dhcp", Family::V6),
        ("ipv6SLAAC", &networks.ipv6_slaac, "ipv6_slaac", Family::V6),
    ];
    let mut rendered = Vec::new();
    for (list, items, type_, family) in fixed {
        for (index, network) in items.iter().enumerate() {
            let path = format!("spec.networkData.networks.{list}[{index}]");
            let one = render_static(network, type_, family, inputs, &path);
            rendered.push(one.map_err(|error| error.of("network", &network.id))?);
        }
    }
    for (list, items, type_, family) in dynamic {
        for (index, network) in items.iter().enumerate() {
            let path = format!("spec.networkData.networks.{list}[{index}]");
            let one = render_dynamic(network, type_, family, inputs, &path);
            rendered.push(one.map_err(|error| error.of("network", &network.id))?);
        }
    }
    Ok(rendered)
}

fn render_static(
    network: &StaticNetwork,
    type_: &str,
    family: Family,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<Value, RenderError> {
    let (address, netmask) = match &network.ip_address {
        Some(range) => inline(network, range, family, inputs, path)?,
        None => {
            let (pool, member) = pool_of(network, inputs, path)?;
            let address = inputs.address(pool, Problem::NoAddress, path);
            let found = address
                .and_then(|address| Ok((address.address.clone(), address.netmask(family, pool, path)?)));
            let annotation = network.from_pool_annotation.as_ref();
            found.map_err(|error| inputs.objects.blamed_on(annotation, error).at(member))?
        }
    };
    Ok(json!({
        "type": type_,
        "id": network.id,
        "link": network.link,
        "ip_address": address,
        "netmask": netmask,
        "routes": routes::render(&network.routes, family, inputs, path)?,
    }))
}

/// Address and mask of a range that follows the index.
fn inline(
    network: &StaticNetwork,
    range: &InlineRange,
    family: Family,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<(String, String), RenderError> {
    let of_range = |error: RenderError| error.at("ipAddress");
    let address = inline_address(range, inputs.index()).map_err(|error| RenderError::inline(&error, path));
    let address = address.map_err(of_range)?;
    family.require(&address.to_string(), path, "the range").map_err(of_range)?;
    let problem = |problem| RenderError::new(problem, path, "").at("prefix");
    let of_subnet = inline_prefix(range);
    let prefix = network.prefix.or(of_subnet).ok_or_else(|| problem(Problem::NoInlinePrefix))?;
    // A prefix longer than the subnet's would cut the node off from its neighbours.
    let too_long = of_subnet.is_some_and(|of_subnet| prefix > of_subnet);
    let mask = family.netmask(prefix).filter(|_| !too_long);
    let mask = mask.ok_or_else(|| problem(Problem::BadPrefix { prefix, family: family.name() }))?;
    Ok((address.to_string(), mask))
}

fn render_dynamic(
    network: &DynamicNetwork,
    type_: &str,
    family: Family,
    inputs: &Inputs<'_>,
    path: &str,
) -> Result<Value, RenderError> {
    Ok(json!({
        "type": type_,
        "id": network.id,
        "link": network.link,
        "routes": routes::render(&network.routes, family, inputs, path)?,
    }))
}

/// The first source that is given, and the member that gives it; empty when none is.
fn pool_of<'a>(
    network: &'a StaticNetwork,
    inputs: &Inputs<'a>,
    path: &str,
) -> Result<(&'a str, &'static str), RenderError> {
    if let Some(source) = &network.from_pool_annotation {
        let pool = inputs.objects.pool_of(source, &format!("{path}.fromPoolAnnotation"));
        let pool = pool.map_err(|error| error.reported_as(Problem::NoAddress))?;
        return Ok((pool, "fromPoolAnnotation"));
    }
    let reference = network.from_pool_ref.as_ref().map(|reference| reference.name.as_str());
    if let Some(pool) = reference.filter(|name| !name.is_empty()) {
        return Ok((pool, "fromPoolRef"));
    }
    match network.ip_address_from_ip_pool.as_deref() {
        Some(pool) => Ok((pool, "ipAddressFromIPPool")),
        None => Ok(("", "")),
    }
}

//! An inline range that gives out the gateway.

use capm3_api::{
    ipam::IpRange,
    v1beta2::{InlineRange, StaticNetwork},
};

use crate::{
    address::{Address, Range},
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L029"),
    title: "an inline range contains the gateway of its routes",
    severity: Severity::Warning,
    why: "Every address of the range is given to a machine at some time. The one that gets the address \
          of the gateway takes the router's place, and its neighbours lose their way out.",
    mend: "let the range start after the gateway",
    example: Example {
        wrong: r#"ipv4:
- id: lan
  link: eno1
  ipAddress: {start: 10.0.0.1, end: 10.0.0.50}
  prefix: 24
  routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}}]"#,
        right: r#"ipv4:
- id: lan
  link: eno1
  ipAddress: {start: 10.0.0.10, end: 10.0.0.50}
  prefix: 24
  routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}}]"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for (_, _, template) in manifests.data_templates.iter() {
        let networks = template.object.spec.network_data.as_ref().and_then(|data| data.networks.as_ref());
        for (list, networks) in networks.iter().flat_map(|it| [("ipv4", &it.ipv4), ("ipv6", &it.ipv6)]) {
            for (number, network) in networks.iter().enumerate() {
                let place = format!("spec.networkData.networks.{list}[{number}].ipAddress");
                drafts.extend(judge(network, place).map(|draft| (template.id, draft)));
            }
        }
    }
    drafts
}

fn judge(network: &StaticNetwork, place: String) -> Option<Draft> {
    let InlineRange { start, end, subnet, .. } = network.ip_address.clone()?;
    let range = Range::new(&IpRange { start, end, subnet, ..IpRange::default() })?;
    let gateways = network.routes.iter().filter_map(|route| route.gateway.string.as_deref());
    let mut addresses = gateways.filter_map(|text| text.parse::<Address>().ok());
    let gateway = addresses.find(|address| range.contains(*address))?;
    Some(Draft::new(place, format!("the range contains gateway {gateway}")))
}

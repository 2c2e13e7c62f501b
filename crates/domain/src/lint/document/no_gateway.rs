//! A route that leads nowhere.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L032"),
    title: "a route has no gateway",
    severity: Severity::Error,
    why: "cloud-init with netplan then writes a file that netplan refuses, with sysconfig and eni it \
          ends with an error; Talos refuses the whole configuration. The node gets no network.",
    mend: "give the route a gateway, or remove the route",
    example: Example {
        wrong: r#"networks:
- id: n
  type: ipv4_dhcp
  link: eno1
  routes: [{network: 10.1.0.0, netmask: 255.255.0.0}]"#,
        right: r#"networks:
- id: n
  type: ipv4_dhcp
  link: eno1
  routes: [{network: 10.1.0.0, netmask: 255.255.0.0, gateway: 10.0.0.1}]"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let networks = data.networks();
    let routes = networks.iter().flat_map(|network| network.at("routes").items());
    let lacking = routes.filter(|route| route.value().is_some() && route.at("gateway").text().is_none());
    lacking.map(|route| Draft::new(route.path(), "the route has no gateway")).collect()
}

//! Two ways out of one family.

use super::super::network_data::destination;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L044"),
    title: "a node has two default routes of one family",
    severity: Severity::Warning,
    why: "Without metrics it is left to the kernel which one is used. With sysconfig cloud-init ends \
          with an error if both are on one link.",
    mend: "keep one default route for each family, or send only certain destinations over the other \
          gateway",
    example: Example {
        wrong: r#"networks:
- {id: a, link: eno1, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}}]}
- {id: b, link: eno2, routes: [{network: 0.0.0.0, gateway: {string: 10.1.0.1}}]}"#,
        right: r#"networks:
- {id: a, link: eno1, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}}]}
- {id: b, link: eno2, routes: [{network: 10.0.0.0, prefix: 8, gateway: {string: 10.1.0.1}}]}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let networks = data.networks();
    let routes = networks.iter().flat_map(|network| network.at("routes").items());
    let defaults: Vec<_> = routes
        .filter(|route| route.at("metric").value().is_none())
        .filter_map(|route| {
            Some((destination(&route).filter(|net| net.prefix_len() == 0)?.addr().is_ipv4(), route))
        })
        .collect();
    let mut drafts = Vec::new();
    for (is_v4, family) in [(true, "IPv4"), (false, "IPv6")] {
        let mut of_family = defaults.iter().filter(|(of, _)| *of == is_v4).map(|(_, route)| route);
        let first = of_family.next().map(|route| route.at("gateway").text_or_empty());
        for route in of_family {
            let message = format!(
                "there is another default route of {family}, by {}",
                first.filter(|gateway| !gateway.is_empty()).unwrap_or("a device")
            );
            drafts.push(Draft::new(route.at("gateway").path(), message));
        }
    }
    drafts
}

//! A service that agents take for a name server.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L053"),
    title: "a service is no name server",
    severity: Severity::Warning,
    why: "cloud-init takes every top-level service for a name server, whatever its type: the node then \
          asks an NTP server for names. Other agents ignore it.",
    mend: "remove the service; configure time servers in the user data",
    example: Example {
        wrong: r#"services:
- {type: dns, address: 10.0.0.2}
- {type: ntp, address: 10.0.0.3}"#,
        right: r#"services:
- {type: dns, address: 10.0.0.2}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let services = data.services();
    let types = services.iter().map(|service| service.at("type"));
    let other = types.filter_map(|node| Some((node.path().to_owned(), node.text().filter(|t| *t != "dns")?)));
    other
        .map(|(path, type_)| Draft::new(path, format!("service of type {type_} is taken for a name server")))
        .collect()
}

//! An empty text where a value belongs.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L048"),
    title: "a value is empty and ought to be left out",
    severity: Severity::Warning,
    why: "Agents write the empty value into their files: NetworkManager reads it as unset, netplan may \
          refuse the whole file.",
    mend: "leave the member out, or give it a value",
    example: Example {
        wrong: r#"parameters:
- {name: lacp_rate, value: ""}"#,
        right: r#"parameters:
- {name: lacp_rate, value: fast}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let (links, networks) = (data.links(), data.networks());
    let members = links.iter().chain(&networks).flat_map(Node::members);
    let empty = members.filter(|(_, node)| node.value().and_then(|value| value.as_str()) == Some(""));
    empty.map(|(key, node)| Draft::new(node.path(), format!("{key} is empty"))).collect()
}

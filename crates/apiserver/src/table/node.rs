//! The columns of nodes: readiness, roles and where they can be reached.

use serde_json::{Value, json};

use super::{
    Column,
    builtin::{at, or_none},
};
use crate::meta::{self, str_at};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        Column::built_in("Status", "string", 0, |it, _| json!(status(it))),
        Column::built_in("Roles", "string", 0, |it, _| or_none(&roles(it))),
        Column::age(),
        Column::built_in("Version", "string", 0, |it, _| json!(node_info(it, "kubeletVersion"))),
        Column::built_in("Internal-IP", "string", 1, |it, _| or_none(address(it, "InternalIP"))),
        Column::built_in("External-IP", "string", 1, |it, _| or_none(address(it, "ExternalIP"))),
        Column::built_in("OS-Image", "string", 1, |it, _| known(node_info(it, "osImage"))),
        Column::built_in("Kernel-Version", "string", 1, |it, _| known(node_info(it, "kernelVersion"))),
        Column::built_in("Container-Runtime", "string", 1, |it, _| {
            known(node_info(it, "containerRuntimeVersion"))
        }),
    ]
}

fn node_info<'v>(node: &'v Value, field: &str) -> &'v str {
    str_at(at(at(node, "status"), "nodeInfo"), field)
}

fn known(text: &str) -> Value {
    json!(if text.is_empty() { "<unknown>" } else { text })
}

fn status(node: &Value) -> String {
    let conditions = at(at(node, "status"), "conditions").as_array();
    let ready = conditions.into_iter().flatten().find(|it| str_at(it, "type") == "Ready");
    let mut status = match ready.map(|it| str_at(it, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(at(node, "spec"), "unschedulable") == &json!(true) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

/// Roles are the ends of certain label keys, and the value of one old label.
fn roles(node: &Value) -> String {
    let labels = meta::of(node).and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    let role = |(key, value): (&String, &Value)| {
        let named = key.strip_prefix(ROLE_PREFIX).map(str::to_owned);
        named
            .or_else(|| (key == ROLE_LABEL).then(|| value.as_str().unwrap_or_default().to_owned()))
            .filter(|role| !role.is_empty())
    };
    let mut roles: Vec<String> = labels.into_iter().flatten().filter_map(role).collect();
    roles.sort_unstable();
    roles.dedup();
    roles.join(",")
}

fn address<'v>(node: &'v Value, kind: &str) -> &'v str {
    let addresses = at(at(node, "status"), "addresses").as_array();
    let found = addresses.into_iter().flatten().find(|it| str_at(it, "type") == kind);
    found.map_or("", |it| str_at(it, "address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_shows_readiness_roles_and_version() {
        let node = json!({"metadata": {"name": "n", "labels": {"node-role.kubernetes.io/control-plane": "", "x": "y"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.0"},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
        assert_eq!(status(&node), "Ready,SchedulingDisabled");
        assert_eq!(roles(&node), "control-plane");
        assert_eq!(address(&node, "InternalIP"), "10.0.0.1");
        assert_eq!(status(&json!({})), "Unknown");
    }
}

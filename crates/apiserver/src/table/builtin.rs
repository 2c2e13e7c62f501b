//! The columns of built-in kinds, as people know them from `kubectl get`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age, node};
use crate::{
    builtin::CRD_GROUP,
    meta::{self, str_at},
};

/// The columns of a built-in kind: its name, what is special about it, its age.
pub(crate) fn columns(group: &str, kind: &str) -> Vec<Column> {
    let text = |name: &str, print| Column::built_in(name, "string", 0, print);
    let number = |name: &str, print| Column::built_in(name, "integer", 0, print);
    let between = match (group, kind) {
        ("", "Namespace") => vec![text("Status", |it, _| json!(str_at(at(it, "status"), "phase")))],
        ("", "Secret") => vec![
            text("Type", |it, _| json!(str_at(it, "type"))),
            number("Data", |it, _| json!(count(at(it, "data")))),
        ],
        ("", "ConfigMap") => {
            vec![number("Data", |it, _| json!(count(at(it, "data")) + count(at(it, "binaryData"))))]
        }
        ("", "Node") => return node::columns(),
        (_, "Event") => return events(),
        ("", "Pod") => return pods(),
        ("", "Service") => return services(),
        ("coordination.k8s.io", "Lease") => {
            vec![text("Holder", |it, _| json!(str_at(at(it, "spec"), "holderIdentity")))]
        }
        ("storage.k8s.io", "VolumeAttachment") => vec![
            text("Attacher", |it, _| json!(str_at(at(it, "spec"), "attacher"))),
            text("PV", |it, _| json!(str_at(at(at(it, "spec"), "source"), "persistentVolumeName"))),
            text("Node", |it, _| json!(str_at(at(it, "spec"), "nodeName"))),
            text("Attached", |it, _| json!(at(at(it, "status"), "attached") == &json!(true))),
        ],
        ("autoscaling", "Scale") => vec![
            number("Desired", |it, _| replicas(at(it, "spec"))),
            number("Available", |it, _| replicas(at(it, "status"))),
        ],
        (CRD_GROUP, _) => {
            let created = |it: &Value, _: Timestamp| json!(meta::text(it, "creationTimestamp"));
            return vec![Column::name(), Column::built_in("Created At", "date", 0, created)];
        }
        _ => Vec::new(),
    };
    let mut columns = vec![Column::name()];
    columns.extend(between);
    columns.push(Column::age());
    columns
}

/// A field, or null.
pub(super) fn at<'v>(value: &'v Value, field: &str) -> &'v Value {
    value.get(field).unwrap_or(&Value::Null)
}

fn replicas(part: &Value) -> Value {
    json!(at(part, "replicas").as_i64().unwrap_or_default())
}

fn count(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// Empty text shows as `<none>`.
pub(super) fn or_none(text: &str) -> Value {
    json!(if text.is_empty() { "<none>" } else { text })
}

/// The first of several fields that has text.
fn first_of<'v>(value: &'v Value, fields: &[&str]) -> &'v str {
    let texts = fields.iter().map(|field| str_at(value, field));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Events are stored in the core form.
fn events() -> Vec<Column> {
    let column = |name: &str, priority, print| Column::built_in(name, "string", priority, print);
    vec![
        column("Last Seen", 0, |it, now| {
            json!(age::since(
                first_of(it, &["lastTimestamp", "deprecatedLastTimestamp", "eventTime", "firstTimestamp"]),
                now
            ))
        }),
        column("Type", 0, |it, _| json!(str_at(it, "type"))),
        column("Reason", 0, |it, _| json!(str_at(it, "reason"))),
        column("Object", 0, |it, _| json!(subject(it))),
        column("Subobject", 1, |it, _| json!(str_at(at(it, "involvedObject"), "fieldPath"))),
        column("Source", 1, |it, _| json!(source(it))),
        column("Message", 0, |it, _| json!(first_of(it, &["message", "note"]).trim())),
        column("First Seen", 1, |it, now| {
            json!(age::since(first_of(it, &["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"]), now))
        }),
        column("Count", 1, |it, _| {
            let counted = [at(it, "count"), at(it, "deprecatedCount"), at(at(it, "series"), "count")];
            json!(counted.iter().find_map(|it| it.as_i64()).unwrap_or(1))
        }),
        Column { priority: 1, ..Column::name() },
    ]
}

fn subject(event: &Value) -> String {
    let subject = event.get("involvedObject").or_else(|| event.get("regarding")).unwrap_or(&Value::Null);
    let kind = str_at(subject, "kind").to_lowercase();
    match str_at(subject, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = event.get("source").or_else(|| event.get("deprecatedSource")).unwrap_or(&Value::Null);
    let component = match str_at(source, "component") {
        "" => first_of(event, &["reportingComponent", "reportingController"]),
        component => component,
    };
    match str_at(source, "host") {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}

fn pods() -> Vec<Column> {
    vec![
        Column::name(),
        Column::built_in("Ready", "string", 0, |it, _| {
            let ready = containers(it).filter(|it| at(it, "ready") == &json!(true)).count();
            let all = at(at(it, "spec"), "containers").as_array().map_or(0, Vec::len);
            json!(format!("{ready}/{all}"))
        }),
        Column::built_in("Status", "string", 0, |it, _| {
            json!(if meta::is_deleting(it) { "Terminating" } else { str_at(at(it, "status"), "phase") })
        }),
        Column::built_in("Restarts", "string", 0, |it, _| {
            let restarts: i64 = containers(it).filter_map(|it| at(it, "restartCount").as_i64()).sum();
            json!(restarts.to_string())
        }),
        Column::age(),
        Column::built_in("IP", "string", 1, |it, _| or_none(str_at(at(it, "status"), "podIP"))),
        Column::built_in("Node", "string", 1, |it, _| or_none(str_at(at(it, "spec"), "nodeName"))),
        Column::built_in("Nominated Node", "string", 1, |it, _| {
            or_none(str_at(at(it, "status"), "nominatedNodeName"))
        }),
        Column::built_in("Readiness Gates", "string", 1, |_, _| or_none("")),
    ]
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    at(at(pod, "status"), "containerStatuses").as_array().into_iter().flatten()
}

fn services() -> Vec<Column> {
    vec![
        Column::name(),
        Column::built_in("Type", "string", 0, |it, _| or_none(str_at(at(it, "spec"), "type"))),
        Column::built_in("Cluster-IP", "string", 0, |it, _| or_none(str_at(at(it, "spec"), "clusterIP"))),
        Column::built_in("External-IP", "string", 0, |it, _| or_none(str_at(at(it, "spec"), "externalName"))),
        Column::built_in("Port(s)", "string", 0, |it, _| or_none(&ports(it))),
        Column::age(),
    ]
}

fn ports(service: &Value) -> String {
    let ports = at(at(service, "spec"), "ports").as_array().into_iter().flatten();
    let port = |it: &Value| {
        let protocol = match str_at(it, "protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        format!("{}/{protocol}", at(it, "port"))
    };
    ports.map(port).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(group: &str, kind: &str, object: Value) -> Vec<(String, Value)> {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let columns = columns(group, kind);
        let narrow = columns.iter().filter(|column| column.priority == 0);
        narrow.map(|column| (column.name.clone(), column.print(&object, now))).collect()
    }

    fn cells(group: &str, kind: &str, mut object: Value) -> Vec<Value> {
        object["metadata"] = json!({"name": "a", "creationTimestamp": "2026-01-02T03:03:05Z"});
        printed(group, kind, object).into_iter().map(|(_, cell)| cell).collect()
    }

    #[test]
    fn built_in_kinds_show_the_columns_of_kubernetes() {
        let table = [
            ("", "Namespace", json!({"status": {"phase": "Active"}}), json!(["a", "Active", "60s"])),
            (
                "",
                "Secret",
                json!({"type": "Opaque", "data": {"k": "djE="}}),
                json!(["a", "Opaque", 1, "60s"]),
            ),
            ("", "ConfigMap", json!({"data": {"a": "1"}, "binaryData": {"b": ""}}), json!(["a", 2, "60s"])),
            ("", "ServiceAccount", json!({}), json!(["a", "60s"])),
            (
                "coordination.k8s.io",
                "Lease",
                json!({"spec": {"holderIdentity": "me"}}),
                json!(["a", "me", "60s"]),
            ),
            (
                "storage.k8s.io",
                "VolumeAttachment",
                json!({"spec": {"attacher": "csi", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
                    "status": {"attached": true}}),
                json!(["a", "csi", "pv", "n", true, "60s"]),
            ),
            (CRD_GROUP, "CustomResourceDefinition", json!({}), json!(["a", "2026-01-02T03:03:05Z"])),
            (
                "",
                "Event",
                json!({"lastTimestamp": "2026-01-02T03:04:00Z", "type": "Normal", "reason": "R", "message": "m\n",
                    "involvedObject": {"kind": "Machine", "name": "m"}}),
                json!(["5s", "Normal", "R", "machine/m", "m"]),
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": [{}]}, "status": {"phase": "Running"}}),
                json!(["a", "0/1", "Running", "0", "60s"]),
            ),
            (
                "",
                "Service",
                json!({"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}}),
                json!(["a", "ClusterIP", "<none>", "<none>", "80/TCP", "60s"]),
            ),
        ];
        for (group, kind, object, expected) in table {
            assert_eq!(json!(cells(group, kind, object)), expected, "{kind}");
        }
    }
}

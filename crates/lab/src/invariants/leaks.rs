//! Nothing is left behind: whatever is there at rest belongs to something that is there too.
//!
//! What `capm3 audit` tells people is judged by its own rules. What they do not tell, because people may want it so, or because they
//! allow for work in progress, is judged here from outside: in the lab nobody has a reason for it, and nothing is in progress.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_provider::audit::{Inventory, Options, Severity, audit};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{beside, is_deleting, key, recorded_host, text};

/// The kinds of which nothing is left after the only Cluster is deleted.
pub const DELETED_WITH_A_CLUSTER: [&str; 9] = [
    "Cluster",
    "Machine",
    "MachineSet",
    "Metal3Cluster",
    "Metal3Machine",
    "Metal3Data",
    "Metal3DataClaim",
    "IPClaim",
    "IPAddress",
];

/// What is there and belongs to nothing. Secrets named in `given` came from outside and need no owner.
pub fn leaks(objects: &[Arc<Value>], given: &BTreeSet<String>) -> Vec<String> {
    let all = Objects::new(objects);
    let mut found = contradictions(objects);
    found.extend(objects.iter().filter_map(|object| all.orphan(object)));
    found.extend(all.of("BareMetalHost").flat_map(|host| all.host(host)));
    found.extend(all.of("Secret").filter_map(|secret| all.secret(secret, given)));
    let stuck = objects.iter().filter(|object| is_deleting(object));
    found.extend(stuck.map(|o| format!("{} {} is being deleted for ever", text(o, "/kind"), key(o))));
    found
}

/// What `capm3 audit` finds, however young it is, but for its notes.
fn contradictions(objects: &[Arc<Value>]) -> Vec<String> {
    let mut inventory = Inventory::default();
    let mut found: Vec<String> = objects
        .iter()
        .filter_map(|object| inventory.add(object).err())
        .map(|error| error.to_string())
        .collect();
    for (kind, _) in Inventory::kinds() {
        inventory.mark_complete(&kind.group, &kind.kind);
    }
    // Deletions that last are judged below, whatever the time is.
    let options = Options { now: Timestamp::UNIX_EPOCH, grace: SignedDuration::ZERO };
    let findings = audit(&inventory, &options).findings.into_iter();
    let findings = findings.filter(|finding| finding.severity != Severity::Info);
    found
        .extend(findings.map(|finding| format!("{} {} ({})", finding.object, finding.message, finding.code)));
    found
}

struct Objects<'a> {
    by_key: BTreeMap<(&'a str, String), &'a Value>,
    uids: BTreeSet<&'a str>,
}

impl<'a> Objects<'a> {
    fn new(objects: &'a [Arc<Value>]) -> Self {
        let by_key = objects.iter().map(|o| ((text(o, "/kind"), key(o)), &**o)).collect();
        Self { by_key, uids: objects.iter().map(|o| text(o, "/metadata/uid")).collect() }
    }

    fn of(&self, kind: &'static str) -> impl Iterator<Item = &'a Value> {
        let of_kind = self.by_key.iter().filter(move |((of, _), _)| *of == kind);
        of_kind.map(|(_, object)| *object)
    }

    fn get(&self, kind: &'a str, key: String) -> Option<&'a Value> {
        self.by_key.get(&(kind, key)).copied()
    }

    /// Every owner of every kind must be there, and nobody makes claims for himself.
    fn orphan(&self, object: &'a Value) -> Option<String> {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let gone = owners.into_iter().flatten().find(|o| !self.uids.contains(text(o, "/uid")));
        let kind = text(object, "/kind");
        if let Some(owner) = gone {
            let owner = format!("{} {}", text(owner, "/kind"), text(owner, "/name"));
            return Some(format!("{kind} {} belongs to {owner}, which is gone", key(object)));
        }
        let is_claim = matches!(kind, "Metal3DataClaim" | "IPClaim");
        let is_nobodys = is_claim && owners.is_none_or(Vec::is_empty);
        is_nobodys.then(|| format!("{kind} {} belongs to nobody", key(object)))
    }

    fn host(&self, host: &'a Value) -> Vec<String> {
        let (name, mut found) = (key(host), Vec::new());
        let consumer = beside(host, text(host, "/spec/consumerRef/name"));
        match text(host, "/spec/consumerRef/kind") {
            "" => {
                for field in ["image", "customDeploy", "userData", "metaData", "networkData"] {
                    if host.pointer(&format!("/spec/{field}")).is_some() {
                        found.push(format!("host {name} is free and keeps {field}"));
                    }
                }
                let label = "/metadata/labels/cluster.x-k8s.io~1cluster-name";
                if host.pointer(label).is_some() {
                    found.push(format!("host {name} is free and keeps its cluster's label"));
                }
            }
            "Metal3Machine" => {
                let machine = self.get("Metal3Machine", consumer.clone());
                if machine.and_then(recorded_host).as_ref() != Some(&name) {
                    found.push(format!("host {name} is consumed by {consumer}, which does not use it"));
                }
            }
            kind if kind != "Cluster" && self.get(kind, consumer.clone()).is_none() => {
                found.push(format!("host {name} is reserved for {kind} {consumer}, which is gone"));
            }
            // Kept for the next machine of its owner; whether that is there is judged by the audit.
            _ => {}
        }
        found
    }

    fn secret(&self, secret: &Value, given: &BTreeSet<String>) -> Option<String> {
        let owned = secret.pointer("/metadata/ownerReferences").is_some();
        let name = text(secret, "/metadata/name");
        (!owned && !given.contains(name)).then(|| format!("Secret {} belongs to nobody", key(secret)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::finished::finished;

    fn found(objects: &[Value]) -> Vec<String> {
        let objects: Vec<Arc<Value>> = objects.iter().cloned().map(Arc::new).collect();
        let given = ["m-0", "bmc-0", "m-1", "bmc-1"].map(str::to_owned);
        leaks(&objects, &BTreeSet::from(given))
    }

    fn object(api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let metadata = json!({"namespace": "metal3", "name": name, "uid": name});
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        let owner = rest.get("owner").cloned();
        for (field, value) in rest.as_object().unwrap().iter().filter(|(field, _)| *field != "owner") {
            object[field] = value.clone();
        }
        if let Some(owner) = owner {
            object["metadata"]["ownerReferences"] = json!([{"kind": "X", "name": owner, "uid": owner}]);
        }
        object
    }

    #[test]
    fn what_belongs_together_is_no_leak() {
        assert_eq!(found(&finished(2)), Vec::<String>::new());
    }

    #[test]
    fn each_leak_is_reported() {
        let host = |spec: Value| object("metal3.io/v1alpha1", "BareMetalHost", "h", json!({ "spec": spec }));
        let ipam = |kind: &str, name: &str, rest: Value| object("ipam.metal3.io/v1alpha1", kind, name, rest);
        let consumer = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
            "namespace": "metal3", "name": "m"});
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "namespace": "metal3", "name": "gone"});
        let going = json!({"kind": "X", "metadata": {"namespace": "metal3", "name": "x", "deletionTimestamp": "now"}});
        let address = json!({"address": "10.0.0.1", "pool": {"name": "p"}, "claim": {"name": "c"}});
        let rows = [
            (object("v1", "Secret", "s", json!({})), vec!["Secret metal3/s belongs to nobody"]),
            (
                object("v1", "Secret", "s", json!({"owner": "x"})),
                vec!["Secret metal3/s belongs to X x, which is gone"],
            ),
            (
                host(json!({ "consumerRef": consumer })),
                vec![
                    "BareMetalHost metal3/h is consumed by Metal3Machine metal3/m, which does not exist (CAPM3-C001)",
                    "host metal3/h is consumed by metal3/m, which does not use it",
                ],
            ),
            (
                host(json!({ "consumerRef": cluster })),
                vec![
                    "BareMetalHost metal3/h is reserved for Cluster metal3/gone, which does not exist (CAPM3-C015)",
                ],
            ),
            (
                host(json!({"networkData": {"name": "gone"}})),
                vec![
                    "BareMetalHost metal3/h is free and names Secrets that do not exist (CAPM3-C012)",
                    "host metal3/h is free and keeps networkData",
                ],
            ),
            (
                ipam("IPClaim", "c", json!({"spec": {"pool": {"name": "p"}}})),
                vec!["IPClaim metal3/c belongs to nobody"],
            ),
            (
                ipam("IPAddress", "a", json!({ "spec": address })),
                vec![
                    "IPAddress metal3/a serves IPClaim metal3/c, which does not exist (CAPM3-C050)",
                    "IPPool metal3/p shows other addresses in status.indexes than there are (CAPM3-C056)",
                ],
            ),
            (going, vec!["X metal3/x is being deleted for ever"]),
        ];
        for (object, expected) in rows {
            let mut objects = finished(1);
            objects.push(object);
            assert_eq!(found(&objects), expected);
        }
    }
}

//! Nothing is left behind: whatever is there at rest belongs to something that is there too.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

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
    let mut found: Vec<String> = objects.iter().filter_map(|object| all.orphan(object)).collect();
    found.extend(all.of("BareMetalHost").flat_map(|host| all.host(host)));
    found.extend(all.of("Secret").filter_map(|secret| all.secret(secret, given)));
    for (kind, holder, pointer, name) in [
        ("Metal3DataTemplate", "Metal3Data", "/status/indexes", "/spec/template/name"),
        ("IPPool", "IPAddress", "/status/indexes", "/spec/pool/name"),
    ] {
        found.extend(all.of(kind).filter_map(|owner| all.count(owner, holder, pointer, name)));
    }
    let stuck = objects.iter().filter(|object| is_deleting(object));
    found.extend(stuck.map(|o| format!("{} {} is being deleted for ever", text(o, "/kind"), key(o))));
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

    /// Every owner must be there, and what serves a claim must have that claim.
    fn orphan(&self, object: &'a Value) -> Option<String> {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let gone = owners.into_iter().flatten().find(|o| !self.uids.contains(text(o, "/uid")));
        let kind = text(object, "/kind");
        if let Some(owner) = gone {
            let owner = format!("{} {}", text(owner, "/kind"), text(owner, "/name"));
            return Some(format!("{kind} {} belongs to {owner}, which is gone", key(object)));
        }
        let claim_kind = match kind {
            "Metal3Data" => "Metal3DataClaim",
            "IPAddress" => "IPClaim",
            "Metal3DataClaim" | "IPClaim" if owners.is_none_or(Vec::is_empty) => {
                return Some(format!("{kind} {} belongs to nobody", key(object)));
            }
            _ => return None,
        };
        let claim = beside(object, text(object, "/spec/claim/name"));
        let missing = self.get(claim_kind, claim.clone()).is_none();
        missing.then(|| format!("{kind} {} serves {claim_kind} {claim}, which is gone", key(object)))
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
            kind if self.get(kind, consumer.clone()).is_none() => {
                found.push(format!("host {name} is reserved for {kind} {consumer}, which is gone"));
            }
            // Kept for the next machine of its owner.
            _ => {}
        }
        for field in ["userData", "metaData", "networkData"] {
            let secret = text(host, &format!("/spec/{field}/name"));
            if !secret.is_empty() && self.get("Secret", beside(host, secret)).is_none() {
                found.push(format!("host {name} names {field} {secret}, which is gone"));
            }
        }
        found
    }

    fn secret(&self, secret: &Value, given: &BTreeSet<String>) -> Option<String> {
        let owned = secret.pointer("/metadata/ownerReferences").is_some();
        let name = text(secret, "/metadata/name");
        (!owned && !given.contains(name)).then(|| format!("Secret {} belongs to nobody", key(secret)))
    }

    /// What an owner reports as given must be what exists.
    fn count(&self, owner: &'a Value, kind: &'static str, status: &str, name: &str) -> Option<String> {
        let reported = match owner.pointer(status) {
            Some(Value::Array(list)) => list.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        };
        let of_owner = |object: &&Value| beside(object, text(object, name)) == key(owner);
        let there = self.of(kind).filter(of_owner).count();
        let what = format!("{} {}", text(owner, "/kind"), key(owner));
        (reported != there)
            .then(|| format!("{what} says that it has given {reported}, but there are {there} {kind}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(objects: &[Value]) -> Vec<String> {
        let objects: Vec<Arc<Value>> = objects.iter().cloned().map(Arc::new).collect();
        leaks(&objects, &BTreeSet::from(["given".to_owned()]))
    }

    fn object(kind: &str, name: &str, rest: Value) -> Value {
        let mut object = json!({"kind": kind, "metadata": {"namespace": "n", "name": name, "uid": name}});
        for (field, value) in rest.as_object().unwrap() {
            match field.as_str() {
                "owner" => {
                    object["metadata"]["ownerReferences"] =
                        json!([{"kind": "X", "name": value, "uid": value}])
                }
                "host" => object["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": value}),
                other => object[other] = value.clone(),
            }
        }
        object
    }

    #[test]
    fn what_belongs_together_is_no_leak() {
        let consumer = json!({"kind": "Metal3Machine", "name": "m"});
        let objects = [
            object("Secret", "given", json!({})),
            object("Metal3Machine", "m", json!({"host": "n/h"})),
            object(
                "BareMetalHost",
                "h",
                json!({"spec": {"consumerRef": consumer, "userData": {"name": "given"}}}),
            ),
            object("BareMetalHost", "free", json!({"spec": {}})),
            object("Metal3DataClaim", "c", json!({"owner": "m"})),
            object("Metal3Data", "d", json!({"spec": {"claim": {"name": "c"}, "template": {"name": "t"}}})),
            object("Metal3DataTemplate", "t", json!({"status": {"indexes": [{"index": 0}]}})),
        ];
        assert_eq!(found(&objects), Vec::<String>::new());
    }

    #[test]
    fn each_leak_is_reported() {
        let rows = [
            (object("Secret", "s", json!({})), "Secret n/s belongs to nobody"),
            (object("Secret", "s", json!({"owner": "x"})), "Secret n/s belongs to X x, which is gone"),
            (
                object(
                    "BareMetalHost",
                    "h",
                    json!({"spec": {"consumerRef": {"kind": "Metal3Machine", "name": "m"}}}),
                ),
                "host n/h is consumed by n/m, which does not use it",
            ),
            (
                object(
                    "BareMetalHost",
                    "h",
                    json!({"spec": {"consumerRef": {"kind": "Cluster", "name": "c"}}}),
                ),
                "host n/h is reserved for Cluster n/c, which is gone",
            ),
            (
                object("BareMetalHost", "h", json!({"spec": {"image": {"url": "u"}}})),
                "host n/h is free and keeps image",
            ),
            (object("IPClaim", "c", json!({})), "IPClaim n/c belongs to nobody"),
            (
                object("IPAddress", "a", json!({"spec": {"claim": {"name": "c"}}})),
                "IPAddress n/a serves IPClaim n/c, which is gone",
            ),
            (
                object("IPPool", "p", json!({"status": {"indexes": {"m": "10.0.0.1"}}})),
                "IPPool n/p says that it has given 1, but there are 0 IPAddress",
            ),
        ];
        for (object, expected) in rows {
            assert_eq!(found(&[object]), [expected]);
        }
    }
}

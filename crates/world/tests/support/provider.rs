//! A stand-in for the provider under test: the shortest thing that answers Cluster API's contract on bare metal.

use serde_json::{Value, json};

use super::server::Server;

const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";
const FINALIZER: &str = "stand-in";

fn key(object: &Value) -> (String, String) {
    let part = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
    (part("namespace"), part("name"))
}

/// One pass over everything; `true` if anything was written.
pub fn step(server: &Server, workload: &Server) -> bool {
    let before = server.writes();
    for cluster in server.all("metal3clusters") {
        if !cluster["metadata"]["ownerReferences"].is_null() {
            let status = json!({"initialization": {"provisioned": true}, "failureDomains": cluster["spec"]["failureDomains"],
                "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                    "lastTransitionTime": "2026-08-01T00:00:00Z"}]});
            server.patch("metal3clusters", &key(&cluster), true, &json!({"status": status})).unwrap();
        }
    }
    for machine in server.all("metal3machines") {
        if machine["metadata"]["deletionTimestamp"].is_null() {
            provision(server, workload, &machine);
        } else {
            release(server, &machine);
        }
    }
    server.writes() != before
}

fn host_of(server: &Server, machine: &Value) -> Option<Value> {
    let uses = |host: &Value| host["spec"]["consumerRef"]["name"] == machine["metadata"]["name"];
    server.all("baremetalhosts").into_iter().find(uses)
}

fn provision(server: &Server, workload: &Server, machine: &Value) {
    let owner = &machine["metadata"]["ownerReferences"][0];
    if owner["kind"] != "Machine" {
        return;
    }
    let Some(parent) = server.get("machines", owner["name"].as_str().unwrap()) else {
        return;
    };
    let Some(secret) = parent["spec"]["bootstrap"]["dataSecretName"].as_str() else {
        return;
    };
    let finalizer = json!({"metadata": {"finalizers": [FINALIZER]}, "spec": {"failureDomain": parent["spec"]["failureDomain"]}});
    server.patch("metal3machines", &key(machine), false, &finalizer).unwrap();
    let Some(host) = host_of(server, machine) else {
        choose(server, machine, &parent, secret);
        return;
    };
    let (namespace, name) = key(&host);
    let id = format!("metal3://{namespace}/{name}/{}", machine["metadata"]["name"].as_str().unwrap());
    let joined = workload.all("nodes").iter().any(|node| node["spec"]["providerID"] == id.as_str());
    if host["status"]["provisioning"]["state"] == "provisioned" && joined {
        server.patch("metal3machines", &key(machine), false, &json!({"spec": {"providerID": id}})).unwrap();
        let status = json!({"status": {"initialization": {"provisioned": true},
            "addresses": [{"type": "InternalIP", "address": host["status"]["hardware"]["nics"][0]["ip"]}]}});
        server.patch("metal3machines", &key(machine), true, &status).unwrap();
    }
}

fn choose(server: &Server, machine: &Value, parent: &Value, secret: &str) {
    let mut free: Vec<Value> = server.all("baremetalhosts");
    free.retain(|h| {
        h["status"]["provisioning"]["state"] == "available" && h["spec"]["consumerRef"].is_null()
    });
    let fits = |h: &Value| h["metadata"]["labels"][DOMAIN] == parent["spec"]["failureDomain"];
    free.sort_by_key(|h| !fits(h));
    let Some(host) = free.first() else { return };
    let (namespace, name) = key(machine);
    let patch = json!({"metadata": {"labels": {CLUSTER_NAME: parent["spec"]["clusterName"]}},
        "spec": {"online": true, "image": machine["spec"]["image"], "userData": {"name": secret},
            "consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                "name": name, "namespace": namespace}}});
    server.patch("baremetalhosts", &key(host), false, &patch).unwrap();
}

fn release(server: &Server, machine: &Value) {
    if let Some(host) = host_of(server, machine) {
        let clear = json!({"spec": {"image": null, "userData": null, "online": false}});
        server.patch("baremetalhosts", &key(&host), false, &clear).unwrap();
        if host["status"]["provisioning"]["state"] != "available" {
            return;
        }
        let clear = json!({"metadata": {"labels": {CLUSTER_NAME: null}}, "spec": {"consumerRef": null}});
        server.patch("baremetalhosts", &key(&host), false, &clear).unwrap();
    }
    let _gone =
        server.patch("metal3machines", &key(machine), false, &json!({"metadata": {"finalizers": []}}));
}

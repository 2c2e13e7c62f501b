//! CustomResourceDefinitions of the foreign kinds, so that an API server can serve them.
//!
//! The schemas stand beside this file in a short notation (see `notation`): the members that the real kinds have,
//! without their descriptions. A negative number of replicas, which the real kinds leave to their webhooks, is refused by
//! the schema, because there are no webhooks here. The kubeadm kinds are minimal and keep whatever else is in them.

mod notation;

use capm3_api::neighbours::{
    CAPI_GROUP, CAPI_IPAM_GROUP, CAPI_IPAM_VERSION, CAPI_VERSION, CONTROL_PLANE_GROUP, METAL3_GROUP,
};
use serde_json::{Map, Value, json};

use crate::kinds::BOOTSTRAP_GROUP;

/// Names of a kind and its schema.
struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    has_status: bool,
    has_scale: bool,
    schema: &'static str,
}

const KINDS: [Kind; 11] = [
    Kind {
        group: CAPI_GROUP,
        version: CAPI_VERSION,
        kind: "Cluster",
        short_names: &["cl"],
        has_status: true,
        has_scale: false,
        schema: include_str!("cluster.schema"),
    },
    Kind {
        group: CAPI_GROUP,
        version: CAPI_VERSION,
        kind: "Machine",
        short_names: &["ma"],
        has_status: true,
        has_scale: false,
        schema: include_str!("machine.schema"),
    },
    Kind {
        group: CAPI_GROUP,
        version: CAPI_VERSION,
        kind: "MachineSet",
        short_names: &["ms"],
        has_status: true,
        has_scale: true,
        schema: include_str!("machineset.schema"),
    },
    Kind {
        group: CAPI_GROUP,
        version: CAPI_VERSION,
        kind: "MachineDeployment",
        short_names: &["md"],
        has_status: true,
        has_scale: true,
        schema: include_str!("machinedeployment.schema"),
    },
    Kind {
        group: CAPI_GROUP,
        version: CAPI_VERSION,
        kind: "MachineHealthCheck",
        short_names: &["mhc", "mhcs"],
        has_status: true,
        has_scale: false,
        schema: include_str!("machinehealthcheck.schema"),
    },
    Kind {
        group: CONTROL_PLANE_GROUP,
        version: CAPI_VERSION,
        kind: "KubeadmControlPlane",
        short_names: &["kcp"],
        has_status: true,
        has_scale: true,
        schema: include_str!("kubeadmcontrolplane.schema"),
    },
    Kind {
        group: BOOTSTRAP_GROUP,
        version: CAPI_VERSION,
        kind: "KubeadmConfig",
        short_names: &[],
        has_status: true,
        has_scale: false,
        schema: include_str!("kubeadmconfig.schema"),
    },
    Kind {
        group: BOOTSTRAP_GROUP,
        version: CAPI_VERSION,
        kind: "KubeadmConfigTemplate",
        short_names: &[],
        has_status: false,
        has_scale: false,
        schema: include_str!("kubeadmconfigtemplate.schema"),
    },
    Kind {
        group: CAPI_IPAM_GROUP,
        version: CAPI_IPAM_VERSION,
        kind: "IPAddressClaim",
        short_names: &[],
        has_status: true,
        has_scale: false,
        schema: include_str!("ipaddressclaim.schema"),
    },
    Kind {
        group: CAPI_IPAM_GROUP,
        version: CAPI_IPAM_VERSION,
        kind: "IPAddress",
        short_names: &[],
        has_status: false,
        has_scale: false,
        schema: include_str!("ipaddress.schema"),
    },
    Kind {
        group: METAL3_GROUP,
        version: "v1alpha1",
        kind: "BareMetalHost",
        short_names: &["bmh", "bmhost"],
        has_status: true,
        has_scale: false,
        schema: include_str!("baremetalhost.schema"),
    },
];

/// Every CRD of the foreign kinds.
pub fn crds() -> Vec<Value> {
    KINDS.iter().map(crd).collect()
}

fn crd(kind: &Kind) -> Value {
    let singular = kind.kind.to_lowercase();
    let plural = if singular.ends_with('s') { format!("{singular}es") } else { format!("{singular}s") };
    let notation::Parsed { columns, mut schema } = notation::parse(kind.schema);
    for (name, type_) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
            properties.insert(name.to_owned(), json!({"type": type_}));
        }
    }
    let mut subresources = Map::new();
    if kind.has_status {
        subresources.insert("status".to_owned(), json!({}));
    }
    if kind.has_scale {
        let paths = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector"});
        subresources.insert("scale".to_owned(), paths);
    }
    // Cluster API finds the version that follows its contract by this label.
    let (categories, labels) = match kind.group {
        METAL3_GROUP => (json!([]), json!({})),
        _ => (json!(["cluster-api"]), json!({"cluster.x-k8s.io/v1beta2": kind.version})),
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{}", kind.group), "labels": labels},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": plural,
                "singular": singular, "shortNames": kind.short_names, "categories": categories},
            "versions": [{
                "name": kind.version, "served": true, "storage": true, "subresources": subresources,
                "additionalPrinterColumns": columns, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_of(kind: &str) -> Value {
        let all = crds();
        let crd = all.iter().find(|c| c["spec"]["names"]["kind"] == kind).unwrap();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    #[test]
    fn every_kind_is_named_after_its_plural_and_group() {
        let names: Vec<String> =
            crds().iter().map(|c| c["metadata"]["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(
            names,
            [
                "clusters.cluster.x-k8s.io",
                "machines.cluster.x-k8s.io",
                "machinesets.cluster.x-k8s.io",
                "machinedeployments.cluster.x-k8s.io",
                "machinehealthchecks.cluster.x-k8s.io",
                "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
                "kubeadmconfigs.bootstrap.cluster.x-k8s.io",
                "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io",
                "ipaddressclaims.ipam.cluster.x-k8s.io",
                "ipaddresses.ipam.cluster.x-k8s.io",
                "baremetalhosts.metal3.io",
            ]
        );
    }

    #[test]
    fn a_host_status_demands_what_the_real_one_demands() {
        let host = schema_of("BareMetalHost");
        let mut required: Vec<&str> = host["properties"]["status"]["required"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        required.sort_unstable();
        assert_eq!(
            required,
            [
                "errorCount",
                "errorMessage",
                "operationalStatus",
                "poweredOn",
                "provisioning",
                "provisioningFailCount"
            ]
        );
        let state = &host["properties"]["status"]["properties"]["provisioning"]["properties"]["state"];
        assert_eq!(state["type"], "string");
    }

    #[test]
    fn lists_and_maps_carry_the_schema_of_their_members() {
        let cluster = schema_of("Cluster");
        let domains = &cluster["properties"]["status"]["properties"]["failureDomains"];
        assert_eq!(domains["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(domains["items"]["required"], json!(["name"]));
        assert_eq!(
            domains["items"]["properties"]["attributes"]["additionalProperties"],
            json!({"type": "string"})
        );
        let surge = schema_of("MachineDeployment")["properties"]["spec"]["properties"]["rollout"]["properties"]
            ["strategy"]["properties"]["rollingUpdate"]["properties"]["maxSurge"]
            .clone();
        assert_eq!(surge, json!({"x-kubernetes-int-or-string": true}));
    }

    #[test]
    fn a_negative_number_of_machines_is_refused() {
        for kind in ["MachineSet", "MachineDeployment", "KubeadmControlPlane"] {
            let replicas = schema_of(kind)["properties"]["spec"]["properties"]["replicas"].clone();
            assert_eq!(replicas, json!({"type": "integer", "format": "int32", "minimum": 0}), "{kind}");
        }
    }

    #[test]
    fn every_line_of_every_schema_was_understood() {
        for kind in &KINDS {
            let lines = kind.schema.lines().filter(|l| !l.is_empty()).count();
            let parsed = notation::parse(kind.schema);
            let columns = parsed.columns.as_array().unwrap().len();
            assert_eq!(columns + notation::count(&parsed.schema), lines, "{}", kind.kind);
        }
    }
}

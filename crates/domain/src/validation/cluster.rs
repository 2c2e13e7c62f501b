//! Metal3Cluster and Metal3ClusterTemplate: where the API of the cluster is reached.

use super::{FieldError, Rule, findings::Findings, node::Node};

pub(super) fn check_cluster(object: &Node<'_>, findings: &mut Findings) {
    let endpoint = object.at("spec").at("controlPlaneEndpoint");
    let host = endpoint.at("host");
    if host.text().is_none() {
        let detail = format!("is required: set {} to the name or address of the control plane", host.path());
        findings.errors.push(FieldError::invalid(Rule::Endpoint, endpoint.path(), "", detail));
    }
}

/// The members that a template must give and does not, with a sentence that says so.
pub(super) fn missing_in_template(object: &Node<'_>) -> Option<String> {
    let endpoint = object.at("spec").at("template").at("spec").at("controlPlaneEndpoint");
    let (host, port) = (endpoint.at("host"), endpoint.at("port"));
    let table = [
        ("ControlPlaneEndpoint.Host", host.path(), host.text().is_some()),
        ("ControlPlaneEndpoint.Port", port.path(), port.int().is_some_and(|port| port != 0)),
    ];
    let missing: Vec<_> = table.iter().filter(|(_, _, given)| !given).collect();
    let names: Vec<&str> = missing.iter().map(|(name, _, _)| *name).collect();
    let paths: Vec<&str> = missing.iter().map(|(_, path, _)| *path).collect();
    (!missing.is_empty())
        .then(|| format!("missing fields from Spec: [{}]: set {}", names.join(" "), paths.join(" and ")))
}

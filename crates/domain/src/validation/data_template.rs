//! Metal3DataTemplate: what it renders is fixed when it is created, because machines are made from it over time.

use super::{FieldError, Rule, data, findings::Findings, inline_range, network, node::Node, warnings};

const CLUSTER_NAME: &str = "spec.clusterName is deprecated and will be removed in a future release. It is no longer \
                            used by the controllers.";

/// The sentence above is that of the Go provider, word for word; this is what it leaves out.
const CLUSTER_NAME_LABELS: &str = "spec.clusterName still sets label cluster.x-k8s.io/cluster-name of the \
                                   Metal3DataTemplate and does nothing else. Without it the label names the one \
                                   Cluster that uses the template.";

pub(super) fn check_new(object: &Node<'_>, findings: &mut Findings) {
    let spec = object.at("spec");
    let meta_data = spec.at("metaData");
    check_host_interfaces(&meta_data.at("fromHostInterfaces"), findings);
    for range in meta_data.at("ipAddresses").items() {
        inline_range::check(&range, None, findings);
    }
    network::check(&spec.at("networkData").at("networks"), findings);
    findings.warnings.extend(warnings::find(&spec));
    warn_of_cluster_name(&spec, findings);
}

pub(super) fn check_changed(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let (old, new) = (old.at("spec"), new.at("spec"));
    for (member, path) in [("metaData", "spec.MetaData"), ("networkData", "spec.NetworkData")] {
        let (was, is) = (old.at(member), new.at(member));
        if was.value() != is.value() {
            let detail = "cannot be modified: machines were made from it. Create a new Metal3DataTemplate with the \
                          change (with the templateReference of the old one or, if it has none, the name of the old one, to continue with its \
                          indexes) and roll out a Metal3MachineTemplate that refers to it";
            findings.errors.push(FieldError::invalid(Rule::DataTemplateFixed, path, is.shown(), detail));
        }
    }
    data::check_key(&old, &new, findings);
    warn_of_cluster_name(&new, findings);
}

fn warn_of_cluster_name(spec: &Node<'_>, findings: &mut Findings) {
    if spec.at("clusterName").text().is_some() {
        findings.warnings.extend([CLUSTER_NAME, CLUSTER_NAME_LABELS].map(str::to_owned));
    }
}

/// An interface by name or the one that the host boots from, not both and not neither.
fn check_host_interfaces(list: &Node<'_>, findings: &mut Findings) {
    for (index, item) in list.items().enumerate() {
        let path = format!("{}.{index}.interface", list.path());
        match (item.at("fromBootMAC").is_true(), item.at("interface").text()) {
            (false, None) => {
                let detail = "interface must be specified when fromBootMAC is false: name the interface, or set \
                              fromBootMAC to true";
                findings.errors.push(FieldError::required(Rule::HostInterface, path, detail));
            }
            (true, Some(name)) => {
                let detail = "interface must be empty when fromBootMAC is true: remove one of them";
                findings.errors.push(FieldError::invalid(Rule::HostInterface, path, name, detail));
            }
            _ => {}
        }
    }
}

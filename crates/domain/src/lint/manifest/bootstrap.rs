//! The bootstrap texts of the machines of an owner.

use super::owners::descend;
use crate::{
    lint::{Manifests, ObjectId, RawObject},
    validation::node::Node,
};

/// The members of an owner, or of the template that it names, that hold what a machine boots with.
fn configs<'a>(manifests: &'a Manifests<'a>, owner: &'a RawObject<'a>) -> Vec<(ObjectId, Node<'a>)> {
    let spec = owner.root().at("spec");
    let own = spec.at("kubeadmConfigSpec");
    if own.value().is_some() {
        return vec![(owner.id, own)];
    }
    let reference = descend(&spec, &["template", "spec", "bootstrap", "configRef"]);
    let (Some(kind), Some(name)) = (reference.at("kind").text(), reference.at("name").text()) else {
        return Vec::new();
    };
    let found = manifests.find(kind, &owner.namespace, name);
    let config = |object: &RawObject<'a>| (object.id, descend(&object.root(), &["spec", "template", "spec"]));
    found.map(config).into_iter().collect()
}

/// Every text that a machine of the owner boots with.
pub(super) fn texts<'a>(manifests: &'a Manifests<'a>, owner: &'a RawObject<'a>) -> Vec<(ObjectId, Node<'a>)> {
    let mut texts = Vec::new();
    for (id, config) in configs(manifests, owner) {
        let mut open = vec![config];
        while let Some(node) = open.pop() {
            if node.text().is_some() {
                texts.push((id, node));
            } else {
                open.extend(node.items());
                open.extend(node.members().map(|(_, member)| member));
            }
        }
    }
    texts
}

/// The arguments of each kubelet that a machine of the owner starts, by name: a map, or a list of names and values.
pub(super) fn kubelet_arguments<'a>(
    manifests: &'a Manifests<'a>,
    owner: &'a RawObject<'a>,
) -> Vec<(ObjectId, Vec<(&'a str, Node<'a>)>)> {
    let mut all = Vec::new();
    for (id, config) in configs(manifests, owner) {
        for phase in ["initConfiguration", "joinConfiguration"] {
            let arguments = descend(&config, &[phase, "nodeRegistration", "kubeletExtraArgs"]);
            let listed =
                arguments.items().filter_map(|item| Some((item.at("name").text()?, item.at("value"))));
            let arguments: Vec<_> = arguments.members().chain(listed).collect();
            if !arguments.is_empty() {
                all.push((id, arguments));
            }
        }
    }
    all
}

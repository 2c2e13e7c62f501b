//! A Node has the provider ID of a host here that no machine has.

use capm3_api::{
    neighbours::{BareMetalHost, Node},
    v1beta2::Metal3Machine,
};
use capm3_domain::provider_id::SomeProviderId;
use capm3_engine::ObjectKey;

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C009",
    severity: Severity::Warning,
    title: "Node with the provider ID of a machine that does not exist",
    why: "The machine of the Node is gone and the Node stayed, or the Node was given its ID by hand. Nothing deletes it, and \
          it may stand for a host that somebody else uses now. Nodes are looked at where they are in the files, or in a \
          cluster that manages itself.",
    repair: "Delete the Node once nothing runs on it.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |node: &Node| {
        let text = node.spec.provider_id.as_deref()?;
        let SomeProviderId::Current(id) = text.parse().ok()? else { return None };
        let (host, machine) =
            (ObjectKey::new(id.namespace(), id.host()), ObjectKey::new(id.namespace(), id.machine()));
        // Without the host it is a Node of another management cluster.
        view.get::<BareMetalHost>(&host)?;
        if !view.is_gone::<Metal3Machine>(&machine) {
            return None;
        }
        let finding =
            Finding::on(node, format!("has provider ID {text}, and Metal3Machine {machine} does not exist"))
                .fact(node, "spec.providerID", text)
                .absent::<Metal3Machine>(&machine);
        Some(finding.repair(Repair::person("delete the Node if nothing runs on it", [Step::delete(node)])))
    };
    view.nodes().iter().filter_map(|node| left(node)).collect()
}

//! A Secret that does not follow its cluster.

use std::collections::BTreeMap;

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, RawObject, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L015"),
    title: "a Secret of the user is left behind by clusterctl move",
    severity: Severity::Warning,
    why: "`clusterctl move` takes along what belongs to the Cluster by owner references, and what is \
          labelled for it. A Secret that a template names and that is neither stays behind: in the new \
          cluster machines wait for it.",
    mend: "label the Secret with clusterctl.cluster.x-k8s.io/move",
    example: Example {
        wrong: r#"kind: Secret
metadata: {name: my-network-data}"#,
        right: r#"kind: Secret
metadata:
  name: my-network-data
  labels: {clusterctl.cluster.x-k8s.io/move: "true"}"#,
    },
    check: Check::Manifests(check),
};

/// Labels for which clusterctl takes an object along.
const LABELS: [&str; 2] = ["clusterctl.cluster.x-k8s.io/move", "clusterctl.cluster.x-k8s.io/move-hierarchy"];

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = BTreeMap::new();
    for (namespace, name, template) in manifests.machine_templates.iter() {
        let spec = &template.object.spec.template.spec;
        for secret in [&spec.user_data, &spec.meta_data, &spec.network_data].into_iter().flatten() {
            let found = manifests.find("Secret", namespace, secret.name_str());
            let Some(found) = found.filter(|found| !follows(found)) else { continue };
            let message = format!(
                "Metal3MachineTemplate {name} names this Secret, and clusterctl move leaves it behind"
            );
            drafts.entry(found.id).or_insert(Draft::new("metadata.name", message));
        }
    }
    drafts.into_iter().collect()
}

fn follows(secret: &RawObject<'_>) -> bool {
    let metadata = secret.root().at("metadata");
    let has_label = LABELS.iter().any(|label| metadata.at("labels").at(label).value().is_some());
    has_label || metadata.at("ownerReferences").items().next().is_some()
}

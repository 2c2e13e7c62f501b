//! Templates that give out the same addresses.

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    render::{Overlap, inline_limit, overlap},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L023"),
    title: "inline ranges of two templates have addresses in common",
    severity: Severity::Warning,
    why: "Each template counts its own indexes, so two machines may get the same address. Templates with \
          one spec.templateReference share their indexes.",
    mend: "use ranges without common addresses or, if one template replaces the other, the same \
          spec.templateReference",
    example: Example {
        wrong: r#"kind: Metal3DataTemplate
metadata: {name: a}
spec: {metaData: {ipAddresses: [{key: ip, subnet: 10.0.0.0/24}]}}
---
kind: Metal3DataTemplate
metadata: {name: b}
spec: {metaData: {ipAddresses: [{key: ip, subnet: 10.0.0.0/24}]}}"#,
        right: r#"kind: Metal3DataTemplate
metadata: {name: a}
spec: {metaData: {ipAddresses: [{key: ip, subnet: 10.0.0.0/24}]}}
---
kind: Metal3DataTemplate
metadata: {name: b}
spec: {templateReference: a, metaData: {ipAddresses: [{key: ip, subnet: 10.0.0.0/24}]}}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let templates = manifests.data_templates.iter().map(|(_, _, template)| template);
    let mut ranged: Vec<_> =
        templates.filter(|template| inline_limit(&template.object.spec).is_some()).collect();
    ranged.sort_by_key(|template| template.id);
    let mut drafts = Vec::new();
    for (position, later) in ranged.iter().enumerate() {
        for earlier in ranged.iter().take(position) {
            if let Some(Overlap { other, address }) = overlap(&later.object, &earlier.object) {
                let message = format!("Metal3DataTemplate {other} gives address {address} out too");
                drafts.push((later.id, Draft::new("spec", message)));
            }
        }
    }
    drafts
}

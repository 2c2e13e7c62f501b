//! A rendered Secret belongs to no data.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::SecretMetadata,
    v1beta2::{GROUP, Metal3Data},
    vocabulary::annotation,
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C042",
    severity: Severity::Warning,
    title: "rendered Secret without data",
    why: "The Metal3Data that owns the Secret is gone, or the owner reference was removed. The next machine of that name finds \
          a Secret that is not its own and waits.",
    repair: "The Secret is deleted if no host and no machine names it.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |secret: &SecretMetadata| {
        let owner = secret.metadata.owner(GROUP, Metal3Data::API.kind);
        let is_left = match owner {
            Some(owner) => view.is_owner_gone::<Metal3Data>(&secret.metadata, owner),
            None => {
                secret.metadata.annotation(annotation::INPUTS_DIGEST).is_some()
                    && secret.metadata.owner_references.as_ref().is_none_or(Vec::is_empty)
            }
        };
        if !is_left {
            return None;
        }
        let name = owner.map_or("none", |owner| owner.name.as_str());
        let mut finding = Finding::on(secret, "was rendered for data that does not exist").fact(
            secret,
            "metadata.ownerReferences",
            name,
        );
        if let Some(owner) = owner {
            finding = finding.absent::<Metal3Data>(&beside(&secret.metadata, &owner.name));
        }
        Some(finding.repair(match view.is_secret_used(&secret.key()) {
            false => Repair::fix("delete the Secret", [Step::delete(secret)]),
            true => Repair::person(
                "a host or a machine names the Secret: find out who made it before it is deleted",
                [],
            ),
        }))
    };
    view.not_deleting::<SecretMetadata>().iter().filter_map(|secret| left(secret)).collect()
}

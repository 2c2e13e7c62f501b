//! An address claim of some data outlives it.

use capm3_api::{
    ipam::IpClaim,
    metadata::MetadataExt,
    neighbours::IpAddressClaim,
    v1beta2::{GROUP, Metal3Data},
    vocabulary::{finalizer, label},
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C051",
    severity: Severity::Error,
    title: "address claim without data",
    why: "The Metal3Data that asked for the address is gone, and the claim stayed: its owner reference is missing or was not \
          restored. The pool keeps the address for nobody. Claims that people make for themselves are not meant.",
    repair: "The claim is deleted, and its address with it.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let metal3 = view.not_deleting::<IpClaim>();
    let capi = view.not_deleting::<IpAddressClaim>();
    metal3
        .iter()
        .filter_map(|claim| left(view, claim.as_ref()))
        .chain(capi.iter().filter_map(|claim| left(view, claim.as_ref())))
        .collect()
}

fn left<C: Object>(view: &View<'_>, claim: &C) -> Option<Finding> {
    let metadata = claim.meta();
    let owner = metadata.owner(GROUP, Metal3Data::API.kind);
    let data = match owner {
        Some(owner) => {
            view.is_owner_gone::<Metal3Data>(metadata, owner).then(|| beside(metadata, &owner.name))?
        }
        None => {
            let name =
                metadata.label(label::DATA_NAME).filter(|_| metadata.has_finalizer(finalizer::DATA))?;
            Some(beside(metadata, name)).filter(|data| view.is_gone::<Metal3Data>(data))?
        }
    };
    let finding = Finding::on(claim, format!("belongs to Metal3Data {data}, which does not exist"))
        .fact(claim, "metadata.ownerReferences", owner.map_or("none", |owner| &owner.name))
        .absent::<Metal3Data>(&data);
    Some(
        finding
            .repair(Repair::fix("delete the claim: its address can be given again", [Step::delete(claim)])),
    )
}

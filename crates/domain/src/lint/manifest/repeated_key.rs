//! A metadata key that is given twice.

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    validation::repeated_keys,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L013"),
    title: "a metadata key is given twice",
    severity: Severity::Warning,
    why: "Each key has one value. The lists of metaData are rendered in a fixed order, and later ones \
          win, so all values but one have no effect.",
    mend: "remove one of them, or give it another key",
    example: Example {
        wrong: r#"metaData:
  ipAddressesFromPool: [{key: ip, name: pool}]
  prefixesFromPool: [{key: ip, name: pool}]"#,
        right: r#"metaData:
  ipAddressesFromPool: [{key: ip, name: pool}]
  prefixesFromPool: [{key: prefix, name: pool}]"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for template in manifests.of_kind("Metal3DataTemplate") {
        let repeated = repeated_keys(&template.root().at("spec").at("metaData"));
        drafts.extend(repeated.into_iter().map(|(place, message)| (template.id, Draft::new(place, message))));
    }
    drafts
}

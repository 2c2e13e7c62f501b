//! A free host names a Secret that does not exist.

use capm3_api::neighbours::{BareMetalHost, SecretMetadata};
use serde_json::{Map, Value, json};

use super::{Finding, Repair, Rule, Severity, Step, View, beside, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C012",
    severity: Severity::Warning,
    title: "free host that names a Secret which does not exist",
    why: "The Go provider leaves userData, metaData and networkData of a deleted machine on the host. The next machine \
          removes them before it writes the image; until then they mislead whoever reads the host.",
    repair: "The fields are removed. A host that is in use is not touched.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let stale = |host: &BareMetalHost| {
        let mut finding = Finding::on(host, "is free and names Secrets that do not exist");
        let mut fields = Map::new();
        for (field, secret) in super::secrets_of(host) {
            if view.is_secret_gone(&host.metadata, secret) {
                finding = finding
                    .fact(host, &format!("spec.{field}.name"), secret.name_str())
                    .absent::<SecretMetadata>(&beside(&host.metadata, secret.name_str()));
                fields.insert(field.to_owned(), Value::Null);
            }
        }
        if is_in_use(host) || fields.is_empty() {
            return None;
        }
        let step = Step::patch(host, json!({ "spec": fields }));
        Some(finding.repair(Repair::fix("remove the references to these Secrets", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| stale(host)).collect()
}

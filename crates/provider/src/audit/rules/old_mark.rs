//! A host is marked unhealthy under the key of older releases.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C019",
    severity: Severity::Warning,
    title: "host marked unhealthy under the older key",
    why: "capi.metal3.io/unhealthy is the key of releases before the migration. It still keeps the host from being chosen, \
          but tools that look for the present key do not see it.",
    repair: "The mark of a free host moves to capm3.metal3.io/unhealthy. For a host in use the command is printed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let marked = |host: &BareMetalHost| {
        let value = host.metadata.annotation(annotation::UNHEALTHY_OLD)?;
        let kept = host.metadata.annotation(annotation::UNHEALTHY).unwrap_or(value);
        let patch = json!({"metadata": {"annotations": {annotation::UNHEALTHY_OLD: null, annotation::UNHEALTHY: kept}}});
        let (text, step) = ("move the mark to the present key", Step::patch(host, patch));
        let finding = Finding::on(host, "is marked unhealthy under the key of older releases").fact(
            host,
            &format!("metadata.annotations[{}]", annotation::UNHEALTHY_OLD),
            format!("{value:?}"),
        );
        Some(finding.repair(match is_in_use(host) {
            true => Repair::command(text, [step]),
            false => Repair::fix(text, [step]),
        }))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| marked(host)).collect()
}

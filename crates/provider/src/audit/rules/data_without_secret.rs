//! Rendered data lacks its Secret.

use capm3_api::{neighbours::SecretMetadata, reference::SecretRef, v1beta2::Metal3Data};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C040",
    severity: Severity::Error,
    title: "rendered data without its Secret",
    why: "The Secret of a ready Metal3Data was deleted. The provider makes it again, but only while it runs and while \
          template, machine and addresses exist; without it the host cannot be provisioned again.",
    repair: "Start the manager; if the Secret does not come back, `capm3 explain` shows what it lacks.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |data: &Metal3Data| {
        let named = [("metaData", &data.spec.meta_data), ("networkData", &data.spec.network_data)];
        let is_lost = |secret: &&SecretRef| view.is_secret_gone(&data.metadata, secret);
        let (field, secret) =
            named.into_iter().find_map(|(field, secret)| Some((field, secret.as_ref().filter(is_lost)?)))?;
        if data.status.ready != Some(true) {
            return None;
        }
        let key = beside(&data.metadata, secret.name_str());
        let finding = Finding::on(data, format!("is ready, and its Secret {key} does not exist"))
            .fact(data, &format!("spec.{field}.name"), secret.name_str())
            .fact(data, "status.ready", true)
            .absent::<SecretMetadata>(&key);
        let machine = view.machine_of_data(data).map_or_else(|| data.key(), Clone::clone);
        let text = "check that the manager runs: it renders the Secret again";
        Some(finding.repair(Repair::person(text, [Step::explain("metal3machine", &machine)])))
    };
    view.not_deleting::<Metal3Data>().iter().filter_map(|data| lacking(data)).collect()
}

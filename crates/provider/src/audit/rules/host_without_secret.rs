//! A host in use names a Secret that does not exist.

use capm3_api::{
    neighbours::{BareMetalHost, SecretMetadata},
    v1beta2::Metal3Machine,
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside, is_in_use};
use crate::baremetalhost::consumer_machine;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C023",
    severity: Severity::Error,
    title: "host in use that names a Secret which does not exist",
    why: "The host operator needs userData, metaData and networkData whenever it provisions the host. A node that runs \
          does not notice; the next provisioning fails.",
    repair: "Bring the Secret back. Rendered Secrets are made again by the provider while their Metal3Data exists.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |host: &BareMetalHost| {
        let gone = super::secrets_of(host).into_iter();
        let (field, secret) =
            gone.into_iter().find(|(_, secret)| view.is_secret_gone(&host.metadata, secret))?;
        // A machine that does not exist takes its Secrets with it, and has a rule of its own.
        let is_orphaned =
            consumer_machine(host).is_some_and(|machine| view.is_gone::<Metal3Machine>(&machine));
        if !is_in_use(host) || is_orphaned {
            return None;
        }
        let key = beside(&host.metadata, secret.name_str());
        let finding =
            Finding::on(host, format!("is in use and names Secret {key} as {field}, which does not exist"))
                .fact(host, &format!("spec.{field}.name"), secret.name_str())
                .absent::<SecretMetadata>(&key);
        let step = Step::explain("host", &host.key());
        Some(finding.repair(Repair::person("bring the Secret back", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| lacking(host)).collect()
}

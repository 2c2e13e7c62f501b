//! A host that nobody consumes has an image.

use capm3_api::neighbours::BareMetalHost;
use capm3_domain::host::has_image;
use capm3_engine::Object;
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View};
use crate::indexes::MACHINES_BY_HOST;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C011",
    severity: Severity::Warning,
    title: "host without consumer that has an image",
    why: "No machine put the image there, or the machine that did is gone. Such a host is never chosen, and its operator \
          provisions whatever spec.image says.",
    repair: "If nobody needs what is on the disk, remove the image: the host operator then deprovisions the host.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let foreign = |host: &BareMetalHost| {
        let is_known = !view.by_index(&MACHINES_BY_HOST, &host.key().to_string()).is_empty();
        if host.spec.consumer_ref.is_some()
            || !has_image(host)
            || host.spec.externally_provisioned
            || is_known
        {
            return None;
        }
        let image =
            host.spec.image.as_ref().and_then(|image| image.url.as_deref()).unwrap_or("spec.customDeploy");
        let patch = json!({"spec": {"image": null, "customDeploy": null, "userData": null, "metaData": null, "networkData": null}});
        let text =
            "if nobody needs what is on the disk, remove the image: the operator then deprovisions the host";
        let finding = Finding::on(host, "has an image and no consumer")
            .fact(host, "spec.image.url", image)
            .fact(host, "spec.consumerRef", "not set");
        Some(finding.repair(Repair::person(text, [Step::patch(host, patch)])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| foreign(host)).collect()
}

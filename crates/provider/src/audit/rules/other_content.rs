//! A Secret holds something else than what would be rendered now.

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Data, vocabulary::annotation};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, delete_machine, owner_name};
use crate::metal3data::{Differing, Settings, differing_secrets, observe};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C041",
    severity: Severity::Warning,
    title: "Secret that differs from what would be rendered",
    why: "Annotation capm3.metal3.io/content-digest of a rendered Secret is that of another document than the template, the \
          index, the addresses, the machine and the host give now. The Secret is left alone, because a node that is \
          provisioned again must find its data unchanged. Only digests are compared; no content is read.",
    repair: "Nothing, if the template was changed on purpose. To give the node the present data, replace the machine.",
    find,
};

/// As much of a digest as people compare.
const SHORT: usize = 16;

fn find(view: &View<'_>) -> Vec<Finding> {
    let datas = view.not_deleting::<Metal3Data>();
    datas
        .iter()
        .filter(|data| data.status.ready == Some(true))
        .flat_map(|data| differing(view, data))
        .collect()
}

fn differing(view: &View<'_>, data: &Metal3Data) -> Vec<Finding> {
    let Some(snapshot) = observe(view.reader(), &data.key(), Settings::default()) else { return Vec::new() };
    let report = |it: Differing| {
        let secret = it.secret.as_ref();
        let mut finding = Finding::on(secret, "holds another document than would be rendered now")
            .fact(
                secret,
                &format!("metadata.annotations[{}]", annotation::CONTENT_DIGEST),
                short(&it.recorded),
            )
            .fact(data, "digest of what would be rendered", short(&it.rendered));
        if let Some(template) = snapshot.template.as_deref() {
            finding = finding.there(template);
        }
        let mut ways = Vec::new();
        if let (Some(host), Some(machine)) = (snapshot.host.as_deref(), snapshot.metal3_machine.as_deref()) {
            finding = finding.there(machine);
            let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
            let render = format!("capm3 render --diff -f MANIFESTS --host {name} -n {namespace}");
            ways = vec![Step::Run(render), delete_machine(owner_name(machine), machine)];
        }
        finding.repair(Repair::person(
            "nothing, if the template was changed on purpose; else replace the machine",
            ways,
        ))
    };
    differing_secrets(&snapshot).into_iter().map(report).collect()
}

fn short(digest: &str) -> &str {
    digest.get(..SHORT).unwrap_or(digest)
}

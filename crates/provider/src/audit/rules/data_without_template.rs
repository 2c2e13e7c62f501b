//! The template of some data does not exist.

use capm3_api::v1beta2::{Metal3Data, Metal3DataTemplate};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C035",
    severity: Severity::Warning,
    title: "data whose template does not exist",
    why: "The Metal3DataTemplate was removed together with its finalizer. Its data still count for nobody, and a template of \
          that name that is made again would give their indexes again until it has seen them.",
    repair: "Create the template again under its name.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |data: &Metal3Data| {
        let template = beside(&data.metadata, data.spec.template.as_ref()?.name_str());
        if template.name.is_empty() || !view.is_gone::<Metal3DataTemplate>(&template) {
            return None;
        }
        let finding = Finding::on(data, format!("is of Metal3DataTemplate {template}, which does not exist"))
            .fact(data, "spec.template.name", &template.name)
            .absent::<Metal3DataTemplate>(&template);
        let ways: Vec<Step> = match view.machine_of_data(data) {
            Some(machine) => vec![Step::explain("metal3machine", machine)],
            None => vec![Step::delete(data)],
        };
        Some(finding.repair(Repair::person(
            "create the template again, or delete the data if no machine uses it",
            ways,
        )))
    };
    let found = view.not_deleting::<Metal3Data>();
    found.iter().filter(|data| !data.is_gone()).filter_map(|data| lacking(data)).collect()
}

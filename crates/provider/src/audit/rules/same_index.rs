//! Two data have one index.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::v1beta2::Metal3Data;
use capm3_domain::index::space_of_data;
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C034",
    severity: Severity::Error,
    title: "one index given twice",
    why: "Two Metal3Data of one index space have the same index, so two nodes get the same names and computed addresses. \
          Upgrades of the Go provider past 1.10 with templateReference, and restores into a cluster in use, lead to it.",
    repair: "Replace one of both machines: it gets a free index. Data that no machine uses is deleted.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_index: BTreeMap<(String, String, i32), Vec<Arc<Metal3Data>>> = BTreeMap::new();
    for data in view.not_deleting::<Metal3Data>() {
        if let (Some(space), Some(index)) = (space_of_data(&data), data.spec.index) {
            let place = (data.key().namespace, space.to_owned(), index);
            by_index.entry(place).or_default().push(Arc::clone(&data));
        }
    }
    by_index.iter().filter_map(|((_, space, index), datas)| report(view, space, *index, datas)).collect()
}

fn report(view: &View<'_>, space: &str, index: i32, datas: &[Arc<Metal3Data>]) -> Option<Finding> {
    let (first, others) = datas.split_first()?;
    let last = others.last()?;
    let message = format!("has index {index} of {space}, as Metal3Data {} has", first.key());
    let finding = datas.iter().fold(Finding::on(last.as_ref(), message), |finding, data| {
        finding.fact(data.as_ref(), "spec.index", index)
    });
    let unused = datas.iter().rev().filter(|data| view.machine_of_data(data).is_none());
    let mut ways: Vec<Step> = unused.map(|data| Step::delete(data.as_ref())).collect();
    if ways.is_empty() {
        let machines = datas.iter().filter_map(|data| view.machine_of_data(data));
        ways.extend(machines.map(|machine| Step::explain("metal3machine", machine)));
    }
    Some(
        finding.repair(Repair::person(
            "delete the data that no machine uses, or replace one of the machines",
            ways,
        )),
    )
}

//! The status of a template counts other indexes than there are.

use std::collections::BTreeSet;

use capm3_api::v1beta2::{IndexEntry, Metal3Data, Metal3DataTemplate};
use capm3_engine::Object;
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View};
use crate::{indexes::DATA_BY_TEMPLATE, metal3datatemplate::index_entries};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C036",
    severity: Severity::Warning,
    title: "template whose status shows other indexes than its data have",
    why: "status.indexes mirrors the data. Entries of data that are gone, as the Go provider leaves them, make people \
          believe that indexes are in use.",
    repair: "The status is written again from the data.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    if !view.knows_all::<Metal3Data>() {
        return Vec::new();
    }
    let templates = view.not_deleting::<Metal3DataTemplate>();
    templates.iter().filter_map(|template| differs(view, template)).collect()
}

fn differs(view: &View<'_>, template: &Metal3DataTemplate) -> Option<Finding> {
    if template.status.indexes.is_empty() && template.status.last_updated.is_none() {
        // Nobody has written it yet.
        return None;
    }
    let key = template.key();
    let datas = view.by_index(&DATA_BY_TEMPLATE, &key.to_string());
    let entries = index_entries(&key.name, datas.iter().map(AsRef::as_ref));
    let indexes = |entries: &[IndexEntry]| entries.iter().map(|entry| entry.index).collect::<BTreeSet<i32>>();
    let (shown, there) = (indexes(&template.status.indexes), indexes(&entries));
    if shown == there {
        return None;
    }
    let more: Vec<String> = shown.difference(&there).map(ToString::to_string).collect();
    let fewer: Vec<String> = there.difference(&shown).map(ToString::to_string).collect();
    let list = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let message =
        format!("shows {} indexes in status.indexes, and its data have {}", shown.len(), there.len());
    let mut finding = Finding::on(template, message)
        .fact(template, "status.indexes without data", list(&more))
        .fact(template, "data not in status.indexes", list(&fewer));
    // Data that changed lately are about to be counted.
    for data in datas.iter().filter(|data| data.spec.index.is_some_and(|index| !shown.contains(&index))) {
        finding = finding.there(data.as_ref());
    }
    let step = Step::patch_status(template, json!({ "indexes": entries }));
    Some(finding.repair(Repair::fix("write status.indexes again from the data", [step])))
}

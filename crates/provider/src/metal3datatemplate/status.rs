//! `status.indexes`: a mirror of the objects, never a source.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{IndexEntry, Metal3Data},
};

/// The entry of data that a claim holds. Data without an index or without a claim's name has none. The name of the
/// data is given where it does not follow from the template's.
pub(super) fn entry(template: &str, claim: &str, index: i32, data: &str) -> Option<IndexEntry> {
    if claim.is_empty() || index < 0 {
        return None;
    }
    let follows =
        || data.strip_prefix(template).and_then(|rest| rest.strip_prefix('-')) == Some(&index.to_string());
    let data_name = (!data.is_empty() && !follows()).then(|| data.to_owned());
    Some(IndexEntry { name: claim.to_owned(), index, data_name })
}

/// Who holds which index, ascending.
pub(super) fn sorted(mut entries: Vec<IndexEntry>) -> Vec<IndexEntry> {
    entries.sort_by(|a, b| a.index.cmp(&b.index).then_with(|| a.name.cmp(&b.name)));
    entries
}

/// Who holds which index, if these are all data of the template.
pub(crate) fn entries<'d>(template: &str, datas: impl Iterator<Item = &'d Metal3Data>) -> Vec<IndexEntry> {
    let held = datas.filter_map(|data| {
        entry(template, data.spec.claim.as_ref()?.name_str(), data.spec.index?, data.metadata.name_str())
    });
    sorted(held.collect())
}

//! `status.indexes`: a mirror of the objects, never a source.

use capm3_api::v1beta2::{IndexEntry, Metal3Data};

/// Who holds which index, ascending. Data without an index or without a claim's name has no entry. The name of the data
/// is told where it does not follow from the template's.
pub(super) fn indexes<'a>(template: &str, holders: impl Iterator<Item = &'a Metal3Data>) -> Vec<IndexEntry> {
    let mut entries: Vec<IndexEntry> = holders.filter_map(|data| entry(template, data)).collect();
    entries.sort_by(|a, b| a.index.cmp(&b.index).then_with(|| a.name.cmp(&b.name)));
    entries
}

fn entry(template: &str, data: &Metal3Data) -> Option<IndexEntry> {
    let name = data.spec.claim.as_ref()?.name.clone().filter(|name| !name.is_empty())?;
    let index = data.spec.index.filter(|index| *index >= 0)?;
    let data_name = data.metadata.name.clone().filter(|name| *name != format!("{template}-{index}"));
    Some(IndexEntry { name, index, data_name })
}

//! The objects of files, as far as they can be read.

use std::{collections::BTreeSet, path::PathBuf};

use capm3_api::metadata::group_of;
use capm3_engine::manifests;
use capm3_offline::stored;
use capm3_provider::audit::Inventory;

use crate::{
    exit::{self, Failure},
    problems,
};

/// Reads files. What cannot be read is reported and left out. Files tell all of a kind if they have one object of it and all
/// that they have can be read: files without any machine are no sign that the machine of a host is gone.
pub(super) fn read(files: &[PathBuf]) -> Result<Inventory, Failure> {
    let reading = manifests::read(files)?;
    let mut inventory = Inventory::default();
    let (mut read, mut unread) = (BTreeSet::new(), BTreeSet::new());
    let is_whole = reading.problems.is_empty();
    let mut left_out = reading.problems;
    for document in &reading.documents {
        let kind = (group_of(document.api_version()).to_owned(), document.kind().to_owned());
        let added = stored::value(document)
            .and_then(|value| inventory.add(&value).map_err(|error| document.problem("", error)));
        match added {
            Ok(()) => read.insert(kind),
            Err(problem) => {
                left_out.push(problem);
                unread.insert(kind)
            }
        };
    }
    for line in problems::lines(&left_out) {
        exit::say(format_args!("left out: {line}"));
    }
    if !is_whole {
        exit::say("a part of the files cannot be read: nothing counts as absent");
        return Ok(inventory);
    }
    for (group, kind) in read.difference(&unread) {
        inventory.mark_complete(group, kind);
    }
    Ok(inventory)
}

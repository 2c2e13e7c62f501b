//! `--fix`: shows what would change in the files, asks, and changes them.

use std::{collections::BTreeMap, fs, path::Path};

use capm3_engine::manifests::STDIN;
use capm3_offline::lint::{Edit, Report};

use crate::{
    ask,
    exit::{self, Failure},
};

/// Applies what corrects mistakes, after a look at the difference. `true` if files were changed.
pub fn apply(report: &Report, texts: &[(String, String)], yes: bool) -> Result<bool, Failure> {
    let changed = changed(report, texts);
    if changed.is_empty() {
        exit::say("nothing to fix: no mistake has a correction that is safe");
        return Ok(false);
    }
    for (file, (before, after)) in &changed {
        exit::say(difference(file, before, after).trim_end());
    }
    let count = changed.len();
    let what = if count == 1 { "this file".to_owned() } else { format!("these {count} files") };
    if !yes && !ask::is_agreed(&format!("Change {what}?"), &format!("add --yes to change {what}"))? {
        exit::say("nothing was changed");
        return Ok(false);
    }
    for (file, (_, after)) in &changed {
        if *file == STDIN {
            return Err(Failure::Usage("standard input cannot be changed: write it to a file".to_owned()));
        }
        fs::write(Path::new(file), after)
            .map_err(|error| Failure::CouldNotRun(format!("{file}: cannot be written: {error}")))?;
    }
    Ok(true)
}

/// Texts before and after, by file.
fn changed<'t>(report: &Report, texts: &'t [(String, String)]) -> BTreeMap<&'t str, (&'t str, String)> {
    let mut changed = BTreeMap::new();
    for (file, text) in texts {
        let of_file = report.mistakes.iter().filter(|mistake| mistake.file == *file);
        let edits: Vec<&Edit> = of_file.filter_map(|mistake| mistake.edit.as_ref()).collect();
        if !edits.is_empty() {
            changed.insert(file.as_str(), (text.as_str(), edited(text, edits)));
        }
    }
    changed
}

/// The text with the edits. Of two that overlap the first is made; the next run finds the other.
fn edited(text: &str, mut edits: Vec<&Edit>) -> String {
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    let (mut edited, mut done) = (String::new(), 0);
    for edit in edits {
        if edit.bytes.start < done {
            continue;
        }
        edited.push_str(text.get(done..edit.bytes.start).unwrap_or_default());
        edited.push_str(&edit.text);
        done = edit.bytes.end;
    }
    edited.push_str(text.get(done..).unwrap_or_default());
    edited
}

/// The lines that differ, in the form that `diff -u0` prints. An edit never adds or removes a line.
fn difference(file: &str, before: &str, after: &str) -> String {
    let mut text = format!("--- {file}\n+++ {file}\n");
    for (number, (old, new)) in (1..).zip(before.lines().zip(after.lines())) {
        if old != new {
            text.push_str(&format!("@@ -{number} +{number} @@\n-{old}\n+{new}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_from_the_start_and_overlapping_ones_left_for_the_next_run() {
        let edit = |bytes, text: &str| Edit { bytes, text: text.to_owned() };
        let edits = [edit(4..7, "TWO"), edit(0..3, "1"), edit(5..9, "x")];
        let after = edited("one two three\n", edits.iter().collect());
        assert_eq!(after, "1 TWO three\n");
        let difference = difference("f.yaml", "one two three\n", &after);
        assert_eq!(difference, "--- f.yaml\n+++ f.yaml\n@@ -1 +1 @@\n-one two three\n+1 TWO three\n");
    }
}

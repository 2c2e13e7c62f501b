//! Two texts compared line by line, in the form that `diff -u` prints.

use std::{fmt::Write, ops::Range};

/// Lines of equal text around a difference.
const CONTEXT: usize = 3;

/// What a line is to the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Removed,
    Added,
}

/// The differences of two texts under their names; none where they are equal.
///
/// ```
/// use capm3_offline::render::unified;
///
/// let text = unified("a", "b", "x: 1\ny: 2\n", "x: 1\ny: 3\n").unwrap();
/// assert_eq!(text, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x: 1\n-y: 2\n+y: 3\n");
/// assert_eq!(unified("a", "b", "same", "same"), None);
/// ```
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let script = script(&old, &new);
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks(&script) {
        write_hunk(&mut text, &script, hunk);
    }
    Some(text)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Every line of both texts, in the order of a shortest edit.
fn script<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Kind, &'t str)> {
    let lengths = common_lengths(old, new);
    let length = |i: usize, j: usize| lengths.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j) = (0, 0);
    let mut script = Vec::with_capacity(old.len() + new.len());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                script.push((Kind::Same, *a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || length(i + 1, j) >= length(i, j + 1) => {
                script.push((Kind::Removed, *a));
                i += 1;
            }
            (_, Some(b)) => {
                script.push((Kind::Added, *b));
                j += 1;
            }
            (_, None) => return script,
        }
    }
}

/// How many lines the rests of both texts have in common, from each pair of lines on. Documents are short, so the
/// table is small.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut rows = vec![vec![0; new.len() + 1]];
    for a in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; new.len() + 1];
        let mut right = 0;
        for (j, b) in new.iter().enumerate().rev() {
            let at = |j: usize| below.get(j).copied().unwrap_or(0);
            right = if a == b { at(j + 1) + 1 } else { at(j).max(right) };
            if let Some(cell) = row.get_mut(j) {
                *cell = right;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

/// Stretches of the script that have differences, with some lines around them.
fn hunks(script: &[(Kind, &str)]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (at, _) in script.iter().enumerate().filter(|(_, (kind, _))| *kind != Kind::Same) {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(script.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

fn write_hunk(text: &mut String, script: &[(Kind, &str)], hunk: Range<usize>) {
    let of = |range: Range<usize>, other: Kind| {
        let lines = script.get(range).unwrap_or_default();
        lines.iter().filter(|(kind, _)| *kind != other).count()
    };
    let place = |other: Kind| {
        let (before, count) = (of(0..hunk.start, other), of(hunk.clone(), other));
        let first = if count == 0 { before } else { before + 1 };
        if count == 1 { first.to_string() } else { format!("{first},{count}") }
    };
    writeln!(text, "@@ -{} +{} @@", place(Kind::Added), place(Kind::Removed)).expect("text takes every line");
    for (kind, line) in script.get(hunk).unwrap_or_default() {
        let sign = match kind {
            Kind::Same => ' ',
            Kind::Removed => '-',
            Kind::Added => '+',
        };
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        write!(text, "{sign}{line}{end}").expect("text takes every line");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(old: &str, new: &str) -> String {
        unified("a", "b", old, new).unwrap_or_default().replace("--- a\n+++ b\n", "")
    }

    #[test]
    fn texts_that_differ_far_apart_give_two_hunks_and_near_ones_give_one() {
        let text =
            |first: &str, last: &str, between: usize| format!("{first}\n{}{last}\n", "=\n".repeat(between));
        assert_eq!(
            differences(&text("x", "y", 7), &text("X", "Y", 7)),
            "@@ -1,4 +1,4 @@\n-x\n+X\n =\n =\n =\n@@ -6,4 +6,4 @@\n =\n =\n =\n-y\n+Y\n"
        );
        assert_eq!(differences(&text("x", "y", 6), &text("X", "Y", 6)).matches("@@ -").count(), 1);
    }

    #[test]
    fn a_text_that_was_not_there_is_added_and_one_that_goes_is_removed() {
        assert_eq!(differences("", "x\ny\n"), "@@ -0,0 +1,2 @@\n+x\n+y\n");
        assert_eq!(differences("x\n", ""), "@@ -1 +0,0 @@\n-x\n");
    }

    #[test]
    fn a_missing_end_of_line_is_reported() {
        assert_eq!(differences("x", "x\n"), "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
    }
}

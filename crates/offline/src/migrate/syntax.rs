//! Text that no YAML reader takes, and the one change that would make it readable.

use capm3_engine::manifests::{self, Problem as Unread};

use super::report::{Problem, Severity, SourcePlace};

/// The problem, with a proposal where another indentation of a line near it is all that is missing, or where a key
/// occurs twice.
pub(super) fn explain(text: &str, unread: &Unread) -> Problem {
    let place = |line| SourcePlace { file: unread.file.clone(), line, ..SourcePlace::default() };
    if unread.message.contains(manifests::DUPLICATE_KEY) {
        return Problem {
            severity: Severity::Error,
            place: place(unread.line),
            message: unread.message.clone(),
            proposal: Some("one of the two alone".to_owned()),
        };
    }
    match repair(text, unread) {
        Some(repair) => Problem {
            severity: Severity::Error,
            place: place(repair.line),
            message: format!(
                "{}: {:?} begins in column {}, which matches no line before it",
                unread.message,
                repair.content,
                repair.was + 1
            ),
            proposal: Some(format!("begin it in column {}: {:?}", repair.should_be + 1, repair.corrected())),
        },
        None => Problem {
            severity: Severity::Error,
            place: place(unread.line),
            message: unread.message.clone(),
            proposal: None,
        },
    }
}

/// Another indentation of one line.
struct Repair {
    line: usize,
    content: String,
    was: usize,
    should_be: usize,
}

impl Repair {
    fn corrected(&self) -> String {
        format!("{}{}", " ".repeat(self.should_be), self.content)
    }
}

/// How far above the line of which the reader complains the cause may stand.
const REACH: usize = 3;

/// Longest text that is read again and again in search of a proposal.
const LONGEST: usize = 1024 * 1024;

/// The only indentation, among those of the lines before, that makes the text readable there; nearer lines and smaller
/// changes first.
fn repair(text: &str, unread: &Unread) -> Option<Repair> {
    if text.len() > LONGEST {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let last = unread.line.min(lines.len());
    for line in (last.saturating_sub(REACH).max(1)..=last).rev() {
        let content = lines.get(line - 1)?.trim_start();
        let was = indentation(lines.get(line - 1)?);
        let mut used: Vec<usize> =
            lines.iter().take(line - 1).filter(|l| !l.trim().is_empty()).map(|l| indentation(l)).collect();
        used.sort_unstable();
        used.dedup();
        let fitting: Vec<usize> = used
            .into_iter()
            .filter(|other| *other != was && reads(&lines, line, *other, content, unread))
            .collect();
        let nearest = fitting.iter().min_by_key(|other| other.abs_diff(was));
        if let Some(should_be) = nearest.filter(|_| fitting.len() == 1) {
            return Some(Repair { line, content: content.to_owned(), was, should_be: *should_be });
        }
    }
    None
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether nothing of what was wrong is wrong any more with this line indented so.
fn reads(lines: &[&str], line: usize, indentation: usize, content: &str, unread: &Unread) -> bool {
    let changed = format!("{}{content}", " ".repeat(indentation));
    let text: Vec<&str> =
        (1..).zip(lines).map(|(number, old)| if number == line { changed.as_str() } else { *old }).collect();
    let before = manifests::parse_parts(&unread.file, &lines.join("\n")).problems.len();
    manifests::parse_parts(&unread.file, &text.join("\n")).problems.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> Problem {
        let unread = manifests::parse_parts("f.yaml", text).problems.remove(0);
        explain(text, &unread)
    }

    #[test]
    fn a_line_that_is_indented_by_one_space_too_few_is_named_with_its_correction() {
        let problem = explained(
            "spec:\n  index: 0\n  a:\n    name: x\n claim:\n    name: y\n  template:\n    name: z\n",
        );
        assert_eq!(
            (problem.place.line, problem.proposal.as_deref()),
            (5, Some("begin it in column 3: \"  claim:\"")),
            "{problem:?}"
        );
    }

    #[test]
    fn a_key_that_stands_twice_is_reported_with_both_lines_and_not_moved_elsewhere() {
        let problem = explained("---\nkind: A\n---\nspec:\n  a: 1\n  b: {c: 1}\n  a: 2\n");
        assert_eq!(problem.place.line, 7);
        assert!(
            problem.message.ends_with("duplicate mapping key: a occurs twice, in lines 5 and 7"),
            "{problem:?}"
        );
        assert_eq!(problem.proposal.as_deref(), Some("one of the two alone"));
        let nested = explained("l:\n- a: {b: 1}\n  c: [{d: 1, e: 2, d: 3}]\n");
        assert!(nested.message.ends_with("d occurs twice in line 3"), "{nested:?}");
    }

    #[test]
    fn text_that_no_indentation_cures_has_no_proposal() {
        let problem = explained("a: [1\nb: 2\n");
        assert_eq!(problem.proposal, None, "{problem:?}");
    }
}

//! Which forms a string may take: plain, single-quoted, block.

/// The forms that are open to a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Has a line break of any kind.
    pub multiline: bool,
    /// May stand without quotes.
    pub plain: bool,
    /// May stand in single quotes.
    pub single_quoted: bool,
    /// May stand as a literal block.
    pub block: bool,
}

/// What was seen in a string.
#[derive(Default)]
struct Seen {
    indicators: bool,
    line_breaks: bool,
    unprintable: bool,
    outer_space_or_break: bool,
    trailing_space: bool,
    space_after_break: bool,
    break_after_space: bool,
}

impl Shape {
    pub fn of(text: &str) -> Self {
        let seen = examine(text);
        let awkward = seen.break_after_space || seen.unprintable;
        Self {
            multiline: seen.line_breaks,
            plain: !(seen.indicators
                || seen.line_breaks
                || seen.outer_space_or_break
                || seen.space_after_break
                || awkward),
            single_quoted: !(seen.space_after_break || awkward),
            block: !(text.is_empty() || seen.trailing_space || awkward),
        }
    }
}

fn examine(text: &str) -> Seen {
    let mut seen = Seen { indicators: text.starts_with("---") || text.starts_with("..."), ..Seen::default() };
    let mut previous = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let outer = previous.is_none() || next.is_none();
        seen.indicators |= is_indicator(c, previous, next);
        seen.unprintable |= !is_printable(c);
        if c == ' ' {
            seen.outer_space_or_break |= outer;
            seen.trailing_space |= next.is_none();
            seen.space_after_break |= previous.is_some_and(is_break);
        } else if is_break(c) {
            seen.line_breaks = true;
            seen.outer_space_or_break |= outer;
            seen.break_after_space |= previous == Some(' ');
        }
        previous = Some(c);
    }
    seen
}

fn is_indicator(c: char, previous: Option<char>, next: Option<char>) -> bool {
    let before_blank = next.is_none_or(is_blank);
    match (c, previous) {
        (
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
            None,
        ) => true,
        ('?' | '-', None) | (':', _) => before_blank,
        ('#', Some(previous)) => is_blank(previous) || is_break(previous) || previous == '\0',
        _ => false,
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Line feed, and what YAML 1.1 takes for one.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that may be written as they are.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}') && c != '\u{FEFF}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indicators_at_the_start_or_before_a_blank_need_quotes() {
        for text in ["- a", "-", "a: b", "a:", "a #b", "#a", "*a", "---a", "... a", ":", "?", " a", "a "] {
            assert!(!Shape::of(text).plain, "{text:?}");
            assert!(Shape::of(text).single_quoted, "{text:?}");
        }
        for text in ["-a", "a:b", "a#b", "?a", ":a", "a - b", "a*", "--", "a, b"] {
            assert!(Shape::of(text).plain, "{text:?}");
        }
    }

    #[test]
    fn a_block_ends_in_no_space_and_has_none_before_a_break() {
        for (text, block) in
            [("a\nb", true), ("a\n b", true), ("a \nb", false), ("a\nb ", false), ("a\tb\nc", false)]
        {
            assert_eq!(Shape::of(text).block, block, "{text:?}");
        }
    }
}

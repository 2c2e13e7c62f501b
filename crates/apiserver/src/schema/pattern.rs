//! Patterns of schemas: takes Go (RE2) syntax, gives a compiled expression that means the same.
//!
//! Expressions are cached for the whole process, because every test builds a server with the same CRDs.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    iter::Peekable,
    str::Chars,
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::Regex;

/// A compiled pattern with the text it came from.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) source: String,
    regex: Regex,
}

static CACHE: LazyLock<Mutex<BTreeMap<String, Regex>>> = LazyLock::new(Mutex::default);

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, regex::Error> {
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        let regex = match cache.get(source) {
            Some(regex) => regex.clone(),
            None => {
                let regex = Regex::new(&from_re2(source))?;
                cache.insert(source.to_owned(), regex.clone());
                regex
            }
        };
        Ok(Self { source: source.to_owned(), regex })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// RE2's `\d`, `\w`, `\s` are ASCII and a `[` within a class is literal; in the regex crate neither is so.
fn from_re2(source: &str) -> String {
    let mut rewritten = String::with_capacity(source.len());
    let mut symbols = source.chars().peekable();
    let mut in_class = false;
    while let Some(symbol) = symbols.next() {
        match symbol {
            '\\' => escape(symbols.next(), in_class, &mut rewritten),
            '[' if in_class && symbols.peek() != Some(&':') => rewritten.push_str("\\["),
            '[' if in_class => posix_class(&mut symbols, &mut rewritten),
            '[' => {
                in_class = true;
                open_class(&mut symbols, &mut rewritten);
            }
            ']' => {
                in_class = false;
                rewritten.push(']');
            }
            // Set operations of the regex crate are plain characters in RE2.
            '&' | '~' if in_class => {
                let _ = write!(rewritten, "\\{symbol}");
            }
            other => rewritten.push(other),
        }
    }
    rewritten
}

/// A `]` right after the opening (and a negation) is literal.
fn open_class(symbols: &mut Peekable<Chars<'_>>, rewritten: &mut String) {
    rewritten.push('[');
    if symbols.next_if_eq(&'^').is_some() {
        rewritten.push('^');
    }
    if symbols.next_if_eq(&']').is_some() {
        rewritten.push_str("\\]");
    }
}

fn posix_class(symbols: &mut Peekable<Chars<'_>>, rewritten: &mut String) {
    rewritten.push('[');
    for symbol in symbols.by_ref() {
        rewritten.push(symbol);
        if symbol == ']' {
            return;
        }
    }
}

fn escape(symbol: Option<char>, in_class: bool, rewritten: &mut String) {
    let class = match symbol {
        Some('d' | 'D') => "0-9",
        Some('w' | 'W') => "0-9A-Za-z_",
        Some('s' | 'S') => "\\t\\n\\f\\r ",
        Some(other) => {
            rewritten.push('\\');
            rewritten.push(other);
            return;
        }
        None => return rewritten.push('\\'),
    };
    let negated = symbol.is_some_and(char::is_uppercase);
    let _ = match (negated, in_class) {
        (true, _) => write!(rewritten, "[^{class}]"),
        (false, true) => write!(rewritten, "{class}"),
        (false, false) => write!(rewritten, "[{class}]"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let table = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\w+$", "ä", false),
            (r"^[^\s]+$", "a b", false),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^a.c$", "aäc", true),
            (r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)$", "a-1", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(Pattern::new(pattern).unwrap().matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_pattern_that_is_no_expression_is_refused() {
        assert!(Pattern::new("a(").is_err());
    }
}

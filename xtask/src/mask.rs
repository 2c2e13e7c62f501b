//! What differs between any two runs, such as times and uids, and how it is taken out of texts before they are compared.
//!
//! Takes rules, a pattern and its replacement each; gives texts in which every match is replaced. A comparison adds the
//! rules of its own texts.

use std::borrow::Cow;

use anyhow::Result;
use regex::Regex;

/// A time, as the API writes it.
pub const TIME: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z";

/// The uid of an object.
pub const UID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// A pattern and what stands for its matches.
pub type Rule = (&'static str, &'static str);

/// Times, as the API writes them.
pub const TIMES: Rule = (TIME, "<time>");

/// Rules, ready to be used.
pub struct Rules(Vec<(Regex, &'static str)>);

impl Rules {
    /// The first ones are applied first.
    pub fn new(rules: &[Rule]) -> Result<Self> {
        let rule = |&(pattern, by): &Rule| Ok((Regex::new(pattern)?, by));
        rules.iter().map(rule).collect::<Result<_>>().map(Self)
    }

    /// The text with every match replaced.
    pub fn apply(&self, text: &str) -> String {
        let masked = self.0.iter().fold(Cow::Borrowed(text), |text, (pattern, by)| {
            Cow::Owned(pattern.replace_all(&text, *by).into_owned())
        });
        masked.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_is_applied_first() {
        let rules = Rules::new(&[TIMES, (r"\d+", "<number>"), ("<(number)>", "${1}")]).unwrap();
        assert_eq!(rules.apply("at 2026-01-01T00:00:00Z 17"), "at <time> number");
    }
}

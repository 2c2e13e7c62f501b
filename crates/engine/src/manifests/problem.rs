//! Something wrong in a file, with its place.

use std::fmt;

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 where none is known.
    pub line: usize,
    /// What is wrong, with the object and the field where they are known.
    pub message: String,
    /// The stable code of the rule that is broken, if it has one.
    pub code: Option<&'static str>,
}

impl Problem {
    /// The same with the code of the rule that is broken.
    #[must_use]
    pub fn of_rule(self, code: Option<&'static str>) -> Self {
        Self { code, ..self }
    }
}

/// The code stands at the end, in parentheses.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message)?,
            line => write!(f, "{}:{line}: {}", self.file, self.message)?,
        }
        self.code.map_or(Ok(()), |code| write!(f, " ({code})"))
    }
}

/// Problems as text, one per line.
pub fn one_a_line(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

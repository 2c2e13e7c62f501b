//! Coloured text of a known width.

use std::{env, io::IsTerminal};

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// Whether letters beyond ASCII are shown.
    pub unicode: bool,
}

impl Style {
    /// That of the terminal we write to; `None` if there is none on which lines can be rewritten.
    pub fn of_terminal() -> Option<Self> {
        let is_terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !is_terminal || is_dumb {
            return None;
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
        let locale = locale.into_iter().find(|value| !value.is_empty()).unwrap_or_default().to_lowercase();
        Some(Self { colour: wants_colour(), unicode: locale.contains("utf-8") || locale.contains("utf8") })
    }
}

/// Whether a result on stdout may be coloured.
pub fn colours_stdout() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stdout().is_terminal() && !is_dumb && wants_colour()
}

fn wants_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Cyan,
}

impl Paint {
    fn code(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Bold => Some(1),
            Self::Dim => Some(2),
            Self::Green => Some(32),
            Self::Yellow => Some(33),
            Self::Cyan => Some(36),
        }
    }
}

/// A line made of painted pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(Vec<(Paint, String)>);

impl Line {
    /// A line of one piece.
    pub fn of(paint: Paint, text: impl Into<String>) -> Self {
        Self(vec![(paint, text.into())])
    }

    /// The same line with a piece more.
    #[must_use]
    pub fn and(mut self, paint: Paint, text: impl Into<String>) -> Self {
        self.0.push((paint, text.into()));
        self
    }

    /// Letters; every letter that we use is one column wide.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line cut off at a width.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        let mut left = width;
        let pieces = self.0.into_iter().map(|(paint, text)| {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            (paint, text)
        });
        Self(pieces.filter(|(_, text)| !text.is_empty()).collect())
    }

    /// The line cut off or filled up to a width.
    #[must_use]
    pub fn exactly(self, width: usize) -> Self {
        let line = self.cut(width);
        let missing = width.saturating_sub(line.width());
        line.and(Paint::Plain, " ".repeat(missing))
    }

    /// This line and another beside it.
    #[must_use]
    pub fn beside(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// As text, with colours if they are wanted.
    pub fn text(&self, colour: bool) -> String {
        let piece = |(paint, text): &(Paint, String)| match paint.code().filter(|_| colour) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.clone(),
        };
        let text: String = self.0.iter().map(piece).collect();
        text.trim_end_matches(' ').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_filled_by_letters_not_by_bytes_or_colours() {
        let line = Line::of(Paint::Green, "●●●").and(Paint::Plain, "ab");
        assert_eq!(line.width(), 5);
        assert_eq!(line.clone().cut(2).text(false), "●●");
        assert_eq!(line.clone().cut(4).text(true), "\x1b[32m●●●\x1b[0ma");
        assert_eq!(line.clone().exactly(9).width(), 9);
        assert_eq!(line.beside(Line::of(Paint::Plain, "c  ")).text(false), "●●●abc", "no blanks at the end");
    }
}

//! Writes tokens and keeps the column, so that long text is folded where Go programs fold it.

use super::shape::{is_break, is_printable};

/// Beyond this column, the next blank becomes a line break.
const WIDTH: usize = 80;

/// The document so far, and where its end stands.
pub(super) struct Writer {
    out: String,
    column: usize,
    /// The last token asked for no blank behind it.
    after_blank: bool,
    /// Nothing but indentation and list or key marks stand on this line.
    at_indentation: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self { out: String::new(), column: 0, after_blank: true, at_indentation: true }
    }
}

impl Writer {
    pub fn finish(mut self) -> String {
        self.indent(0);
        self.out
    }

    pub fn at_indentation(&self) -> bool {
        self.at_indentation
    }

    /// Begins a line in this column, unless the end already stands there behind nothing but marks.
    pub fn indent(&mut self, column: usize) {
        let behind = self.column > column || (self.column == column && !self.after_blank);
        if !self.at_indentation || behind {
            self.line_feed();
        }
        while self.column < column {
            self.put(' ');
        }
        self.after_blank = true;
        self.at_indentation = true;
    }

    /// A mark in front of a node: dash, question mark, or the colon behind an explicit key.
    pub fn indicator(&mut self, mark: &str) {
        self.separate();
        self.put_all(mark);
        self.after_blank = false;
    }

    /// The colon behind a simple key.
    pub fn colon(&mut self) {
        self.put(':');
        self.after_blank = false;
        self.at_indentation = false;
    }

    /// Text that needs neither quotes nor folding.
    pub fn word(&mut self, text: &str) {
        self.separate();
        self.put_all(text);
        self.token_ends();
    }

    /// Text without quotes; folded to `fold` where given.
    pub fn plain(&mut self, text: &str, fold: Option<usize>) {
        self.separate();
        let mut after_space = false;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c != ' ' {
                self.put(c);
                self.at_indentation = false;
            } else if let Some(column) = self.fold(fold, after_space).filter(|_| rest.peek() != Some(&' ')) {
                self.indent(column);
            } else {
                self.put(c);
            }
            after_space = c == ' ';
        }
        self.token_ends();
    }

    /// Text in single quotes. Separators such as U+2028 stand raw; they end a line, so indentation follows them.
    pub fn single_quoted(&mut self, text: &str, fold: Option<usize>) {
        self.separate();
        self.put('\'');
        self.token_ends();
        let (mut first, mut after_space, mut after_break) = (true, false, false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let inner = !first && rest.peek().is_some_and(|next| *next != ' ');
            if c == ' ' {
                match self.fold(fold, after_space).filter(|_| inner) {
                    Some(column) => self.indent(column),
                    None => self.put(c),
                }
            } else if is_break(c) {
                self.raw_break(c);
            } else {
                if after_break {
                    self.indent(fold.unwrap_or_default());
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.at_indentation = false;
            }
            // A blank behind a break leaves the indentation owing.
            after_break = is_break(c) || (after_break && c == ' ');
            after_space = c == ' ' || (after_space && is_break(c));
            first = false;
        }
        self.put('\'');
        self.token_ends();
    }

    /// Text in double quotes, with escapes for everything that is not printable.
    pub fn double_quoted(&mut self, text: &str, fold: Option<usize>) {
        self.separate();
        self.put('"');
        self.token_ends();
        // Go's writer takes text that begins with a byte order mark for byte order marks only.
        let escape_all = text.starts_with('\u{FEFF}');
        let (mut first, mut after_space) = (true, false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let must_escape = escape_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\';
            if must_escape {
                self.put_all(&escaped(c));
            } else if c == ' ' {
                let inner = !first && rest.peek().is_some();
                match self.fold(fold, after_space).filter(|_| inner) {
                    Some(column) => {
                        self.indent(column);
                        if rest.peek() == Some(&' ') {
                            self.put('\\');
                        }
                    }
                    None => self.put(c),
                }
            } else {
                self.put(c);
            }
            after_space = c == ' ' && !must_escape;
            first = false;
        }
        self.put('"');
        self.token_ends();
    }

    /// Text as it is, line by line, indented to `column`.
    pub fn literal(&mut self, text: &str, column: usize) {
        self.separate();
        self.put_all("|");
        self.put_all(hints(text));
        self.line_feed();
        (self.at_indentation, self.after_blank) = (true, true);
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.raw_break(c);
            } else {
                if after_break {
                    self.indent(column);
                }
                self.put(c);
                self.at_indentation = false;
            }
            after_break = is_break(c);
        }
    }

    /// The column to fold to, if the line is long enough for it here.
    fn fold(&self, column: Option<usize>, after_space: bool) -> Option<usize> {
        column.filter(|_| !after_space && self.column > WIDTH)
    }

    fn separate(&mut self) {
        if !self.after_blank {
            self.put(' ');
        }
    }

    fn token_ends(&mut self) {
        self.after_blank = false;
        self.at_indentation = false;
    }

    fn raw_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
        self.at_indentation = true;
    }

    fn line_feed(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }
}

/// What stands behind the bar of a literal block: indentation if the text hides it, then what happens to its end.
fn hints(text: &str) -> &'static str {
    let hides_indentation = text.starts_with(|c: char| c == ' ' || is_break(c));
    let mut from_the_end = text.chars().rev();
    let last_breaks = from_the_end.next().is_some_and(is_break);
    let keep = last_breaks && from_the_end.next().is_none_or(is_break);
    match (hides_indentation, last_breaks, keep) {
        (false, false, _) => "-",
        (false, true, false) => "",
        (false, true, true) => "+",
        (true, false, _) => "2-",
        (true, true, false) => "2",
        (true, true, true) => "2+",
    }
}

fn escaped(c: char) -> String {
    let code = u32::from(c);
    let letter = match c {
        '\0' => '0',
        '\u{07}' => 'a',
        '\u{08}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{0B}' => 'v',
        '\u{0C}' => 'f',
        '\r' => 'r',
        '\u{1B}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{A0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ if code <= 0xFF => return format!("\\x{code:02X}"),
        _ if code <= 0xFFFF => return format!("\\u{code:04X}"),
        _ => return format!("\\U{code:08X}"),
    };
    format!("\\{letter}")
}

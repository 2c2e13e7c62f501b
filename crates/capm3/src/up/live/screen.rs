//! The terminal itself: a second screen while we draw, the user's own when we end.

use std::io::{self, Write};

use super::view::Size;

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The second screen; dropping it gives the terminal back as it was.
pub struct Screen(());

impl Screen {
    /// Goes there and hides the cursor.
    pub fn enter() -> Self {
        write(ENTER);
        Self(())
    }

    /// Draws lines from the top, over what was there.
    pub fn draw(&mut self, lines: &[String]) {
        let separator = format!("{CLEAR_LINE}\r\n");
        write(&format!("{HOME}{}{CLEAR_LINE}{CLEAR_BELOW}", lines.join(&separator)));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        write(LEAVE);
    }
}

/// A terminal that takes no text is gone, and whoever looked at it with it.
fn write(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes());
    let _ = terminal.flush();
}

/// Columns that a result may take, if it goes to a terminal.
pub fn width_of_stdout() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// The size of the terminal now.
pub fn size() -> Size {
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { width: size.ws_col.into(), height: size.ws_row.into() }
        }
        _ => Size { width: 80, height: 24 },
    }
}

//! Standard error as the target of a bar.
use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use std::io;

/// Redraws of a bar per second.
const PER_SECOND: u8 = 8;

/// A terminal with its cursor at the start of the bar. At the end, which is the right edge, the
/// terminal would echo `^C` into the next line, and the bar could no longer be cleared.
#[derive(Debug)]
struct Terminal(Term);

/// Returns the target of a bar.
pub(crate) fn target() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Terminal(Term::buffered_stderr())), PER_SECOND)
}

/// Returns the number of columns, if the terminal reports it.
pub(crate) fn columns() -> Option<usize> {
    Term::stderr().size_checked().map(|(_, columns)| columns.into())
}

/// Returns true if standard error is a terminal.
pub(crate) fn is_there() -> bool {
    Term::stderr().is_term()
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.0.size().1
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.write_str("\r")?;
        self.0.flush()
    }
}

//! Runs commands and prints them as in a terminal.

use std::{
    fmt::Write,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::failure::{Context, Result, fail};

/// Prints the command as typed in a shell, then runs it to its end. Its failure is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().context(format_args!("cannot start {line}"))?;
    if status.success() { Ok(()) } else { fail(format!("{line}: {status}")) }
}

/// As [`run`], for commands that run in parallel: prints everything when the command has ended.
pub(crate) fn run_beside(command: &mut Command, heading: &str) -> Result<()> {
    let line = line(command);
    let output = command.output().context(format_args!("cannot start {line}"))?;
    let text = [output.stdout, output.stderr].concat();
    println!("\n{heading}\n$ {line}\n{}", String::from_utf8_lossy(&text).trim_end());
    if output.status.success() { Ok(()) } else { fail(format!("{line}: {}", output.status)) }
}

/// Calls a function for each item, `n_beside` at a time. Returns the first failure after all have
/// ended, so that no other finding is lost.
pub(crate) fn each_beside<T: Sync>(
    items: &[T],
    n_beside: usize,
    each: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut result = Ok(());
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = each(item);
            result = result.and(done);
        }
        result
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_beside).map(|_| scope.spawn(work)).collect();
        let ended: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        ended.into_iter().try_for_each(|worker| match worker {
            Ok(result) => result,
            Err(_) => fail("a thread panicked"),
        })
    })
}

/// Returns the command line, with quotes where a shell needs them.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = quoted(&program.to_string_lossy());
    for argument in command.get_args() {
        let _infallible = write!(line, " {}", quoted(&argument.to_string_lossy()));
    }
    line
}

/// Returns the word, in quotes if a shell needs them.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_pasted_into_a_shell() {
        let mut command = Command::new("target/release/fdconvert");
        command.args(["pack", "my images", "it's", "", "--option=1"]);
        assert_eq!(
            line(&command),
            r"target/release/fdconvert pack 'my images' 'it'\''s' '' --option=1"
        );
    }
}

//! The commands of a page, run in one shell.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use super::page::{Page, Step};
use crate::failure::{Context, Result};

/// Separates the outputs of two commands; no command prints it.
const MARK: &str = "\u{1e}fdconvert-guide";

/// Output and status of a command.
pub(super) struct Seen {
    pub(super) output: Vec<String>,
    /// `None` if the shell ended before.
    pub(super) status: Option<i32>,
}

pub(super) fn run(page: &Page, folder: &Path, path: &OsStr) -> Result<Vec<Seen>> {
    let mut script = String::from("exec 2>&1\n");
    for step in page.steps() {
        // The status is restored, for an `echo $?` that follows.
        let end = format!("__status=$?; printf '\\n{MARK} %d\\n' $__status; (exit $__status)");
        script.push_str(&format!("{}\n{end}\n", page.command(step)));
    }
    let file = folder.with_extension("sh");
    fs::write(&file, script).context(format_args!("cannot write {}", file.display()))?;
    let output = Command::new("bash")
        .arg(&file)
        .current_dir(folder)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .context("cannot start bash")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut texts = text.split(MARK);
    let mut before = texts.next().unwrap_or_default();
    let mut seen = Vec::new();
    for _ in page.steps() {
        let after = texts.next();
        // After the mark comes the status, and then the output of the next command.
        let (status, next) =
            after.map_or(("", ""), |text| text.split_once('\n').unwrap_or((text, "")));
        let output = before.trim_end().lines().map(String::from).collect();
        seen.push(Seen { output, status: status.trim().parse().ok() });
        before = next;
    }
    Ok(seen)
}

/// Returns the commands that failed although the page does not show their status: number and
/// message.
pub(super) fn failures(name: &str, page: &Page, seen: &[Seen]) -> Vec<(usize, String)> {
    let steps: Vec<_> = page.steps().collect();
    let mut failures = Vec::new();
    for (number, (step, seen)) in steps.iter().zip(seen).enumerate() {
        let next = steps.get(number + 1).map(|step| page.command(step));
        let status = match seen.status {
            Some(0) => continue,
            Some(_) if next.as_deref() == Some("echo $?") || shows_error(page, step) => continue,
            Some(status) => format!("ended with status {status}"),
            None => "was not run to its end".into(),
        };
        let (line, command) = (step.command.start + 1, page.command(step));
        let output = seen.output.join("\n");
        failures.push((number, format!("{name}:{line}: $ {command}\n{status}\n{output}")));
    }
    failures
}

fn shows_error(page: &Page, step: &Step) -> bool {
    let shown = page.expected(step).unwrap_or_default();
    shown.iter().any(|line| line.starts_with("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(text: &str) -> (Page, Vec<Seen>) {
        let folder = tempfile::tempdir().unwrap();
        let page = Page::parse(text);
        let inner = folder.path().join("page");
        fs::create_dir(&inner).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let seen = run(&page, &inner, &path).unwrap();
        (page, seen)
    }

    #[test]
    fn commands_share_a_shell_and_their_outputs_stay_apart() {
        let (page, seen) = ran(
            "```console\n$ x=3; echo first >&2\n$ echo $x\n3\n$ false\n$ echo $?\n1\n$ printf a\n```\n",
        );
        let outputs: Vec<_> = seen.iter().map(|seen| seen.output.join("|")).collect();
        assert_eq!(outputs, ["first", "3", "", "1", "a"]);
        assert!(failures("page", &page, &seen).is_empty());
    }

    #[test]
    fn a_failure_that_is_not_shown_is_told() {
        let error = "```console\n$ echo 'error: x'; false\nerror: x\n```\n";
        let (page, seen) = ran(error);
        assert!(failures("page", &page, &seen).is_empty());
        let (page, seen) = ran("```console\n$ true\n$ (exit 7)\n$ exit 0\n$ true\n```\n");
        let told = failures("page", &page, &seen);
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told.iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(told[0].1.starts_with("page:3: $ (exit 7)\nended with status 7"), "{told:?}");
        assert!(told[2].1.contains("was not run to its end"), "{told:?}");
    }
}

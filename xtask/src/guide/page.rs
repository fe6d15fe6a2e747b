//! A page of Markdown: its lines, and the commands and programs among them.

use std::ops::Range;

use super::script::Seen;

/// A page, with the positions of its runnable parts.
pub(super) struct Page {
    lines: Vec<String>,
    blocks: Vec<Block>,
    python: Vec<Range<usize>>,
    left_out: Vec<LeftOut>,
}

/// A block of commands that is not run: ```` ```sh no-run: needs a store ````.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) line: usize,
    /// `None` if the page gives none.
    pub(super) reason: Option<String>,
}

struct Block {
    steps: Vec<Step>,
}

/// A command and the output that the page shows, as ranges of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) command: Range<usize>,
    pub(super) output: Range<usize>,
}

impl Page {
    pub(super) fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let (mut blocks, mut python, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        while at < lines.len() {
            let fence = lines[at].trim_start();
            at += 1;
            let Some(fence) = fence.strip_prefix("```") else { continue };
            let (language, mark) = fence.split_once(' ').unwrap_or((fence, ""));
            let start = at;
            while at < lines.len() && !lines[at].trim_start().starts_with("```") {
                at += 1;
            }
            match (language, mark) {
                ("console", "") => blocks.push(Block { steps: steps(&lines, start..at) }),
                ("python", "") => python.push(start..at),
                ("console" | "python" | "sh" | "bash" | "shell", _) => {
                    let reason = mark.strip_prefix("no-run:").map(str::trim);
                    let reason = reason.filter(|reason| !reason.is_empty()).map(String::from);
                    left_out.push(LeftOut { line: start, reason });
                }
                _ => {}
            }
            at += 1;
        }
        Self { lines, blocks, python, left_out }
    }

    pub(super) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    pub(super) fn runs(&self) -> bool {
        self.steps().next().is_some() || !self.python.is_empty()
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flat_map(|block| &block.steps)
    }

    pub(super) fn command(&self, step: &Step) -> String {
        let mut lines = self.lines[step.command.clone()].iter();
        let first = lines.next().map_or("", |line| line.strip_prefix("$ ").unwrap_or(line));
        let others = lines.map(|line| line.strip_prefix("> ").unwrap_or(line));
        std::iter::once(first).chain(others).collect::<Vec<_>>().join("\n")
    }

    /// Returns the shown output; `None` if the block of the command shows none at all.
    pub(super) fn expected(&self, step: &Step) -> Option<&[String]> {
        let block = self.blocks.iter().find(|block| block.steps.contains(step))?;
        let shows = block.steps.iter().any(|step| !step.output.is_empty());
        shows.then(|| &self.lines[step.output.clone()])
    }

    pub(super) fn n_python_lines(&self) -> usize {
        self.python.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns all Python of the page as one program. Every other line is empty, so that a
    /// traceback has the line numbers of the page.
    pub(super) fn program(&self) -> String {
        let is_python = |at: &usize| self.python.iter().any(|block| block.contains(at));
        let line = |at: usize| if is_python(&at) { self.lines[at].as_str() } else { "" };
        (0..self.lines.len()).map(|at| format!("{}\n", line(at))).collect()
    }

    /// Returns the page with the actual output of these steps.
    pub(super) fn with_outputs(&self, wrong: &[usize], seen: &[Seen]) -> String {
        let mut text = String::new();
        let mut next = 0;
        for (number, step) in self.steps().enumerate() {
            let (Some(seen), true) = (seen.get(number), wrong.contains(&number)) else { continue };
            let kept = &self.lines[next..step.output.start];
            let output = seen.output.iter().map(String::as_str);
            for line in kept.iter().map(String::as_str).chain(output) {
                text.push_str(line.trim_end());
                text.push('\n');
            }
            next = step.output.end;
        }
        for line in &self.lines[next..] {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// Returns the steps of a block: a command begins with `$ `, its further lines follow a backslash
/// or begin with `> `, and the rest is output.
fn steps(lines: &[String], block: Range<usize>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for at in block {
        let line = &lines[at];
        let continues = |step: &Step| {
            let last = step.command.end == at && step.output.is_empty();
            last && (lines[at - 1].ends_with('\\') || line.starts_with("> "))
        };
        match steps.last_mut() {
            _ if line.starts_with("$ ") => {
                steps.push(Step { command: at..at + 1, output: at + 1..at + 1 });
            }
            Some(step) if continues(step) => {
                step.command.end = at + 1;
                step.output = at + 1..at + 1;
            }
            Some(step) => step.output.end = at + 1,
            None => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Title

```console
$ one \\
    more
$ cat > file <<'END'
> a
> END
$ two
out
```

```sh no-run: needs a store
not run
```

```sh
forgotten
```

```python
x = 1
```

```python no-run
y = 1
```

```console
$ three
```
";

    #[test]
    fn commands_programs_and_outputs_are_found() {
        let page = Page::parse(PAGE);
        let commands: Vec<_> = page.steps().map(|step| page.command(step)).collect();
        assert_eq!(commands, ["one \\\n    more", "cat > file <<'END'\na\nEND", "two", "three"]);
        let shown: Vec<_> = page.steps().map(|step| page.expected(step).map(<[_]>::len)).collect();
        assert_eq!(shown, [Some(0), Some(0), Some(1), None]);
        assert_eq!(page.n_python_lines(), 1);
        let line = PAGE.lines().position(|line| line == "x = 1").unwrap();
        assert_eq!(page.program().trim_end(), format!("{}x = 1", "\n".repeat(line)));
    }

    #[test]
    fn blocks_that_are_not_run_have_a_reason_or_none() {
        let page = Page::parse(PAGE);
        let reasons: Vec<_> = page.left_out().iter().map(|it| it.reason.as_deref()).collect();
        assert_eq!(reasons, [Some("needs a store"), None, None]);
        assert_eq!(PAGE.lines().nth(page.left_out()[1].line), Some("forgotten"));
        assert!(page.runs() && !Page::parse("```sh no-run: x\n```\n").runs());
    }

    #[test]
    fn only_wrong_outputs_are_replaced() {
        let page = Page::parse(PAGE);
        let seen = |line: &str| Seen { output: vec![line.into()], status: Some(0) };
        let all = [seen("1"), seen("2"), seen("other"), seen("4")];
        assert_eq!(page.with_outputs(&[2], &all), PAGE.replace("\nout\n", "\nother\n"));
        assert_eq!(page.with_outputs(&[], &all), PAGE);
    }
}

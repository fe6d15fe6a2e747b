//! Versions of the tools on which counts depend.

use std::process::Command;

use serde_json::{Map, Value};

use crate::failure::{Context, Result, fail};

/// Versions of the tools that build and run the measured program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tools {
    /// Release, target and LLVM.
    pub(super) rustc: String,
    /// Compiles libjpeg-turbo.
    pub(super) cc: String,
    /// Copies and allocates memory.
    pub(super) libc: String,
    /// Pretends a fixed processor, as far as the machine's one supports it.
    pub(super) valgrind: String,
    /// Processor features that select code, under valgrind. Empty until determined.
    pub(super) processor: String,
}

impl Tools {
    /// Determines all versions except the processor's features.
    pub(super) fn found() -> Result<Self> {
        let valgrind = said("valgrind", &["--version"]).or_else(|_| {
            fail("valgrind is missing: `scripts/setup.sh --gate` installs it where it can")
        })?;
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
        Ok(Self {
            rustc: rustc_version(&said(&rustc, &["-vV"])?),
            cc: said("cc", &["--version"]).map_or_else(|_| "unknown".into(), |it| version(&it)),
            libc: said("ldd", &["--version"]).map_or_else(|_| "unknown".into(), |it| version(&it)),
            valgrind: valgrind.trim().trim_start_matches("valgrind-").to_owned(),
            processor: String::new(),
        })
    }

    /// Returns one sentence for each difference. Unknown versions are not compared.
    pub(super) fn differences(&self, found: &Self) -> Vec<String> {
        let pairs = self.named().into_iter().zip(found.named());
        pairs
            .filter(|((_, recorded), (_, found))| !found.is_empty() && recorded != found)
            .map(|((name, recorded), (_, found))| {
                format!("{name} is {found}, and the baseline is of {recorded}")
            })
            .collect()
    }

    pub(super) fn named(&self) -> [(&'static str, &str); 5] {
        [
            ("rustc", &self.rustc),
            ("cc", &self.cc),
            ("libc", &self.libc),
            ("valgrind", &self.valgrind),
            ("processor", &self.processor),
        ]
    }

    pub(super) fn of_json(object: &Map<String, Value>) -> Result<Self> {
        let text = |name: &str| {
            let text = object.get(name).and_then(Value::as_str).map(str::to_owned);
            text.context(format_args!("the baseline has no text `{name}`"))
        };
        Ok(Self {
            rustc: text("rustc")?,
            cc: text("cc")?,
            libc: text("libc")?,
            valgrind: text("valgrind")?,
            processor: text("processor")?,
        })
    }
}

/// Returns the version that a program prints.
fn said(program: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).env("LC_ALL", "C").output();
    let output = output.context(format_args!("cannot start {program}"))?;
    if !output.status.success() {
        return fail(format!("{program} {}: {}", arguments.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn rustc_version(said: &str) -> String {
    let line = |name: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(name));
        found.map_or("unknown", str::trim)
    };
    // The commit distinguishes nightly builds.
    let commit: String = line("commit-hash:").chars().take(9).collect();
    format!("{} ({commit}), {}, LLVM {}", line("release:"), line("host:"), line("LLVM version:"))
}

/// Returns the version at the end of the first line: distributions put the number of their package
/// before it.
fn version(said: &str) -> String {
    let words = said.lines().next().unwrap_or_default().split_whitespace().rev();
    let mut numbers = words.filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    numbers.next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        assert_eq!(version("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright"), "12.2.0");
        assert_eq!(version("ldd (Debian GLIBC 2.36-9+deb12u13) 2.36\n"), "2.36");
        assert_eq!(version("Debian clang version 14.0.6"), "14.0.6");
        assert_eq!(version("musl libc (x86_64)"), "unknown");
        let said = "rustc 1.95.0 (59807616e 2026-04-14)\ncommit-hash: 59807616e1fa2540\nhost: \
                    x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let expected = "1.95.0 (59807616e), x86_64-unknown-linux-gnu, LLVM 22.1.2";
        assert_eq!(rustc_version(said), expected);
    }

    #[test]
    fn another_version_is_told_and_an_unknown_processor_is_not() {
        let recorded = Tools { cc: "12".into(), processor: "avx2".into(), ..Tools::default() };
        let same = Tools { processor: String::new(), ..recorded.clone() };
        assert_eq!(recorded.differences(&same), [""; 0]);
        let other = Tools { cc: "13".into(), processor: "sse4.1".into(), ..Tools::default() };
        let told = [
            "cc is 13, and the baseline is of 12",
            "processor is sse4.1, and the baseline is of avx2",
        ];
        assert_eq!(recorded.differences(&other), told);
    }
}

//! Runs of the command under test, and their command lines for repeating them by hand.

use std::{
    fmt::Write,
    fs,
    num::NonZeroUsize,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::configurations::PYTHON;
use crate::{
    failure::{Context, Result, fail},
    shell,
};

/// Time limit of a run, which none of a dozen small images reaches.
const SECONDS: &str = "60";
/// Offset of the density in the header of a JFIF file, which no decoder uses.
const DENSITY_AT: usize = 15;

/// The command under test, with the library and the folder of its runs.
pub(super) struct Program {
    path: PathBuf,
    library: PathBuf,
    work: PathBuf,
    threads: NonZeroUsize,
    python: PathBuf,
}

/// A program that has samples: `Writer` or `pack`, the source, the output, and options as on the
/// command line.
const SCRIPT: &str = r#"
import sys, warnings
from pathlib import Path
import fdconvert
warnings.filterwarnings("ignore", ".* was complete already")
how, source, out, *words = sys.argv[1:]
options = {name[2:].replace("-", "_"): value for name, value in zip(words[::2], words[1::2])}
options = {name: int(value) if value.isdigit() else value for name, value in options.items()}
files = sorted(Path(source).glob("*/*.jpg"))
samples = [{"image": file.read_bytes(), "label": file.parent.name == "right"} for file in files]
options |= {"schema": {"image": "image", "label": ["left", "right"]}, "threads": 1}
if how == "pack":
    fdconvert.pack(samples, out, **options)
else:
    with fdconvert.Writer(out, **options) as writer:
        for sample in samples:
            writer.write(sample)
"#;

/// The folder of one run at a time.
#[derive(Clone)]
pub(super) struct Slot {
    folder: PathBuf,
}

impl Slot {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of outputs.
    pub(super) fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Returns the file to which the library logs its calls.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Removes its content.
    pub(super) fn clear(&self) -> Result<()> {
        let doing = || format!("cannot empty {}", self.folder.display());
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).context(doing())?;
        }
        fs::create_dir_all(self.out()).context(doing())
    }
}

pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) message: String,
}

impl Ended {
    pub(super) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            message: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(super) fn well(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns true if it was killed, as intended.
    pub(super) fn killed(&self) -> bool {
        self.signal == Some(9)
    }

    /// Returns true if it ended by a panic or an unintended signal.
    pub(super) fn crashed(&self) -> bool {
        self.code.is_none_or(|code| code == 101 || code == 134)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit {code}")?,
            (None, signal) => write!(f, "signal {}", signal.unwrap_or(0))?,
        }
        match self.message.lines().find(|line| !line.is_empty()) {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}

impl Program {
    pub(super) fn new(
        path: PathBuf,
        library: PathBuf,
        work: PathBuf,
        threads: NonZeroUsize,
    ) -> Self {
        Self { path, library, work, threads, python: "python3".into() }
    }

    /// Uses another interpreter for programs.
    pub(super) fn with_python(mut self, python: PathBuf) -> Self {
        self.python = python;
        self
    }

    pub(super) fn source(&self) -> PathBuf {
        self.work.join("source")
    }

    fn old(&self) -> PathBuf {
        self.work.join("old")
    }

    fn labels(&self) -> PathBuf {
        self.work.join("labels.csv")
    }

    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    pub(super) fn slot(&self, name: &str) -> Slot {
        Slot { folder: self.work.join(name) }
    }

    /// Makes twelve small images in two classes from larger ones, earlier versions of them, and a table
    /// with other labels for two.
    pub(super) fn make_source(&self, images: &Path) -> Result<()> {
        let all = self.work.join("small");
        let mut shrink = Command::new(&self.path);
        shrink.arg("pack").args([images, &all]).args(["--format", "folder", "--encode", "jpeg"]);
        shell::run(shrink.args(["--max-side", "96", "--quiet"]))?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&all).context("cannot list the small images")? {
            names.push(entry.context("cannot list the small images")?.path());
        }
        names.retain(|path| path.extension().is_some_and(|it| it == "jpg"));
        names.sort();
        for (position, path) in names.iter().enumerate() {
            let class = if 2 * position < names.len() { "left" } else { "right" };
            let folder = self.source().join(class);
            let doing = format!("cannot fill {}", folder.display());
            fs::create_dir_all(&folder).context(&doing)?;
            let name = format!("{position:02}.jpg");
            let mut bytes = fs::read(path).context(&doing)?;
            fs::rename(path, folder.join(&name)).context(&doing)?;
            let old = self.old().join(class);
            fs::create_dir_all(&old).context(&doing)?;
            if let Some(density) = bytes.get_mut(DENSITY_AT) {
                *density ^= 1;
            }
            fs::write(old.join(name), bytes).context(&doing)?;
        }
        if names.len() != 12 {
            return fail(format!("{} holds {} images, not 12", all.display(), names.len()));
        }
        let labels = "path,label\nleft/01.jpg,right\nright/07.jpg,left\n";
        fs::write(self.labels(), labels).context("cannot write the table")?;
        Ok(())
    }

    /// Runs a command line of a configuration under the library with these variables.
    pub(super) fn run(
        &self,
        slot: &Slot,
        line: &str,
        variables: &[(&str, String)],
    ) -> Result<Ended> {
        let output = self.command(slot, line, variables).output();
        Ok(Ended::of(output.context("cannot start the command under test")?))
    }

    fn command(&self, slot: &Slot, line: &str, variables: &[(&str, String)]) -> Command {
        let (program, words) = self.typed(slot, line);
        let mut command = Command::new(program);
        command.args(words).env("LD_PRELOAD", &self.library);
        // The log of a dataset has times, and two runs must leave the same bytes.
        command.env("SOURCE_DATE_EPOCH", "0");
        command.env("FAULTS_NO_SYNC", "1").env("FAULTS_SECONDS", SECONDS);
        if variables.is_empty() {
            // Watches this folder, as both lines above need it, without counting any call.
            command.env("FAULTS_BELOW", &self.work).env("FAULTS_KINDS", "");
        }
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command line that must succeed.
    pub(super) fn must(&self, slot: &Slot, line: &str, variables: &[(&str, String)]) -> Result<()> {
        let ended = self.run(slot, line, variables)?;
        let shown = || self.shown(slot, line, variables);
        if ended.well() { Ok(()) } else { fail(format!("{}: {ended}", shown())) }
    }

    /// Returns the command line as typed in a shell.
    pub(super) fn shown(&self, slot: &Slot, line: &str, variables: &[(&str, String)]) -> String {
        let mut shown = String::new();
        if !variables.is_empty() {
            let library = self.library.to_string_lossy();
            let _infallible = write!(shown, "LD_PRELOAD={} ", shell::quoted(&library));
        }
        for (name, value) in variables {
            let _infallible = write!(shown, "{name}={} ", shell::quoted(value));
        }
        let (program, words) = self.typed(slot, line);
        let _infallible = write!(shown, "{}", shell::quoted(&program.to_string_lossy()));
        for word in words {
            let _infallible = write!(shown, " {}", shell::quoted(&word));
        }
        shown
    }

    /// Returns the program of a command line, and its arguments.
    fn typed(&self, slot: &Slot, line: &str) -> (&Path, Vec<String>) {
        match line.strip_prefix(PYTHON) {
            None => (&self.path, self.words(slot, line)),
            Some(line) => {
                let script = ["-c".to_owned(), SCRIPT.to_owned()];
                (&self.python, script.into_iter().chain(self.words(slot, line)).collect())
            }
        }
    }

    fn words(&self, slot: &Slot, line: &str) -> Vec<String> {
        let (source, old, out) = (self.source(), self.old(), slot.out());
        let (source, old) = (source.to_string_lossy(), old.to_string_lossy());
        let out = out.to_string_lossy();
        let threads = self.threads.to_string();
        let labels = self.labels().to_string_lossy().into_owned();
        let places = [
            ("SOURCE", &*source),
            ("OLD", &*old),
            ("OUT", &*out),
            ("THREADS", &*threads),
            ("LABELS", &*labels),
        ];
        let filled = |word: &str| {
            let place = places.iter().find_map(|(name, text)| {
                word.strip_prefix(name).map(|rest| format!("{text}{rest}"))
            });
            place.unwrap_or_else(|| word.to_string())
        };
        line.split_whitespace().map(filled).collect()
    }
}

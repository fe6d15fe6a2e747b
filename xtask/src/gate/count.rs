//! Instruction counts of the paths, from callgrind.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
};

use super::baseline::{Baseline, Counts};
use crate::{
    failure::{Context, Failure, Result, fail},
    shell,
};

/// Number of turns for measuring the cost of one.
const TURNS: u64 = 1_000_000;

/// Idle turns for each path, added to each repeat.
#[derive(Default)]
pub(super) struct Planted(Vec<(String, u64)>);

/// Conditions that must not affect a count, varied to test that.
#[derive(Default)]
pub(super) struct Surroundings {
    /// Number of additional letters in the name of the program's folder.
    pub(super) longer_folder: usize,
    /// Number of additional letters in the environment.
    pub(super) longer_environment: usize,
}

/// The measured program, its inputs, and its folder.
pub(super) struct Counter {
    program: PathBuf,
    work: PathBuf,
    n_beside: usize,
}

impl Counter {
    /// Makes the inputs, without valgrind.
    pub(super) fn new(
        program: PathBuf,
        fixtures: &Path,
        work: &Path,
        n_beside: usize,
    ) -> Result<Self> {
        recreate(work)?;
        let work =
            work.canonicalize().context(format_args!("cannot resolve {}", work.display()))?;
        let counter = Self { program, work, n_beside };
        for folder in [counter.inputs(), counter.files()] {
            recreate(&folder)?;
        }
        let mut command = Command::new(&counter.program);
        let inputs = counter.inputs();
        said(command.arg("prepare").args([fixtures, inputs.as_path()]))?;
        Ok(counter)
    }

    fn inputs(&self) -> PathBuf {
        self.work.join("inputs")
    }

    /// Returns the folder of callgrind's output.
    pub(super) fn files(&self) -> PathBuf {
        self.work.join("counts")
    }

    pub(super) fn paths(&self) -> Result<Vec<String>> {
        let said = said(Command::new(&self.program).arg("list"))?;
        Ok(said.lines().map(str::to_owned).collect())
    }

    /// Returns the processor features that select code, under valgrind.
    pub(super) fn processor(&self) -> Result<String> {
        let mut command = valgrind(&["--tool=none", "--quiet"])?;
        let said = said(command.arg(&self.program).arg("processor"))?;
        Ok(said.trim().to_owned())
    }

    /// Returns a slowdown of every path by a percentage of the baseline.
    pub(super) fn plant(&self, baseline: &Baseline, percent: f64) -> Result<Planted> {
        let around = Surroundings::default();
        let turns = self.one_repeat("idle", TURNS, &around)? as f64 / TURNS as f64;
        let planted = baseline.instructions.iter().map(|(path, count)| {
            let planted = *count as f64 * percent / 100.0 / turns;
            (path.clone(), planted.round().max(0.0) as u64)
        });
        Ok(Planted(planted.collect()))
    }

    /// Counts one repeat of each path.
    pub(super) fn count(
        &self,
        paths: &[String],
        planted: &Planted,
        around: &Surroundings,
    ) -> Result<Counts> {
        let counts = Mutex::new(Vec::new());
        shell::each_beside(paths, self.n_beside, |path| {
            let turns = planted.0.iter().find(|(name, _)| name == path).map_or(0, |(_, n)| *n);
            let count = self.one_repeat(path, turns, around)?;
            counts.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), count));
            Ok(())
        })?;
        let mut counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        counts.sort_by_key(|(name, _)| paths.iter().position(|path| path == name));
        Ok(counts)
    }

    /// Counts two repeats minus one.
    fn one_repeat(&self, path: &str, turns: u64, around: &Surroundings) -> Result<u64> {
        let one = self.repeats(path, 1, turns, around)?;
        let two = self.repeats(path, 2, turns, around)?;
        let less =
            || Failure::new(format!("{path}: {two} instructions for two repeats, {one} for one"));
        two.checked_sub(one).filter(|count| *count > 0).ok_or_else(less)
    }

    /// Counts the instructions of the process, with all its threads.
    fn repeats(&self, path: &str, n: u64, turns: u64, around: &Surroundings) -> Result<u64> {
        let name = format!("{path}-{n}");
        let file = self.files().join(&name).with_extension("callgrind");
        // The program works in its folder with an empty one for its output.
        let folder = self.work.join(name + &"-".repeat(around.longer_folder));
        recreate(&folder.join("out"))?;
        let mut command = valgrind(&["--tool=callgrind", "--cache-sim=no", "--branch-sim=no"])?;
        command.arg(format!("--callgrind-out-file={}", file.display()));
        command.arg(&self.program).args(["run", path, "../inputs", "out"]);
        command.args([n, turns].map(|it| it.to_string())).current_dir(&folder);
        if around.longer_environment > 0 {
            command.env("FDCONVERT_PADDING", "-".repeat(around.longer_environment));
        }
        said(&mut command)?;
        fs::remove_dir_all(&folder).context(format_args!("cannot remove {}", folder.display()))?;
        let text = fs::read_to_string(&file);
        let text = text.context(format_args!("cannot read {}", file.display()))?;
        total(&text).context(file.display())
    }
}

/// Disables copying memory with string instructions: callgrind counts each byte of these, and the C
/// library uses them depending on the offset of a copy in its page.
const TUNABLES: &str = "glibc.cpu.hwcaps=-ERMS,-FSRM";

/// Creates a command for valgrind without the user's settings, and with the same environment
/// everywhere. Rayon would otherwise start a thread per processor.
fn valgrind(arguments: &[&str]) -> Result<Command> {
    let path = std::env::var_os("PATH").context("PATH is not set")?;
    let mut command = Command::new("valgrind");
    command.env_clear().env("PATH", path).env("LC_ALL", "C").env("RAYON_NUM_THREADS", "1");
    command.env("GLIBC_TUNABLES", TUNABLES).args(arguments);
    Ok(command)
}

/// Runs a command to its end, and returns its standard output.
fn said(command: &mut Command) -> Result<String> {
    let output = command.output().context(format_args!("cannot start {command:?}"))?;
    let Output { status, stdout, stderr } = output;
    if !status.success() {
        return fail(format!("{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// Returns the total of the only event in a file of callgrind.
fn total(text: &str) -> Result<u64> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match value("events:") {
        Some("Ir") => {}
        other => return fail(format!("counts {}, not Ir", other.unwrap_or("nothing"))),
    }
    let total = value("totals:").context("has no total: was the program ended?")?;
    total.parse().context(format_args!("its total is {total}"))
}

/// Creates an empty folder.
fn recreate(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\n\
                        cmd: hot_paths run decode\npart: 1\n\ndesc: Trigger: Program termination\n\n\
                        positions: line\nevents: Ir\nsummary: 57548008\n\n\nob=(1) hot_paths\n\
                        fn=(0) main\n0 5\n\ntotals: 57548009\n";

    #[test]
    fn the_total_is_that_of_the_whole_process() {
        assert_eq!(total(FILE).ok(), Some(57_548_009));
    }

    #[test]
    fn files_of_other_events_and_unfinished_ones_are_refused() {
        let refused = |text: &str| total(text).err().map(|it| it.to_string()).unwrap_or_default();
        let other = FILE.replace("events: Ir", "events: Ir Dr");
        assert_eq!(refused(&other), "counts Ir Dr, not Ir");
        assert_eq!(refused("totals: 5\n"), "counts nothing, not Ir");
        assert!(refused(FILE.split("totals").next().unwrap()).contains("has no total"));
        assert!(refused(&FILE.replace("57548009", "1 2")).contains("its total is 1 2"));
    }
}

//! Other loaders: programs in Python, one process for each round.
//!
//! A program called with `--probe` prints its version as JSON, or fails if its loader is not
//! installed. Called with a task, it warms up with one epoch, times a second one, and prints the
//! result: `{"images": 2000, "seconds": 1.5, "cpu_seconds": 2.9}`. The CPU time is that of all its
//! processes.
use crate::{Missing, lane::Took, watch::Watch};
use fdconvert_core::{Error, Result};
use serde::Deserialize;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Common start of all programs.
const COMMON: &str = include_str!("common.py");

/// The loaders that have a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `torch.utils.data.DataLoader` over a folder, with Pillow and torchvision.
    Torch,
    /// `webdataset` over tar shards, with Pillow and torchvision.
    Webdataset,
    /// FFCV over a beton.
    Ffcv,
    /// NVIDIA DALI over a folder, on the CPU.
    Dali,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Torch, Self::Webdataset, Self::Ffcv, Self::Dali];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Webdataset => "webdataset",
            Self::Ffcv => "FFCV",
            Self::Dali => "DALI (CPU)",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Torch => include_str!("torch_folder.py"),
            Self::Webdataset => include_str!("webdataset_shards.py"),
            Self::Ffcv => include_str!("ffcv_beton.py"),
            Self::Dali => include_str!("dali_folder.py"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Rival {
    pub(crate) kind: Kind,
    pub(crate) version: String,
    python: PathBuf,
    program: PathBuf,
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) data: PathBuf,
    pub(crate) images: u64,
    pub(crate) batch: u32,
    pub(crate) size: u32,
    pub(crate) workers: usize,
    pub(crate) augment: bool,
    /// Wait before every read. If not zero, there is no warm-up, and no more images are read than
    /// requested.
    pub(crate) latency: Duration,
}

/// Time limit for a program to print its version.
const PROBE: Duration = Duration::from_secs(120);
/// Time limit for an epoch, including warm-up and compilation.
const EPOCH: Duration = Duration::from_secs(1800);
const POLL: Duration = Duration::from_millis(20);

/// Searches some Pythons for the loaders; returns the installed and the missing ones. The programs
/// are written into `folder`, because DALI reads the source of what it compiles.
///
/// # Errors
/// `Cancelled`; `Io`.
pub(crate) fn find(
    kinds: &[Kind],
    pythons: &[PathBuf],
    folder: &Path,
    watch: &Watch<'_>,
) -> Result<(Vec<Rival>, Vec<Missing>)> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for &kind in kinds {
        let program = folder.join(format!("loader{}.py", kind as u8));
        let text = format!("{COMMON}\n{}", kind.program());
        fs::write(&program, text).map_err(Error::io("write", &program))?;
        let mut why = "no Python was named".to_owned();
        let rival = pythons.iter().find_map(|python| match probe(&program, python, watch) {
            Ok(version) => {
                let (python, program) = (python.clone(), program.clone());
                Some(Rival { kind, version, python, program })
            }
            Err(error) => {
                why = format!("{}: {error}", python.display());
                None
            }
        });
        if watch.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match rival {
            Some(rival) => found.push(rival),
            None => missing.push(Missing { name: kind.name().to_owned(), why }),
        }
    }
    Ok((found, missing))
}

#[derive(Deserialize)]
struct Probed {
    version: String,
}

fn probe(program: &Path, python: &Path, watch: &Watch<'_>) -> Result<String, String> {
    let mut command = Command::new(python);
    command.arg(program).arg("--probe");
    let said = run(command, PROBE, watch)?;
    serde_json::from_str(&said).map(|Probed { version }| version).map_err(|e| e.to_string())
}

impl Rival {
    /// # Errors
    /// `Usage`, with the last line of the program's output; `Cancelled`.
    pub(crate) fn run(&self, task: &Task, watch: &Watch<'_>) -> Result<Took> {
        let mut command = Command::new(&self.python);
        command.arg(&self.program).arg("--data").arg(&task.data);
        let numbers = [
            ("--images", task.images),
            ("--batch", task.batch.into()),
            ("--size", task.size.into()),
            ("--workers", task.workers as u64),
        ];
        for (name, number) in numbers {
            command.arg(name).arg(number.to_string());
        }
        if task.augment {
            command.arg("--autoaugment");
        }
        if !task.latency.is_zero() {
            command.arg("--latency").arg(task.latency.as_secs_f64().to_string());
        }
        let said = run(command, EPOCH, watch);
        if watch.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let failed = |what: String| Error::usage("python", format!("{}: {what}", self.kind.name()));
        let took: Took = said
            .and_then(|said| serde_json::from_str(&said).map_err(|cause| cause.to_string()))
            .map_err(failed)?;
        let is_sane = took.images == task.images && took.seconds > 0.0 && took.cpu_seconds > 0.0;
        if !is_sane {
            return Err(failed(format!("{took:?} is not an epoch of {} images", task.images)));
        }
        Ok(took)
    }
}

/// Runs a program to its end, and returns its last line.
fn run(mut command: Command, limit: Duration, watch: &Watch<'_>) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|cause| cause.to_string())?;
    let output = wait(child, limit, watch).map_err(|cause| cause.to_string())?;
    // The last line of a Python traceback is the error.
    let last = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("").to_owned()
    };
    match (output.status.success(), last(&output.stderr)) {
        (true, _) => Ok(last(&output.stdout)),
        (false, silent) if silent.is_empty() => Err(output.status.to_string()),
        (false, said) => Err(said),
    }
}

/// Waits for a program, and kills it when its time is over or the run is cancelled.
fn wait(mut child: Child, limit: Duration, watch: &Watch<'_>) -> io::Result<Output> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // A full pipe would block the program.
        let stdout = scope.spawn(move || read_all(out));
        let stderr = scope.spawn(move || read_all(err));
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if watch.is_cancelled() || began.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                let what = format!("it took more than {} s", limit.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            thread::sleep(POLL);
        };
        let stdout = stdout.join().unwrap_or_default();
        let stderr = stderr.join().unwrap_or_default();
        Ok(Output { status, stdout, stderr })
    })
}

/// Reads a pipe to its end, or until it fails.
fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

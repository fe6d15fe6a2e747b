use crate::Throttle;
use fdconvert_core::{Error, Result};
use fdconvert_storage::{AlignedBuffer, DIRECT_ALIGNMENT, DirectFile};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Files to read.
#[derive(Debug, Clone)]
pub enum Target {
    /// A file of this size, written into the folder for the measurement and removed.
    Scratch {
        /// Folder on the file system to measure.
        folder: PathBuf,
        /// Size of the file, more than the caches of the disk hold.
        bytes: u64,
    },
    /// Existing files, which are only read: for targets that cannot be written.
    Files(Vec<PathBuf>),
}

/// The order of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One after the other through the files.
    Sequential,
    /// At random places.
    Random,
}

/// Parameters of reading, to match the loader's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReadPlan {
    /// Size of a request, rounded up to a multiple of 4096.
    pub request_bytes: usize,
    /// Number of requests in flight, each from a separate thread.
    pub fetch_threads: usize,
    /// Order of the requests.
    pub pattern: Pattern,
    /// Number of bytes after which to end; the files are read repeatedly if they are smaller.
    pub max_bytes: u64,
    /// Seconds after which to end.
    pub max_seconds: f64,
    /// Seed of random requests.
    pub seed: u64,
}

/// Bandwidth of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes/s of all threads together.
    pub bytes_per_s: f64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Duration.
    pub seconds: f64,
    /// Reason for which the bytes came from the page cache and not from the disk, if they did: the
    /// figure is then that of memory, and must be shown with this warning.
    pub cached_because: Option<String>,
    /// Parameters of the measurement.
    pub plan: ReadPlan,
}

impl Default for ReadPlan {
    fn default() -> Self {
        Self {
            request_bytes: 1 << 20,
            fetch_threads: 8,
            pattern: Pattern::Sequential,
            max_bytes: 4 << 30,
            max_seconds: 5.0,
            seed: 0,
        }
    }
}

/// Measures the bandwidth of a target, past the page cache if the file system allows it.
///
/// # Errors
/// `Io` from the files, `Usage` when they are empty, `Cancelled` when `cancelled` is set.
pub fn measure_read(
    target: &Target,
    plan: &ReadPlan,
    throttle: Option<&Throttle>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Bandwidth> {
    let files = match target {
        Target::Scratch { folder, bytes } => vec![scratch(folder, *bytes, cancelled)?],
        Target::Files(paths) => {
            paths.iter().map(|path| DirectFile::open(path)).collect::<Result<_>>()?
        }
    };
    let request_bytes = plan.request_bytes.max(1).next_multiple_of(DIRECT_ALIGNMENT);
    let plan = ReadPlan { request_bytes, fetch_threads: plan.fetch_threads.max(1), ..*plan };
    let n_requests = files.iter().map(|file| file.len().div_ceil(request_bytes as u64)).sum();
    if n_requests == 0 {
        return Err(Error::usage("profile", "there are no bytes to read"));
    }

    let run = Run { files: &files, plan, n_requests, throttle, cancelled, next: AtomicU64::new(0) };
    let start = Instant::now();
    let (bytes, requests) = run.on_threads(start)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Bandwidth {
        bytes_per_s: bytes as f64 / seconds.max(f64::MIN_POSITIVE),
        bytes,
        requests,
        seconds,
        cached_because: files.iter().find_map(|file| file.cached_because().map(str::to_owned)),
        plan,
    })
}

struct Run<'a> {
    files: &'a [DirectFile],
    plan: ReadPlan,
    n_requests: u64,
    throttle: Option<&'a Throttle>,
    cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Number of the next request, taken by any thread, so that together they stay sequential.
    next: AtomicU64,
}

impl Run<'_> {
    fn on_threads(&self, start: Instant) -> Result<(u64, u64)> {
        thread::scope(|scope| {
            let mut running = Vec::new();
            let mut failed = None;
            for _ in 0..self.plan.fetch_threads {
                match thread::Builder::new().spawn_scoped(scope, || self.read(start)) {
                    Ok(handle) => running.push(handle),
                    Err(error) => failed = Some(thread_error("start", error)),
                }
            }
            let (mut bytes, mut requests) = (0, 0);
            for handle in running {
                let panicked = |_| thread_error("end", io::Error::other("it panicked"));
                match handle.join().map_err(panicked).flatten() {
                    Ok((more_bytes, more_requests)) => {
                        bytes += more_bytes;
                        requests += more_requests;
                    }
                    Err(error) => failed = Some(error),
                }
            }
            failed.map_or(Ok((bytes, requests)), Err)
        })
    }

    /// Returns the bytes and requests of one thread.
    fn read(&self, start: Instant) -> Result<(u64, u64)> {
        let mut buffer = AlignedBuffer::new(self.plan.request_bytes);
        let (mut bytes, mut requests) = (0, 0);
        let until = Duration::try_from_secs_f64(self.plan.max_seconds).unwrap_or(Duration::MAX);
        // The first request is always made, so that every measurement has a result.
        while requests == 0 || start.elapsed() < until {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n > 0 && n.saturating_mul(self.plan.request_bytes as u64) >= self.plan.max_bytes {
                break;
            }
            let (file, offset) = self.place(n);
            let read = file.read_blocks(&mut buffer, offset)? as u64;
            if let Some(throttle) = self.throttle {
                throttle.take(read);
            }
            bytes += read;
            requests += 1;
        }
        Ok((bytes, requests))
    }

    /// Returns file and offset of request `n`; after the last one they start again.
    fn place(&self, n: u64) -> (&DirectFile, u64) {
        let mut position = match self.plan.pattern {
            Pattern::Sequential => n,
            Pattern::Random => xxh3_64_with_seed(&n.to_le_bytes(), self.plan.seed),
        } % self.n_requests;
        let request_bytes = self.plan.request_bytes as u64;
        for file in self.files {
            let requests = file.len().div_ceil(request_bytes);
            if position < requests {
                return (file, position * request_bytes);
            }
            position -= requests;
        }
        // `position` is below the sum of what the loop subtracts, so it has returned.
        (&self.files[0], 0)
    }
}

/// Creates a file that no disk can compress, synced to the disk and without a name, so that nothing
/// of it is left in any case.
fn scratch(
    folder: &std::path::Path,
    bytes: u64,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<DirectFile> {
    let mut builder = tempfile::Builder::new();
    let named = builder.prefix(".fdconvert-profile-").tempfile_in(folder);
    let mut named = named.map_err(Error::io("write a file in", folder))?;
    let mut block = vec![0_u8; 1 << 20];
    let mut written = 0;
    while written < bytes {
        if cancelled() {
            return Err(Error::Cancelled);
        }
        for (word, index) in block.chunks_exact_mut(8).zip(0_u64..) {
            word.copy_from_slice(&xxh3_64_with_seed(&index.to_le_bytes(), written).to_le_bytes());
        }
        let len = block.len().min(usize::try_from(bytes - written).unwrap_or(usize::MAX));
        named.write_all(&block[..len]).map_err(Error::io("write", named.path()))?;
        written += len as u64;
    }
    named.as_file().sync_all().map_err(Error::io("write", named.path()))?;
    let opened = DirectFile::open(named.path())?;
    named.close().map_err(Error::io("remove a file in", folder))?;
    Ok(opened)
}

fn thread_error(action: &'static str, source: io::Error) -> Error {
    Error::Io { action, path: "a reading thread".into(), source }
}

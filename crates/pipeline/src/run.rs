//! Options of a run, none of which affects a byte of its output.
use fdconvert_core::{Error, Result, option};
use serde::Deserialize;
use std::thread;

/// Reaction to a sample that cannot be read, decoded or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// Stop; nothing remains.
    #[default]
    Fail,
    /// Skip it, record it in the report and in the output, and continue.
    Skip,
}

/// One of several runs that write a dataset together: part `s mod of` writes shard `s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of this part, from 0.
    pub index: u64,
    /// Number of parts.
    pub of: u64,
}

impl Part {
    pub(crate) fn has(self, shard: usize) -> bool {
        shard as u64 % self.of.max(1) == self.index
    }
}

/// Options of a run. The default has a thread for each core, and ends with the first bad sample.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Number of worker threads; `None` for one per core. With one, reading, encoding and writing
    /// happen in turn on the caller's thread. Shards are committed on another thread.
    pub threads: Option<usize>,
    /// Encoded bytes that may wait for the writer; half as many may be read ahead of encoding from
    /// sources in stores. `None` for 8 MiB per thread, at most 64 MiB, and 32 MiB read ahead.
    pub buffer: Option<u64>,
    /// Reaction to samples that cannot be read, decoded or stored.
    pub on_error: OnError,
    /// Number of skipped samples beyond which the run ends with an error; finished shards remain.
    /// `None` for 100,000, or more while they are no more than half of the samples so far.
    pub max_failures: Option<u64>,
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// The shards of this part, for runs that share a dataset; `None` for all.
    #[serde(skip)]
    pub part: Option<Part>,
}

impl Run {
    /// Refuses invalid values, and values without effect in combination.
    ///
    /// # Errors
    /// `Usage`, with the name of the option.
    pub fn check(&self) -> Result<()> {
        self.n_threads()?;
        if self.max_failures.is_none() || self.on_error == OnError::Skip {
            return Ok(());
        }
        Err(Error::usage(option::MAX_FAILURES, "the first bad sample ends the run")
            .cure("to leave bad samples out", option::ON_ERROR.with("skip")))
    }

    /// Returns the number of worker threads.
    ///
    /// # Errors
    /// `Usage` for an invalid number.
    pub fn n_threads(&self) -> Result<usize> {
        threads(self.threads)
    }

    /// Returns the encoded bytes that may wait for the writer: the smaller, the sooner their memory
    /// is reused while it is in a cache; but a large image must not make all other threads wait.
    pub(crate) fn budget_bytes(&self) -> Result<u64> {
        let n_threads = self.n_threads()? as u64;
        Ok(self.buffer.unwrap_or_else(|| n_threads.clamp(1, 8) * (8 << 20)))
    }

    pub(crate) fn ahead_bytes(&self) -> u64 {
        self.buffer.map_or(32 << 20, |bytes| bytes / 2)
    }
}

/// Returns the requested number, else one per core.
///
/// # Errors
/// `Usage` for a number that is not from 1 to 4096.
pub fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(n) if !(1..=4096).contains(&n) => {
            Err(Error::usage(option::THREADS, format!("{n} is not from 1 to 4096")))
        }
        Some(n) => Ok(n),
        None => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_what_waits_follows_threads_unless_it_is_given() {
        let run = |threads: usize, buffer: Option<u64>| {
            let run = Run { threads: Some(threads), buffer, ..Run::default() };
            (run.budget_bytes().unwrap() >> 20, run.ahead_bytes() >> 20)
        };
        let found = [1, 2, 7, 8, 4096].map(|threads| run(threads, None));
        assert_eq!(found, [(8, 32), (16, 32), (56, 32), (64, 32), (64, 32)]);
        assert_eq!(run(2, Some(256 << 20)), (256, 128));
    }
}

//! Loaders that take turns, with the results of their rounds.
use crate::{
    Bar,
    rivals::{Rival, Task},
    watch::{Watch, left},
};
use cpu_time::ProcessTime;
use fdconvert_core::{Error, Result};
use fdconvert_loader::{Datasets, Loader, Options};
use fdconvert_profile::SlowStorage;
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf, time::Instant};

/// Images and time of a loader's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Took {
    pub(crate) images: u64,
    pub(crate) seconds: f64,
    /// CPU time of all its processes.
    pub(crate) cpu_seconds: f64,
}

impl Took {
    pub(crate) fn cpu_ms_per_image(&self) -> f64 {
        self.cpu_seconds * 1e3 / self.images.max(1) as f64
    }

    pub(crate) fn images_per_cpu_second(&self) -> f64 {
        self.images as f64 / self.cpu_seconds.max(1e-9)
    }

    pub(crate) fn images_per_second(&self) -> f64 {
        self.images as f64 / self.seconds.max(1e-9)
    }

    /// Returns the seconds for `images` images at this rate.
    pub(crate) fn seconds_for(&self, images: u64) -> f64 {
        self.seconds * images as f64 / self.images.max(1) as f64
    }
}

/// A loader that takes turns with others.
pub(crate) struct Lane {
    pub(crate) name: String,
    runner: Runner,
    pub(crate) rounds: Vec<Took>,
    /// Size of the dataset, if relevant.
    pub(crate) bytes: u64,
    /// True to read an epoch before the measured one, so that files are in the page cache.
    warms_up: bool,
}

enum Runner {
    Ours { dataset: PathBuf, options: Box<Options>, storage: SlowStorage },
    Theirs { rival: Rival, task: Task },
}

impl Lane {
    pub(crate) fn ours(
        name: impl Into<String>,
        dataset: impl Into<PathBuf>,
        options: Options,
    ) -> Self {
        let warms_up = true;
        Self { warms_up, ..Self::slow(name, dataset, options, SlowStorage::default()) }
    }

    /// The same with the dataset on slow storage, which has nothing to warm up.
    pub(crate) fn slow(
        name: impl Into<String>,
        dataset: impl Into<PathBuf>,
        options: Options,
        storage: SlowStorage,
    ) -> Self {
        let runner = Runner::Ours { dataset: dataset.into(), options: Box::new(options), storage };
        Self { name: name.into(), runner, rounds: Vec::new(), bytes: 0, warms_up: false }
    }

    /// Creates the lane of fdconvert's loader for a formula: without a warm-up, which would cache
    /// orbits for the measured epoch.
    pub(crate) fn drawn(
        name: impl Into<String>,
        formula: impl Into<PathBuf>,
        options: Options,
    ) -> Self {
        Self { warms_up: false, ..Self::ours(name, formula, options) }
    }

    pub(crate) fn theirs(name: impl Into<String>, rival: Rival, task: Task) -> Self {
        Self {
            name: name.into(),
            runner: Runner::Theirs { rival, task },
            rounds: Vec::new(),
            bytes: 0,
            warms_up: true,
        }
    }

    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.runner, Runner::Ours { .. })
    }

    /// Runs a round: an epoch to warm up, and a measured one.
    fn round(&mut self, watch: &Watch<'_>) -> Result<()> {
        let took = match &self.runner {
            Runner::Ours { dataset, options, storage } => {
                let datasets = Datasets::one(storage.around(fdconvert::open(dataset)?.into()))?;
                let mut loader = Loader::new(datasets, (**options).clone())?;
                if self.warms_up {
                    epoch(&mut loader, watch)?;
                }
                epoch(&mut loader, watch)?
            }
            Runner::Theirs { rival, task } => rival.run(task, watch)?,
        };
        self.rounds.push(took);
        Ok(())
    }

    /// Returns median, least and greatest of a number over all rounds.
    pub(crate) fn of(&self, number: impl Fn(&Took) -> f64) -> Option<(f64, (f64, f64))> {
        let mut sorted: Vec<f64> = self.rounds.iter().map(number).collect();
        sorted.sort_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        Some((median, (*sorted.first()?, *sorted.last()?)))
    }

    pub(crate) fn median(&self, number: impl Fn(&Took) -> f64) -> Option<f64> {
        self.of(number).map(|(median, _)| median)
    }

    pub(crate) fn bar(&self, number: impl Fn(&Took) -> f64) -> Bar {
        let (value, range) = self.of(number).unzip();
        Bar { name: self.name.clone(), value, range, is_ours: self.is_ours(), paper: None }
    }
}

/// Runs all lanes in turns, so that a disturbance of the machine affects all of them.
///
/// # Errors
/// As for fdconvert's loader; `Cancelled`. Another loader that fails is left out from then on, and
/// its error returned.
pub(crate) fn take_turns(
    lanes: &mut [Lane],
    rounds: u32,
    watch: &Watch<'_>,
) -> Result<Vec<(String, String)>> {
    let mut failed: Vec<(String, String)> = Vec::new();
    let (began, n_lanes) = (Instant::now(), lanes.len() as u64);
    for round in 0..rounds {
        for (lane, turn) in lanes.iter_mut().zip(0..) {
            if failed.iter().any(|(name, _)| *name == lane.name) {
                continue;
            }
            // Lanes differ, and rounds hardly do: known after the first one.
            let done = if round == 0 { 0 } else { u64::from(round) * n_lanes + turn };
            let left = left(began.elapsed(), done, n_lanes * u64::from(rounds));
            watch.begins(&format!("round {} of {rounds}: {}{left}", round + 1, lane.name))?;
            match lane.round(watch) {
                Err(error) if !lane.is_ours() && !matches!(error, Error::Cancelled) => {
                    lane.rounds.clear();
                    failed.push((lane.name.clone(), error.chain()));
                }
                ended => ended?,
            }
        }
    }
    Ok(failed)
}

pub(crate) fn epoch(loader: &mut Loader, watch: &Watch<'_>) -> Result<Took> {
    let cpu = ProcessTime::try_now().map_err(clock)?;
    let (began, mut images) = (Instant::now(), 0);
    while let Some(batch) = loader.next_batch() {
        images += batch?.len() as u64;
        if watch.is_cancelled() {
            return Err(Error::Cancelled);
        }
    }
    let cpu_seconds = cpu.try_elapsed().map_err(clock)?.as_secs_f64();
    Ok(Took { images, seconds: began.elapsed().as_secs_f64(), cpu_seconds })
}

fn clock(cause: io::Error) -> Error {
    Error::io("read", "the clock of the process")(cause)
}

//! A dataset that any number of workers write: they share the shards by leases.
//!
//! Leases lie in `.fdconvert/leases` of the output, a folder or objects of a store, see
//! [`fdconvert_storage::Leases`]. A worker takes a shard that is neither done nor leased, packs it in
//! a place of its own, gives its files their names (in a store both are one), looks at it once more
//! by its record, and notes that it is done. When no shard is free, it takes over what other workers
//! have left, and waits for what they are writing. Who finds all shards done takes one more lease,
//! writes sidecars and manifest, and removes the leases. So workers may come, stop and be killed at
//! any time, as long as one is there at the end.
mod heart;
mod outcome;
mod turn;
mod worker;

use crate::{Context, Samples, planned::remove_copies};
use fdconvert_core::{Error, Result, message, named};
use fdconvert_pipeline::{Dataset, LeaseCounts, Report, pack_turns};
use fdconvert_storage::{
    Leases, lease_folder, make_folder, open_leases,
    place::{self, Kind, is_url},
    remove_source_stamp,
};
use std::{path::Path, time::Duration};
use worker::Worker;

/// Duration of a lease that is not renewed, unless told otherwise.
pub(crate) const LASTS: Duration = Duration::from_secs(60);
/// File systems give times to a few milliseconds, and a busy machine lets a thread wait.
const LEAST: Duration = Duration::from_secs(1);

/// Refuses a time for which no lease can last.
pub(crate) fn check(lasts: Duration) -> Result<()> {
    if lasts < LEAST {
        let what = format!("a lease lasts at least {} s", LEAST.as_secs());
        return Err(Error::usage(named::LEASE, what));
    }
    Ok(())
}

/// Refuses an output whose shards workers with leases are writing: this run would not see which.
pub(crate) fn refuse_leases(out: &Path) -> Result<()> {
    let folder = lease_folder(out);
    if is_url(out) || !folder.is_dir() {
        return Ok(());
    }
    let what = message!(
        "workers with {} write {}, or did so before they were stopped; continue with {}, or, where \
         none of them is left, remove {}",
        named::CLAIM,
        out.display(),
        named::CLAIM,
        folder.display()
    );
    Err(Error::usage(named::OUTPUT, what))
}

/// Packs shards as long as there are some, and completes the dataset if this worker is the last.
pub(crate) fn run(samples: &Samples, lasts: Duration, context: Context<'_>) -> Result<Report> {
    let (dataset, run) = (samples.dataset(), samples.how().run()?);
    let identity = dataset.identity()?;
    // Also refuses another dataset, whose shards may be in the way of none, but whose manifest is.
    let is_complete = dataset.format.completed(dataset.out, identity.fingerprint)?;
    let folder = lease_folder(dataset.out);
    let is_url = is_url(dataset.out);
    if is_complete && !is_url && !folder.is_dir() {
        return Ok(nothing_left(&dataset));
    }
    if !is_url {
        make_folder(dataset.out)?;
        make_folder(folder.parent().unwrap_or(dataset.out))?;
    }
    let leases = open_leases(dataset.out, lasts)?;
    if is_complete && leases.list()?.is_none() {
        return Ok(nothing_left(&dataset));
    }
    let mut worker = Worker::new(&dataset, &identity, leases.clone())?;
    let mut observer = context.progress.packing();
    let mut report =
        pack_turns(&dataset, &identity, &run, &mut worker, context.cancel, &mut *observer)?;
    report.leases = Some(worker.counts());
    if is_url && worker.was_paused() && worker.is_complete()? {
        tidy(&dataset, &*leases)?;
    }
    if let Some(skipped) = worker.skipped() {
        report.skipped = skipped;
        remove_copies(dataset.out)?;
    }
    Ok(report)
}

/// Removes what a worker that was paused has written after another had completed the dataset: its
/// note, and the times of the source, also in the folders of a mixed set. On a disk its place is gone.
fn tidy(dataset: &Dataset<'_>, leases: &dyn Leases) -> Result<()> {
    leases.clear(worker::MANIFEST)?;
    remove_stamps(dataset.out)
}

/// Removes the times of the source from a complete dataset, also from the folders of a mixed set.
fn remove_stamps(out: &Path) -> Result<()> {
    let entries = place::list(out)?.into_iter();
    let folders = entries.filter(|(_, kind)| *kind == Kind::Folder).map(|(folder, _)| folder);
    let datasets = folders.chain([out.to_owned()]);
    datasets.map(|dataset| dataset.join(".fdconvert")).try_for_each(|it| remove_source_stamp(&it))
}

fn nothing_left(dataset: &Dataset<'_>) -> Report {
    let leases = Some(LeaseCounts::default());
    Report { planned: dataset.plan.len(), leases, ..Report::default() }
}

//! Packing shards one after the other as they are handed out: beside other runs, which have others.
use crate::{
    Cancel, Dataset, Identity, Observer, Report, Run,
    pack::{Committing, Filling, check, pool},
    tally::Tally,
};
use fdconvert_core::{Error, Result, ShardSummary};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Hands out the shards that this run writes.
pub trait Turns<'a> {
    /// Returns what to do next; does not wait.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn next(&mut self, observer: &mut dyn Observer) -> Result<Next<'a>>;
}

/// Next step of a run.
pub enum Next<'a> {
    /// Writes a shard.
    Write(Box<dyn Turn + 'a>),
    /// Asks again after this time: other runs write what is left.
    Wait(Duration),
    /// Ends: nothing is left.
    End,
}

/// A shard that this run may write, until it is another's. Dropped, it is given back.
pub trait Turn: Send {
    /// Its number in the plan.
    fn shard(&self) -> usize;

    /// A folder of this turn only, in which the shard is written as a dataset of its own.
    fn place(&self) -> &Path;

    /// Returns whether the shard is known to be another's; asked at every sample.
    fn is_lost(&self) -> bool;

    /// Looks whether it is.
    fn look(&self) -> bool;

    /// Gives the finished shard its place in the dataset; `None` where it is another's.
    ///
    /// # Errors
    /// `Io`; `Usage` when something is in the way.
    fn publish(self: Box<Self>) -> Result<Option<ShardSummary>>;
}

/// Packs the shards that `turns` hands out. The dataset is not completed.
///
/// # Errors
/// As for [`pack`](crate::pack()).
pub fn pack_turns<'a>(
    dataset: &Dataset<'_>,
    identity: &Identity,
    run: &Run,
    turns: &mut dyn Turns<'a>,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<Report> {
    check(dataset)?;
    let began = Instant::now();
    let pool = pool(run.threads)?;
    let mut tally = Tally::default();
    let planned = dataset.plan.len();
    observer.begin(planned);
    thread::scope(|scope| {
        let mut committing = Committing::default();
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let turn = match turns.next(observer)? {
                Next::Write(turn) => turn,
                // A shard of our own may be what is waited for.
                Next::Wait(_) if committing.wait(&mut tally)? => continue,
                Next::Wait(time) => {
                    thread::sleep(time);
                    continue;
                }
                Next::End => break,
            };
            let Some(shard) = dataset.plan.shards.get(turn.shard()) else { continue };
            let stop = || cancel.is_cancelled() || turn.is_lost();
            let filling = Filling { dataset, run, pool: pool.as_ref(), stop: &stop };
            let request = dataset.request(identity, shard, turn.place(), false);
            let filled = dataset.format.create(&request);
            let filled =
                filled.and_then(|writer| filling.fill(shard, writer, observer, &mut tally));
            let filled = filled.map(|(writer, _)| writer);
            let writer = match filled {
                Ok(writer) => writer,
                // Its files are gone, which shows as an error of any kind.
                Err(_) if !cancel.is_cancelled() && turn.look() => continue,
                Err(error) => return Err(error),
            };
            committing.wait(&mut tally)?;
            observer.committing();
            committing.start(scope, shard, move || match writer.finish() {
                Ok(_) => turn.publish(),
                Err(_) if turn.look() => Ok(None),
                Err(error) => Err(error),
            });
        }
        committing.wait(&mut tally)
    })?;
    tally.shards.sort_by_key(|(shard, _)| shard.samples.start);
    let mut report = tally.into_report(dataset.jpeg_index.is_some());
    report.planned = planned;
    report.elapsed = began.elapsed();
    Ok(report)
}

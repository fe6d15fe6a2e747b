//! Sources whose number of samples turns out while they are packed.
//!
//! Their plan has more samples than there will be. A shard that the samples end in is as long as they
//! are, and those behind it are not begun. What an interrupted run has left counts only where the
//! samples end where they ended then.
use crate::{PackJob, PlanRequest, Selection};
use fdconvert_codec::Policy;
use fdconvert_core::{Error, Format, Result, Shard, ShardSummary, Source, option};

/// Refuses what a plan of an open source cannot be: what looks at all samples, or needs their number.
///
/// # Errors
/// `Usage`.
pub(crate) fn check_plan(
    source: &dyn Source,
    policy: &Policy,
    format: &dyn Format,
    request: &PlanRequest,
) -> Result<()> {
    if !source.facts().is_open() {
        return Ok(());
    }
    let chooses = request.selection != Selection::default();
    let arranges = request.shuffle.is_some() || !request.splits.is_empty();
    if chooses || arranges || policy.mixture.is_some() {
        let what = "its number of samples is not known yet; what chooses, shuffles, splits or mixes \
                    them needs all of them first";
        return Err(Error::usage("source", what));
    }
    if !format.capabilities().counts_last {
        let what = format!(
            "its number of samples is not known yet, with which the files of {} begin",
            format.name()
        );
        return Err(Error::usage("source", what));
    }
    Ok(())
}

/// Refuses runs that replace an output, of which it would turn out at the end how much stays, and
/// those that share one.
pub(crate) fn check_run(job: &PackJob) -> Result<()> {
    if !job.source.facts().is_open() {
        return Ok(());
    }
    let shares = job.run.part.map(|_| option::PART);
    match shares.or(job.run.overwrite.then_some(option::OVERWRITE)) {
        Some(option) => {
            Err(Error::usage(option, "the number of samples is not known yet, which this needs"))
        }
        None => Ok(()),
    }
}

/// Returns whether the samples are known to have ended before this position.
pub(crate) fn has_ended(job: &PackJob, position: u64) -> bool {
    job.source.end().is_some_and(|end| position >= end)
}

/// The part of a shard that there are samples for, now that it is filled.
pub(crate) fn filled_part(job: &PackJob, shard: &Shard) -> Shard {
    let mut part = shard.clone();
    if let Some(end) = job.source.end() {
        part.samples.end = part.samples.end.min(end.max(part.samples.start));
    }
    part
}

/// The part of a shard that a finished one holds. Where it is not all of it, the samples had ended.
///
/// # Errors
/// `Usage` where they do not end there again.
pub(crate) fn finished_part(job: &PackJob, shard: &Shard, summary: &ShardSummary) -> Result<Shard> {
    if !job.source.facts().is_open() {
        return Ok(shard.clone());
    }
    let mut part = shard.clone();
    let end = shard.samples.start + summary.samples + summary.skipped.len() as u64;
    if job.source.end().is_some_and(|known| known < end) {
        return Err(others(end));
    }
    if end < shard.samples.end {
        part.samples.end = end;
        // It waits for the sample, or for the end.
        let behind = job.source.read(end);
        if behind.is_ok() || job.source.end() != Some(end) {
            return Err(others(end));
        }
    }
    Ok(part)
}

/// Refuses what an interrupted run has stored, where it is more than there is.
pub(crate) fn check_resumed(job: &PackJob, first: u64) -> Result<()> {
    match job.source.end() {
        Some(end) if end < first => Err(others(first)),
        _ => Ok(()),
    }
}

/// Refuses more samples than are planned at most.
pub(crate) fn check_end(job: &PackJob) -> Result<()> {
    let most = job.plan.len();
    if !job.source.facts().is_open() || has_ended(job, most) {
        return Ok(());
    }
    match job.source.read(most) {
        Err(_) if has_ended(job, most) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            let what = format!(
                "more than {most} samples are more than {} shards hold; make them larger",
                job.plan.shards.len()
            );
            Err(Error::usage(option::SHARD_SIZE, what))
        }
    }
}

/// Writes into the shards how many there are.
pub(crate) fn number(job: &PackJob, shards: &mut [(Shard, ShardSummary)]) {
    if job.source.facts().is_open() {
        let of = shards.len();
        shards.iter_mut().for_each(|(shard, _)| shard.of = of);
    }
}

fn others(n_stored: u64) -> Error {
    let what =
        format!("an interrupted run has left {n_stored} samples there, and these are others");
    Error::usage("output", what).cure("to replace them", option::OVERWRITE.on())
}

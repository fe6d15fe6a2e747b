//! Sources with a number of samples that becomes known while they are packed.
//!
//! Their plan has more samples than there will be. The shard with the last samples is shorter, and
//! later shards are not begun. The results of an interrupted run count only if the samples end at
//! the same point as then.
use crate::{PackJob, PlanRequest, Selection};
use fdconvert_codec::Policy;
use fdconvert_core::{Error, Format, Result, Shard, ShardSummary, Source, option};

/// Refuses plans that an open source does not support: those that read all samples, or need their
/// number.
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

/// Refuses runs that replace an output, because the part that stays would only be known at the end,
/// and runs that share one.
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

/// Returns true if the samples are known to have ended before this position.
pub(crate) fn has_ended(job: &PackJob, position: u64) -> bool {
    job.source.end().is_some_and(|end| position >= end)
}

/// Returns the part of a filled shard that has samples.
pub(crate) fn filled_part(job: &PackJob, shard: &Shard) -> Shard {
    let mut part = shard.clone();
    if let Some(end) = job.source.end() {
        part.samples.end = part.samples.end.min(end.max(part.samples.start));
    }
    part
}

/// Returns the part of a shard that a finished one contains. If that is not the whole shard, the
/// samples had ended.
///
/// # Errors
/// `Usage` if they do not end there again.
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
        // Waits for the sample, or for the end.
        let behind = job.source.read(end);
        if behind.is_ok() || job.source.end() != Some(end) {
            return Err(others(end));
        }
    }
    Ok(part)
}

/// Refuses the results of an interrupted run if there are more of them than samples.
pub(crate) fn check_resumed(job: &PackJob, first: u64) -> Result<()> {
    match job.source.end() {
        Some(end) if end < first => Err(others(first)),
        _ => Ok(()),
    }
}

/// Refuses more samples than the plan allows.
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

fn others(n_stored: u64) -> Error {
    let what =
        format!("an interrupted run has left {n_stored} samples there, and these are others");
    Error::usage("output", what).cure("to replace them", option::OVERWRITE.on())
}

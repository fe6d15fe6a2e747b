//! Images with the same stored bytes.
use super::{
    Datasets,
    scan::{Scan, State, has_sums, image, recorded},
};
use crate::{Context, Stage, chunk::Chunk};
use fdconvert_core::{Encoded, Error, Reader, Remark, Result};
use fdconvert_storage::sigbus;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// Limit on distinct images with one checksum. Two do not occur by chance.
const MAX_LEADERS: usize = 16;

/// A sample, and an earlier one with the same image bytes.
pub(super) type Link = (u32, u32);

/// Finds for every sample the first one with the same bytes, by comparing those with the same
/// checksum. The result is in the order of the later samples.
pub(super) fn links(
    set: &Datasets<'_>,
    scan: &mut Scan,
    context: Context<'_>,
) -> Result<Vec<Link>> {
    let readable = |id: &u32| scan.state(*id) != State::Unreadable;
    let mut order: Vec<u32> = (0..scan.states.len() as u32).filter(readable).collect();
    let sum = |id: u32| scan.sums.get(id as usize).copied().unwrap_or(0);
    order.par_sort_unstable_by_key(|id| (sum(*id), *id));
    let same: Vec<&[u32]> =
        order.chunk_by(|a, b| sum(*a) == sum(*b)).filter(|ids| ids.len() > 1).collect();
    let steps = context.progress.stage(Stage::Comparing);
    steps.total(same.iter().map(|ids| ids.len() as u64).sum());
    let compare = |ids: &&[u32]| {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let compared = compare(set, ids);
        ids.iter().for_each(|_| steps.step());
        Ok(compared)
    };
    let compared: Result<Vec<_>> = same.par_iter().map(compare).collect();
    let mut links = Vec::new();
    for (equal, unreadable) in compared? {
        links.extend(equal);
        unreadable.into_iter().for_each(|(id, why)| scan.is_unreadable(id, why));
    }
    links.sort_unstable();
    Ok(links)
}

/// Compares images with one checksum.
fn compare(set: &Datasets<'_>, ids: &[u32]) -> (Vec<Link>, Vec<(u32, Remark)>) {
    let (mut equal, mut unreadable) = (Vec::new(), Vec::new());
    let mut leaders: Vec<(u32, Encoded)> = Vec::new();
    for &id in ids {
        let (dataset, index) = set.place(id);
        let Some(reader) = set.reader(dataset) else { continue };
        let compared = sigbus::caught(|| {
            let (_, image) = image(reader, index)?;
            let is_same = |(_, leader): &&(u32, Encoded)| {
                (leader.codec, leader.width, leader.height)
                    == (image.codec, image.width, image.height)
                    && leader.bytes == image.bytes
            };
            Ok((leaders.iter().find(is_same).map(|(leader, _)| *leader), image))
        });
        match compared {
            Ok((Some(leader), _)) => equal.push((id, leader)),
            Ok((None, image)) if leaders.len() < MAX_LEADERS => leaders.push((id, image)),
            Ok((None, _)) => {}
            Err(error) => unreadable.push((id, error.remark())),
        }
    }
    (equal, unreadable)
}

/// Counts samples with the checksum of an earlier image; `None` if checksums are not recorded and
/// images must not be read for them.
pub(crate) fn count(reader: &dyn Reader, reads: bool, context: Context<'_>) -> Result<Option<u64>> {
    if reader.schema().first_image().is_none() || !(reads || has_sums(reader)) {
        return Ok(None);
    }
    let reads = !has_sums(reader);
    let chunk_of = if reads { Chunk::of } else { Chunk::of_tables };
    let steps = context.progress.stage(Stage::Hashing);
    steps.total(reader.len());
    let mut sums: Vec<u64> = Vec::with_capacity(usize::try_from(reader.len()).unwrap_or(0));
    let mut chunk = chunk_of(reader, 0);
    while !chunk.samples.is_empty() {
        // Fetched while this one is hashed.
        let next = chunk_of(reader, chunk.samples.end);
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let sum = |index: u64| match recorded(reader, index) {
            Ok(Some(sum)) => Some(sum),
            Ok(None) => sigbus::caught(|| Ok(xxh3_64(&image(reader, index)?.1.bytes))).ok(),
            Err(_) => None,
        };
        let of_chunk: Vec<Option<u64>> = chunk.samples.clone().into_par_iter().map(sum).collect();
        sums.extend(of_chunk.into_iter().flatten());
        steps.done(chunk.samples.end);
        chunk = next;
    }
    sums.par_sort_unstable();
    let repeats = sums.windows(2).filter(|pair| pair.first() == pair.last()).count();
    Ok(Some(repeats as u64))
}

//! Samples whose images have the same bytes, of which the first stays.
use crate::{OnError, ahead::Pieces, expression::spared};
use fdconvert_core::{Error, Image, Result, Source, Value};
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

/// Result of leaving out the later samples of equal images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deduped {
    /// Samples that stay, in the same order.
    pub kept: Vec<u64>,
    /// Of those left out, each with the one that stays in its place, in the order of the former.
    pub pairs: Vec<(u64, u64)>,
    /// Of those left out, samples whose label is another than that of the one that stays.
    pub other_label: u64,
}

/// Leaves out samples all of whose images have the bytes, codec and size of those of an earlier
/// sample. Takes 32 bytes of memory a sample while it looks. Samples without images stay, and so do
/// those that cannot be read where samples are skipped or that is left to the runs.
///
/// Two different images count as equal with a probability of 2^-128 for each pair, by XXH3, which is
/// no protection against images that were made to be confused.
///
/// # Errors
/// `Cancelled` when `step`, called with how many more were hashed, says so; the first sample that
/// cannot be read under [`OnError::Fail`].
pub fn dedup(
    source: &dyn Source,
    indices: &[u64],
    on_error: Option<OnError>,
    step: &dyn Fn(u64) -> bool,
) -> Result<Deduped> {
    // Two halves of a hash, a position, and the label: equal hashes are sorted by their positions.
    let mut seen: Vec<[u64; 4]> = Vec::with_capacity(indices.len());
    let mut start = 0_u64;
    for (chunk, _ahead) in Pieces::new(source, indices) {
        let hashed: Vec<_> = chunk.par_iter().map(|&index| hash(source, index)).collect();
        let positions = start..;
        start += chunk.len() as u64;
        for (position, hashed) in positions.zip(hashed) {
            if let Some(Some((hash, label))) = spared(hashed, on_error)? {
                seen.push([(hash >> 64) as u64, hash as u64, position, label]);
            }
        }
        if !step(chunk.len() as u64) {
            return Err(Error::Cancelled);
        }
    }
    seen.par_sort_unstable();
    let same = |[left, right, ..]: &[u64; 4], [other_left, other_right, ..]: &[u64; 4]| {
        (left, right) == (other_left, other_right)
    };
    // Positions of what is left out, each with that of the first.
    let mut left_out: Vec<(u64, u64)> = Vec::new();
    let mut other_label = 0;
    for group in seen.chunk_by(same) {
        if let [[_, _, first, label], others @ ..] = group {
            left_out.extend(others.iter().map(|[_, _, position, _]| (*position, *first)));
            other_label += others.iter().filter(|[.., other]| other != label).count() as u64;
        }
    }
    left_out.sort_unstable();
    let index_at = |position: u64| indices.get(usize::try_from(position).ok()?).copied();
    let pairs =
        left_out.iter().filter_map(|&(gone, first)| Some((index_at(gone)?, index_at(first)?)));
    let pairs: Vec<_> = pairs.collect();
    let is_gone = |position: u64| left_out.binary_search_by_key(&position, |pair| pair.0).is_ok();
    let positions = (0_u64..).zip(indices);
    let kept = positions.filter(|(position, _)| !is_gone(*position)).map(|(_, index)| *index);
    Ok(Deduped { kept: kept.collect(), pairs, other_label })
}

/// The images of a sample and, to be compared, its label; `None` if it has no images. Raw pixels
/// have no header, so size and codec are part of it.
fn hash(source: &dyn Source, index: u64) -> Result<Option<(u128, u64)>> {
    let sample = source.read(index)?;
    let mut hash = Xxh3Default::new();
    let mut n_images = 0;
    for value in &sample.values {
        let Value::Image(image) = value else { continue };
        n_images += 1;
        let (form, width, height, bytes): (&str, u32, u32, &[u8]) = match image {
            Image::Encoded(image) => {
                (image.codec.extension(), image.width, image.height, &image.bytes)
            }
            Image::Pixels(image) => ("pixels", image.width, image.height, &image.data),
            Image::Bilevel(image) => ("bilevel", image.width, image.height, &image.bits),
        };
        hash.update(form.as_bytes());
        hash.update(&width.to_le_bytes());
        hash.update(&height.to_le_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let label = source.schema().label().and_then(|at| match sample.values.get(at)? {
        Value::Int(label) => Some(*label),
        _ => None,
    });
    let label = label.unwrap_or(i64::MIN).cast_unsigned();
    Ok((n_images > 0).then(|| (hash.digest128(), label)))
}

//! Removes samples with equal image bytes, except the first of each.
use crate::{OnError, ahead::Pieces, expression::spared};
use fdconvert_core::{Error, Image, Result, Source, Value};
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

/// Result of removing the later samples with equal images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deduped {
    /// Kept samples, in the same order.
    pub kept: Vec<u64>,
    /// Removed samples, in order, each with the kept one that replaces it.
    pub pairs: Vec<(u64, u64)>,
    /// Number of removed samples with another label than the kept one.
    pub other_label: u64,
}

/// Removes samples if all their images have the bytes, codec and size of those of an earlier
/// sample. Takes 32 bytes of memory per sample. Samples without images are kept, and so are
/// unreadable ones if samples are skipped or the runs handle them.
///
/// Two different images count as equal with a probability of 2^-128 for each pair, by XXH3, which
/// does not protect against images made to collide.
///
/// # Errors
/// `Cancelled` if `step`, called with the number of newly hashed samples, requests it; the first
/// unreadable sample under [`OnError::Fail`].
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
    // Positions of removed samples, each with that of the first.
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

/// Hashes the images of a sample and, for comparison, its label; `None` without images. Raw pixels
/// have no header, so that size and codec are part of the hash.
fn hash(source: &dyn Source, index: u64) -> Result<Option<(u128, u64)>> {
    let sample = source.read(index)?;
    let mut hash = Xxh3Default::new();
    let mut n_images = 0;
    for value in &sample.values {
        if let Value::Images(images) = value {
            hash.update(&(images.len() as u64).to_le_bytes());
        }
        for image in value.images() {
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
    }
    let label = source.schema().label().and_then(|at| match sample.values.get(at)? {
        Value::Int(label) => Some(*label),
        _ => None,
    });
    let label = label.unwrap_or(i64::MIN).cast_unsigned();
    Ok((n_images > 0).then(|| (hash.digest128(), label)))
}

//! Detection of images in bytes columns: many datasets store JPEGs there without saying so in the
//! index.
use crate::mds::{MdsReader, encoding::Encoding};
use fdconvert_core::Kind;

/// Values to read per column.
const LOOKED_AT: u64 = 16;

/// Minimum number of images in a column per value that is no image.
const OTHERS_MOST: u64 = 3;

/// Turns bytes columns into image fields if nearly all values are images, in a few samples spread
/// over the dataset; later, a broken image is an error of its sample. Of the compressed shards only
/// the first is read, and unreadable samples are skipped.
pub(crate) fn recognise(reader: &mut MdsReader) {
    let n_samples = match reader.shards.first() {
        Some(first) if first.is_compressed() => first.entry.samples,
        _ => reader.facts.len,
    };
    let fields = reader.facts.schema.fields.iter().zip(&reader.fields.columns);
    let is_bytes = |column: usize| {
        reader.columns.get(column).is_some_and(|column| column.encoding == Encoding::Bytes)
    };
    // Candidate columns, with the numbers of images and of other values.
    let mut candidates: Vec<(usize, usize, [u64; 2])> = fields
        .enumerate()
        .filter(|(_, (field, column))| field.kind == Kind::Bytes && is_bytes(**column))
        .map(|(field, (_, &column))| (field, column, [0, 0]))
        .collect();
    let n_looks = n_samples.min(LOOKED_AT);
    for look in 0..n_looks {
        if candidates.is_empty() {
            return;
        }
        // Evenly spaced from the first to the last sample. No overflow: a shard has fewer than 2^32
        // samples, a dataset far fewer than 2^59.
        let index = look.saturating_mul(n_samples - 1) / (n_looks - 1).max(1);
        let Ok(stored) = reader.stored(index) else { continue };
        for (_, column, [n_images, n_others]) in &mut candidates {
            let is_image = fdconvert_core::probe::probe(&stored.value(*column)).is_ok();
            *(if is_image { n_images } else { n_others }) += 1;
        }
    }
    let are_images = |[n_images, n_others]: [u64; 2]| n_images > OTHERS_MOST * n_others;
    let found: Vec<usize> = candidates
        .into_iter()
        .filter_map(|(field, _, seen)| are_images(seen).then_some(field))
        .collect();
    for field in found {
        if let Some(field) = reader.facts.schema.fields.get_mut(field) {
            field.kind = Kind::Image;
        }
    }
}

//! Columns of bytes that hold images: many a dataset has its JPEGs in them, and its index does not
//! say so.
use crate::mds::{MdsReader, encoding::Encoding};
use fdconvert_core::Kind;

/// Values of a column that are looked at.
const LOOKED_AT: u64 = 16;

/// Makes the columns of bytes whose values are all images, as far as samples from the whole dataset
/// tell, fields of images. Of compressed shards only the first is looked at, and samples that cannot
/// be read say nothing.
pub(crate) fn recognise(reader: &mut MdsReader) {
    let n_samples = match reader.shards.first() {
        Some(first) if first.is_compressed() => first.entry.samples,
        _ => reader.n_samples,
    };
    let fields = reader.fields.schema.fields.iter().zip(&reader.fields.columns);
    let is_bytes = |column: usize| {
        reader.columns.get(column).is_some_and(|column| column.encoding == Encoding::Bytes)
    };
    // Those that may be images, and whether one of their values was seen.
    let mut candidates: Vec<(usize, usize, bool)> = fields
        .enumerate()
        .filter(|(_, (field, column))| field.kind == Kind::Bytes && is_bytes(**column))
        .map(|(field, (_, &column))| (field, column, false))
        .collect();
    let n_looks = n_samples.min(LOOKED_AT);
    for look in 0..n_looks {
        if candidates.is_empty() {
            return;
        }
        // Evenly, the first and the last among them; fewer than 2^32 samples in a shard, and far
        // fewer than 2^59 in all.
        let index = look.saturating_mul(n_samples - 1) / (n_looks - 1).max(1);
        let Ok(stored) = reader.stored(index) else { continue };
        candidates.retain_mut(|(_, column, seen)| {
            *seen = true;
            fdconvert_core::probe::probe(&stored.value(*column)).is_ok()
        });
    }
    let found: Vec<usize> =
        candidates.into_iter().filter_map(|(field, _, seen)| seen.then_some(field)).collect();
    for field in found {
        if let Some(field) = reader.fields.schema.fields.get_mut(field) {
            field.kind = Kind::Image;
        }
    }
}

//! `--jpeg-index`: entry points of stored JPEGs, at which decoders may start.
use bytes::Bytes;
use fdconvert_jpeg::stored_entry_points;
use rayon::prelude::*;

/// Makes the entry points of JPEGs on all cores.
pub(crate) fn make_all(jpegs: &[Bytes], grid_bits: u32) -> Vec<Option<Bytes>> {
    let make = |jpeg: &Bytes| stored_entry_points(jpeg, grid_bits).ok().map(Bytes::from);
    jpegs.par_iter().map(make).collect()
}

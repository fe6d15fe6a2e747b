//! `--jpeg-index`: where decoders may start inside the JPEGs that are stored.
use bytes::Bytes;
use fdconvert_jpeg::stored_checkpoints;
use rayon::prelude::*;

/// The checkpoints of JPEGs, by all cores.
pub(crate) fn make_all(jpegs: &[Bytes], grid_bits: u32) -> Vec<Option<Bytes>> {
    let make = |jpeg: &Bytes| stored_checkpoints(jpeg, grid_bits).ok().map(Bytes::from);
    jpegs.par_iter().map(make).collect()
}

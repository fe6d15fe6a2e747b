//! `--jpeg-index`: where decoders may start inside the JPEGs that are stored.
use bytes::Bytes;
use fdconvert_core::{Error, Reader, Result, Sample, Value};
use fdconvert_jpeg_index::{grid_of, stored_checkpoints};
use rayon::prelude::*;

/// The checkpoints of JPEGs, by all cores.
pub(crate) fn make_all(jpegs: &[Bytes], grid_bits: u32) -> Vec<Option<Bytes>> {
    let make = |jpeg: &Bytes| stored_checkpoints(jpeg, grid_bits).ok().map(Bytes::from);
    jpegs.par_iter().map(make).collect()
}

/// Whether the stored checkpoints of a sample's JPEGs are those that are made of them now.
pub(crate) fn verify(
    reader: &dyn Reader,
    index: u64,
    sample: &Sample<fdconvert_core::Encoded>,
) -> Result<()> {
    for (field, value) in sample.values.iter().enumerate() {
        let Value::Image(image) = value else { continue };
        let Some(stored) = reader.checkpoints(index, field)? else { continue };
        let bad = |what: String| Err(Error::sample(&sample.key, what));
        let Some(grid_bits) = stored.first().copied().and_then(grid_of) else {
            return bad("its checkpoints are of a version that this build does not know".into());
        };
        match stored_checkpoints(&image.bytes, grid_bits) {
            Ok(made) if made == stored => {}
            Ok(_) => return bad("its checkpoints are not those of its JPEG".into()),
            Err(refused) => return bad(format!("it has checkpoints, but {refused}")),
        }
    }
    Ok(())
}

//! `--jpeg-index`: where decoders may start inside the JPEGs that are stored.
use bytes::Bytes;
use fdconvert_core::{Error, Format, Reader, Result, Sample, Value};
use fdconvert_jpeg::{DEFAULT_GRID_BITS, GRIDS_BITS, grid_of, stored_checkpoints};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How far apart checkpoints are, in bits; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct GridArg(pub(crate) Option<u32>);

impl GridArg {
    /// Plans do not mention what nobody asked for.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
    pub(crate) fn is_off(&self) -> bool {
        self.0.is_none()
    }
}

/// `on`, `off`, or one of the grids.
pub(crate) fn parse(text: &str) -> Result<GridArg, String> {
    match text {
        "on" => return Ok(GridArg(Some(DEFAULT_GRID_BITS))),
        "off" => return Ok(GridArg(None)),
        _ => {}
    }
    let grid_bits = text.parse().ok().filter(|grid_bits| GRIDS_BITS.contains(grid_bits));
    let wrong = || format!("`{text}` is none of: on, off, 512, 1024, 2048, 4096 (bits)");
    grid_bits.map(|grid_bits| GridArg(Some(grid_bits))).ok_or_else(wrong)
}

/// The grid that was asked for, if the format can store it.
pub(crate) fn checked(arg: GridArg, format: &dyn Format) -> Result<Option<u32>> {
    if arg.is_off() || format.stores_checkpoints() {
        return Ok(arg.0);
    }
    let able = fdconvert_reader::formats().into_iter().filter(|format| format.stores_checkpoints());
    let able: Vec<_> = able.map(|format| format.name()).collect();
    let name = format.name();
    let why = if able.contains(&name) {
        format!("a {name} with these options has no index to store checkpoints in")
    } else {
        format!("a {name} cannot store checkpoints; {} can", able.join(", "))
    };
    Err(Error::usage("--jpeg-index", why))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_named_or_counted() {
        assert_eq!(parse("on"), Ok(GridArg(Some(2048))));
        assert_eq!(parse("off"), Ok(GridArg(None)));
        assert_eq!(parse("512"), Ok(GridArg(Some(512))));
        for text in ["", "0", "1000", "8192", "yes"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

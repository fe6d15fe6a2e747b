//! Checkpoints of the JPEGs that are stored, made by the workers.
use crate::Dataset;
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Error, Result, Sample, Value, named};
use fdconvert_jpeg::{GRIDS_BITS, stored_checkpoints};
use std::time::{Duration, Instant};

/// Those of one sample.
#[derive(Default)]
pub(crate) struct Made {
    /// One for each image field, in schema order; empty where none were asked for.
    pub(crate) checkpoints: Vec<Option<Bytes>>,
    /// Why JPEGs got none.
    pub(crate) refused: Vec<&'static str>,
    pub(crate) time: Duration,
}

impl Made {
    pub(crate) fn new(sample: &Sample<Encoded>, grid_bits: Option<u32>) -> Self {
        let Some(grid_bits) = grid_bits else { return Self::default() };
        let began = Instant::now();
        let mut made = Self::default();
        for value in &sample.values {
            let Value::Image(image) = value else { continue };
            let checkpoints = (image.codec == Codec::Jpeg)
                .then(|| stored_checkpoints(&image.bytes, grid_bits))
                .and_then(|stored| {
                    stored.map_err(|refused| made.refused.push(refused.name())).ok()
                });
            made.checkpoints.push(checkpoints.map(Bytes::from));
        }
        made.time = began.elapsed();
        made
    }
}

/// Whether checkpoints that are asked for can be made and stored.
pub(crate) fn check(dataset: &Dataset<'_>) -> Result<()> {
    match dataset.jpeg_index {
        Some(grid_bits) if !GRIDS_BITS.contains(&grid_bits) => {
            let what = format!("{grid_bits} bits; 512, 1024, 2048 and 4096 exist");
            Err(Error::usage(named::JPEG_INDEX, what))
        }
        Some(_) if !dataset.format.stores_checkpoints() => {
            let what =
                format!("a {} of these options has no place for them", dataset.format.name());
            Err(Error::usage(named::JPEG_INDEX, what))
        }
        _ => Ok(()),
    }
}

//! Entry points of stored JPEGs, which the workers make.
use crate::PackJob;
use fdconvert_core::{Codec, Encoded, Error, Result, Sample, Value, option};
use fdconvert_jpeg::{GRIDS_BITS, stored_entry_points};
use std::time::{Duration, Instant};

/// Entry points of the JPEGs of one sample.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) refused: Vec<&'static str>,
    pub(crate) time: Duration,
}

impl Made {
    /// Makes the entry points of a sample, if the job stores them.
    pub(crate) fn of(sample: &mut Sample<Encoded>, grid_bits: Option<u32>) -> Self {
        let Some(grid_bits) = grid_bits else { return Self::default() };
        let began = Instant::now();
        let mut made = Self::default();
        for value in &mut sample.values {
            let Value::Image(image) = value else { continue };
            if image.codec != Codec::Jpeg {
                continue;
            }
            match stored_entry_points(&image.bytes, grid_bits) {
                Ok(stored) => image.entry_points = Some(stored.into()),
                Err(refused) => made.refused.push(refused.name()),
            }
        }
        made.time = began.elapsed();
        made
    }
}

/// Checks that the job's entry points can be made and stored.
pub(crate) fn check(job: &PackJob) -> Result<()> {
    match job.jpeg_index {
        Some(grid_bits) if !GRIDS_BITS.contains(&grid_bits) => {
            let what = format!("{grid_bits} bits; 512, 1024, 2048 and 4096 exist");
            Err(Error::usage(option::JPEG_INDEX, what))
        }
        Some(_) if !job.format.capabilities().entry_points => {
            let what = format!("a {} of these options has no place for them", job.format.name());
            Err(Error::usage(option::JPEG_INDEX, what))
        }
        _ => Ok(()),
    }
}

//! Comparison of the pixels with libjpeg-turbo's.
use super::{Result, images::Set};
use fdconvert_gpu::{Decoder, Diagnostics, Output, Status};
use fdconvert_jpeg::GRIDS_BITS;
use std::time::Instant;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Result of checking the images of a set on a grid.
pub(crate) struct Checked {
    pub(crate) set: String,
    pub(crate) grid_bits: u32,
    pub(crate) n_equal: usize,
    /// Images that these kernels do not support.
    pub(crate) n_fallback: usize,
    /// The first few images that differ, or were reported as damaged.
    pub(crate) wrong: Vec<String>,
    pub(crate) n_wrong: usize,
    pub(crate) n_left_out: usize,
    /// Hash of all pixels from the GPU, image by image.
    pub(crate) hash: u64,
}

const BATCH: usize = 256;
const MAX_SHOWN: usize = 5;

/// Checks all images on all grids, in memory filled with garbage.
pub(crate) fn all(decoder: &mut Decoder, sets: &[Set], deadline: Instant) -> Result<Vec<Checked>> {
    decoder.diagnose(Diagnostics { garbage: true, ..Diagnostics::default() });
    let mut checked = Vec::new();
    for set in sets {
        for (grid, grid_bits) in GRIDS_BITS.into_iter().enumerate() {
            checked.push(one(decoder, set, grid, grid_bits, deadline)?);
        }
    }
    decoder.diagnose(Diagnostics::default());
    Ok(checked)
}

fn one(
    decoder: &mut Decoder,
    set: &Set,
    grid: usize,
    grid_bits: u32,
    deadline: Instant,
) -> Result<Checked> {
    let mut checked = Checked {
        set: set.name.clone(),
        grid_bits,
        n_equal: 0,
        n_fallback: 0,
        wrong: Vec::new(),
        n_wrong: 0,
        n_left_out: 0,
        hash: 0,
    };
    let mut hash = Xxh3::new();
    for (number, images) in set.images.chunks(BATCH).enumerate() {
        // The first batch is always checked: a record needs at least one comparison.
        if number > 0 && Instant::now() > deadline {
            checked.n_left_out += images.len();
            continue;
        }
        let first = number * BATCH;
        let batch = decoder.decode(&set.requests(grid, first, images.len()), Output::Native)?;
        let pixels = batch.download()?.unwrap_or_default();
        for (at, (image, status)) in images.iter().zip(batch.statuses()).enumerate() {
            if matches!(status, Status::Fallback(_)) {
                checked.n_fallback += 1;
                continue;
            }
            let place = batch.place(at).map(|place| place.bytes).unwrap_or_default();
            let found = pixels.get(place.start as usize..place.end as usize).unwrap_or_default();
            hash.update(found);
            if *status == Status::Decoded && xxh3_128(found) == image.hash {
                checked.n_equal += 1;
            } else {
                checked.n_wrong += 1;
                if checked.wrong.len() < MAX_SHOWN {
                    checked.wrong.push(format!("image {}: {status:?}", first + at));
                }
            }
        }
    }
    checked.hash = hash.digest();
    Ok(checked)
}

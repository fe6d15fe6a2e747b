//! The same images by nvJPEG: speed, and distance from libjpeg-turbo's pixels.
use super::{
    Result, Settings,
    images::Set,
    measure::{MIN_IMAGES, TENSOR, usual_batch},
};
use fdconvert_codec::Decoder as Turbo;
use fdconvert_core::Limits as TurboLimits;
use fdconvert_gpu::{
    Decoder, Engine, Gpu, GpuError, LibraryShare, LibraryUse, Limits, NvJpeg, Output, Status,
};
use std::time::Instant;

/// Room for batches of the sizes used here, which its engines need.
const LIMITS: Limits = Limits { chunk_blocks: 1 << 21, ..Limits::DEFAULT };
/// Images of each set with compared pixels.
const N_COMPARED: usize = 256;

pub(crate) struct Rivals {
    pub(crate) version: (i32, i32, i32),
    pub(crate) hardware: Option<(u32, u32)>,
    pub(crate) skipped: Vec<(LibraryUse, GpuError)>,
    pub(crate) cases: Vec<Case>,
}

/// An engine, a set and an output.
pub(crate) struct Case {
    pub(crate) how: LibraryUse,
    pub(crate) set: String,
    pub(crate) output: Output,
    pub(crate) batch: usize,
    /// Images per second of every round.
    pub(crate) wall: Vec<f64>,
    pub(crate) n_left: usize,
    pub(crate) difference: Option<Difference>,
}

/// Difference from libjpeg-turbo's samples, which are 0 to 255.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    sum: u64,
    n_samples: u64,
    pub(crate) most: u8,
}

impl Difference {
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.n_samples.max(1) as f64
    }

    fn add(&mut self, found: u8, expected: u8) {
        let difference = found.abs_diff(expected);
        self.sum += u64::from(difference);
        self.n_samples += 1;
        self.most = self.most.max(difference);
    }
}

/// Measures every engine that starts, with and without interpolated chroma, in turn until the
/// rounds or the time are used up.
pub(crate) fn all(
    gpu: &Gpu,
    library: &NvJpeg,
    sets: &[Set],
    settings: &Settings,
    deadline: Instant,
) -> Result<Rivals> {
    let mut rivals = Rivals {
        version: library.version(),
        hardware: None,
        skipped: Vec::new(),
        cases: Vec::new(),
    };
    let mut decoders = Vec::new();
    for engine in Engine::ALL {
        for smooth_chroma in [false, true] {
            let how = LibraryUse { engine, share: LibraryShare::All, smooth_chroma };
            let mut decoder = Decoder::new(gpu, LIMITS)?;
            match decoder.use_library(library, how) {
                Ok(()) => decoders.push((how, decoder)),
                Err(error) => rivals.skipped.push((how, error)),
            }
        }
    }
    let batch = usual_batch(&settings.batches);
    for (how, decoder) in &mut decoders {
        rivals.hardware = rivals.hardware.or(decoder.hardware_decoders());
        for set in sets {
            // The first batch also warms up.
            let difference = compare(decoder, set)?;
            for (output, difference) in [(Output::Native, Some(difference)), (TENSOR, None)] {
                let requests = set.requests(0, 0, batch);
                let warm = decoder.decode(&requests, output)?;
                let n_left = warm.statuses().iter().filter(|it| **it != Status::Library).count();
                let (how, set, wall) = (*how, set.name.clone(), Vec::new());
                rivals.cases.push(Case { how, set, output, batch, wall, n_left, difference });
            }
            if Instant::now() > deadline {
                return Ok(rivals);
            }
        }
    }
    for _ in 0..settings.rounds {
        for case in &mut rivals.cases {
            if Instant::now() > deadline {
                return Ok(rivals);
            }
            let decoder = decoders.iter_mut().find(|(how, _)| *how == case.how);
            let set = sets.iter().find(|set| set.name == case.set);
            if let (Some((_, decoder)), Some(set)) = (decoder, set) {
                case.wall.push(rate(decoder, set, case.output, batch)?);
            }
        }
    }
    Ok(rivals)
}

/// Returns images per second, with two batches in flight.
fn rate(decoder: &mut Decoder, set: &Set, output: Output, batch: usize) -> Result<f64> {
    let n_batches = MIN_IMAGES.min(8 * set.images.len()).div_ceil(batch).max(2);
    let began = Instant::now();
    let mut running = None;
    for number in 0..n_batches {
        let next = decoder.submit(&set.requests(0, number * batch, batch), output)?;
        if let Some(before) = running.replace(next) {
            before.wait()?;
        }
    }
    if let Some(last) = running {
        last.wait()?;
    }
    Ok((n_batches * batch) as f64 / began.elapsed().as_secs_f64())
}

fn compare(decoder: &mut Decoder, set: &Set) -> Result<Difference> {
    let images = set.images.iter().take(N_COMPARED);
    let batch = decoder.decode(&set.requests(0, 0, images.len()), Output::Native)?;
    let pixels = batch.download()?.unwrap_or_default();
    let (mut turbo, mut difference) = (Turbo::new(), Difference::default());
    for (number, (image, status)) in images.zip(batch.statuses()).enumerate() {
        let (Status::Library, Some(place)) = (status, batch.place(number)) else { continue };
        let range = place.bytes.start as usize..place.bytes.end as usize;
        let found = pixels.get(range).unwrap_or_default();
        let expected = turbo.decode("", &image.encoded, &TurboLimits::DEFAULT)?.pixels;
        // Gray images are returned as RGB.
        let times = 3 / usize::from(expected.channels).max(1);
        let expected = expected.data.iter().flat_map(|sample| std::iter::repeat_n(*sample, times));
        found.iter().zip(expected).for_each(|(found, expected)| difference.add(*found, expected));
    }
    Ok(difference)
}

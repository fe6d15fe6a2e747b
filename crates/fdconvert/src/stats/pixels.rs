//! Mean and standard deviation of the channels over all pixels of a dataset.
//!
//! Levels and their squares are summed as integers, so that neither the number of threads nor the
//! order of the samples can change a digit.
use crate::{Context, Stage, chunk::Chunk};
use fdconvert_codec::Decoder;
use fdconvert_core::{Error, Limits, Reader, Result, Value};
use fdconvert_storage::sigbus;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

/// Number of levels summed in parallel: a multiple of every number of channels, so that a lane
/// always has the same one.
const LANES: usize = 48;
/// Number of squares of levels with a sum that fits 32 bits.
const ROUNDS: usize = 65_536;

/// Statistics of red, green and blue over all pixels of the samples' first images.
///
/// Levels 0 to 255 count as 0 to 1, and every pixel of the dataset has the same weight. A gray
/// image counts as three equal channels, and alpha is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PixelStats {
    /// Number of decoded images.
    pub images: u64,
    /// Number of gray ones among them.
    pub gray: u64,
    /// Number of pixels in all these images.
    pub pixels: u64,
    /// Mean of each channel.
    pub mean: [f64; 3],
    /// Standard deviation of each channel over all pixels: the sum of squares is divided by their
    /// number.
    pub std: [f64; 3],
    /// Number of samples with an image that cannot be read or decoded.
    pub unreadable: u64,
}

impl PixelStats {
    pub(super) fn to_json(self) -> Json {
        json!({
            "images": self.images,
            "gray": self.gray,
            "pixels": self.pixels,
            "mean": self.mean,
            "std": self.std,
            "unreadable": self.unreadable,
        })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    images: u64,
    gray: u64,
    pixels: u64,
    levels: [u128; 3],
    squares: [u128; 3],
    unreadable: u64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.images += other.images;
        self.gray += other.gray;
        self.pixels += other.pixels;
        self.unreadable += other.unreadable;
        for channel in 0..3 {
            self.levels[channel] += other.levels[channel];
            self.squares[channel] += other.squares[channel];
        }
    }

    /// Sums an image of 1, 3 or 4 channels.
    fn of_image(data: &[u8], channels: u8) -> Self {
        let n_channels = usize::from(channels).max(1);
        let (mut levels, mut squares) = ([0_u64; LANES], [0_u64; LANES]);
        for block in data.chunks(LANES * ROUNDS) {
            let (mut sums, mut sums_of_squares) = ([0_u32; LANES], [0_u32; LANES]);
            let (rows, rest) = block.as_chunks::<LANES>();
            for row in rows {
                for lane in 0..LANES {
                    let level = u32::from(row[lane]);
                    sums[lane] += level;
                    sums_of_squares[lane] += level * level;
                }
            }
            for lane in 0..LANES {
                levels[lane] += u64::from(sums[lane]);
                squares[lane] += u64::from(sums_of_squares[lane]);
            }
            for (lane, level) in rest.iter().enumerate() {
                levels[lane] += u64::from(*level);
                squares[lane] += u64::from(*level) * u64::from(*level);
            }
        }
        let is_gray = n_channels < 3;
        let of_channel = |sums: &[u64; LANES], channel: usize| {
            let first = if is_gray { 0 } else { channel };
            sums.iter().skip(first).step_by(n_channels).map(|sum| u128::from(*sum)).sum()
        };
        Self {
            images: 1,
            gray: u64::from(is_gray),
            pixels: (data.len() / n_channels) as u64,
            levels: std::array::from_fn(|channel| of_channel(&levels, channel)),
            squares: std::array::from_fn(|channel| of_channel(&squares, channel)),
            unreadable: 0,
        }
    }

    fn stats(&self) -> PixelStats {
        let n = u128::from(self.pixels);
        let mean = |levels: u128| match n {
            0 => 0.0,
            _ => levels as f64 / (n as f64 * 255.0),
        };
        let std = |levels: u128, squares: u128| {
            if n == 0 {
                return 0.0;
            }
            let exact = n.checked_mul(squares).zip(levels.checked_mul(levels));
            let variance = match exact {
                // The difference is exact, and rounded once.
                Some((all, mean)) => all.saturating_sub(mean) as f64 / (n as f64 * n as f64),
                None => {
                    let mean = levels as f64 / n as f64;
                    squares as f64 / n as f64 - mean * mean
                }
            };
            variance.max(0.0).sqrt() / 255.0
        };
        PixelStats {
            images: self.images,
            gray: self.gray,
            pixels: self.pixels,
            mean: self.levels.map(mean),
            std: std::array::from_fn(|channel| std(self.levels[channel], self.squares[channel])),
            unreadable: self.unreadable,
        }
    }
}

/// Decodes every image; `None` for a dataset without an image field.
pub(super) fn measure(
    reader: &dyn Reader,
    limits: &Limits,
    context: Context<'_>,
) -> Result<Option<PixelStats>> {
    let Some(field) = reader.schema().first_image() else { return Ok(None) };
    let steps = context.progress.stage(Stage::Measuring);
    steps.total(reader.len());
    let mut sums = Sums::default();
    let mut chunk = Chunk::of(reader, 0);
    while !chunk.samples.is_empty() {
        // Fetched while this one is decoded.
        let next = Chunk::of(reader, chunk.samples.end);
        let measure = |(decoder, memory): &mut (Decoder, Vec<u8>), index: u64| {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let of_image = sigbus::caught(|| {
                let sample = reader.get(index)?;
                let Some(Value::Image(image)) = sample.values.get(field) else {
                    return Ok(Sums::default());
                };
                let (_, channels, _) = decoder.decode_into(&sample.key, image, limits, memory)?;
                Ok(Sums::of_image(memory, channels))
            });
            steps.step();
            Ok(of_image.unwrap_or(Sums { unreadable: 1, ..Sums::default() }))
        };
        let samples = chunk.samples.clone().into_par_iter();
        let of_images: Result<Vec<Sums>> = samples.map_init(Default::default, measure).collect();
        of_images?.iter().for_each(|of_image| sums.add(of_image));
        chunk = next;
    }
    Ok(Some(sums.stats()))
}

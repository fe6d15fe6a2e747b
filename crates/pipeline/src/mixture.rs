//! Which images of a mixture become BMP: `../../../formats/mixed/SPEC.md`, "Which sample is in
//! which codec".

use crate::{Plan, Positions};
use fdconvert_codec::{By, Mixture, Outlook, Policy};
use fdconvert_core::{Codec, Format, Result, Sample, Source, Value};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Positions in the order of the plan. A sample that cannot be read is none of them: the run will
/// say what is wrong with it.
pub(crate) fn choose(
    source: &dyn Source,
    policy: &Policy,
    mixture: Mixture,
    format: &dyn Format,
    plan: &Plan,
    n_samples: u64,
) -> Positions {
    let mut chosen = Positions::new(n_samples);
    if mixture.share <= 0.0 {
        return chosen;
    }
    let mut candidates: Vec<Candidate> = (0..n_samples)
        .into_par_iter()
        .filter_map(|position| {
            let sample = source.read(plan.source_index(position)).ok()?;
            let key = sample.key.clone();
            let outlook = outlook(policy, sample, format).ok()??;
            Candidate::new(position, &key, &outlook, mixture)
        })
        .collect();
    // Half up, as the specification says.
    let wanted = (mixture.share * n_samples as f64 + 0.5).floor() as u64;
    candidates.sort_unstable_by(|a, b| a.rank.total_cmp(&b.rank).then(a.draw.cmp(&b.draw)));
    let n_free = candidates.partition_point(|candidate| candidate.rank < FORCED);
    let (free, forced) = candidates.split_at(n_free);
    let missing = usize::try_from(wanted.saturating_sub(forced.len() as u64));
    for candidate in free.iter().take(missing.unwrap_or(usize::MAX)).chain(forced) {
        chosen.insert(candidate.position);
    }
    chosen
}

/// The outlook of the first image of a sample: the others go with it.
fn outlook(
    policy: &Policy,
    sample: Sample<fdconvert_core::Image>,
    format: &dyn Format,
) -> Result<Option<Outlook>> {
    let images = sample.values.iter().find_map(|value| match value {
        Value::Image(image) => Some(image),
        _ => None,
    });
    images.map(|image| policy.outlook(&sample.key, image, format)).transpose()
}

/// The rank of those that become BMP whatever the share is, behind all others.
const FORCED: f64 = f64::INFINITY;

/// An image that a BMP can hold.
struct Candidate {
    position: u64,
    /// Lower ones first.
    rank: f64,
    /// Among those of the same rank: by key, so that the choice does not depend on the order.
    draw: (u64, u64),
}

impl Candidate {
    fn new(position: u64, key: &str, outlook: &Outlook, mixture: Mixture) -> Option<Self> {
        let bmp_bytes = outlook.bmp_bytes?;
        let rank = match (outlook.encoded_bytes, mixture.by) {
            (Some(encoded_bytes), _) if bmp_bytes <= encoded_bytes => FORCED,
            (_, By::Random) => 0.0,
            (encoded_bytes, By::Benefit) => {
                let encoded_bytes = encoded_bytes.map_or(bmp_bytes as f64 * GUESS, |n| n as f64);
                let saved = decode_cost(outlook.codec, outlook.pixels, encoded_bytes);
                -saved / (bmp_bytes as f64 - encoded_bytes).max(1.0)
            }
        };
        let draw = (xxh3_64_with_seed(key.as_bytes(), mixture.seed), position);
        Some(Self { position, rank, draw })
    }
}

/// Encoded by BMP bytes where encoding decides, which makes all images of a size alike.
const GUESS: f64 = 0.5;

/// What decoding takes more than copying, in nanoseconds of one core: only the proportions matter.
/// Fitted to photographs of 0.2 to 0.4 megapixels on x86-64, libjpeg-turbo and the crate `png`
/// (`cargo run --release -p fdconvert-profile --example profile`).
fn decode_cost(codec: Option<Codec>, pixels: u64, encoded_bytes: f64) -> f64 {
    let (per_pixel, per_byte) = match codec {
        Some(Codec::Jpeg) => (2.0, 8.0),
        // Filters take all raw bytes, inflating takes the compressed ones.
        _ => (4.0, 4.0),
    };
    per_pixel * pixels as f64 + per_byte * encoded_bytes
}

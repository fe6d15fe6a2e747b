//! Chooses the images of a mixture that become BMP: `../../../formats/mixed/SPEC.md`, "Which sample
//! is in which codec".

use crate::{Plan, Positions, unreadable::Unreadable};
use fdconvert_codec::{By, Mixture, Outlook, Policy};
use fdconvert_core::{Codec, Error, Format, Result, Sample, Source};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Costs and a machine from a profile, for a mixture by benefit: it then takes images only until
/// reading and decoding take equally long, at a smaller share than random images need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Rate of the storage in bytes/s.
    pub read_bytes_per_s: f64,
    /// Number of decoding threads.
    pub threads: f64,
    /// Bytes of the dataset that stay in memory.
    pub cache_bytes: f64,
    /// Mean thread time for an encoded image in seconds.
    pub encoded_seconds: f64,
    /// Mean thread time for a BMP in seconds.
    pub bmp_seconds: f64,
}

pub(crate) struct Choice<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) mixture: Mixture,
    pub(crate) balance: Option<&'a Balance>,
}

impl Choice<'_> {
    /// Returns positions in the order of the plan. It does not include samples that cannot be read:
    /// the run reports their errors.
    pub(crate) fn choose(
        &self,
        source: &dyn Source,
        format: &dyn Format,
        plan: &Plan,
        n_samples: u64,
        unreadable: &Unreadable,
    ) -> Result<Positions> {
        if self.mixture.share <= 0.0 {
            return Ok(Positions::new(n_samples));
        }
        let look = |position: u64| -> Result<Option<Candidate>> {
            let sample = source.read(plan.source_index(position))?;
            let key = sample.key.clone();
            let outlook = outlook(self.policy, sample, format)?;
            Ok(outlook.and_then(|it| Candidate::new(position, &key, &it, self.mixture)))
        };
        let looks: Vec<Result<Candidate, Error>> = (0..n_samples)
            .into_par_iter()
            .filter_map(|position| {
                let settled = unreadable.settle(position, look(position));
                settled.map(Option::flatten).transpose()
            })
            .collect();
        // In order, so that the first bad sample is reported for any number of threads.
        let candidates: Vec<Candidate> = looks.into_iter().collect::<Result<_>>()?;
        Ok(self.take(candidates, n_samples))
    }

    fn take(&self, mut candidates: Vec<Candidate>, n_samples: u64) -> Positions {
        let mut chosen = Positions::new(n_samples);
        let (mixture, balance) = (self.mixture, self.balance);
        let wanted = half_up(mixture.share, n_samples);
        candidates.sort_unstable_by(|a, b| a.rank.total_cmp(&b.rank).then(a.draw.cmp(&b.draw)));
        let n_free = candidates.partition_point(|candidate| candidate.rank < FORCED);
        let (free, forced) = candidates.split_at(n_free);
        let missing = match balance.filter(|_| mixture.by == By::Benefit) {
            Some(balance) => balance.n_images(free, forced, n_samples),
            None => {
                usize::try_from(wanted.saturating_sub(forced.len() as u64)).unwrap_or(usize::MAX)
            }
        };
        for candidate in free.iter().take(missing).chain(forced) {
            chosen.insert(candidate.position);
        }
        chosen
    }
}

/// Multiplies share and number, rounded half up. 0.7 of 45 are 31.5 and so 32, although the binary
/// value of 0.7 is a little smaller.
fn half_up(share: f64, n_samples: u64) -> u64 {
    (share * n_samples as f64).mul_add(1.0 + 4.0 * f64::EPSILON, 0.5).floor() as u64
}

/// Returns the outlook of the first image of a sample: the others go with it.
fn outlook(
    policy: &Policy,
    sample: Sample<fdconvert_core::Image>,
    format: &dyn Format,
) -> Result<Option<Outlook>> {
    let first = sample.values.iter().find_map(|value| value.images().first());
    first.map(|image| policy.outlook(&sample.key, image, format)).transpose()
}

impl Balance {
    /// Returns the number of `free` images, in order, that become BMP until reading takes as long
    /// as decoding. `forced` ones are BMP already; images that cannot be BMP count as the mean.
    fn n_images(&self, free: &[Candidate], forced: &[Candidate], n_samples: u64) -> usize {
        let n_free = free.len().max(1) as f64;
        let mean_work = free.iter().map(|it| it.work).sum::<f64>() / n_free;
        let mean_bytes = free.iter().map(|it| it.encoded_bytes).sum::<f64>() / n_free;
        let n_others = n_samples as f64 - (free.len() + forced.len()) as f64;
        let mut bytes = n_others * mean_bytes
            + free.iter().map(|it| it.encoded_bytes).sum::<f64>()
            + forced.iter().map(|it| it.bmp_bytes).sum::<f64>()
            - self.cache_bytes;
        let mut seconds =
            (n_others + n_free) * self.encoded_seconds + forced.len() as f64 * self.bmp_seconds;
        let is_balanced =
            |bytes: f64, seconds: f64| bytes / self.read_bytes_per_s >= seconds / self.threads;
        for (taken, candidate) in free.iter().enumerate() {
            if is_balanced(bytes, seconds) {
                return taken;
            }
            // Work is known only in proportion; its mean is what was measured.
            let saved = self.encoded_seconds * candidate.work / mean_work.max(f64::MIN_POSITIVE);
            bytes += candidate.bmp_bytes - candidate.encoded_bytes;
            seconds -= saved - self.bmp_seconds;
        }
        free.len()
    }
}

/// Rank of the images that become BMP at any share, after all others.
const FORCED: f64 = f64::INFINITY;

/// An image that a BMP can hold.
struct Candidate {
    position: u64,
    /// Lower ranks come first.
    rank: f64,
    /// Order within the same rank: by key, so that the choice does not depend on the order.
    draw: (u64, u64),
    bmp_bytes: f64,
    /// Estimated if encoding determines it.
    encoded_bytes: f64,
    /// Work of decoding the encoded form, in proportion.
    work: f64,
}

impl Candidate {
    fn new(position: u64, key: &str, outlook: &Outlook, mixture: Mixture) -> Option<Self> {
        let bmp_bytes = outlook.bmp_bytes?;
        let is_forced = outlook.encoded_bytes.is_some_and(|encoded| bmp_bytes <= encoded);
        let bmp_bytes = bmp_bytes as f64;
        let encoded_bytes = outlook.encoded_bytes.map_or(bmp_bytes * GUESS, |n| n as f64);
        let work = decode_cost(outlook.codec, outlook.pixels, encoded_bytes);
        let rank = match mixture.by {
            _ if is_forced => FORCED,
            By::Random => 0.0,
            By::Benefit => -work / (bmp_bytes - encoded_bytes).max(1.0),
        };
        let draw = (xxh3_64_with_seed(key.as_bytes(), mixture.seed), position);
        Some(Self { position, rank, draw, bmp_bytes, encoded_bytes, work })
    }
}

/// Ratio of encoded to BMP bytes if encoding determines it, which makes all images of a size alike.
const GUESS: f64 = 0.5;

/// Returns the cost of decoding over copying, in nanoseconds of one core: only the proportions
/// matter. Fitted to photographs of 0.2 to 0.4 megapixels on x86-64, libjpeg-turbo and the crate
/// `png` (`cargo run --release -p fdconvert-profile --example profile`).
fn decode_cost(codec: Option<Codec>, pixels: u64, encoded_bytes: f64) -> f64 {
    let (per_pixel, per_byte) = match codec {
        Some(Codec::Jpeg) => (2.0, 8.0),
        // Filters process all raw bytes, inflating processes the compressed ones.
        _ => (3.0, 3.0),
    };
    per_pixel * pixels as f64 + per_byte * encoded_bytes
}

//! Model of the time to load an epoch on many ranks, with and without sending rows to the ranks
//! that own their samples.
//!
//! Storage is shared by all ranks and does not grow with them; decoding and memory do. From some
//! number of ranks on, only storage counts, unless the samples are in the ranks' caches and rows
//! are assigned accordingly. That is the argument of Yang and Cong, "Accelerating Data Loading in
//! Deep Neural Network Training", HiPC 2019 (<https://arxiv.org/abs/1910.01196>), from which the
//! terms are taken; the reads by [`Dealing`] are those of this loader.
//!
//! ```text
//! n images of s bytes, p ranks of b rows a step; a rank's cache holds M bytes
//!
//! h = min(1, p M / (n s))              resident in the caches of all ranks together
//! m = E[max(0, X - b)] / b             share of rows beyond its own that a rank owns: they move
//!     X ~ normal, mean h b, variance h b (1 - h/p); with h = 1, m = sqrt(1 - 1/p) / sqrt(2 pi b)
//!
//! read from storage, a share u of all images, in epoch e, counted from 0:
//!     own caches     u = 1 - min(1, M / (n s)) (1 - (1 - 1/p)^e)
//!     locality       u = 1 - h + m, in the long run
//!     exchange       u = 1 - h; the share m comes from its owner
//!
//! storage = u n s / B                  B bytes/s of the storage, for all ranks
//! network = m n s / (p N)              N bytes/s that a rank receives; only with exchange
//! cache   = (1 - u) n s / (p R)        R bytes/s that a rank reads from its cache
//! decode  = n d / (p C)                d CPU seconds an image, C cores of a rank
//! T       = max of the four            they run in parallel
//! ```
//!
//! Deliberately absent: the training itself, latency, and ranks that wait for the slowest one.
use crate::model::{not_negative, positive, unlimited};
use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// A training on many ranks: its data, and the capacities of ranks and storage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Number of images of the dataset.
    pub n_images: u64,
    /// Mean stored bytes of an image.
    pub bytes_per_image: f64,
    /// CPU seconds to decode an image.
    pub cpu_seconds_per_image: f64,
    /// Number of rows of a step on each rank.
    pub rows_per_rank: u32,
    /// Bytes of images that each rank keeps.
    pub cache_bytes: f64,
    /// Bytes/s of the storage, which all ranks share; may be infinite.
    #[serde(with = "unlimited")]
    pub storage_bytes_per_s: f64,
    /// Bytes/s that each rank receives from other ranks; may be infinite.
    #[serde(with = "unlimited")]
    pub network_bytes_per_s: f64,
    /// Bytes/s that each rank reads from its cache; may be infinite.
    #[serde(with = "unlimited")]
    pub cache_bytes_per_s: f64,
    /// Number of decoding cores of each rank.
    pub cores: f64,
}

/// Assignment of rows to ranks, and the sources of their images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dealing {
    /// Rows are assigned regardless of the caches; each rank keeps the samples that it reads.
    OwnCaches,
    /// Rows go to the owners of their samples; moved rows are read from storage.
    Locality,
    /// As `Locality`, but moved rows come from their owners.
    Exchange,
}

/// Time of an epoch on a number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochTime {
    /// Number of ranks.
    pub ranks: u32,
    /// Assignment of rows to ranks.
    pub dealing: Dealing,
    /// Share of all rows that is read from storage.
    pub read_share: f64,
    /// Share of all rows taken by other ranks than the owners of their samples.
    pub moved_share: f64,
    /// Seconds of the storage.
    pub storage_s: f64,
    /// Seconds of each rank's network.
    pub network_s: f64,
    /// Seconds of each rank's cache.
    pub cache_s: f64,
    /// Seconds of each rank's cores.
    pub decode_s: f64,
    /// Seconds of the epoch: the longest of these.
    pub seconds: f64,
}

impl Cluster {
    /// Returns the time of epoch number `epoch`, counted from 0, on each number of ranks, for each
    /// assignment of rows: first all numbers of ranks with the first one. Assignments by owner are
    /// computed for epochs with full caches.
    ///
    /// # Errors
    /// `Usage`, naming the quantity that is not a number, is negative, or is zero so that nothing
    /// could be read or decoded.
    pub fn epoch_times(
        &self,
        ranks: &[u32],
        dealings: &[Dealing],
        epoch: u32,
    ) -> Result<Vec<EpochTime>> {
        self.check()?;
        if ranks.contains(&0) {
            return Err(Error::usage("profile", "ranks: there is at least one"));
        }
        let times = dealings
            .iter()
            .flat_map(|dealing| ranks.iter().map(|ranks| self.epoch_time(*ranks, *dealing, epoch)));
        Ok(times.collect())
    }

    fn epoch_time(&self, ranks: u32, dealing: Dealing, epoch: u32) -> EpochTime {
        let p = f64::from(ranks);
        let all_bytes = self.n_images as f64 * self.bytes_per_image;
        let share = |bytes: f64| if all_bytes > 0.0 { (bytes / all_bytes).min(1.0) } else { 1.0 };
        let resident = share(p * self.cache_bytes);
        let (read_share, moved_share, exchanged) = match dealing {
            Dealing::OwnCaches => {
                let has_come = 1.0 - (1.0 - 1.0 / p).powf(f64::from(epoch));
                (1.0 - share(self.cache_bytes) * has_come, 0.0, 0.0)
            }
            Dealing::Locality => {
                let moved = moved_share(ranks, self.rows_per_rank, resident);
                (1.0 - resident + moved, moved, 0.0)
            }
            Dealing::Exchange => {
                let moved = moved_share(ranks, self.rows_per_rank, resident);
                (1.0 - resident, moved, moved)
            }
        };
        let storage_s = read_share * all_bytes / self.storage_bytes_per_s;
        let network_s = exchanged * all_bytes / (p * self.network_bytes_per_s);
        let cache_s = (1.0 - read_share) * all_bytes / (p * self.cache_bytes_per_s);
        let decode_s = self.n_images as f64 * self.cpu_seconds_per_image / (p * self.cores);
        let seconds = storage_s.max(network_s).max(cache_s).max(decode_s);
        EpochTime {
            ranks,
            dealing,
            read_share,
            moved_share,
            storage_s,
            network_s,
            cache_s,
            decode_s,
            seconds,
        }
    }

    fn check(&self) -> Result<()> {
        not_negative("bytes per image", self.bytes_per_image)?;
        not_negative("decode seconds", self.cpu_seconds_per_image)?;
        not_negative("cache bytes", self.cache_bytes)?;
        positive("cores", self.cores)?;
        for (what, rate) in [
            ("storage bandwidth", self.storage_bytes_per_s),
            ("network bandwidth", self.network_bytes_per_s),
            ("cache bandwidth", self.cache_bytes_per_s),
        ] {
            if rate != f64::INFINITY {
                positive(what, rate)?;
            }
        }
        for (what, n) in [("images", self.n_images), ("rows", self.rows_per_rank.into())] {
            if n == 0 {
                return Err(Error::usage("profile", format!("{what}: there is at least one")));
            }
        }
        Ok(())
    }
}

/// Returns the expected share of a global batch taken by other ranks than the owners of its
/// samples, if a share `owned` of all samples is owned, evenly and at random.
#[must_use]
pub fn moved_share(ranks: u32, rows_per_rank: u32, owned: f64) -> f64 {
    let (p, b) = (f64::from(ranks.max(1)), f64::from(rows_per_rank.max(1)));
    let owned = owned.clamp(0.0, 1.0);
    let spread = (owned * b * (1.0 - owned / p)).sqrt();
    if spread == 0.0 {
        return 0.0;
    }
    let above = (b - owned * b) / spread;
    let density = (-above * above / 2.0).exp() / (2.0 * PI).sqrt();
    (spread * (density - above * upper_tail(above)) / b).max(0.0)
}

/// Returns the probability that a normal variable exceeds `z`, which is not negative: Abramowitz
/// and Stegun 7.1.26, to 1.5e-7.
fn upper_tail(z: f64) -> f64 {
    let x = z / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let factors = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = factors.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    polynomial * (-x * x).exp() / 2.0
}

use crate::Throttle;
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, Image, KeyedRandom, Look, Reader, Result, Sample,
    Source, SourceFacts, Value,
};
use std::{sync::Arc, thread, time::Duration};

/// Storage that is slower than the one at hand: a fast disk plays a slow disk, or a store.
#[derive(Debug, Clone, Default)]
pub struct SlowStorage {
    /// Wait before every read of a sample, as of a request in the network: many reads wait at the
    /// same time.
    pub latency: Duration,
    /// Spread of such waits, as those of stores have it: `latency` is their median, and their
    /// logarithms are normally distributed with this deviation, drawn by sample. 0 for waits that
    /// are all alike; with 0.7 one in a hundred takes five times the median.
    pub latency_spread: f64,
    /// Rate that all reads share, in bytes of images.
    pub throttle: Option<Arc<Throttle>>,
}

impl SlowStorage {
    /// A dataset as if it were on that storage. One whose images are drawn stays as it is: there is
    /// nothing to read.
    ///
    /// The wait is in [`Reader::get`] and [`Source::read`]. A loader that takes the bytes from
    /// [`Reader::image_extent`] waits as well, because it gets the rest of the sample from there.
    #[must_use]
    pub fn around(&self, reader: Arc<dyn Reader>) -> Arc<dyn Reader> {
        let is_slow = !self.latency.is_zero() || self.throttle.is_some();
        if is_slow && reader.as_generated().is_none() {
            return Arc::new(Slow { inner: reader, storage: self.clone() });
        }
        reader
    }

    /// The wait for a sample, the same whenever it is read.
    fn latency_of(&self, index: u64) -> Duration {
        if self.latency_spread == 0.0 {
            return self.latency;
        }
        let mut random = KeyedRandom::new(&[LATENCY_STREAM, index]);
        // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
        let (radius, angle) = (1.0 - random.unit(), random.unit());
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
        let factor = (self.latency_spread * normal).exp();
        Duration::try_from_secs_f64(self.latency.as_secs_f64() * factor).unwrap_or(self.latency)
    }

    /// Reads as slowly as that storage does.
    fn slowly<I>(
        &self,
        index: u64,
        read: impl FnOnce() -> Result<Sample<I>>,
        n_bytes: impl Fn(&I) -> usize,
    ) -> Result<Sample<I>> {
        thread::sleep(self.latency_of(index));
        let sample = read()?;
        if let Some(throttle) = &self.throttle {
            let first = sample.values.iter().map(Value::images).find(|images| !images.is_empty());
            let images = first.unwrap_or_default().iter();
            throttle.take(images.map(n_bytes).sum::<usize>() as u64);
        }
        Ok(sample)
    }
}

/// Stream of the random numbers of waits.
const LATENCY_STREAM: u64 = 0x6c61_7465_6e63_7900;

/// A stored dataset on slow storage.
struct Slow {
    inner: Arc<dyn Reader>,
    storage: SlowStorage,
}

impl Source for Slow {
    fn facts(&self) -> &SourceFacts {
        self.inner.facts()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let n_bytes = |image: &Image| match image {
            Image::Encoded(encoded) => encoded.bytes.len(),
            _ => 0,
        };
        self.storage.slowly(index, || self.inner.read(index), n_bytes)
    }

    fn key(&self, index: u64) -> String {
        self.inner.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.inner.fingerprint(look)
    }

    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        self.inner.value(index, field)
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        self.inner.codec_hint(index)
    }

    fn bytes(&self, index: u64, amount: Amount) -> Result<Option<u64>> {
        self.inner.bytes(index, amount)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        self.inner.read_ahead(indices)
    }
}

impl Reader for Slow {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.storage.slowly(index, || self.inner.get(index), |image| image.bytes.len())
    }

    fn strata(&self) -> Vec<u64> {
        self.inner.strata()
    }

    fn stratum_sample(&self, stratum: usize, position: u64) -> u64 {
        self.inner.stratum_sample(stratum, position)
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        self.inner.image_extent(index)
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        self.inner.entry_points(index, field)
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        self.inner.details()
    }

    fn verify_layout(&self) -> Vec<Error> {
        self.inner.verify_layout()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        self.inner.verify_sample(index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        self.inner.verify_row(index)
    }

    fn has_checksums(&self) -> bool {
        self.inner.has_checksums()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_differ_by_sample_and_spread_around_their_median() {
        let latency = Duration::from_millis(50);
        let even = SlowStorage { latency, ..SlowStorage::default() };
        assert!((0..9).all(|index| even.latency_of(index) == latency));
        let uneven = SlowStorage { latency_spread: 0.7, ..even };
        let mut waits: Vec<_> = (0..10_000).map(|index| uneven.latency_of(index)).collect();
        assert!((0..9).all(|index| uneven.latency_of(index) == waits[index as usize]));
        waits.sort_unstable();
        let median = waits[5000].as_secs_f64();
        assert!((0.048..0.052).contains(&median), "{median}");
        let n_long = waits.iter().filter(|wait| **wait > 5 * latency).count();
        assert!((60..160).contains(&n_long), "{n_long} of 10,000");
    }
}

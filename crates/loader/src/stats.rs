//! Counters of all threads, which show where the time goes.

use fdconvert_storage::place::{StoreTotals, store_totals};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Fetch,
    Decode,
    Draw,
    Render,
}

#[derive(Debug)]
pub(crate) struct Counters {
    strata: Vec<AtomicU64>,
    samples: AtomicU64,
    batches: AtomicU64,
    failures: AtomicU64,
    substituted: AtomicU64,
    retries: AtomicU64,
    rounded: AtomicU64,
    fetched_bytes: AtomicU64,
    storage_bytes: AtomicU64,
    reads: AtomicU64,
    hits: AtomicU64,
    not_kept: AtomicU64,
    moved: AtomicU64,
    exchanged: AtomicU64,
    exchanged_bytes: AtomicU64,
    not_exchanged: AtomicU64,
    /// Totals of the stores at the start of the count.
    before: Mutex<StoreTotals>,
    nanos: [AtomicU64; 4],
    first_batch: AtomicU64,
    waits: [AtomicU64; BUCKETS],
    waited: AtomicU64,
}

/// Waits are counted by length: bucket `b` has those below `2^(b/2)` microseconds.
const BUCKETS: usize = 64;

impl Default for Counters {
    fn default() -> Self {
        Self {
            strata: Vec::new(),
            samples: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            substituted: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            rounded: AtomicU64::new(0),
            fetched_bytes: AtomicU64::new(0),
            storage_bytes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            not_kept: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            exchanged: AtomicU64::new(0),
            exchanged_bytes: AtomicU64::new(0),
            not_exchanged: AtomicU64::new(0),
            before: Mutex::new(store_totals()),
            nanos: Default::default(),
            first_batch: AtomicU64::new(u64::MAX),
            waits: std::array::from_fn(|_| AtomicU64::new(0)),
            waited: AtomicU64::new(0),
        }
    }
}

impl Counters {
    /// Creates counters for `n_strata`.
    pub(crate) fn of_strata(n_strata: usize) -> Self {
        let strata = (0..n_strata).map(|_| AtomicU64::new(0)).collect();
        Self { strata, ..Self::default() }
    }

    pub(crate) fn spent(&self, stage: Stage, time: Duration) {
        if let Some(nanos) = self.nanos.get(stage as usize) {
            nanos.fetch_add(nanos_of(time), Relaxed);
        }
    }

    pub(crate) fn fetched(&self, bytes: u64) {
        self.fetched_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts an image read from storage.
    pub(crate) fn read_from_storage(&self, bytes: u64) {
        self.reads.fetch_add(1, Relaxed);
        self.storage_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts an image found in the loader's memory.
    pub(crate) fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    /// Counts a resident image that could not be kept: the disk is full, or the folder is gone.
    pub(crate) fn not_kept(&self) {
        self.not_kept.fetch_add(1, Relaxed);
    }

    /// Counts a row with a sample that another cache owns.
    pub(crate) fn moved(&self) {
        self.moved.fetch_add(1, Relaxed);
    }

    /// Counts a moved row with a sample from its owner.
    pub(crate) fn exchanged(&self, bytes: u64) {
        self.exchanged.fetch_add(1, Relaxed);
        self.exchanged_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a moved row with a sample that its owner did not send, so that it has to be read from
    /// storage.
    pub(crate) fn not_exchanged(&self) {
        self.not_exchanged.fetch_add(1, Relaxed);
    }

    pub(crate) fn sample(&self, stratum: u32) {
        self.samples.fetch_add(1, Relaxed);
        if let Some(samples) = self.strata.get(stratum as usize) {
            samples.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// Counts images of more than 8 bits per channel that were rounded to 8.
    pub(crate) fn rounded(&self, n_images: u64) {
        self.rounded.fetch_add(n_images, Relaxed);
    }

    /// Returns the number of rounded images.
    pub(crate) fn n_rounded(&self) -> u64 {
        self.rounded.load(Relaxed)
    }

    pub(crate) fn substituted(&self) {
        self.substituted.fetch_add(1, Relaxed);
    }

    /// Counts a failure and returns the number of failures.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.fetch_add(1, Relaxed) + 1
    }

    /// Counts a batch that was delivered after `waited`, `since_start` after the epoch began.
    pub(crate) fn delivered(&self, waited: Duration, since_start: Duration) {
        self.batches.fetch_add(1, Relaxed);
        self.waited.fetch_add(nanos_of(waited), Relaxed);
        self.first_batch.fetch_min(nanos_of(since_start), Relaxed);
        if let Some(bucket) = self.waits.get(bucket(waited)) {
            bucket.fetch_add(1, Relaxed);
        }
    }

    /// Resets all counters.
    pub(crate) fn reset(&self) {
        self.sums().for_each(|counter| counter.store(0, Relaxed));
        self.first_batch.store(u64::MAX, Relaxed);
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = store_totals();
    }

    fn sums(&self) -> impl Iterator<Item = &AtomicU64> {
        let single = [
            &self.samples,
            &self.batches,
            &self.failures,
            &self.substituted,
            &self.retries,
            &self.rounded,
            &self.fetched_bytes,
            &self.storage_bytes,
            &self.reads,
            &self.hits,
            &self.not_kept,
            &self.moved,
            &self.exchanged,
            &self.exchanged_bytes,
            &self.not_exchanged,
            &self.waited,
        ];
        single.into_iter().chain(&self.nanos).chain(&self.waits).chain(&self.strata)
    }

    /// Returns the statistics of the counters.
    pub(crate) fn read(&self, threads: usize, elapsed: Duration) -> Stats {
        let time = |stage: Stage| {
            let nanos = self.nanos.get(stage as usize).map_or(0, |nanos| nanos.load(Relaxed));
            Duration::from_nanos(nanos)
        };
        let first_batch = self.first_batch.load(Relaxed);
        let before = *self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let now = store_totals();
        let waits: Vec<u64> = self.waits.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let mut stats = Stats {
            samples: self.samples.load(Relaxed),
            strata: self.strata.iter().map(|samples| samples.load(Relaxed)).collect(),
            batches: self.batches.load(Relaxed),
            kept: 0,
            failures: self.failures.load(Relaxed),
            substituted: self.substituted.load(Relaxed),
            retries: self.retries.load(Relaxed),
            rounded: self.n_rounded(),
            fetched_bytes: self.fetched_bytes.load(Relaxed),
            storage_bytes: self.storage_bytes.load(Relaxed),
            reads: self.reads.load(Relaxed),
            hits: self.hits.load(Relaxed),
            not_kept: self.not_kept.load(Relaxed),
            moved: self.moved.load(Relaxed),
            exchanged: self.exchanged.load(Relaxed),
            exchanged_bytes: self.exchanged_bytes.load(Relaxed),
            not_exchanged: self.not_exchanged.load(Relaxed),
            requests: now.requests.saturating_sub(before.requests),
            received_bytes: now.bytes.saturating_sub(before.bytes),
            over_fetched_bytes: now.over_fetched_bytes.saturating_sub(before.over_fetched_bytes),
            fetch: time(Stage::Fetch),
            decode: time(Stage::Decode),
            draw: time(Stage::Draw),
            render: time(Stage::Render),
            stalled: Duration::from_nanos(self.waited.load(Relaxed)),
            stall_p50: percentile(&waits, 0.50),
            stall_p95: percentile(&waits, 0.95),
            stall_p99: percentile(&waits, 0.99),
            first_batch: (first_batch != u64::MAX).then(|| Duration::from_nanos(first_batch)),
            elapsed,
            threads,
            verdict: Verdict::Consumer,
            decoded: None,
            jpeg_entropy: fdconvert_codec::jpeg_entropy(),
        };
        stats.verdict = stats.judge();
        stats
    }
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn bucket(wait: Duration) -> usize {
    let micros = wait.as_micros().max(1) as f64;
    ((micros.log2() * 2.0).floor() as usize + 1).min(BUCKETS - 1)
}

/// Returns the upper end of the bucket that contains this share of all waits.
fn percentile(waits: &[u64], share: f64) -> Duration {
    let all: u64 = waits.iter().sum();
    let mut seen = 0;
    for (bucket, n_waits) in waits.iter().enumerate() {
        seen += n_waits;
        if all > 0 && seen as f64 >= share * all as f64 {
            return Duration::from_secs_f64(2f64.powf(bucket as f64 / 2.0) * 1e-6);
        }
    }
    Duration::ZERO
}

/// Statistics of a loader, and the distribution of its time. Times of stages are summed over
/// threads.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of samples made into rows.
    pub samples: u64,
    /// Number of samples in each group of samples that are spread evenly, as in
    /// [`Loader::residents`](crate::Loader::residents).
    pub strata: Vec<u64>,
    /// Number of delivered batches.
    pub batches: u64,
    /// Number of delivered batches that are not dropped yet. Each keeps memory that the loader
    /// makes batches in: once they take all of it, as set by
    /// [`Options::prefetch`](crate::Options::prefetch) and `prefetch_bytes`, the next batch waits
    /// until one is dropped.
    pub kept: u64,
    /// Number of samples that could not be read or decoded.
    pub failures: u64,
    /// Number of rows that show a substitute for a failed sample.
    pub substituted: u64,
    /// Number of repeated reads.
    pub retries: u64,
    /// Number of images of more than 8 bits per channel that were rounded to 8.
    pub rounded: u64,
    /// Bytes of encoded images from any source.
    pub fetched_bytes: u64,
    /// Bytes of encoded images read from storage; the system may have had those from maps in its
    /// page cache.
    pub storage_bytes: u64,
    /// Number of images read from storage.
    pub reads: u64,
    /// Number of images found in the loader's memory, and not read from storage for this epoch.
    pub hits: u64,
    /// Number of images that a folder should have kept and could not: the disk is full, or the
    /// folder is gone.
    pub not_kept: u64,
    /// Number of rows with samples that another cache than this rank's owns, with
    /// [`Options::locality`](crate::Options::locality): this rank takes them because it owns too
    /// few of a global batch.
    pub moved: u64,
    /// Number of moved rows with samples from their owners, with
    /// [`Options::exchange`](crate::Options::exchange). They count neither as hits nor as reads.
    pub exchanged: u64,
    /// Bytes of images from owners.
    pub exchanged_bytes: u64,
    /// Number of moved rows with samples that should have come from owners, and were read from
    /// storage: their owners could not send them, they arrived damaged, there was no room for them,
    /// or the exchange has ended.
    pub not_exchanged: u64,
    /// Number of requests to stores by this process; retries do not count.
    pub requests: u64,
    /// Bytes of objects in the responses. The excess over [`storage_bytes`](Self::storage_bytes) is
    /// other data than the images: labels, and everything else that the process reads from stores.
    pub received_bytes: u64,
    /// Bytes of the responses between samples that were fetched together.
    pub over_fetched_bytes: u64,
    /// Time spent reading images.
    pub fetch: Duration,
    /// Time spent decoding.
    pub decode: Duration,
    /// Time spent drawing images.
    pub draw: Duration,
    /// Time spent resizing, augmenting and writing into batches.
    pub render: Duration,
    /// Time the consumer waited for batches.
    pub stalled: Duration,
    /// Median length of the waits, to a factor of 1.4.
    pub stall_p50: Duration,
    /// 95th percentile of the waits.
    pub stall_p95: Duration,
    /// 99th percentile of the waits.
    pub stall_p99: Duration,
    /// Shortest time so far from the start of an epoch to its first batch.
    pub first_batch: Option<Duration>,
    /// Time since the loader was created or its statistics were reset.
    pub elapsed: Duration,
    /// Number of decoding threads.
    pub threads: usize,
    /// Bottleneck of the loader.
    pub verdict: Verdict,
    /// Counts of rows by their decoder, if a GPU takes part.
    pub decoded: Option<Decoded>,
    /// How this process reads the codes of JPEGs with entry points or many restart markers:
    /// `"streams"` or `"lanes"`, or `None` until enough were decoded to know which is faster.
    pub jpeg_entropy: Option<&'static str>,
}

/// Rows of the delivered batches, counted by their decoder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// Number of rows that the kernels decoded from entry points.
    pub by_index: u64,
    /// Number of rows that nvJPEG decoded.
    pub by_nvjpeg: u64,
    /// Number of rows that the GPU drew: fractals.
    pub drawn_on_gpu: u64,
    /// Number of rows that the CPU decoded or drew for upload.
    pub by_cpu: u64,
    /// Number of rows of the CPU that failed on the GPU first: damaged, or of a kind that the GPU
    /// does not support.
    pub failed_on_gpu: u64,
    /// Bytes of encoded images that the GPU keeps.
    pub stored_bytes: u64,
}

/// Bottleneck of a loader: the work that bounds its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The consumer takes batches more slowly than they are made.
    Consumer,
    /// Reading encoded images.
    Disk,
    /// Decoding and the later stages.
    Decode,
    /// Drawing images, and the later stages.
    Render,
}

impl Verdict {
    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Consumer => "consumer-bound",
            Self::Disk => "disk-bound",
            Self::Decode => "decode-bound",
            Self::Render => "render-bound",
        }
    }
}

impl Stats {
    /// Returns the share of images found in the loader's memory; 0 before the first.
    #[must_use]
    pub fn hit_share(&self) -> f64 {
        let all = self.hits.saturating_add(self.reads);
        if all == 0 { 0.0 } else { self.hits as f64 / all as f64 }
    }

    /// Returns the time spent on making rows after any reads.
    #[must_use]
    pub fn work(&self) -> Duration {
        self.decode + self.draw + self.render
    }

    /// A consumer that hardly waits is the bottleneck; else the longer stage of the threads.
    fn judge(&self) -> Verdict {
        if self.stalled.as_secs_f64() < 0.05 * self.elapsed.as_secs_f64() {
            Verdict::Consumer
        } else if self.fetch > self.work() {
            Verdict::Disk
        } else if self.draw > self.decode {
            Verdict::Render
        } else {
            Verdict::Decode
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_bound_the_waits() {
        let counters = Counters::default();
        for millis in 1..=100 {
            counters.delivered(Duration::from_millis(millis), Duration::from_millis(500 + millis));
        }
        let stats = counters.read(2, Duration::from_secs(6));
        for (found, exact) in
            [(stats.stall_p50, 50.0), (stats.stall_p95, 95.0), (stats.stall_p99, 99.0)]
        {
            let millis = found.as_secs_f64() * 1e3;
            assert!((exact..=exact * 1.42).contains(&millis), "{millis} for {exact}");
        }
        assert_eq!(stats.first_batch, Some(Duration::from_millis(501)));
        assert_eq!((stats.batches, stats.stalled), (100, Duration::from_millis(5050)));
    }

    #[test]
    fn the_verdict_names_what_is_slow() {
        let verdict = |stalled_ms, fetch_ms, decode_ms, draw_ms| {
            let counters = Counters::default();
            counters.delivered(Duration::from_millis(stalled_ms), Duration::ZERO);
            counters.spent(Stage::Fetch, Duration::from_millis(fetch_ms));
            counters.spent(Stage::Decode, Duration::from_millis(decode_ms));
            counters.spent(Stage::Draw, Duration::from_millis(draw_ms));
            counters.read(1, Duration::from_millis(1000)).verdict
        };
        assert_eq!(verdict(10, 500, 500, 500), Verdict::Consumer);
        assert_eq!(verdict(900, 700, 300, 300), Verdict::Disk);
        assert_eq!(verdict(900, 100, 900, 0), Verdict::Decode);
        assert_eq!(verdict(900, 700, 300, 500), Verdict::Render);
    }
}

//! The sampled images as datasets on the target, and runs of the loader over any ratio of them.
use super::blend::Blend;
use fdconvert_core::{
    Encoded, Error, FieldSpec, Format, Image, Kind, Look, OptionValues, Reader, Result, Sample,
    Schema, Source, SourceFacts, Value,
};
use fdconvert_formats::wds::Wds;
use fdconvert_loader::{Access, Datasets, Label, Loader, Options};
use fdconvert_pipeline::{Cancel, PackJob, pack};
use fdconvert_profile::{Sampled, SlowStorage, Stored, Throttle, choose};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) threads: usize,
    pub(crate) fetch_threads: usize,
    pub(crate) throttle: Option<Arc<Throttle>>,
    /// Bytes of cache for each sample of the dataset: a trial has fewer samples and gets less.
    pub(crate) cache_share: f64,
    pub(crate) time: Duration,
    /// Seed of the assignment of forms to samples.
    pub(crate) seed: u64,
}

/// One dataset for each form, removed when dropped.
pub(crate) struct Trial {
    folder: TempDir,
    readers: Vec<Arc<dyn Reader>>,
    n_samples: u64,
}

/// Rows of a batch: few, so that batches in flight hardly affect a run.
const BATCH: u32 = 16;
/// Number of batches made ahead.
const PREFETCH: usize = 3;
/// Repeats of each sample in an epoch: the end of an epoch, at which threads wait for each other,
/// should be rare.
const REPEATS: f64 = 1000.0;
/// Minimum number of samples for a ratio: a resolution of a tenth of a percent.
const FINE: u64 = 1000;

impl Trial {
    /// Writes the datasets below `target`.
    ///
    /// # Errors
    /// `Io` if the target cannot be written.
    pub(crate) fn new(sampled: &Sampled, target: &Path, cancel: &Cancel) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix(".fdconvert-profile-").tempdir_in(target);
        let folder = folder.map_err(Error::io("create a folder in", target))?;
        let options = OptionValues(BTreeMap::from([("sidecars".to_owned(), "fdx".to_owned())]));
        let mut readers = Vec::new();
        for (form, codec) in sampled.formats.iter().enumerate() {
            let source = Arc::new(OneForm::new(sampled, form)?);
            let out = folder.path().join(codec.extension());
            let job = PackJob::new(source, Wds::default().with_options(&options)?, &out);
            pack(&job, cancel, &mut ())?;
            readers.push(Arc::from(job.format.open(&out)?));
        }
        Ok(Self { folder, readers, n_samples: sampled.images.len() as u64 })
    }

    /// Returns the tar files, for measuring the target's bandwidth.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(self.folder.path()).sort_by_file_name() {
            let entry = entry.map_err(|cause| {
                Error::io("list", self.folder.path())(std::io::Error::other(cause))
            })?;
            if entry.path().extension().is_some_and(|extension| extension == "tar") {
                files.push(entry.into_path());
            }
        }
        Ok(files)
    }

    /// Measures the loader over one form with its bytes in memory, in images/s: the limit of
    /// decoding and the later stages.
    pub(crate) fn decode_rate(
        &self,
        form: usize,
        running: &Running,
        cancel: &Cancel,
    ) -> Result<f64> {
        let Some(reader) = self.readers.get(form) else {
            return Err(Error::usage("profile", "there is no such form"));
        };
        let options =
            options(running).threads(running.threads).fetch_threads(0).access(Access::Mapped);
        let warm_up = self.n_samples.div_ceil(u64::from(BATCH));
        rate(reader.clone(), options, warm_up, running.time, cancel)
    }

    /// Measures the loader with that share of the samples in the last form and the others in
    /// `encoded`, read past the page cache, in images/s.
    pub(crate) fn run(
        &self,
        [encoded, raw]: [usize; 2],
        share: f64,
        running: &Running,
        cancel: &Cancel,
    ) -> Result<f64> {
        // Whole passes over the images, so that each has the same weight.
        let n_samples = self.n_samples * FINE.div_ceil(self.n_samples.max(1));
        let n_raw = (share * n_samples as f64 + 0.5).floor() as u64;
        let mut form = vec![encoded; usize::try_from(n_samples).unwrap_or(usize::MAX)];
        for sample in choose(n_samples, n_raw, running.seed) {
            if let Some(form) = usize::try_from(sample).ok().and_then(|at| form.get_mut(at)) {
                *form = raw;
            }
        }
        let cache_bytes = (running.cache_share * n_samples as f64) as u64;
        let storage = SlowStorage { throttle: running.throttle.clone(), ..SlowStorage::default() };
        let blend = storage.around(Arc::new(Blend::new(&self.readers, form)?));
        let options = options(running)
            .threads(running.threads)
            .fetch_threads(running.fetch_threads.max(1))
            .access(Access::Direct)
            .cache_bytes(cache_bytes);
        // The cache fills while each sample comes once.
        let cached = if cache_bytes > 0 { n_samples.div_ceil(BATCH.into()) } else { 0 };
        rate(blend, options, cached + PREFETCH as u64 + 2, running.time, cancel)
    }
}

fn options(running: &Running) -> Options {
    let label = Label::None;
    Options::default().batch_size(BATCH).prefetch(PREFETCH).seed(running.seed).label(label)
}

/// Measures images/s after some batches.
fn rate(
    reader: Arc<dyn Reader>,
    options: Options,
    warm_up: u64,
    time: Duration,
    cancel: &Cancel,
) -> Result<f64> {
    let mut loader = Loader::new(Datasets::weighted(vec![(reader, REPEATS)])?, options)?;
    let mut next = || -> Result<u64> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        loader.next_batch().map_or(Ok(0), |batch| Ok(batch?.len() as u64))
    };
    for _ in 0..warm_up {
        next()?;
    }
    let began = Instant::now();
    let mut images = 0;
    while began.elapsed() < time {
        images += next()?;
    }
    Ok(images as f64 / began.elapsed().as_secs_f64())
}

/// The sampled images in one form.
struct OneForm {
    images: Vec<Encoded>,
    facts: SourceFacts,
}

impl OneForm {
    fn new(sampled: &Sampled, form: usize) -> Result<Self> {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
        let image = |stored: &Stored| stored.forms.get(form).cloned();
        let images: Vec<_> = sampled.images.iter().filter_map(image).collect();
        let facts = SourceFacts::new("sampled", schema, images.len() as u64);
        Ok(Self { images, facts })
    }
}

impl Source for OneForm {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        let image = usize::try_from(index)
            .ok()
            .and_then(|at| self.images.get(at))
            .ok_or_else(|| Error::usage("sample", format!("there is no sample {index}")))?;
        Ok(Sample { key: self.key(index), values: vec![Value::Image(image.clone().into())] })
    }

    fn key(&self, index: u64) -> String {
        // The source's keys may collide as file names; these cannot.
        format!("{index:08}")
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

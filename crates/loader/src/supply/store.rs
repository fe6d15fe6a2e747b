use crate::{
    dataset::{Datasets, Fetched},
    groups::Located,
    options::{Access, Options},
    stats::Counters,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use fdconvert_storage::{DirectFile, Throttle, sigbus};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::xxh3_64;

/// How many samples are asked for where they lie before a dataset is taken for one that knows.
const PROBED: u64 = 1024;

/// How long a thread that waits for the throttle sleeps before it looks whether it still has to.
const NAP: Duration = Duration::from_millis(20);

/// Reads samples from storage.
pub(crate) struct Store {
    access: Access,
    verify: bool,
    throttle: Option<Arc<Throttle>>,
    /// Each file is opened once and shared by all threads.
    files: RwLock<BTreeMap<Arc<Path>, Arc<DirectFile>>>,
}

impl Store {
    /// A store without open files.
    ///
    /// # Errors
    /// `Usage`, naming the dataset, when it is to be read directly and does not say where images
    /// lie.
    pub(crate) fn new(datasets: &Datasets, options: &Options) -> Result<Self> {
        if options.access == Access::Direct {
            for (reader, dataset) in datasets.readers().zip(0..) {
                let every = reader.len().div_ceil(PROBED).max(1);
                let probes = (0..reader.len()).step_by(usize::try_from(every).unwrap_or(1));
                for index in probes {
                    if sigbus::caught(|| reader.image_extent(index))?.is_none() {
                        return Err(no_extent(&datasets.name(dataset), index));
                    }
                }
            }
        }
        let files = RwLock::new(BTreeMap::new());
        let throttle = options.throttle.clone();
        Ok(Self { access: options.access, verify: options.verify, throttle, files })
    }

    /// Reads a sample, pays for its bytes and checks its checksum if that is asked for.
    ///
    /// # Errors
    /// Those of the reader and the file; `Sample` when the checksum is another one.
    pub(crate) fn read(
        &self,
        datasets: &Datasets,
        located: Located,
        counters: &Counters,
        stopped: &AtomicBool,
    ) -> Result<Fetched> {
        let fetched = match self.access {
            Access::Mapped => sigbus::caught(|| {
                let fetched = datasets.fetch(located, self.verify)?;
                // Here, where it can be tried again, and not while it is decoded.
                sigbus::populate(&fetched.image.bytes)?;
                Ok(if sigbus::happened() { fetched.owned() } else { fetched })
            })?,
            Access::Direct => self.read_direct(datasets, located)?,
        };
        let n_bytes = fetched.image.bytes.len() as u64;
        counters.read_from_storage(n_bytes);
        self.pay(n_bytes, stopped);
        Ok(fetched)
    }

    /// Why direct reads come from the page cache or from memory, for the first file for which they
    /// do.
    pub(crate) fn cached_because(&self) -> Option<String> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.iter().find_map(|(path, file)| {
            let why = file.cached_because()?;
            Some(format!("{}: {why}", path.display()))
        })
    }

    fn read_direct(&self, datasets: &Datasets, located: Located) -> Result<Fetched> {
        // Key, label and codec are in the dataset's tables; the image that comes with them is a
        // piece of a map that no one looks at.
        let mut fetched = sigbus::caught(|| {
            if self.verify {
                datasets.verify_row(located)?;
            }
            let mut fetched = datasets.fetch(located, false)?;
            if let Some(entry_points) = &mut fetched.image.entry_points {
                **entry_points = Bytes::copy_from_slice(entry_points);
            }
            Ok(fetched)
        })?;
        let extent = datasets
            .extent(located)?
            .ok_or_else(|| no_extent(&datasets.name(located.dataset), located.index))?;
        let bytes = self.file(&extent.path)?.read(extent.offset, extent.len)?;
        if self.verify && extent.xxh3.is_some_and(|xxh3| xxh3 != xxh3_64(&bytes)) {
            let what = format!(
                "the checksum of its {} bytes at {} of {} does not match",
                extent.len,
                extent.offset,
                extent.path.display()
            );
            return Err(Error::sample(fetched.key, what));
        }
        fetched.image.bytes = bytes;
        Ok(Fetched { is_owned: true, ..fetched })
    }

    fn file(&self, path: &Arc<Path>) -> Result<Arc<DirectFile>> {
        if let Some(file) = self.files.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(file.clone());
        }
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(path) {
            return Ok(file.clone());
        }
        let file = Arc::new(DirectFile::open(path)?);
        files.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Waits as long as the throttle says, but not for a loader that stops.
    fn pay(&self, n_bytes: u64, stopped: &AtomicBool) {
        let Some(throttle) = &self.throttle else { return };
        let now = Instant::now();
        let wait = throttle.reserve(n_bytes, now);
        while !stopped.load(Ordering::Relaxed) {
            let left = wait.saturating_sub(now.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }
}

fn no_extent(dataset: &str, index: u64) -> Error {
    let what = format!(
        "{dataset} does not say where the image of sample {index} lies, so it cannot be read \
         directly: take `Mapped`, or a beton, or WebDataset shards that are not compressed and \
         have indexes (`fdconvert index` makes them)"
    );
    Error::usage("access", what)
}

use super::files::Files;
use crate::{
    dataset::{Datasets, Fetched, Located},
    stats::Counters,
};
use bytes::Bytes;
use fdconvert_core::{Error, Extent, Reader, Result};
use fdconvert_storage::{place::is_url, sigbus};
use xxhash_rust::xxh3::xxh3_64;

/// Number of samples to check before a dataset counts as one that knows the places of its images.
const PROBED: u64 = 1024;

/// Access to stored images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Through the reader of the dataset, which is mostly a memory map: recent reads are in the
    /// page cache of the system.
    #[default]
    Mapped,
    /// Past the page cache, one image at a time, for datasets larger than the memory and for memory
    /// with better uses. [`Options::fetch_threads`](crate::Options::fetch_threads) is the number of
    /// reads in flight. For betons, and for WebDataset and MDS shards with indexes, including mixed
    /// sets. At most 64 files are open, plus those that threads read from.
    Direct,
}

pub(crate) struct Store {
    access: Access,
    verify: bool,
    files: Files,
    /// By dataset: true for those in a store, of which nothing is mapped.
    away: Vec<bool>,
}

impl Store {
    /// Creates a store without open files.
    ///
    /// # Errors
    /// `Usage`, with the name of the dataset, if it must be read directly and does not know the
    /// places of its images.
    pub(crate) fn new(datasets: &Datasets, access: Access, verify: bool) -> Result<Self> {
        if access == Access::Direct {
            let readers = datasets.readers().zip(0..);
            let stored = readers.filter(|(reader, _)| reader.as_generated().is_none());
            for (reader, dataset) in stored {
                let every = reader.len().div_ceil(PROBED).max(1);
                let probes = (0..reader.len()).step_by(usize::try_from(every).unwrap_or(1));
                for index in probes {
                    if sigbus::caught(|| reader.image_extent(index))?.is_none() {
                        return Err(no_extent(&datasets.name(dataset), index));
                    }
                }
            }
        }
        let away = datasets.readers().map(|reader| is_away(&**reader));
        Ok(Self { access, verify, files: Files::default(), away: away.collect::<Result<_>>()? })
    }

    /// Reads a sample and checks its checksum if the options verify.
    ///
    /// # Errors
    /// The errors of the reader and the file; `Sample` for a wrong checksum.
    pub(crate) fn read(
        &self,
        datasets: &Datasets,
        located: Located,
        counters: &Counters,
    ) -> Result<Fetched> {
        let fetched = match self.access {
            _ if self.away.get(located.dataset as usize) == Some(&true) => {
                self.read_away(datasets, located)?
            }
            Access::Mapped => sigbus::caught(|| {
                let fetched = datasets.fetch(located, self.verify)?;
                // Here it can be retried, unlike during the decode.
                sigbus::populate(&fetched.image.bytes)?;
                Ok(if sigbus::happened() { fetched.owned() } else { fetched })
            })?,
            Access::Direct => self.read_direct(datasets, located)?,
        };
        counters.read_from_storage(fetched.image.bytes.len() as u64);
        Ok(fetched)
    }

    /// Returns the reason why direct reads come from the page cache or from memory, for the first
    /// such file.
    pub(crate) fn cached_because(&self) -> Option<String> {
        self.files.cached_because()
    }

    /// Returns true if a sample from another rank equals the stored one, by length and checksum, if
    /// the dataset knows them without reading.
    pub(crate) fn is_as_stored(
        &self,
        datasets: &Datasets,
        located: Located,
        fetched: &Fetched,
    ) -> bool {
        let bytes = &fetched.image.bytes;
        match datasets.extent(located) {
            Ok(Some(extent)) => {
                let is_whole = extent.len == bytes.len() as u64;
                is_whole && (!self.verify || check(fetched, &extent, bytes).is_ok())
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// In a store each sample is a request, so that the received bytes are compared with their
    /// checksum, rather than requested again.
    fn read_away(&self, datasets: &Datasets, located: Located) -> Result<Fetched> {
        if self.verify {
            datasets.verify_row(located)?;
        }
        let fetched = self.fetch_with_fields(datasets, located)?;
        match datasets.extent(located)? {
            Some(extent) if self.verify => check(&fetched, &extent, &fetched.image.bytes)?,
            _ => {}
        }
        Ok(Fetched { is_owned: true, ..fetched })
    }

    /// Fetches a sample and compares the values of the fields next to the image with their
    /// checksums. The image is compared later.
    fn fetch_with_fields(&self, datasets: &Datasets, located: Located) -> Result<Fetched> {
        if self.verify && datasets.fields().lie_beside_images() {
            datasets.fetch_compared(located)
        } else {
            datasets.fetch(located, false)
        }
    }

    fn read_direct(&self, datasets: &Datasets, located: Located) -> Result<Fetched> {
        // Key, label and codec are in the dataset's tables; the image with them is a part of a map
        // that is not touched.
        let mut fetched = sigbus::caught(|| {
            if self.verify {
                datasets.verify_row(located)?;
            }
            let mut fetched = self.fetch_with_fields(datasets, located)?;
            let entry_points = fetched.image.entry_points.as_ref();
            let entry_points = entry_points.map(|stored| Bytes::copy_from_slice(stored));
            fetched.image.entry_points = entry_points;
            Ok(fetched)
        })?;
        let extent = datasets
            .extent(located)?
            .ok_or_else(|| no_extent(&datasets.name(located.dataset), located.index))?;
        let bytes = self.files.get(&extent.path)?.read(extent.offset, extent.len)?;
        if self.verify {
            check(&fetched, &extent, &bytes)?;
        }
        (fetched.image.bytes, fetched.image.xxh3) = (bytes, None);
        Ok(Fetched { is_owned: true, ..fetched })
    }
}

/// Compares the checksum of a sample's bytes with the stored one, if there is one.
fn check(fetched: &Fetched, extent: &Extent, bytes: &[u8]) -> Result<()> {
    if extent.xxh3.is_none_or(|xxh3| xxh3 == xxh3_64(bytes)) {
        return Ok(());
    }
    let what = format!(
        "the checksum of its {} bytes at {} of {} does not match",
        extent.len,
        extent.offset,
        extent.path.display()
    );
    Err(Error::sample(fetched.key.clone(), what))
}

/// Returns true if the images of a dataset are in a store.
fn is_away(reader: &dyn Reader) -> Result<bool> {
    let extent = sigbus::caught(|| reader.image_extent(0))?;
    Ok(extent.is_some_and(|extent| is_url(&extent.path)))
}

fn no_extent(dataset: &str, index: u64) -> Error {
    let what = format!(
        "{dataset} does not know the place of the image of sample {index}, so it cannot be read \
         directly: take `Mapped`, or a beton, or WebDataset shards that are not compressed and \
         have indexes (`fdconvert index` makes them)"
    );
    Error::usage("access", what)
}

//! A dataset open for reading.
mod choice;

pub use choice::{concat, mix};
use fdconvert_core::{Encoded, Indices, Reader, Result, Sample, Source};
use fdconvert_loader::Datasets;
use fdconvert_reader::OpenOptions;
use std::{fmt, ops::Deref, path::Path, sync::Arc};

/// Dataset open for reading, from [`open`](crate::open).
///
/// It has all methods of a [`Reader`] and a [`Source`]: `len`, `schema`, `splits`, `key`, `get`,
/// `get_many`, `provenance` and so on. Clones share the open files, and any number of threads may
/// use them.
///
/// ```no_run
/// let dataset = fdconvert::open("train.beton")?;
/// println!("{} samples, splits {:?}", dataset.len(), dataset.splits());
/// for sample in dataset.iter() {
///     println!("{}", sample?.key);
/// }
/// # Ok::<(), fdconvert::Error>(())
/// ```
///
/// # Choosing samples
///
/// ```no_run
/// let train = fdconvert::open("imagenet")?.split(["train"])?;
/// let large = train.r#where(r#"label != "background" && width >= 64"#)?;
/// let tenth = large.keys("ten_percent.txt")?;
/// let few = tenth.select(0..1000)?;
/// let loader = fdconvert::Loader::builder(few).batch_size(256).build()?;
/// # Ok::<(), fdconvert::Error>(())
/// ```
///
/// [`where`](Self::where), [`keys`](Self::keys), [`with_keys`](Self::with_keys),
/// [`split`](Self::split) and [`select`](Self::select) return a dataset of the chosen samples and
/// leave this one as it is; [`concat`](crate::concat) and [`mix`](crate::mix) join several. The
/// result is a dataset like any other, to be loaded, packed or narrowed again.
///
/// A choice is made once, from names, sizes and labels; what a dataset has in its tables is not read
/// from the images. It keeps at most 4 bytes for each sample that is left, or 8 in datasets beyond
/// 2^32 samples, and nothing for ranges. Samples are numbered from 0 again. Classes keep their names
/// and numbers, even those of which no sample is left.
#[derive(Clone)]
pub struct Dataset {
    /// The chosen samples.
    reader: Arc<dyn Reader>,
    /// The dataset that they are chosen from.
    whole: Arc<dyn Reader>,
    /// `None` for all samples.
    indices: Option<Arc<Indices>>,
    /// True if samples of several splits were chosen on purpose: then reading them together is no error.
    mixes_splits: bool,
    /// The datasets of a mix with their shares.
    shares: Option<Arc<[Share]>>,
}

/// A dataset of a mix, and how large a part of an epoch it gives.
type Share = (Arc<dyn Reader>, f64);

impl Dataset {
    /// Yields the samples in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<Encoded>>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Deref for Dataset {
    type Target = dyn Reader;

    fn deref(&self) -> &Self::Target {
        &*self.reader
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset").field("name", &self.name()).field("len", &self.len()).finish()
    }
}

impl From<Arc<dyn Reader>> for Dataset {
    fn from(reader: Arc<dyn Reader>) -> Self {
        let whole = Arc::clone(&reader);
        Self { reader, whole, indices: None, mixes_splits: false, shares: None }
    }
}

impl From<Box<dyn Reader>> for Dataset {
    fn from(reader: Box<dyn Reader>) -> Self {
        Self::from(Arc::from(reader))
    }
}

/// For [`Datasets::weighted`].
impl From<Dataset> for Arc<dyn Reader> {
    fn from(dataset: Dataset) -> Self {
        dataset.reader
    }
}

/// For [`Pack::from_source`](crate::Pack::from_source).
impl From<Dataset> for Arc<dyn Source> {
    fn from(dataset: Dataset) -> Self {
        dataset.reader
    }
}

/// For [`Loader::builder`](crate::Loader::builder). Fails as [`Dataset::check_splits`] and [`Datasets::one`]
/// do.
impl TryFrom<Dataset> for Datasets {
    type Error = fdconvert_core::Error;

    fn try_from(dataset: Dataset) -> Result<Self> {
        dataset.check_splits()?;
        match dataset.shares {
            Some(parts) => Self::mixed(parts.to_vec()),
            None => Self::one(dataset.reader),
        }
    }
}

/// Opens a packed dataset, a folder of images, or the fractals of a recipe.
///
/// # Errors
/// `Io` for a missing dataset, `Usage` if no format recognises it, else the errors of the format.
pub fn open(dataset: impl AsRef<Path>) -> Result<Dataset> {
    fdconvert_reader::open(dataset).map(Dataset::from)
}

/// Opens a dataset with options: some of its splits, without fields, under limits.
///
/// # Errors
/// As for [`open`]; `Usage` for missing splits and fields.
pub fn open_with(dataset: impl AsRef<Path>, options: &OpenOptions) -> Result<Dataset> {
    fdconvert_reader::open_with(dataset, options).map(Dataset::from)
}

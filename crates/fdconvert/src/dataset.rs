//! A dataset open for reading.
use fdconvert_core::{Encoded, Reader, Result, Sample, Source};
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
#[derive(Clone)]
pub struct Dataset(Arc<dyn Reader>);

impl Dataset {
    /// Yields the samples in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<Encoded>>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Deref for Dataset {
    type Target = dyn Reader;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset").field("name", &self.name()).field("len", &self.len()).finish()
    }
}

impl From<Box<dyn Reader>> for Dataset {
    fn from(reader: Box<dyn Reader>) -> Self {
        Self(reader.into())
    }
}

/// For [`Datasets::one`](crate::Datasets::one).
impl From<Dataset> for Arc<dyn Reader> {
    fn from(dataset: Dataset) -> Self {
        dataset.0
    }
}

/// For [`Pack::from_source`](crate::Pack::from_source).
impl From<Dataset> for Arc<dyn Source> {
    fn from(dataset: Dataset) -> Self {
        dataset.0
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

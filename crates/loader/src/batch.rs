//! A batch: its images in the host's memory or a GPU's, and what there is to know of its rows.
#[cfg(feature = "gpu")]
mod device;

use crate::{
    column::{Column, Columns},
    fields::RowValues,
    follow::{Followed, RowGeometry},
    mix::Blend,
    order::State,
    transform::{DType, Layout},
};
use bytes::BytesMut;
#[cfg(feature = "gpu")]
pub use device::DeviceImages;
use std::sync::{Arc, Weak};

/// Takes buffers back when batches are dropped.
pub(crate) trait Home: Send + Sync {
    /// Takes the buffer, and wakes threads that wait for one.
    fn give_back(&self, buffer: BytesMut);
}

/// The shape of the images of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the batch, padding included.
    pub rows: usize,
    /// Rows of pixels.
    pub height: u32,
    /// Columns of pixels.
    pub width: u32,
    /// Always 3: red, green, blue.
    pub channels: u32,
    /// Order in memory.
    pub layout: Layout,
    /// Type of the elements.
    pub dtype: DType,
}

impl Shape {
    /// The four sizes in the order in which they lie in memory, the slowest first.
    #[must_use]
    pub fn dimensions(&self) -> [usize; 4] {
        let (height, width, channels) =
            (self.height as usize, self.width as usize, self.channels as usize);
        match self.layout {
            Layout::Nhwc => [self.rows, height, width, channels],
            Layout::Nchw => [self.rows, channels, height, width],
        }
    }

    /// Bytes of one row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        let pixels = self.height as usize * self.width as usize;
        pixels * self.channels as usize * self.dtype.n_bytes()
    }
}

/// Samples, decoded side by side in one piece of memory, which goes back to the loader when the
/// batch is dropped.
pub struct Batch {
    pub(crate) images: Images,
    pub(crate) shape: Shape,
    /// Integers, or what mixing made of labels; others are among the columns.
    pub(crate) labels: Option<Column>,
    pub(crate) blend: Blend,
    pub(crate) columns: Columns,
    pub(crate) geometry: Option<Vec<RowGeometry>>,
    pub(crate) samples: Vec<u64>,
    pub(crate) valid: Vec<bool>,
    pub(crate) substituted: Vec<bool>,
    pub(crate) epoch: u64,
    pub(crate) step: u64,
    pub(crate) state: State,
}

/// Facts about a row that was made.
#[derive(Debug, Clone)]
pub(crate) struct RowFacts {
    pub(crate) sample: u64,
    pub(crate) values: RowValues,
    /// Present where fields follow the image.
    pub(crate) followed: Option<Box<Followed>>,
    pub(crate) filled: bool,
    pub(crate) substituted: bool,
}

/// The images of a batch, and the memory that they take.
pub(crate) enum Images {
    Host(HostImages),
    #[cfg(feature = "gpu")]
    Device(Box<DeviceImages>),
}

/// Memory of the ring that batches are made in.
pub(crate) struct HostImages {
    pub(crate) buffer: BytesMut,
    pub(crate) home: Weak<dyn Home>,
    /// As many of these as there are batches.
    pub(crate) _token: Arc<()>,
}

/// Memory that holds the images of a batch.
pub enum Memory<'a> {
    /// In the host's memory: the bytes, which start at a multiple of 64.
    Host(&'a [u8]),
    /// In the memory of a GPU.
    #[cfg(feature = "gpu")]
    Device(&'a DeviceImages),
}

impl Batch {
    /// Returns where the images are, row after row, as [`shape`](Self::shape) says.
    #[must_use]
    pub fn memory(&self) -> Memory<'_> {
        match &self.images {
            Images::Host(_) => Memory::Host(self.images()),
            #[cfg(feature = "gpu")]
            Images::Device(images) => Memory::Device(images),
        }
    }

    /// The images, where they are in the host's [`memory`](Self::memory); empty for a batch on a
    /// GPU.
    #[must_use]
    pub fn images(&self) -> &[u8] {
        let n_bytes = self.shape.rows * self.shape.row_bytes();
        match &self.images {
            Images::Host(HostImages { buffer, .. }) => buffer.get(..n_bytes).unwrap_or(buffer),
            #[cfg(feature = "gpu")]
            Images::Device(_) => &[],
        }
    }

    /// The same for writing: for what is to be done to them in place.
    #[must_use]
    pub fn images_mut(&mut self) -> &mut [u8] {
        let n_bytes = self.shape.rows * self.shape.row_bytes();
        match &mut self.images {
            Images::Host(HostImages { buffer, .. }) => {
                let n_bytes = n_bytes.min(buffer.len());
                buffer.split_at_mut(n_bytes).0
            }
            #[cfg(feature = "gpu")]
            Images::Device(_) => &mut [],
        }
    }

    /// The images in the memory of a GPU, for telling it which streams read them.
    #[cfg(feature = "gpu")]
    pub fn device_images_mut(&mut self) -> Option<&mut DeviceImages> {
        match &mut self.images {
            Images::Host(_) => None,
            Images::Device(images) => Some(images),
        }
    }

    /// Shape and type of the images.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The label of each row, 0 for rows without a sample, which are not
    /// [`valid`](Self::valid); `None` where [`Label::None`](crate::Label::None) was asked for, and
    /// where labels are not integers, which [`label_column`](Self::label_column) has.
    #[must_use]
    pub fn labels(&self) -> Option<&[i64]> {
        match self.label_column() {
            Some(Column::Int(labels)) => Some(labels),
            _ => None,
        }
    }

    /// The labels of all rows, of whatever kind; `None` where
    /// [`Label::None`](crate::Label::None) was asked for.
    ///
    /// With [`Options::mix`](crate::Options::mix) they are an array of single-precision numbers, in
    /// each row one for each class: 1 for the label of the sample, or what an array of labels holds,
    /// and mixed as the images are. Rows without a sample have zeros.
    #[must_use]
    pub fn label_column(&self) -> Option<&Column> {
        self.labels.as_ref().or_else(|| self.columns.label())
    }

    /// The blend that was applied to its valid rows, if there are several.
    #[must_use]
    pub fn blend(&self) -> Blend {
        self.blend
    }

    /// The column of a field that [`Options::fields`](crate::Options::fields) names; `None` for any
    /// other. It is in the host's memory, also where images are on a GPU.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// Names and columns of the fields that were asked for, in that order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter()
    }

    /// The placement of each sample's image in its row; `None` where neither
    /// [`Options::geometry`](crate::Options::geometry) nor a field that follows the image was asked
    /// for.
    #[must_use]
    pub fn geometry(&self) -> Option<&[RowGeometry]> {
        self.geometry.as_deref()
    }

    /// The number of each row's sample in the dataset; of several datasets, counted through them.
    #[must_use]
    pub fn samples(&self) -> &[u64] {
        &self.samples
    }

    /// Returns whether each row counts: not those that fill up a last batch, or were left out.
    #[must_use]
    pub fn valid(&self) -> &[bool] {
        &self.valid
    }

    /// Returns whether each row shows another sample than the order says, because that one failed.
    #[must_use]
    pub fn substituted(&self) -> &[bool] {
        &self.substituted
    }

    /// Rows, all of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Returns whether there is no row: the share of a rank in a short last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The epoch it belongs to.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Its number in the epoch.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns where to resume after this batch: the whole checkpoint.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Changes what a row shows.
    #[cfg(feature = "gpu")]
    pub(crate) fn set_row(&mut self, row: usize, facts: RowFacts) {
        let RowFacts { sample, values, filled, substituted, .. } = facts;
        set(&mut self.samples, row, sample);
        set(&mut self.valid, row, filled);
        set(&mut self.substituted, row, substituted);
        if let Some(Column::Int(labels)) = &mut self.labels {
            set(labels, row, values.label);
        }
        self.columns.set_row(row, values.fields.as_deref());
    }
}

#[cfg(feature = "gpu")]
fn set<T>(values: &mut [T], at: usize, new: T) {
    if let Some(value) = values.get_mut(at) {
        *value = new;
    }
}

impl Drop for HostImages {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give_back(std::mem::take(&mut self.buffer));
        }
    }
}

//! A batch: its images in host or GPU memory, and the facts about its rows.
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
    /// Takes the buffer and wakes threads that wait for one.
    fn give_back(&self, buffer: BytesMut);
}

/// Shape of the images of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows in the batch, including padding.
    pub rows: usize,
    /// Height of an image in pixels.
    pub height: u32,
    /// Width of an image in pixels.
    pub width: u32,
    /// Number of channels: always 3 (red, green, blue).
    pub channels: u32,
    /// Order in memory.
    pub layout: Layout,
    /// Type of the elements.
    pub dtype: DType,
}

impl Shape {
    /// Returns the four sizes in memory order, the slowest first.
    #[must_use]
    pub fn dimensions(&self) -> [usize; 4] {
        let (height, width, channels) =
            (self.height as usize, self.width as usize, self.channels as usize);
        match self.layout {
            Layout::Nhwc => [self.rows, height, width, channels],
            Layout::Nchw => [self.rows, channels, height, width],
        }
    }

    /// Returns the bytes per row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        let pixels = self.height as usize * self.width as usize;
        pixels * self.channels as usize * self.dtype.n_bytes()
    }
}

/// Decoded samples in one piece of memory, which returns to the loader when the batch is dropped.
pub struct Batch {
    pub(crate) images: Images,
    pub(crate) shape: Shape,
    /// Integers, or the mixed labels; other labels are columns.
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

#[derive(Debug, Clone)]
pub(crate) struct RowFacts {
    pub(crate) sample: u64,
    pub(crate) values: RowValues,
    /// Present if fields follow the image.
    pub(crate) followed: Option<Box<Followed>>,
    pub(crate) filled: bool,
    pub(crate) substituted: bool,
}

pub(crate) enum Images {
    Host(HostImages),
    #[cfg(feature = "gpu")]
    Device(Box<DeviceImages>),
}

/// Memory from the ring of batch buffers.
pub(crate) struct HostImages {
    pub(crate) buffer: BytesMut,
    pub(crate) home: Weak<dyn Home>,
    /// The number of references counts the live batches.
    pub(crate) _token: Arc<()>,
}

/// Memory of the images of a batch.
pub enum Memory<'a> {
    /// Bytes in host memory, aligned to 64.
    Host(&'a [u8]),
    /// GPU memory.
    #[cfg(feature = "gpu")]
    Device(&'a DeviceImages),
}

impl Batch {
    /// Returns the images, row after row, in the form that [`shape`](Self::shape) describes.
    #[must_use]
    pub fn memory(&self) -> Memory<'_> {
        match &self.images {
            Images::Host(_) => Memory::Host(self.images()),
            #[cfg(feature = "gpu")]
            Images::Device(images) => Memory::Device(images),
        }
    }

    /// Returns the images in host [`memory`](Self::memory); empty for a batch on a GPU.
    #[must_use]
    pub fn images(&self) -> &[u8] {
        let n_bytes = self.shape.rows * self.shape.row_bytes();
        match &self.images {
            Images::Host(HostImages { buffer, .. }) => buffer.get(..n_bytes).unwrap_or(buffer),
            #[cfg(feature = "gpu")]
            Images::Device(_) => &[],
        }
    }

    /// Returns the images in host memory for changes in place; empty for a batch on a GPU.
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

    /// Returns the images in GPU memory, to register the streams that read them.
    #[cfg(feature = "gpu")]
    pub fn device_images_mut(&mut self) -> Option<&mut DeviceImages> {
        match &mut self.images {
            Images::Host(_) => None,
            Images::Device(images) => Some(images),
        }
    }

    /// Returns the shape and type of the images.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the label of each row, 0 for rows without a sample, which are not
    /// [`valid`](Self::valid). `None` with [`Label::None`](crate::Label::None), and if labels are
    /// not integers: see [`label_column`](Self::label_column).
    #[must_use]
    pub fn labels(&self) -> Option<&[i64]> {
        match self.label_column() {
            Some(Column::Int(labels)) => Some(labels),
            _ => None,
        }
    }

    /// Returns the labels of all rows, of any kind; `None` with
    /// [`Label::None`](crate::Label::None).
    ///
    /// With [`Options::mix`](crate::Options::mix) the labels are an array of single-precision
    /// numbers, one per class in each row: 1 for the label of the sample, or the values of an array
    /// label, mixed like the images. Rows without a sample have zeros.
    #[must_use]
    pub fn label_column(&self) -> Option<&Column> {
        self.labels.as_ref().or_else(|| self.columns.label())
    }

    /// Returns the blend of its valid rows, if there are several.
    #[must_use]
    pub fn blend(&self) -> Blend {
        self.blend
    }

    /// Returns the column of a field in [`Options::fields`](crate::Options::fields); `None` for any
    /// other. Columns are in host memory, even if images are on a GPU.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// Yields the names and columns of the requested fields, in the requested order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter()
    }

    /// Returns the placement of each sample's image in its row; `None` unless
    /// [`Options::geometry`](crate::Options::geometry) is set or a field follows the image.
    #[must_use]
    pub fn geometry(&self) -> Option<&[RowGeometry]> {
        self.geometry.as_deref()
    }

    /// Returns the number of each row's sample; several datasets are numbered consecutively.
    #[must_use]
    pub fn samples(&self) -> &[u64] {
        &self.samples
    }

    /// Returns true if each row counts: rows that fill up a last batch or were skipped do not.
    #[must_use]
    pub fn valid(&self) -> &[bool] {
        &self.valid
    }

    /// Returns true if each row shows a substitute because its sample failed.
    #[must_use]
    pub fn substituted(&self) -> &[bool] {
        &self.substituted
    }

    /// Returns the number of rows, including padding.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Returns true if there are no rows: a rank may have no share of a short last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns the epoch of the batch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the number of the batch in its epoch.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the state to resume from after this batch: the whole checkpoint.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

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

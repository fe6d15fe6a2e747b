//! A batch: its images in host or GPU memory, and the facts about its rows.
#[cfg(feature = "gpu")]
mod device;

use crate::{
    buffer,
    column::{Column, Columns},
    fields::RowValues,
    follow::{Followed, RowGeometry},
    mix::Blend,
    order::State,
    sizes::Sizes,
    transform::{DType, Layout},
    views::{ViewLayout, Views},
};
use bytes::BytesMut;
#[cfg(feature = "gpu")]
pub use device::DeviceImages;
use std::{
    ops::Range,
    sync::{Arc, Weak},
};

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
    /// Number of channels: 3 (red, green, blue), or that of the bands.
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
    pub(crate) views: Views,
    pub(crate) sizes: Sizes,
    /// Width and height of the first view of each row.
    pub(crate) row_sizes: Vec<(u32, u32)>,
    /// Integers, or the mixed labels; other labels are columns.
    pub(crate) labels: Option<Column>,
    pub(crate) blend: Blend,
    pub(crate) columns: Columns,
    /// The fields that follow the image in the views after the first one.
    pub(crate) others: Vec<Columns>,
    /// Of each view; empty if it was not requested.
    pub(crate) geometry: Vec<Vec<RowGeometry>>,
    pub(crate) samples: Vec<u64>,
    pub(crate) occurrences: Vec<u64>,
    pub(crate) valid: Vec<bool>,
    pub(crate) substituted: Vec<bool>,
    pub(crate) epoch: u64,
    pub(crate) step: u64,
    pub(crate) state: State,
}

#[derive(Debug, Clone)]
pub(crate) struct RowFacts {
    pub(crate) sample: u64,
    pub(crate) occurrence: u64,
    pub(crate) values: RowValues,
    /// For each view; empty unless fields follow the image.
    pub(crate) followed: Vec<Followed>,
    pub(crate) filled: bool,
    pub(crate) substituted: bool,
    /// Width and height of the first view.
    pub(crate) size: (u32, u32),
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

/// Images of a group of views in host memory, row after row.
#[derive(Debug, Clone, Copy)]
pub struct GroupImages<'a> {
    /// Name of the group.
    pub name: &'a str,
    /// Number of its views.
    pub n_views: usize,
    /// Shape of one view of all rows.
    pub shape: Shape,
    /// Order of views and rows in memory.
    pub layout: ViewLayout,
    /// Place of the group in the memory of the batch, in bytes.
    pub offset: usize,
    /// All views of all rows.
    pub bytes: &'a [u8],
}

impl GroupImages<'_> {
    /// Returns the sizes in memory order, the slowest first: views, rows and those of an image, or
    /// rows before views.
    #[must_use]
    pub fn dimensions(&self) -> [usize; 5] {
        let [rows, a, b, c] = self.shape.dimensions();
        match self.layout {
            ViewLayout::Views => [self.n_views, rows, a, b, c],
            ViewLayout::Rows => [rows, self.n_views, a, b, c],
        }
    }
}

/// Image of a row in host memory, where rows have their own sizes.
#[derive(Debug, Clone, Copy)]
pub struct RowImage<'a> {
    /// Shape, of one row.
    pub shape: Shape,
    /// Place in the memory of the batch, in bytes.
    pub offset: usize,
    /// The pixels; none of a row that was skipped.
    pub bytes: &'a [u8],
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
    /// Returns the memory of the images, row after row, in the form that [`shape`](Self::shape)
    /// describes; in host memory all [`groups`](Self::groups) of views.
    #[must_use]
    pub fn memory(&self) -> Memory<'_> {
        match &self.images {
            Images::Host(HostImages { buffer, .. }) => {
                Memory::Host(buffer.get(..self.n_bytes()).unwrap_or(buffer))
            }
            #[cfg(feature = "gpu")]
            Images::Device(images) => Memory::Device(images),
        }
    }

    fn n_bytes(&self) -> usize {
        match self.sizes {
            Sizes::Own => self.places().last().map_or(0, |place| place.end),
            _ => buffer::n_bytes(&self.views, self.len()),
        }
    }

    /// Yields the places of rows of their own sizes.
    fn places(&self) -> impl Iterator<Item = Range<usize>> {
        buffer::places(self.row_shapes().map(|shape| shape.row_bytes()))
    }

    fn row_shapes(&self) -> impl Iterator<Item = Shape> {
        let form = self.views.shape(1);
        self.row_sizes.iter().map(move |&(width, height)| Shape { width, height, ..form })
    }

    /// Returns the sizes that the loader was asked for.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns width and height of the image of each row, where they differ within a batch.
    #[must_use]
    pub fn row_sizes(&self) -> Option<&[(u32, u32)]> {
        match self.sizes {
            Sizes::Own | Sizes::Patches(_) => Some(&self.row_sizes),
            Sizes::One | Sizes::Buckets(_) => None,
        }
    }

    /// Yields the image of each row with [`Sizes::Own`]; nothing otherwise.
    pub fn rows(&self) -> impl Iterator<Item = RowImage<'_>> {
        let buffer = match &self.images {
            Images::Host(HostImages { buffer, .. }) if self.sizes == Sizes::Own => &buffer[..],
            _ => &[],
        };
        let n_rows = if self.sizes == Sizes::Own { self.len() } else { 0 };
        self.row_shapes().zip(self.places()).take(n_rows).map(|(shape, place)| {
            let offset = place.start;
            RowImage { shape, offset, bytes: buffer.get(place).unwrap_or_default() }
        })
    }

    /// Yields the rows and columns of patches of each row's image with [`Sizes::Patches`]; nothing
    /// otherwise. They are the first ones of the row, and zeros follow.
    pub fn patches(&self) -> impl Iterator<Item = (u32, u32)> {
        let side = match &self.sizes {
            Sizes::Patches(patches) => patches.side,
            _ => 0,
        };
        self.row_sizes.iter().filter_map(move |(width, height)| {
            Some((height.checked_div(side)?, width.checked_div(side)?))
        })
    }

    /// Yields the images of each group of views in host memory; without bytes for a batch on a GPU,
    /// and for [`rows`](Self::rows) of their own sizes.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = GroupImages<'_>> {
        let buffer = match &self.images {
            Images::Host(HostImages { buffer, .. }) => &buffer[..],
            #[cfg(feature = "gpu")]
            Images::Device(_) => &[],
        };
        self.views.groups().iter().enumerate().map(|(number, group)| {
            let range = buffer::range(&self.views, number, self.len());
            let offset = range.start;
            let bytes = buffer.get(range).unwrap_or_default();
            let (n_views, shape) = (group.n_views, group.shape(self.len()));
            let layout = self.views.layout;
            GroupImages { name: &group.name, n_views, shape, layout, offset, bytes }
        })
    }

    /// Returns the images of the first group of views in host [`memory`](Self::memory); empty for a
    /// batch on a GPU.
    #[must_use]
    pub fn images(&self) -> &[u8] {
        self.groups().next().map_or(&[], |group| group.bytes)
    }

    /// Returns the memory of all groups for changes in place; empty for a batch on a GPU.
    #[must_use]
    pub fn memory_mut(&mut self) -> &mut [u8] {
        let n_bytes = self.n_bytes();
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

    /// Returns the shape and type of the images of the first view.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.views.shape(self.len())
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
    /// If the list of transforms mixes batches, the labels are an array of single-precision
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

    /// Returns the column of a field that follows the image, in the view of that number: a mask, a
    /// further image or objects. Views are counted from 0, group by group.
    #[must_use]
    pub fn view_field(&self, view: usize, name: &str) -> Option<&Column> {
        match view.checked_sub(1) {
            None => self.field(name),
            Some(other) => self.others.get(other)?.get(name),
        }
    }

    /// Returns the placement of each sample's image in its row, in the view of that number; `None`
    /// unless [`Options::geometry`](crate::Options::geometry) is set or a field follows the image.
    #[must_use]
    pub fn geometry(&self, view: usize) -> Option<&[RowGeometry]> {
        self.geometry.get(view).map(Vec::as_slice)
    }

    /// Returns the number of each row's sample; several datasets are numbered consecutively.
    #[must_use]
    pub fn samples(&self) -> &[u64] {
        &self.samples
    }

    /// Returns a number for each row that differs between the occurrences of its sample in the epoch.
    #[must_use]
    pub fn occurrences(&self) -> &[u64] {
        &self.occurrences
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
        let RowFacts { sample, occurrence, values, filled, substituted, .. } = facts;
        set(&mut self.samples, row, sample);
        set(&mut self.occurrences, row, occurrence);
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

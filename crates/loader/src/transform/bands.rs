//! Images of bands: satellites, tomograms, depths.
//!
//! Their values are floats from the file to the row. That is exact for all types that bands may have,
//! so that a crop or a flip changes no value, and the resize is the antialiased bilinear one of RGB,
//! without rounding. What is outside the image is 0.
use super::{
    Interpolation, PaddingMode, Transform,
    geometry::{Area, Rect},
    list::{Change, Resample, Stage},
    output::{DType, Layout, Output},
    painter::check_pixels,
};
use fdconvert_core::{Bands, DType as Stored, Error, Result};
use fdconvert_resize::Stretcher;
use half::{bf16, f16};
use std::sync::Arc;

/// What a list of transforms makes of bands, besides its changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BandForm {
    pub(crate) bands: Bands,
    /// Mean and standard deviation of each band.
    normalise: Option<Arc<[(f32, f32)]>>,
}

impl BandForm {
    /// Checks what a list says of bands.
    ///
    /// # Errors
    /// `Usage` for numbers and types that bands cannot have, for statistics that are not one of each
    /// band, and for changes of RGB.
    pub(super) fn new(
        n: u16,
        stored: DType,
        dtype: DType,
        normalise: Option<(&[f32], &[f32])>,
        changes: &[Transform],
    ) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("transform", what));
        let Some(bands) = bands_of(n, stored) else {
            return refuse(format!(
                "Bands: {n} of {stored:?} are not 1 to 32 of u8, u16, i16 or f32"
            ));
        };
        let is_whole = matches!(dtype, DType::U8 | DType::U16 | DType::I16);
        if is_whole && (dtype != stored || normalise.is_some()) {
            return refuse(format!(
                "ToDtype: integers are those that are stored ({bands}), without Normalize; other types \
                 are floats"
            ));
        }
        if let Some(name) = changes.iter().find_map(of_colors) {
            return refuse(format!(
                "{name} is for RGB of 8 bits: Bands are cut, resized by the bilinear filter, flipped and \
                 padded with 0"
            ));
        }
        let Some((mean, std)) = normalise else { return Ok(Self { bands, normalise: None }) };
        let is_sound = |std: &f32| *std > 0.0 && (1.0 / std).is_finite();
        if (mean.len(), std.len()) != (n.into(), n.into())
            || !mean.iter().all(|mean| mean.is_finite())
            || !std.iter().all(is_sound)
        {
            return refuse(format!(
                "Normalize: mean {mean:?} and std {std:?} must be numbers for each of {n} bands, and \
                 std above 0"
            ));
        }
        let normalise = Some(mean.iter().copied().zip(std.iter().copied()).collect());
        Ok(Self { bands, normalise })
    }

    /// Returns the number of a batch for a value of a band.
    fn value(&self, band: usize, value: f32) -> f32 {
        match self.normalise.as_ref().and_then(|it| it.get(band)) {
            Some((mean, std)) => (value - mean) / std,
            None => value,
        }
    }

    /// Writes planes into a row of the batch.
    fn write(&self, planes: &Planes, output: &Output, row: &mut [u8]) {
        let layout = output.layout;
        match output.dtype {
            // Casts round towards zero and clamp; NaN becomes 0.
            DType::U8 => planes.write(layout, row, |_, value| [value.round() as u8]),
            DType::U16 => planes.write(layout, row, |_, it| (it.round() as u16).to_ne_bytes()),
            DType::I16 => planes.write(layout, row, |_, it| (it.round() as i16).to_ne_bytes()),
            DType::F16 => planes.write(layout, row, |band, value| {
                f16::from_f32(self.value(band, value)).to_ne_bytes()
            }),
            DType::Bf16 => planes.write(layout, row, |band, value| {
                bf16::from_f32(self.value(band, value)).to_ne_bytes()
            }),
            DType::F32 => {
                planes.write(layout, row, |band, value| self.value(band, value).to_ne_bytes());
            }
        }
    }
}

fn bands_of(n: u16, stored: DType) -> Option<Bands> {
    let dtype = match stored {
        DType::U8 => Stored::U8,
        DType::U16 => Stored::U16,
        DType::I16 => Stored::I16,
        DType::F32 => Stored::F32,
        DType::F16 | DType::Bf16 => return None,
    };
    (1..=32).contains(&n).then_some(Bands { n, dtype })
}

/// Returns the name of the first transform, of this one and those in it, that bands do not have.
fn of_colors(transform: &Transform) -> Option<&'static str> {
    let is_ours = match transform {
        Transform::Resize { interpolation, .. } => *interpolation == Interpolation::Bilinear,
        Transform::RandomCrop { fill, padding_mode, .. }
        | Transform::Pad { fill, padding_mode, .. } => {
            (*fill, *padding_mode) == ([0; 3], PaddingMode::Constant)
        }
        Transform::Letterbox { fill, .. } => *fill == [0; 3],
        Transform::Bands { .. }
        | Transform::CenterCrop { .. }
        | Transform::RandomResizedCrop { .. }
        | Transform::ScaleJitter { .. }
        | Transform::Cover { .. }
        | Transform::RandomHorizontalFlip { .. }
        | Transform::RandomVerticalFlip { .. } => true,
        Transform::RandomApply { transforms, .. }
        | Transform::RandomChoice { transforms, .. }
        | Transform::RandomOrder { transforms } => return transforms.iter().find_map(of_colors),
        _ => false,
    };
    (!is_ours).then(|| transform.name())
}

/// Decoded values of a part of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandPixels<'a> {
    /// In the byte order of the machine, the bands of a pixel next to each other.
    pub(crate) values: &'a [u8],
    /// Place in the image.
    pub(crate) area: Area,
    pub(crate) bands: Bands,
}

/// The bands of an image, one after the other.
#[derive(Debug, Default)]
struct Planes {
    values: Vec<f32>,
    size: (u32, u32),
}

/// Makes rows of images of bands; one per thread, for its buffers, which are kept.
#[derive(Default)]
pub(crate) struct BandPainter {
    stretcher: Stretcher,
    image: Planes,
    made: Planes,
}

impl BandPainter {
    /// Writes the row of a batch: the image of these stages in the form of an output.
    ///
    /// # Errors
    /// The reason if pixels are missing or the stages make another size, as the end of a sentence. The
    /// contents of the row are unspecified then.
    pub(crate) fn row(
        &mut self,
        pixels: &BandPixels<'_>,
        stages: &[Stage],
        (form, output): (&BandForm, &Output),
        row: &mut [u8],
    ) -> Result<(), String> {
        if row.len() != output.n_bytes() {
            return Err(format!("{} bytes are not {}", row.len(), output.n_bytes()));
        }
        let mut is_first = true;
        for stage in stages {
            match stage {
                Stage::Resample(resample) => {
                    check_pixels(resample.size)?;
                    let Area { x, y, width, height } = resample.needed;
                    let mut rect = resample.rect;
                    if is_first {
                        self.image.load(pixels, resample.needed)?;
                        rect = Rect { x: rect.x - f64::from(x), y: rect.y - f64::from(y), ..rect };
                        debug_assert_eq!(self.image.size, (width, height));
                    }
                    self.resample(rect, resample)?;
                }
                Stage::Change(change) => {
                    if is_first {
                        self.image.load(pixels, pixels.area)?;
                    }
                    check_pixels(change.size(self.image.size))?;
                    self.change(change)?;
                }
            }
            is_first = false;
        }
        if self.image.size != output.size {
            let (width, height) = self.image.size;
            return Err(format!("{width}x{height} are not {:?}", output.size));
        }
        form.write(&self.image, output, row);
        Ok(())
    }

    /// Stretches a rectangle of the image over a size, and flips it.
    fn resample(&mut self, rect: Rect, resample: &Resample) -> Result<(), String> {
        let Resample { size, mirrored, upside_down, .. } = *resample;
        let Self { stretcher, image, made } = self;
        let Rect { x, y, width, height } = rect;
        let is_whole = |at: f64| at == at.round();
        let (columns, rows) = (f64::from(size.0), f64::from(size.1));
        if (width, height) == (columns, rows) && is_whole(x) && is_whole(y) {
            self.cut((x as i64, y as i64), size);
        } else {
            made.resize(size, image.n());
            let (planes, made_planes) = (image.planes(), made.planes_mut());
            for (from, to) in planes.zip(made_planes) {
                // Undoes a rounding that is slightly outside.
                let (x, y) = (x.max(0.0), y.max(0.0));
                let width = width.min(f64::from(image.size.0) - x);
                let height = height.min(f64::from(image.size.1) - y);
                stretcher.floats((from, image.size), (x, y, width, height), size, to)?;
            }
            std::mem::swap(image, made);
        }
        if mirrored {
            self.image.rows_mut().for_each(<[f32]>::reverse);
        }
        if upside_down {
            let row = (size.0 as usize).max(1);
            for plane in self.image.planes_mut() {
                let half = plane.len() / row / 2 * row;
                let (upper, lower) = plane.split_at_mut(half);
                for (upper, lower) in upper.chunks_mut(row).zip(lower.rchunks_mut(row)) {
                    upper.swap_with_slice(lower);
                }
            }
        }
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::Crop { top, left, height, width } => self.cut((*left, *top), (*width, *height)),
            Change::Pad { padding: [left, top, ..], .. } => {
                let size = change.size(self.image.size);
                self.cut((-i64::from(*left), -i64::from(*top)), size);
            }
            // The list of transforms has no others.
            _ => return Err("bands do not have this change".into()),
        }
        Ok(())
    }

    /// Cuts a part out, with 0 where it is outside the image.
    fn cut(&mut self, (left, top): (i64, i64), size: (u32, u32)) {
        let Self { image, made, .. } = self;
        if (left, top) == (0, 0) && size == image.size {
            return;
        }
        made.resize(size, image.n());
        made.values.fill(0.0);
        let (width, height) = (i64::from(image.size.0), i64::from(image.size.1));
        // First column and their number, in the image and in the part.
        let first = left.clamp(0, width);
        let n_columns =
            (left.saturating_add(size.0.into()).clamp(0, width) - first).max(0) as usize;
        let at = first.saturating_sub(left).clamp(0, size.0.into()) as usize;
        for (from, to) in image.planes().zip(made.planes_mut()) {
            for (row, to) in to.chunks_exact_mut((size.0 as usize).max(1)).enumerate() {
                let row = top.saturating_add(row as i64);
                if !(0..height).contains(&row) {
                    continue;
                }
                let start = (row * width + first) as usize;
                let from = from.get(start..start + n_columns).unwrap_or_default();
                if let Some(to) = to.get_mut(at..at + from.len()) {
                    to.copy_from_slice(from);
                }
            }
        }
        std::mem::swap(image, made);
    }
}

impl Planes {
    fn n_pixels(&self) -> usize {
        (self.size.0 as usize * self.size.1 as usize).max(1)
    }

    fn n(&self) -> usize {
        self.values.len() / self.n_pixels()
    }

    fn resize(&mut self, size: (u32, u32), n: usize) {
        self.size = size;
        self.values.resize(size.0 as usize * size.1 as usize * n, 0.0);
    }

    fn planes(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.n_pixels())
    }

    fn planes_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let n_pixels = self.n_pixels();
        self.values.chunks_exact_mut(n_pixels)
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let width = (self.size.0 as usize).max(1);
        self.values.chunks_exact_mut(width)
    }

    /// Takes a view, in pixels of the image, of decoded values.
    fn load(&mut self, pixels: &BandPixels<'_>, view: Area) -> Result<(), String> {
        let BandPixels { values, area, bands } = *pixels;
        let inside = |at: u32, length: u32, from: u32, side: u32| {
            let offset = at.checked_sub(from)?;
            (length > 0 && offset.checked_add(length)? <= side).then_some(offset as usize)
        };
        let left = inside(view.x, view.width, area.x, area.width);
        let top = inside(view.y, view.height, area.y, area.height);
        let (Some(left), Some(top)) = (left, top) else {
            return Err(format!("{view:?} is not within {area:?}"));
        };
        let pixel_bytes = bands.pixel_bytes();
        let stride = (area.width as usize * pixel_bytes).max(1);
        if values.len() != stride * area.height as usize {
            return Err(format!("{} bytes are no {area:?} of {bands}", values.len()));
        }
        self.resize((view.width, view.height), bands.n.into());
        let rows = values.chunks_exact(stride).skip(top).take(view.height as usize);
        let bytes = left * pixel_bytes..(left + view.width as usize) * pixel_bytes;
        let rows = rows.map(move |row| row.get(bytes.clone()).unwrap_or_default());
        match bands.dtype {
            Stored::U16 => self.spread(rows, |it| u16::from_ne_bytes(it).into()),
            Stored::I16 => self.spread(rows, |it| i16::from_ne_bytes(it).into()),
            Stored::F32 => self.spread(rows, f32::from_ne_bytes),
            _ => self.spread(rows, |[it]| it.into()),
        }
        Ok(())
    }

    /// Spreads the bands of pixels over the planes.
    fn spread<'a, const N: usize>(
        &mut self,
        rows: impl Iterator<Item = &'a [u8]>,
        value: impl Fn([u8; N]) -> f32,
    ) {
        let (n, n_pixels, width) = (self.n(), self.n_pixels(), self.size.0 as usize);
        for (number, row) in rows.enumerate() {
            let values = row.as_chunks().0;
            for band in 0..n {
                let start = band * n_pixels + number * width;
                let to = self.values.get_mut(start..start + width).unwrap_or_default();
                let from = values.iter().skip(band).step_by(n.max(1));
                to.iter_mut().zip(from).for_each(|(to, from)| *to = value(*from));
            }
        }
    }

    fn write<const N: usize>(
        &self,
        layout: Layout,
        row: &mut [u8],
        value: impl Fn(usize, f32) -> [u8; N],
    ) {
        let n = self.n();
        let to = row.as_chunks_mut().0;
        for (band, plane) in self.planes().enumerate() {
            match layout {
                Layout::Nhwc => {
                    let to = to.iter_mut().skip(band).step_by(n.max(1));
                    to.zip(plane).for_each(|(to, from)| *to = value(band, *from));
                }
                Layout::Nchw => {
                    let to = to.iter_mut().skip(band * plane.len());
                    to.zip(plane).for_each(|(to, from)| *to = value(band, *from));
                }
            }
        }
    }
}

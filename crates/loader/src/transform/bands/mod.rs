//! Images of bands: satellites, tomograms, depths.
//!
//! Their values are floats from the file to the row. That is exact for all types that bands may have,
//! so that a crop or a flip changes no value, and the resize is the antialiased bilinear one of RGB,
//! without rounding. What is outside the image is 0.
mod lines;
mod painter;
mod planes;

use super::{Interpolation, PaddingMode, Transform, geometry::Area, output::DType};
use fdconvert_core::{Bands, DType as Stored, Error, Result};
pub(crate) use painter::BandPainter;
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

impl<'a> BandPixels<'a> {
    /// Returns the lines of a view, in pixels of the image.
    ///
    /// # Errors
    /// The reason if pixels are missing, as the end of a sentence.
    fn lines(&self, view: Area) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>, String> {
        let Self { values, area, bands } = *self;
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
        let bytes = left * pixel_bytes..(left + view.width as usize) * pixel_bytes;
        let lines = values.chunks_exact(stride).skip(top).take(view.height as usize);
        Ok(lines.map(move |line| line.get(bytes.clone()).unwrap_or_default()))
    }
}

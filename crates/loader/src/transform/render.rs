//! From decoded pixels to the row of a batch.

use super::augment::{Augment, Augmenter};
use super::geometry::{Area, Geometry, Inset, Rect};
use super::keyed::Key;
use super::output::{DType, Layout, Output, Tables};
use fdconvert_core::{Error, Result};
use fdconvert_resize::{Source, Stretcher};

/// Decoded pixels of a part of an image, possibly at a fraction of its size.
#[derive(Debug, Clone, Copy)]
pub struct Region<'a> {
    /// Rows without padding, interleaved channels.
    pub pixels: &'a [u8],
    /// Place of these pixels in the image. If `denominator` is not 1, in the smaller pixels: column
    /// `x` covers the columns from `x * denominator` of the full image.
    pub area: Area,
    /// Number of channels: 1 for gray, 3 for RGB.
    pub channels: u8,
    /// Denominator of the scale: 1, or 2, 4 or 8 for a JPEG decoded at a smaller size.
    pub denominator: u32,
}

/// Makes rows of a batch; one per thread, for its tables and buffers.
///
/// The buffers grow to the largest output and are kept. Only the tables of filter weights are
/// allocated per image, inside `fast_image_resize`.
pub struct Renderer {
    output: Output,
    augment: Option<Augment>,
    tables: Tables,
    stretcher: Stretcher,
    augmenter: Augmenter,
    image: Vec<u8>,
    gray: Vec<u8>,
    inner: Vec<u8>,
}

impl Renderer {
    /// Creates a renderer for batches of this form.
    ///
    /// # Errors
    /// `Usage` for an invalid output or augmentation.
    pub fn new(output: Output, augment: Option<Augment>) -> Result<Self> {
        output.check()?;
        if let Some(augment) = &augment {
            augment.check()?;
        }
        Ok(Self {
            tables: Tables::new(&output),
            output,
            augment,
            stretcher: Stretcher::new(),
            augmenter: Augmenter::default(),
            image: Vec::new(),
            gray: Vec::new(),
            inner: Vec::new(),
        })
    }

    /// Returns the form of the rows.
    #[must_use]
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Fills `dst`, the row of one sample. `name` is for messages, `key` for the augmentations.
    ///
    /// The result depends on the pixels of `geometry.needed` alone, not on any further pixels from
    /// the decoder. It is the antialiased bilinear resize of torchvision and Pillow to within one
    /// level: the weights have fewer bits here.
    ///
    /// # Errors
    /// `Usage` if `dst` does not have the size of a row; `Sample` if the region does not contain
    /// the pixels that the geometry needs. After an error the contents of `dst` are unspecified.
    pub fn render(
        &mut self,
        name: &str,
        region: &Region<'_>,
        geometry: &Geometry,
        key: Key,
        dst: &mut [u8],
    ) -> Result<()> {
        let Output { size, dtype, layout, .. } = self.output;
        if dst.len() != self.output.n_bytes() {
            let what = format!("{} bytes are not {}", dst.len(), self.output.n_bytes());
            return Err(Error::usage("row", what));
        }
        let plan = Plan::of(region, geometry)
            .map_err(|what| Error::sample(name, format!("cannot be resized: {what}")))?;
        let as_is = dtype == DType::U8
            && layout == Layout::Nhwc
            && !geometry.flip
            && self.augment.is_none();
        let n_pixels = size.0 as usize * size.1 as usize;
        // Every byte is written below: only growth is filled.
        let rgb = if as_is {
            &mut *dst
        } else {
            self.image.resize(n_pixels * 3, 0);
            self.image.as_mut_slice()
        };
        let resized = match geometry.inset {
            None => plan.resize(region, size, &mut self.stretcher, &mut self.gray, rgb),
            Some(Inset { area, fill }) => {
                let Self { stretcher, gray, inner, .. } = self;
                inner.resize(area.width as usize * area.height as usize * 3, 0);
                let resized =
                    plan.resize(region, (area.width, area.height), stretcher, gray, inner);
                paste(inner, area, fill, size.0, rgb);
                resized
            }
        };
        resized.map_err(|what| Error::sample(name, format!("cannot be resized: {what}")))?;
        if as_is {
            return Ok(());
        }
        if let Some(augment) = &self.augment {
            self.augmenter.augment(augment, size, key, &mut self.image);
        }
        self.tables.write(&self.image, size.0 as usize, layout, geometry.flip, dst);
        Ok(())
    }
}

/// Places an image into a larger one, of that width and colour.
fn paste(inner: &[u8], area: Area, fill: [u8; 3], width: u32, rgb: &mut [u8]) {
    let (pixels, _) = rgb.as_chunks_mut::<3>();
    pixels.fill(fill);
    let left = area.x as usize * 3;
    let row_bytes = area.width as usize * 3;
    let rows = rgb.chunks_exact_mut((width as usize * 3).max(1)).skip(area.y as usize);
    for (from, to) in inner.chunks_exact(row_bytes.max(1)).zip(rows) {
        if let Some(to) = to.get_mut(left..left + row_bytes) {
            to.copy_from_slice(from);
        }
    }
}

/// Converts gray to RGB.
fn spread(gray: &[u8], rgb: &mut [u8]) {
    let (pixels, _) = rgb.as_chunks_mut::<3>();
    pixels.iter_mut().zip(gray).for_each(|(pixel, &level)| *pixel = [level; 3]);
}

/// One resize, in the pixels of a region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// The part of the region that is read, relative to its corner.
    view: Area,
    /// Rectangle that is stretched over the output, relative to the corner of the view.
    rect: Rect,
}

impl Plan {
    /// Refuses everything that does not fit, so that the resize cannot fail.
    pub(super) fn of(region: &Region<'_>, geometry: &Geometry) -> Result<Self, String> {
        let Region { pixels, area, channels, denominator } = *region;
        if !matches!(channels, 1 | 3) {
            return Err(format!("{channels} channels are neither gray nor RGB"));
        }
        if !matches!(denominator, 1 | 2 | 4 | 8) {
            return Err(format!("1/{denominator} is not a scale of a JPEG"));
        }
        let n_bytes = u128::from(area.width) * u128::from(area.height) * u128::from(channels);
        if pixels.len() as u128 != n_bytes {
            let Area { width, height, .. } = area;
            return Err(format!("{} bytes are not {width}x{height}x{channels}", pixels.len()));
        }
        let Geometry { rect, needed, .. } = *geometry;
        // First pixel and length of the view, then the rectangle in it.
        let axis = |needed: (u32, u32), have: (u32, u32), rect: (f64, f64)| {
            if !rect.0.is_finite() || !rect.1.is_finite() {
                return None;
            }
            let from = needed.0 / denominator;
            let end = needed.0.checked_add(needed.1)?.div_ceil(denominator);
            let offset = from.checked_sub(have.0)?;
            if end > have.0.checked_add(have.1)? || end <= from {
                return None;
            }
            let (scale, n_pixels) = (f64::from(denominator), f64::from(end - from));
            // Undoes a rounding that is slightly outside.
            let at = (rect.0 / scale - f64::from(from)).max(0.0);
            let length = (rect.1 / scale).min(n_pixels - at);
            (length > 0.0).then_some((offset, end - from, at, length))
        };
        let horizontal = axis((needed.x, needed.width), (area.x, area.width), (rect.x, rect.width));
        let vertical =
            axis((needed.y, needed.height), (area.y, area.height), (rect.y, rect.height));
        let (Some((left, columns, x, width)), Some((top, rows, y, height))) =
            (horizontal, vertical)
        else {
            return Err(format!("{needed:?} is not within {area:?} at 1/{denominator}"));
        };
        let view = Area { x: left, y: top, width: columns, height: rows };
        Ok(Self { view, rect: Rect { x, y, width, height } })
    }

    pub(super) fn resize(
        &self,
        region: &Region<'_>,
        size: (u32, u32),
        stretcher: &mut Stretcher,
        gray: &mut Vec<u8>,
        rgb: &mut [u8],
    ) -> Result<(), String> {
        if self.changes_nothing(size) {
            self.copy(region, rgb);
            Ok(())
        } else if region.channels == 1 {
            gray.resize(size.0 as usize * size.1 as usize, 0);
            let resized = stretcher.gray(&self.source(region), size, gray);
            spread(gray, rgb);
            resized
        } else {
            stretcher.rgb(&self.source(region), size, rgb)
        }
    }

    /// Returns true if the resize would give each pixel back unchanged: the rectangle has the size
    /// of the output and begins at a pixel.
    fn changes_nothing(&self, size: (u32, u32)) -> bool {
        let Rect { x, y, width, height } = self.rect;
        let is_whole = |at: f64| at == at.round();
        (width, height) == (f64::from(size.0), f64::from(size.1)) && is_whole(x) && is_whole(y)
    }

    /// Copies the pixels of such a rectangle as RGB.
    fn copy(&self, region: &Region<'_>, rgb: &mut [u8]) {
        let Self { view, rect } = *self;
        let (channels, width) = (usize::from(region.channels), rect.width as usize);
        let row_bytes = region.area.width as usize * channels;
        let left = (view.x as usize + rect.x as usize) * channels;
        let rows = region.pixels.chunks_exact(row_bytes.max(1));
        let rows = rows.skip(view.y as usize + rect.y as usize);
        for (from, to) in rows.zip(rgb.chunks_exact_mut((width * 3).max(1))) {
            let from = from.get(left..left + width * channels).unwrap_or_default();
            if channels == 1 {
                spread(from, to);
            } else if let Some(to) = to.get_mut(..from.len()) {
                to.copy_from_slice(from);
            }
        }
    }

    fn source<'a>(&self, region: &Region<'a>) -> Source<'a> {
        let Self { view, rect } = *self;
        Source {
            pixels: region.pixels,
            size: (region.area.width, region.area.height),
            view: (view.x, view.y, view.width, view.height),
            rect: (rect.x, rect.y, rect.width, rect.height),
        }
    }
}

#[cfg(test)]
mod tests;

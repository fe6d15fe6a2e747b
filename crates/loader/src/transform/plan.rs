//! From decoded pixels to those of a rectangle of the image, at its size in a row.

use super::geometry::{Area, Rect};
use super::list::Resample;
use fdconvert_resize::{Source, Stretcher};

/// Decoded pixels of a part of an image, possibly at a fraction of its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region<'a> {
    /// Rows without padding, interleaved channels.
    pub(crate) pixels: &'a [u8],
    /// Place of these pixels in the image. If `denominator` is not 1, in the smaller pixels: column
    /// `x` covers the columns from `x * denominator` of the full image.
    pub(crate) area: Area,
    /// Number of channels: 1 for gray, 3 for RGB.
    pub(crate) channels: u8,
    /// Denominator of the scale: 1, or 2, 4 or 8 for a JPEG decoded at a smaller size.
    pub(crate) denominator: u32,
}

/// Converts gray to RGB.
fn spread(gray: &[u8], rgb: &mut [u8]) {
    let (pixels, _) = rgb.as_chunks_mut::<3>();
    pixels.iter_mut().zip(gray).for_each(|(pixel, &level)| *pixel = [level; 3]);
}

/// One resize, in the pixels of a region. It is the antialiased bilinear one of torchvision and
/// Pillow to within one level: the weights have fewer bits here. The result depends on the pixels
/// that the resample needs, not on any further ones of the region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// The part of the region that is read, relative to its corner.
    view: Area,
    /// Rectangle that is stretched over the output, relative to the corner of the view.
    rect: Rect,
}

impl Plan {
    /// Refuses everything that does not fit, so that the resize cannot fail.
    pub(super) fn of(region: &Region<'_>, resample: &Resample) -> Result<Self, String> {
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
        let Resample { rect, needed, .. } = *resample;
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

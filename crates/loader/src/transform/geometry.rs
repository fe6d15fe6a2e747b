//! The part of an image that becomes the output.
//!
//! Resize and crop form one rectangle of the encoded image, in fractions of its pixels. The decoder
//! then needs to produce no other pixels, and one resize does the work of two.

use super::keyed::{Key, Purpose};
use fdconvert_core::{Error, Result};

/// Choice of the shown rectangle of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crop {
    /// torchvision's `Resize(resize)` and `CenterCrop(size)`, usual for evaluation.
    ///
    /// If the resized image is smaller than the output, torchvision fills with black; here the
    /// largest centred rectangle of the output's shape is enlarged.
    Center {
        /// Short side after the resize, in pixels.
        resize: u32,
    },
    /// torchvision's `RandomResizedCrop(size, scale, ratio)`, usual for training; Szegedy et al.,
    /// "Going Deeper with Convolutions", 2015.
    Random {
        /// Smallest and largest part of the area; usually 0.08 to 1.
        scale: (f64, f64),
        /// Smallest and largest width divided by height; usually 3/4 to 4/3.
        ratio: (f64, f64),
    },
    /// The whole image, squeezed to the output size.
    None,
    /// The whole image in its shape, as large as fits into the output, and centred; torchvision's
    /// `Resize(None, max_size=...)` and `Pad`.
    Letterbox {
        /// Red, green and blue around the image.
        fill: [u8; 3],
    },
}

/// A rectangle in fractions of pixels: left, top, width, height.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// A rectangle of whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    /// Left column.
    pub x: u32,
    /// Upper row.
    pub y: u32,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Source of the pixels of one output image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Rectangle that is stretched over the output, in pixels of the encoded image at full size.
    pub rect: Rect,
    /// All pixels that the resize reads: `rect`, and for [`Crop::Center`] the neighbours within the
    /// filter's reach, because torchvision resizes before it crops. A decoder may produce more
    /// without effect.
    pub needed: Area,
    /// Whether left and right are exchanged at the end.
    pub flip: bool,
    /// Part of the output that the rectangle is stretched over; `None` for all of it.
    pub inset: Option<Inset>,
}

/// Part of the output, with one colour around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inset {
    /// Position before left and right are exchanged.
    pub area: Area,
    /// Red, green and blue around the part.
    pub fill: [u8; 3],
}

impl Crop {
    /// Checks the numbers, once for a run.
    ///
    /// # Errors
    /// `Usage` if a range is empty, not finite or not positive.
    pub fn check(&self) -> Result<()> {
        let usage = |option, what: String| Err(Error::usage(option, what));
        match *self {
            Self::Center { resize: 0 } => {
                usage("resize", "the short side must be at least 1".to_owned())
            }
            Self::Random { scale, ratio } => {
                let sound = |(from, to): (f64, f64)| from > 0.0 && from <= to && to.is_finite();
                if !sound(scale) || scale.1 > 1.0 {
                    let what = "must be the smallest and the largest share of the area, \
                                0 < smallest <= largest <= 1";
                    return usage("scale", format!("{scale:?} {what}"));
                }
                if !sound(ratio) {
                    let what = "must be the smallest and the largest ratio of width to height, \
                                0 < smallest <= largest";
                    return usage("ratio", format!("{ratio:?} {what}"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Geometry {
    /// Returns the geometry of one sample: `size` is that of the output, `source` that of the
    /// encoded image, each (width, height). Sides of 0 are treated as 1.
    ///
    /// The numbers of torchvision's crops come from single-precision random numbers, these from
    /// double precision: the distribution is the same, the sequence is not.
    #[must_use]
    pub fn of(crop: Crop, flip: f64, size: (u32, u32), source: (u32, u32), key: Key) -> Self {
        let size = (size.0.max(1), size.1.max(1));
        let source = (source.0.max(1), source.1.max(1));
        let flip = key.stream(Purpose::Flip).chance(flip);
        let exact = |area: Area| Self { rect: area.into(), needed: area, flip, inset: None };
        let whole = Area { x: 0, y: 0, width: source.0, height: source.1 };
        match crop {
            Crop::None => exact(whole),
            Crop::Letterbox { fill } => {
                Self { inset: Some(Inset { area: inner(size, source), fill }), ..exact(whole) }
            }
            Crop::Random { scale, ratio } => {
                let mut stream = key.stream(Purpose::Crop);
                exact(random(scale, ratio, source, &mut |draw| match draw {
                    Draw::Unit => stream.unit(),
                    Draw::Below(n) => stream.below(u64::from(n)) as f64,
                }))
            }
            Crop::Center { resize } => {
                let rect = center(resize.max(1), size, source);
                let (x, width) = reach(rect.x, rect.width, size.0, source.0);
                let (y, height) = reach(rect.y, rect.height, size.1, source.1);
                Self { rect, needed: Area { x, y, width, height }, flip, inset: None }
            }
        }
    }
}

impl Geometry {
    /// Returns the part of an output of that size that the rectangle is stretched over.
    pub(crate) fn area(&self, size: (u32, u32)) -> Area {
        let all = Area { x: 0, y: 0, width: size.0, height: size.1 };
        self.inset.map_or(all, |inset| inset.area)
    }

    /// Returns the corner of the rectangle if its pixels become the output unchanged: it has the
    /// output's size, begins at a pixel, and lies in an image of that size.
    pub(crate) fn as_is(&self, size: (u32, u32), source: (u32, u32)) -> Option<(u32, u32)> {
        let Rect { x, y, width, height } = self.rect;
        let corner = |at: f64, length: f64, size: u32, n_pixels: u32| {
            let fits = length == f64::from(size)
                && at >= 0.0
                && at == at.trunc()
                && at + length <= f64::from(n_pixels);
            fits.then_some(at as u32)
        };
        Some((corner(x, width, size.0, source.0)?, corner(y, height, size.1, source.1)?))
    }
}

impl From<Area> for Rect {
    fn from(area: Area) -> Self {
        let [x, y, width, height] = [area.x, area.y, area.width, area.height].map(f64::from);
        Self { x, y, width, height }
    }
}

/// Returns the largest denominator of 1, 2, 4 and 8 for decoding a JPEG at a smaller size, such
/// that `rect` still has at least as many pixels as the output on both axes.
#[must_use]
pub fn scale_for(rect: Rect, size: (u32, u32)) -> u32 {
    let fits = |denominator: &u32| {
        let (width, height) = (size.0.max(1), size.1.max(1));
        rect.width >= f64::from(*denominator) * f64::from(width)
            && rect.height >= f64::from(*denominator) * f64::from(height)
    };
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// Returns the size that `Resize(resize)` gives an image.
pub(crate) fn resized(resize: u32, source: (u32, u32)) -> (f64, f64) {
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    // Only the long side is rounded, downwards, after a division in double precision.
    let long = |long: f64, short: f64| (f64::from(resize) * long / short).floor();
    if source.0 <= source.1 {
        (f64::from(resize), long(height, width))
    } else {
        (long(width, height), f64::from(resize))
    }
}

/// Returns the largest centred area of an output in the shape of the source. The side that does not
/// fill the output is rounded downwards, and an odd pixel remains at the far end.
pub(super) fn inner(size: (u32, u32), source: (u32, u32)) -> Area {
    let side = |filled: u32, other: u32, this: u32| {
        (u64::from(filled) * u64::from(this) / u64::from(other)).max(1) as u32
    };
    let is_wide =
        u64::from(source.0) * u64::from(size.1) >= u64::from(source.1) * u64::from(size.0);
    let (width, height) = if is_wide {
        (size.0, side(size.0, source.0, source.1))
    } else {
        (side(size.1, source.1, source.0), size.1)
    };
    Area { x: (size.0 - width) / 2, y: (size.1 - height) / 2, width, height }
}

/// Returns `Resize(resize)` and `CenterCrop(size)` as a rectangle of the source.
fn center(resize: u32, size: (u32, u32), source: (u32, u32)) -> Rect {
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    let resized = resized(resize, source);
    let (crop_width, crop_height) = (f64::from(size.0), f64::from(size.1));
    let fit = (resized.0 / crop_width).min(resized.1 / crop_height);
    let axis = |resized: f64, crop: f64, source: f64| {
        let (at, crop) = if fit >= 1.0 {
            // Python's round: halves go to the even neighbour.
            (((resized - crop) / 2.0).round_ties_even(), crop)
        } else {
            ((resized - crop * fit) / 2.0, crop * fit)
        };
        let length = (crop * source / resized).min(source);
        ((at * source / resized).clamp(0.0, source - length), length)
    };
    let (x, rect_width) = axis(resized.0, crop_width, width);
    let (y, rect_height) = axis(resized.1, crop_height, height);
    Rect { x, y, width: rect_width, height: rect_height }
}

/// Returns the first pixel and the number of pixels that the triangle filter reads for `out`
/// pixels.
pub(super) fn reach(at: f64, length: f64, out: u32, source: u32) -> (u32, u32) {
    // The triangle is two output pixels wide, or two source pixels if the image grows; its
    // outermost centres are half an output pixel inside. One more pixel covers the rounding.
    let step = length / f64::from(out);
    let margin = step.max(1.0) - step / 2.0 + 1.0;
    let from = (at - margin).floor().max(0.0) as u32;
    let to = ((at + length + margin).ceil() as u32).min(source);
    (from.min(source - 1), to.saturating_sub(from).max(1))
}

/// Random number for a random crop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    /// A number from 0 to below 1.
    Unit,
    /// An integer below this.
    Below(u32),
}

/// `RandomResizedCrop.get_params`: makes ten tries at a box of random area and shape, and places
/// the first that fits at random; else returns the largest central box of an allowed shape.
pub(super) fn random(
    scale: (f64, f64),
    ratio: (f64, f64),
    (width, height): (u32, u32),
    draw: &mut dyn FnMut(Draw) -> f64,
) -> Area {
    let (float_width, float_height) = (f64::from(width), f64::from(height));
    let logs = (ratio.0.ln(), ratio.1.ln());
    for _ in 0..10 {
        let area = float_width * float_height * (scale.0 + (scale.1 - scale.0) * draw(Draw::Unit));
        let shape = (logs.0 + (logs.1 - logs.0) * draw(Draw::Unit)).exp();
        // A number of this size fits; NaN becomes 0 and is refused.
        let box_width = (area * shape).sqrt().round_ties_even() as u32;
        let box_height = (area / shape).sqrt().round_ties_even() as u32;
        if (1..=width).contains(&box_width) && (1..=height).contains(&box_height) {
            let y = draw(Draw::Below(height - box_height + 1)) as u32;
            let x = draw(Draw::Below(width - box_width + 1)) as u32;
            return Area { x, y, width: box_width, height: box_height };
        }
    }
    let shape = float_width / float_height;
    // torchvision lets a side of a very long image round to 0 and then fails.
    let side = |side: f64, most: u32| (side.round_ties_even() as u32).clamp(1, most);
    let (box_width, box_height) = if shape < ratio.0 {
        (width, side(float_width / ratio.0, height))
    } else if shape > ratio.1 {
        (side(float_height * ratio.1, width), height)
    } else {
        (width, height)
    };
    let (x, y) = ((width - box_width) / 2, (height - box_height) / 2);
    Area { x, y, width: box_width, height: box_height }
}

#[cfg(test)]
mod pinned;
#[cfg(test)]
mod tests;

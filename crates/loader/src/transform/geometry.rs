//! Rectangles of images, and how crops choose them.

/// A rectangle in fractions of pixels: left, top, width, height.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rect {
    /// Left edge.
    pub(crate) x: f64,
    /// Upper edge.
    pub(crate) y: f64,
    /// Width.
    pub(crate) width: f64,
    /// Height.
    pub(crate) height: f64,
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

impl From<Area> for Rect {
    fn from(area: Area) -> Self {
        let [x, y, width, height] = [area.x, area.y, area.width, area.height].map(f64::from);
        Self { x, y, width, height }
    }
}

/// Returns the largest denominator of 1, 2, 4 and 8 for decoding a JPEG at a smaller size, such
/// that `rect` still has at least as many pixels as the output on both axes.
pub(crate) fn scale_for(rect: Rect, size: (u32, u32)) -> u32 {
    let fits = |denominator: &u32| {
        let (width, height) = (size.0.max(1), size.1.max(1));
        rect.width >= f64::from(*denominator) * f64::from(width)
            && rect.height >= f64::from(*denominator) * f64::from(height)
    };
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
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

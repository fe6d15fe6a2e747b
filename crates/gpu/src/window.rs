//! The parts of an image that a request needs: pixels, the MCUs that contain them, and the segments
//! that must be decoded for these.
//!
//! `fdconvert_jpeg::region` computes the same from a full parse, in more steps; a test compares the
//! two.
use crate::{
    Crop, Output, Request,
    image::Parsed,
    layout::{CropLayout, ImageLayout, McusLayout, RESETS},
};
use fdconvert_jpeg::Anchor;
use std::ops::Range;

/// Converts the crop to pixels of an image of that size; `None` if it is invalid.
pub(crate) fn crop(
    (width, height): (u32, u32),
    request: &Request<'_>,
    output: &Output,
) -> Option<CropLayout> {
    let Some(tensor) = output.tensor() else {
        return Some(CropLayout { end_x: width, end_y: height, ..CropLayout::default() });
    };
    let Request { crop: Crop { left, top, width: part_x, height: part_y }, reach, .. } = *request;
    let (x, step_x, first_x, end_x) = axis((left, part_x), reach, width, tensor.width)?;
    let (y, step_y, first_y, end_y) = axis((top, part_y), reach, height, tensor.height)?;
    // Images with changes are flipped after these.
    let flip = (request.flip && matches!(output, Output::Tensor(_))).into();
    Some(CropLayout { left: x, top: y, step_x, step_y, first_x, end_x, first_y, end_y, flip })
}

/// Returns start and step in pixels, and the range of touched pixels.
fn axis(
    (start, part): (f32, f32),
    reach: bool,
    n_pixels: u32,
    n_out: u32,
) -> Option<(f32, f32, u32, u32)> {
    // Computed fractions may miss the sum of 1 by a rounding error.
    const SLACK: f64 = 1e-5;
    let (start, part) = (f64::from(start), f64::from(part));
    if !(start >= 0.0 && part > 0.0 && start + part <= 1.0 + SLACK) {
        return None;
    }
    let n = f64::from(n_pixels);
    let (from, to) = (start * n, ((start + part) * n).min(n));
    let step = (to - from) / f64::from(n_out);
    // An error of the same size must not touch one pixel more.
    // The filter of the outermost output pixels is centred half a step inside, and reaches a step
    // or a pixel to either side; one pixel more covers the rounding.
    let margin = if reach { step.max(1.0) - step / 2.0 + 1.0 } else { -SLACK };
    let first = (from - margin).floor().clamp(0.0, n - 1.0) as u32;
    let end = ((to + margin).ceil() as u32).clamp(first + 1, n_pixels);
    (step > 0.0).then_some((from as f32, step as f32, first, end))
}

pub(crate) fn all_mcus(layout: &ImageLayout) -> McusLayout {
    McusLayout { first_x: 0, end_x: layout.mcus_x, first_y: 0, end_y: layout.mcus_y }
}

/// Returns the MCUs that the window of a crop needs.
pub(crate) fn mcus(layout: &ImageLayout, crop: &CropLayout) -> McusLayout {
    let n = layout.n_components as usize;
    let (across, down) = (layout.h.iter().take(n), layout.v.iter().take(n));
    let x = along(crop.first_x..crop.end_x, across, layout.max_h, layout.mcus_x);
    let y = along(crop.first_y..crop.end_y, down, layout.max_v, layout.mcus_y);
    McusLayout { first_x: x.start, end_x: x.end, first_y: y.start, end_y: y.end }
}

/// Returns the MCUs of pixels in one direction. Enlarging a component with fewer samples than
/// pixels blends in one sample more on each side.
fn along<'a>(
    pixels: Range<u32>,
    factors: impl Iterator<Item = &'a u32>,
    largest: u32,
    n_mcus: u32,
) -> Range<u32> {
    let of_component = factors.map(|&factor| {
        let margin = u32::from(factor < largest);
        let first = (pixels.start * factor / largest).saturating_sub(margin);
        let end = (pixels.end * factor).div_ceil(largest) + margin;
        first / (8 * factor)..end.div_ceil(8 * factor).min(n_mcus)
    });
    let both = of_component.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    both.unwrap_or(0..n_mcus)
}

/// Returns the segments to decode for some MCUs: those with blocks of these MCUs, and the earlier
/// ones that the DC prediction needs, back to a start of it. The ranges of positions are in order,
/// with a hole between any two.
///
/// The prediction starts at restarts, and is known at anchors. Only the first segment of all can
/// start at an anchor: the kernels take its prediction from [`first_dc`].
pub(crate) fn walked(image: &Parsed, mcus: &McusLayout) -> Vec<Range<usize>> {
    let layout = &image.layout;
    let n_segments = image.segments.len().saturating_sub(1);
    let segments = image.segments.get(..n_segments).unwrap_or_default();
    let with_block = |block: u32| {
        segments.partition_point(|segment| segment.first_block() <= block).saturating_sub(1)
    };
    let resets = |at: usize| segments.get(at).is_none_or(|it| it.block & RESETS != 0);
    // Without restarts, nothing in between can be left out.
    let n_rows = if layout.n_restarts == 0 { mcus.end_y.saturating_sub(mcus.first_y) } else { 1 };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in (mcus.first_y..mcus.end_y).step_by(n_rows.max(1) as usize) {
        let first_mcu = row * layout.mcus_x + mcus.first_x;
        let end_mcu = (row + n_rows - 1) * layout.mcus_x + mcus.end_x;
        let first = with_block(first_mcu * layout.blocks_per_mcu);
        let end = with_block(end_mcu * layout.blocks_per_mcu - 1) + 1;
        let done = runs.last().map_or(0, |run| run.end);
        let is_first = runs.is_empty();
        let starts = |at: &usize| resets(*at) || (is_first && anchor(image, *at).is_some());
        let start = (done..=first).rev().find(starts).unwrap_or(done);
        match runs.last_mut() {
            Some(run) if run.end >= start => run.end = run.end.max(end),
            _ => runs.push(start..end),
        }
    }
    runs
}

/// Returns the predictions at the first of the walked segments.
pub(crate) fn first_dc(image: &Parsed, walked: &[Range<usize>]) -> [u32; 3] {
    let anchor = walked.first().and_then(|run| anchor(image, run.start));
    anchor.map_or([0; 3], |anchor| anchor.dc.map(|dc| i32::from(dc) as u32))
}

fn anchor(image: &Parsed, segment: usize) -> Option<&Anchor> {
    let found = image.anchors.binary_search_by_key(&segment, |anchor| anchor.segment as usize);
    image.anchors.get(found.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_touch_the_pixels_they_cover() {
        assert_eq!(axis((0.0, 1.0), false, 10, 5), Some((0.0, 2.0, 0, 10)));
        assert_eq!(axis((0.2, 0.3), false, 10, 3), Some((2.0, 1.0, 2, 5)));
        assert_eq!(axis((0.25, 0.5), false, 10, 1), Some((2.5, 5.0, 2, 8)));
        assert_eq!(axis((0.999, 0.0005), false, 3, 1).map(|it| (it.2, it.3)), Some((2, 3)));
        // Filters reach two pixels to either side, seen from a pixel inside, and one pixel more.
        assert_eq!(axis((0.5, 0.2), true, 20, 2).map(|it| (it.2, it.3)), Some((7, 17)));
        assert_eq!(axis((0.0, 1.0), true, 20, 5).map(|it| (it.2, it.3)), Some((0, 20)));
        for (start, part) in [(-0.1, 0.5), (0.5, 0.0), (0.5, 0.6), (f32::NAN, 0.5), (0.0, f32::NAN)]
        {
            assert_eq!(axis((start, part), false, 10, 5), None, "{start} {part}");
        }
    }
}

//! The decoded part of an image: a region, at some scale, and the blocks that it needs.
use crate::{Error, PixelFormat, Region, Scale, upsample::Method};
use fdconvert_jpeg::{Component, Jpeg};
use std::ops::Range;

/// Pixels count in the reduced image, MCUs and blocks in the file.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) scale: Scale,
    pub(crate) x: Range<usize>,
    pub(crate) y: Range<usize>,
    pub(crate) mcus_x: Range<usize>,
    pub(crate) mcus_y: Range<usize>,
    pub(crate) mcu_size: (usize, usize),
}

impl Part {
    /// # Errors
    /// `Region` for one that is empty or reaches beyond the reduced image.
    pub(crate) fn new(jpeg: &Jpeg, scale: Scale, region: Option<Region>) -> Result<Self, Error> {
        let (width, height) = (scale.reduced(jpeg.width), scale.reduced(jpeg.height));
        let region = region.unwrap_or(Region { x: 0, y: 0, width, height });
        let span = |from: u32, length: u32, whole: u32| {
            let end = from.checked_add(length).filter(|end| from < *end && *end <= whole);
            end.map(|end| from as usize..end as usize)
        };
        let x = span(region.x, region.width, width);
        let y = span(region.y, region.height, height);
        let (Some(x), Some(y)) = (x, y) else {
            return Err(Error::Region { region, width, height });
        };
        let methods = || jpeg.components.iter().map(|it| Shape::new(jpeg, it, scale).method);
        // Smooth upsampling uses the next column or row, which is up to 2 pixels away.
        let margin_x = if methods().any(Method::looks_aside) { 2 } else { 0 };
        let margin_y = if methods().any(Method::looks_down) { 2 } else { 0 };
        let (max_h, max_v) = jpeg.max_sampling();
        let mcu_size = (max_h as usize * scale.side(), max_v as usize * scale.side());
        let mcus = |span: &Range<usize>, margin: usize, side: usize, n: u32| {
            let end = (span.end + margin).div_ceil(side.max(1)).min(n as usize);
            span.start.saturating_sub(margin) / side.max(1)..end
        };
        Ok(Self {
            scale,
            mcus_x: mcus(&x, margin_x, mcu_size.0, jpeg.mcus_x),
            mcus_y: mcus(&y, margin_y, mcu_size.1, jpeg.mcus_y),
            x,
            y,
            mcu_size,
        })
    }

    /// Returns true if only the averages of blocks are needed of the components.
    pub(crate) fn takes_averages(&self, jpeg: &Jpeg, format: PixelFormat) -> bool {
        let mut needed = jpeg.components.iter().take(format.n_components(jpeg));
        needed.all(|it| Shape::new(jpeg, it, self.scale).side == 1)
    }

    /// Returns the block after the last needed one.
    pub(crate) fn end_block(&self, jpeg: &Jpeg) -> u32 {
        self.mcus_y.end as u32 * jpeg.mcus_x * jpeg.blocks_per_mcu()
    }

    /// Returns the first needed block of the scan.
    pub(crate) fn first_block(&self, jpeg: &Jpeg) -> u32 {
        self.mcus_y.start as u32 * jpeg.mcus_x * jpeg.blocks_per_mcu()
    }
}

/// The samples of a component at a scale (`jdmaster.c`, `jdsample.c`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Samples on a side of a block.
    pub(crate) side: usize,
    /// Columns and rows of samples in the reduced image.
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Rows of the reduced image per row of samples.
    pub(crate) down: usize,
    pub(crate) method: Method,
}

impl Shape {
    pub(crate) fn new(jpeg: &Jpeg, component: &Component, scale: Scale) -> Self {
        let (max_h, max_v) = jpeg.max_sampling();
        let (h, v) = (u32::from(component.h).max(1), u32::from(component.v).max(1));
        let least = scale.side() as u32;
        // A component with fewer samples is reduced less, as far as that replaces upsampling.
        let mut side = least;
        while side < 8
            && (max_h * least).is_multiple_of(h * side * 2)
            && (max_v * least).is_multiple_of(v * side * 2)
        {
            side *= 2;
        }
        let (across, down) = (max_h * least / (h * side), max_v * least / (v * side));
        let width = (jpeg.width * h * side).div_ceil(max_h * 8);
        let height = (jpeg.height * v * side).div_ceil(max_v * 8);
        let method = match least {
            1 if (across, down) != (1, 1) => Method::Repeat(across as usize),
            _ => Method::new(across, down, width),
        };
        let (side, down) = (side as usize, (down as usize).max(1));
        Self { side, width: width as usize, height: height as usize, down, method }
    }
}

use crate::{
    Block,
    idct::{self, Factors},
    upsample::Method,
};
use fdconvert_jpeg::{Component, Jpeg};

/// The samples of a component in the MCUs of a window, and in the row of MCUs above it, whose last
/// rows are looked at from both sides.
#[derive(Debug)]
pub(crate) struct Plane {
    samples: Vec<u8>,
    /// Bytes from a row to the next.
    stride: usize,
    /// Rows of samples in a row of MCUs.
    mcu_rows: usize,
    /// Samples across and down in an MCU, in blocks.
    blocks: (usize, usize),
    /// Of the component, without the padding of the last MCUs.
    width: usize,
    height: usize,
    /// Rows of the image for a row of the component.
    down: usize,
    method: Method,
    factors: Factors,
}

impl Plane {
    /// For windows of some rows of MCUs, with the memory of another plane.
    pub(crate) fn new(
        jpeg: &Jpeg,
        component: &Component,
        window_mcus: usize,
        mut samples: Vec<u8>,
    ) -> Self {
        let (max_h, max_v) = jpeg.max_sampling();
        let (h, v) = (u32::from(component.h), u32::from(component.v));
        let (across, down) = (max_h / h.max(1), max_v / v.max(1));
        let width = (jpeg.width * h).div_ceil(max_h);
        let height = (jpeg.height * v).div_ceil(max_v);
        let stride = (jpeg.mcus_x * h * 8) as usize;
        let mcu_rows = v as usize * 8;
        // All of it is written before it is read, but for the row above the first window.
        samples.resize((window_mcus + 1) * mcu_rows * stride, 0);
        let table = jpeg.quant_tables.get(usize::from(component.quant_table));
        let factors = table.copied().flatten().unwrap_or([0; 64]).map(|factor| factor as i16);
        Self {
            samples,
            stride,
            mcu_rows,
            blocks: (h as usize, v as usize),
            width: width as usize,
            height: height as usize,
            down: down as usize,
            method: Method::new(across, down, width),
            factors,
        }
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.samples
    }

    /// Makes the last row of MCUs in the window the one above it.
    pub(crate) fn next_window(&mut self) {
        let kept = self.samples.len().saturating_sub(self.mcu_rows * self.stride);
        self.samples.copy_within(kept.., 0);
    }

    /// Puts the samples of a block in its place: column of MCUs, row of MCUs in the window, and
    /// column and row in the MCU.
    pub(crate) fn put(&mut self, mcu: (usize, usize), within: (u8, u8), coefficients: &Block) {
        let x = (mcu.0 * self.blocks.0 + usize::from(within.0)) * 8;
        let y = (mcu.1 + 1) * self.mcu_rows + usize::from(within.1) * 8;
        let rows = self.samples.get_mut(y * self.stride + x..).unwrap_or_default();
        idct::block(coefficients, &self.factors, rows, self.stride);
    }

    /// A row of the image. `first_mcu` is the first row of MCUs in the window; the result is in
    /// `scratch` where it is not in the plane.
    pub(crate) fn image_row<'a>(
        &'a self,
        y: usize,
        first_mcu: usize,
        scratch: &'a mut [u8],
    ) -> &'a [u8] {
        let near_y = y / self.down.max(1);
        let near = self.row(near_y, first_mcu);
        if self.method == Method::Keep {
            return near;
        }
        let is_odd = y % 2 == 1;
        // Beside the first and the last row, which have no other there, are they themselves.
        let far_y = match is_odd {
            true => (near_y + 1).min(self.height.saturating_sub(1)),
            false => near_y.saturating_sub(1),
        };
        let far = if self.method.looks_down() { self.row(far_y, first_mcu) } else { near };
        self.method.row(near, far, is_odd, scratch);
        scratch
    }

    /// A row of the component, of those that are in the window.
    fn row(&self, y: usize, first_mcu: usize) -> &[u8] {
        let y = (y + self.mcu_rows).saturating_sub(first_mcu * self.mcu_rows);
        let start = y * self.stride;
        self.samples.get(start..start + self.width).unwrap_or_default()
    }
}

use crate::HuffmanTable;
use std::ops::Range;

/// Contents of the markers of a baseline JPEG. [`parse`](crate::parse) makes it and checks its
/// consistency, without reading the entropy-coded bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Jpeg {
    /// Columns of pixels, at least 1.
    pub width: u32,
    /// Rows of pixels, at least 1.
    pub height: u32,
    /// Byte offset of the two bytes of the height.
    pub height_at: usize,
    /// Meaning of the components.
    pub color: Color,
    /// The components, one (gray) or three.
    pub components: Vec<Component>,
    /// Quantisation tables by number, in natural order (row by row). Tables that no component uses
    /// may be included.
    pub quant_tables: [Option<[u16; 64]>; 4],
    /// DC tables by number. Those in use exist and are prefix codes.
    pub dc_tables: [Option<HuffmanTable>; 4],
    /// AC tables by number. Those in use exist and are prefix codes.
    pub ac_tables: [Option<HuffmanTable>; 4],
    /// Number of MCUs between two restart markers; 0 without restarts.
    pub restart_interval: u32,
    /// Entropy-coded bytes in the file, from after the scan header to before the next marker that
    /// is not a restart, without fill bytes before that marker.
    pub scan: Range<usize>,
    /// Number of columns of MCUs.
    pub mcus_x: u32,
    /// Number of rows of MCUs.
    pub mcus_y: u32,
    /// Blocks of an MCU in scan order, 1 to 10: block `i` of the scan belongs to slot `i %
    /// slots.len()`.
    pub slots: Vec<Slot>,
    /// Number of blocks: `mcus_x * mcus_y * slots.len()`.
    pub n_blocks: u32,
}

/// A component of the frame, with the tables assigned by the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Identifier in the file.
    pub id: u8,
    /// Horizontal sampling factor, 1 to 4. A single component has 1 whatever the file says,
    /// because its MCUs are single blocks (T.81, A.2.2).
    pub h: u8,
    /// Vertical sampling factor, with the same exception.
    pub v: u8,
    /// Number of the quantisation table, 0 to 3.
    pub quant_table: u8,
    /// Number of the DC table, 0 to 3.
    pub dc_table: u8,
    /// Number of the AC table, 0 to 3.
    pub ac_table: u8,
}

/// The place of a block in its MCU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Position in [`Jpeg::components`].
    pub component: u8,
    /// Column of blocks within the component's part of the MCU.
    pub x: u8,
    /// Row of blocks within the component's part of the MCU.
    pub y: u8,
}

/// Meaning of the components of a JPEG, determined as by libjpeg: by a JFIF marker, an Adobe
/// marker, or the identifiers of the components, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One component.
    Gray,
    /// Luma and two colour differences.
    YCbCr,
    /// Red, green and blue, stored without a transform.
    Rgb,
}

impl Jpeg {
    /// Returns the number of blocks in an MCU, 1 to 10.
    #[must_use]
    pub fn blocks_per_mcu(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the largest horizontal and vertical sampling factors: an MCU has 8 times as many
    /// pixels.
    #[must_use]
    pub fn max_sampling(&self) -> (u32, u32) {
        let h = self.components.iter().map(|component| component.h).max();
        let v = self.components.iter().map(|component| component.v).max();
        (h.unwrap_or(1).into(), v.unwrap_or(1).into())
    }

    /// Returns the number of blocks between two restarts, where the DC prediction starts again from
    /// 0; `None` without a restart within the image.
    #[must_use]
    pub fn blocks_per_restart(&self) -> Option<u32> {
        let n_blocks = u64::from(self.restart_interval) * u64::from(self.blocks_per_mcu());
        (1..u64::from(self.n_blocks)).contains(&n_blocks).then_some(n_blocks as u32)
    }

    /// Returns the number of restart markers within the scan.
    #[must_use]
    pub fn n_restarts(&self) -> u32 {
        self.blocks_per_restart().map_or(0, |per_restart| self.n_blocks.div_ceil(per_restart) - 1)
    }
}

/// Returns the blocks of an MCU: component by component, each row by row (T.81, A.2.3).
pub(crate) fn slots(components: &[Component]) -> Vec<Slot> {
    let mut slots = Vec::new();
    for (number, component) in (0..).zip(components) {
        for y in 0..component.v {
            slots.extend((0..component.h).map(|x| Slot { component: number, x, y }));
        }
    }
    slots
}

//! The arguments of the kernels, byte for byte: the structures of `kernels/layout.cuh` in Rust.
//!
//! A test of the crate that runs the kernels on the CPU compares sizes and offsets with those of
//! the C++ compiler. Fields are documented in the header only.
#![allow(missing_docs, reason = "kernels/layout.cuh documents each field")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The wanted part of an image, in its pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CropLayout {
    pub left: f32,
    pub top: f32,
    pub step_x: f32,
    pub step_y: f32,
    pub first_x: u32,
    pub end_x: u32,
    pub first_y: u32,
    pub end_y: u32,
    pub flip: u32,
}

/// The MCUs that the window of a crop needs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct McusLayout {
    pub first_x: u32,
    pub end_x: u32,
    pub first_y: u32,
    pub end_y: u32,
}

/// An image of the batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ImageLayout {
    pub width: u32,
    pub height: u32,
    pub n_components: u32,
    pub color: u32,
    pub mcus_x: u32,
    pub mcus_y: u32,
    pub n_blocks: u32,
    pub blocks_per_mcu: u32,
    pub max_h: u32,
    pub max_v: u32,
    pub h: [u32; 3],
    pub v: [u32; 3],
    pub slot_component: u32,
    pub slot_x: u32,
    pub slot_y: u32,
    pub n_pairs: u32,
    pub pair: [u32; 3],
    pub dc_table: [u32; 3],
    pub ac_table: [u32; 3],
    pub quantisation: [u32; 3],
    pub scan_bytes: u32,
    pub total_bits: u32,
    pub needed_bytes: u32,
    pub words_at: u32,
    pub first_segment: u32,
    pub n_segments: u32,
    pub first_restart: u32,
    pub n_restarts: u32,
    pub base_block: u32,
    pub end_block: u32,
    pub first_dc: [u32; 3],
    pub coefficients_at: u32,
    pub samples_at: u32,
    pub mcus: McusLayout,
    pub crop: CropLayout,
    /// An address; in a plan, the offset in the upload of an image that travels with its batch.
    pub scan: u64,
    pub pixels_at: u64,
    pub across_at: u64,
    pub output_at: u64,
}

/// Start of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SegmentLayout {
    pub bit: u32,
    pub block: u32,
}

impl SegmentLayout {
    /// Returns the first block, without the flags.
    pub(crate) fn first_block(&self) -> u32 {
        self.block & !(RESETS | SKIPPED)
    }
}

/// Bit 31 of [`SegmentLayout::block`]: the DC prediction starts again from 0.
pub const RESETS: u32 = 1 << 31;
/// Bit 30 of [`SegmentLayout::block`]: not decoded.
pub const SKIPPED: u32 = 1 << 30;

/// A Huffman table as the file has it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct TableLayout {
    pub counts: [u8; 16],
    pub values: [u8; 256],
    pub is_ac: u32,
    pub second_at: u32,
    pub n_second: u32,
}

/// Entries of the first table for decoding, per Huffman table.
pub const FIRST_ENTRIES: u64 = 1024;
/// Entries of a second table.
pub const SECOND_ENTRIES: u32 = 64;

/// Findings of the kernels about an image.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct StateLayout {
    pub flags: u32,
    pub n_bytes: u32,
}

/// The argument of every kernel except the drawing one. The first fourteen fields, and those from
/// `rows` to `bitmaps`, are addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BatchLayout {
    pub images: u64,
    pub segments: u64,
    pub restarts: u64,
    pub tables: u64,
    pub quantisation: u64,
    pub words: u64,
    pub lookups: u64,
    pub second: u64,
    pub coefficients: u64,
    pub samples: u64,
    pub pixels: u64,
    pub across: u64,
    pub output: u64,
    pub states: u64,
    pub first_image: u32,
    pub n_tables: u32,
    pub out_width: u32,
    pub out_height: u32,
    pub dtype: u32,
    pub order: u32,
    pub factor: [f32; 3],
    pub offset: [f32; 3],
    pub rows: u64,
    pub spare_rows: u64,
    pub row_table: u64,
    pub changes: u64,
    pub drawings: u64,
    pub drawn: u64,
    pub bitmaps: u64,
    pub n_decoded: u32,
    pub mean: [f32; 3],
    pub deviation: [f32; 3],
    /// Padding of the C++ struct.
    pub unused: u32,
}

/// A change to an 8-bit image.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ChangeLayout {
    pub kind: u32,
    pub factor: f32,
    pub level: u32,
    pub unused: u32,
    pub right: [i32; 2],
    pub down: [i32; 2],
    pub start: [i64; 2],
}

/// An 8-bit image on its way to the output.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct RowLayout {
    pub first_change: u32,
    pub n_changes: u32,
    pub is_moved: u32,
    pub flip: u32,
    pub output_at: u64,
}

/// An image drawn as a bitmap, and the visible part of it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct DrawingLayout {
    pub bitmap_at: u64,
    pub row: u32,
    pub size: u32,
    pub left: u32,
    pub top: u32,
    pub mirror: u32,
    pub turn: u32,
    pub level: u32,
    pub unused: u32,
}

/// A system prepared for the sampler `lanes64-v1`: see `kernels/fractal.cuh`.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FractalSystemLayout {
    pub map: [[f32; 8]; 6],
    pub words: [u32; 8],
}

/// An image of a system.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct FractalImageLayout {
    pub system: u32,
    pub key: [u32; 2],
    pub least: u32,
    pub left: u32,
}

/// The argument of the drawing kernel; the first four fields are addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FractalsLayout {
    pub systems: u64,
    pub images: u64,
    pub coverage: u64,
    pub patches: u64,
    pub first_image: u32,
    pub size: u32,
    pub pad: u32,
    pub n_steps: u32,
}

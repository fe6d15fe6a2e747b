//! The boundary to the compiled kernels.
#![allow(unsafe_code, reason = "calls into C++, whose functions take addresses")]
use fdconvert_gpu::{
    Kernel,
    layout::{
        BatchLayout, ChangeLayout, CropLayout, DrawingLayout, FractalImageLayout,
        FractalSystemLayout, FractalsLayout, ImageLayout, McusLayout, RowLayout, SegmentLayout,
        StateLayout, TableLayout,
    },
};
use std::mem::offset_of;

type Launch = unsafe extern "C" fn(*const BatchLayout, u32, u32);

unsafe extern "C" {
    fn fdconvert_tables(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_unstuff(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_huffman(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_idct(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_pixels(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_across(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_down(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_expand(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_change(batch: *const BatchLayout, n_items: u32, n_images: u32);
    fn fdconvert_write(batch: *const BatchLayout, n_items: u32, n_images: u32);
    pub(crate) fn fdconvert_fractal(batch: *const FractalsLayout, n_items: u32, n_images: u32);
    fn fdconvert_to_f16(value: f32) -> u16;
    fn fdconvert_to_bf16(value: f32) -> u16;
    fn fdconvert_divided_255(divisor: u32) -> f64;
    static fdconvert_layout: [u32; 64];
    static fdconvert_n_layout: u32;
    static fdconvert_n_threads: [u32; Kernel::ALL.len()];
}

/// Runs all blocks of threads of a kernel, one after the other.
///
/// # Safety
/// The addresses in `batch` point to allocated memory of this process, aligned to 8 bytes and laid
/// out by the plan of `batch`, which nothing else uses during the call.
pub(crate) unsafe fn launch(kernel: Kernel, batch: &BatchLayout, n_items: u32, n_images: u32) {
    let function: Launch = match kernel {
        Kernel::Tables => fdconvert_tables,
        Kernel::Unstuff => fdconvert_unstuff,
        Kernel::Huffman => fdconvert_huffman,
        Kernel::Idct => fdconvert_idct,
        Kernel::Pixels => fdconvert_pixels,
        Kernel::Across => fdconvert_across,
        Kernel::Down => fdconvert_down,
        Kernel::Expand => fdconvert_expand,
        Kernel::Change => fdconvert_change,
        Kernel::Write => fdconvert_write,
    };
    // SAFETY: the caller vouches for the memory; `batch` outlives the call.
    unsafe { function(batch, n_items, n_images) }
}

/// Rounds to half precision, as the kernels do.
#[must_use]
pub fn to_f16(value: f32) -> u16 {
    // SAFETY: a function of a number.
    unsafe { fdconvert_to_f16(value) }
}

/// Rounds to bfloat16, as the kernels do.
#[must_use]
pub fn to_bf16(value: f32) -> u16 {
    // SAFETY: a function of a number.
    unsafe { fdconvert_to_bf16(value) }
}

/// Divides 255 by a number from 1 to 255, as the kernels do; `None` for 0.
#[must_use]
pub fn divided_255(divisor: u8) -> Option<f64> {
    // SAFETY: a function of a number that is not 0.
    (divisor > 0).then(|| unsafe { fdconvert_divided_255(divisor.into()) })
}

/// Returns the threads per block of each of [`Kernel::ALL`], according to C++.
#[must_use]
pub fn threads_in_cpp() -> Vec<u32> {
    // SAFETY: a constant with one entry for each kernel.
    unsafe { fdconvert_n_threads }.to_vec()
}

/// Returns sizes, alignments and offsets of the structures, according to C++.
#[must_use]
pub fn layout_in_cpp() -> Vec<u32> {
    // SAFETY: a constant.
    let n = unsafe { fdconvert_n_layout } as usize;
    let first = (&raw const fdconvert_layout).cast::<u32>();
    // SAFETY: the array has exactly that many entries, and only those are read.
    (0..n).map(|at| unsafe { first.add(at).read() }).collect()
}

/// Returns the same numbers according to Rust.
#[must_use]
pub fn layout_in_rust() -> Vec<u32> {
    macro_rules! sizes {
        ($type:ty: $($field:ident),+) => {
            vec![size_of::<$type>(), align_of::<$type>(), $(offset_of!($type, $field)),+]
        };
    }
    let all = [
        sizes!(CropLayout: step_x, first_x, flip),
        sizes!(ImageLayout: n_blocks, h, v, slot_component, pair, dc_table, ac_table, quantisation,
            scan_bytes, first_segment, base_block, first_dc, samples_at, mcus, crop, scan,
            pixels_at, output_at),
        sizes!(McusLayout: end_x, end_y),
        sizes!(SegmentLayout: block),
        sizes!(TableLayout: values, is_ac, n_second),
        sizes!(StateLayout: n_bytes),
        sizes!(BatchLayout: segments, quantisation, coefficients, states, first_image, out_width,
            dtype, factor, offset, rows, row_table, changes, drawings, drawn, bitmaps, n_decoded,
            mean, deviation),
        sizes!(ChangeLayout: factor, level, right, down, start),
        sizes!(RowLayout: n_changes, is_moved, flip, output_at),
        sizes!(DrawingLayout: row, size, left, top, mirror, turn, level),
        sizes!(FractalSystemLayout: words),
        sizes!(FractalImageLayout: least, left),
        sizes!(FractalsLayout: patches, first_image, n_steps),
    ];
    all.concat().into_iter().map(|number| number as u32).collect()
}

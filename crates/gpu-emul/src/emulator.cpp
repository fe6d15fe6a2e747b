// The kernels, compiled for the CPU, and data for comparing their structures with Rust's.
#include <cstddef>

#include "fdconvert.cu"

#define SIZES(type) (u32)sizeof(type), (u32)alignof(type)
#define AT(type, field) (u32)offsetof(type, field)

// Sizes, alignments and offsets, in the order of `layout()` in src/layout.rs.
extern "C" const u32 fdconvert_layout[] = {
    SIZES(Crop),
    AT(Crop, step_x),
    AT(Crop, first_x),
    AT(Crop, flip),
    SIZES(Image),
    AT(Image, n_blocks),
    AT(Image, h),
    AT(Image, v),
    AT(Image, slot_component),
    AT(Image, pair),
    AT(Image, dc_table),
    AT(Image, ac_table),
    AT(Image, quantisation),
    AT(Image, scan_bytes),
    AT(Image, first_segment),
    AT(Image, base_block),
    AT(Image, first_dc),
    AT(Image, samples_at),
    AT(Image, mcus),
    AT(Image, crop),
    AT(Image, scan),
    AT(Image, pixels_at),
    AT(Image, output_at),
    SIZES(Mcus),
    AT(Mcus, end_x),
    AT(Mcus, end_y),
    SIZES(Segment),
    AT(Segment, block),
    SIZES(RawTable),
    AT(RawTable, values),
    AT(RawTable, is_ac),
    AT(RawTable, n_second),
    SIZES(State),
    AT(State, n_bytes),
    SIZES(Batch),
    AT(Batch, segments),
    AT(Batch, quantisation),
    AT(Batch, coefficients),
    AT(Batch, states),
    AT(Batch, first_image),
    AT(Batch, out_width),
    AT(Batch, dtype),
    AT(Batch, factor),
    AT(Batch, offset),
    AT(Batch, rows),
    AT(Batch, row_table),
    AT(Batch, changes),
    AT(Batch, drawings),
    AT(Batch, drawn),
    AT(Batch, bitmaps),
    AT(Batch, n_decoded),
    AT(Batch, mean),
    AT(Batch, deviation),
    SIZES(Change),
    AT(Change, factor),
    AT(Change, level),
    AT(Change, right),
    AT(Change, down),
    AT(Change, start),
    SIZES(Row),
    AT(Row, n_changes),
    AT(Row, is_moved),
    AT(Row, flip),
    AT(Row, output_at),
    SIZES(Drawing),
    AT(Drawing, row),
    AT(Drawing, size),
    AT(Drawing, left),
    AT(Drawing, top),
    AT(Drawing, mirror),
    AT(Drawing, turn),
    AT(Drawing, level),
    SIZES(FractalSystem),
    AT(FractalSystem, words),
    SIZES(FractalImage),
    AT(FractalImage, least),
    AT(FractalImage, left),
    SIZES(Fractals),
    AT(Fractals, patches),
    AT(Fractals, first_image),
    AT(Fractals, n_steps),
};

extern "C" const u32 fdconvert_n_layout = sizeof fdconvert_layout / sizeof fdconvert_layout[0];

// Threads per block in the kernels' source, in the order of `Kernel::ALL`.
extern "C" const u32 fdconvert_n_threads[] = {TABLE_THREADS, UNSTUFF_THREADS, HUFFMAN_THREADS,
                                              IDCT_THREADS,  PIXEL_THREADS,   RESIZE_THREADS,
                                              RESIZE_THREADS, ROW_THREADS,    CHANGE_THREADS,
                                              ROW_THREADS};

extern "C" u16 fdconvert_to_f16(f32 value) { return to_f16(value); }
extern "C" f64 fdconvert_divided_255(u32 divisor) { return divided_255(divisor); }
extern "C" u16 fdconvert_to_bf16(f32 value) { return to_bf16(value); }

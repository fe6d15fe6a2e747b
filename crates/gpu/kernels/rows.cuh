// From bitmaps to 8-bit images, and from these to the output.
#pragma once

constexpr u32 ROW_THREADS = 256;

struct RowShared {
    u32 unused;
};

// Bytes of an 8-bit image.
FD_DEVICE u64 row_bytes(const Batch& batch) {
    return (u64)batch.out_width * batch.out_height * 3;
}

// Writes one pixel of the visible part of a drawing: gray, as three equal channels. A drawing that
// is left to the CPU is black, and its state says so.
FD_DEVICE void expand_pixel(const Batch& batch, const Drawing& drawing, const FractalImage& drawn,
                            State& state, u32 item, u32 thread) {
    const u32 number = item * ROW_THREADS + thread;
    if (number == 0) state.flags = drawn.left;
    if (number >= batch.out_width * batch.out_height) return;
    const u32 x = number % batch.out_width + drawing.left;
    const u32 y = number / batch.out_width + drawing.top;
    const u32 column = drawing.mirror ? drawing.size - 1 - x : x;
    const u32 line = drawing.turn ? drawing.size - 1 - y : y;
    const u32* bits = batch.bitmaps + drawing.bitmap_at + (u64)line * (divide_up(drawing.size, 64) * 2);
    const bool is_lit = (bits[column >> 5] >> (column & 31) & 1) != 0 && drawn.left == 0;
    const u8 level = (u8)(is_lit ? drawing.level : 0);
    u8* out = batch.rows + drawing.row * row_bytes(batch) + (u64)number * 3;
    out[0] = out[1] = out[2] = level;
}

// Computed as torchvision does, operation by operation, and so equal to the CPU's tables.
FD_DEVICE void store_level(const Batch& batch, u64 at, u32 level, u32 channel) {
    if (batch.dtype == DTYPE_U8) {
        batch.output[at] = (u8)level;
        return;
    }
    const f32 value = ((f32)level / 255.0f - batch.mean[channel]) / batch.deviation[channel];
    if (batch.dtype == DTYPE_F16) {
        ((u16*)batch.output)[at] = to_f16(value);
    } else if (batch.dtype == DTYPE_BF16) {
        ((u16*)batch.output)[at] = to_bf16(value);
    } else {
        ((f32*)batch.output)[at] = value;
    }
}

// One pixel of the output.
FD_DEVICE void write_row(const Batch& batch, const Row& row, u32 image, u32 item, u32 thread) {
    const u32 width = batch.out_width, n_pixels = width * batch.out_height;
    const u32 number = item * ROW_THREADS + thread;
    if (number >= n_pixels) return;
    const u32 x = number % width, from = number - x + (row.flip ? width - 1 - x : x);
    const u8* pixel = (row.is_moved ? batch.spare_rows : batch.rows) + image * row_bytes(batch) +
                      (u64)from * 3;
    for (u32 channel = 0; channel < 3; ++channel) {
        const u64 at = batch.order == ORDER_NCHW ? row.output_at + (u64)channel * n_pixels + number
                                                 : row.output_at + (u64)number * 3 + channel;
        store_level(batch, at, pixel[channel], channel);
    }
}

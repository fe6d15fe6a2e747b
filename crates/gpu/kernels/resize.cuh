// From the window of an image to the output. A crop is resized with a triangle filter, which is as
// wide as an output pixel when the image shrinks and as an image pixel when it grows ("antialiased
// bilinear"), first across and then down; then it is normalised and written in the batch's layout.
// Pixels outside the window are ignored, as after cropping.
//
// Floating point is the same on every machine: products and sums are fused only where the code says
// so, and divisions are exact.
#pragma once

constexpr u32 RESIZE_THREADS = 256;

struct ResizeShared {
    u32 unused;
};

// The image pixels that contribute to an output pixel, and their weights.
struct Filter {
    u32 first, end;
    f32 center, narrow;
};

FD_DEVICE Filter filter_of(f32 start, f32 step, u32 number, u32 first, u32 end) {
    Filter filter;
    filter.center = multiply_add((f32)number + 0.5f, step, start);
    const f32 support = step > 1.0f ? step : 1.0f;
    filter.narrow = 1.0f / support;
    // Clamped before the conversion, which is undefined outside the range of integers.
    const f32 low = (f32)first, high = (f32)end;
    const f32 from = filter.center - support + 0.5f, to = filter.center + support + 0.5f;
    filter.first = from > low ? (from < high ? (u32)from : end) : first;
    filter.end = to < high ? (to > low ? (u32)to : first) : end;
    // At least the nearest pixel, however the rounding went.
    if (filter.first >= filter.end) {
        filter.first = filter.first >= end ? end - 1 : filter.first;
        filter.end = filter.first + 1;
    }
    return filter;
}

FD_DEVICE f32 weight_of(const Filter& filter, u32 at) {
    const f32 distance = ((f32)at + 0.5f - filter.center) * filter.narrow;
    const f32 weight = 1.0f - (distance < 0.0f ? -distance : distance);
    return weight > 0.0f ? weight : 0.0f;
}

// The total is above 0 for every crop inside its window.
FD_DEVICE f32 mean_of(f32 sum, f32 total) { return total > 0.0f ? sum / total : 0.0f; }

// One pixel of a row of the window at the width of the output, in 256ths, as planes.
FD_DEVICE void resize_across(const Batch& batch, const Image& image, u32 item, u32 thread) {
    const Crop& crop = image.crop;
    const u32 width = crop.end_x - crop.first_x, height = crop.end_y - crop.first_y;
    const u64 number = (u64)item * RESIZE_THREADS + thread;
    const u64 plane = (u64)batch.out_width * height;
    if (number >= plane) {
        return;
    }
    const u32 x = (u32)(number % batch.out_width), y = (u32)(number / batch.out_width);
    const u32 from_x = crop.flip ? batch.out_width - 1 - x : x;
    const Filter filter = filter_of(crop.left, crop.step_x, from_x, crop.first_x, crop.end_x);
    const u32 n_channels = image.n_components;
    const u8* row = batch.pixels + image.pixels_at + (u64)y * width * n_channels;
    f32 sum[3] = {0.0f, 0.0f, 0.0f}, total = 0.0f;
    for (u32 at = filter.first; at < filter.end; ++at) {
        const f32 weight = weight_of(filter, at);
        const u8* pixel = row + (u64)(at - crop.first_x) * n_channels;
        total += weight;
        sum[0] = multiply_add((f32)pixel[0], weight, sum[0]);
        if (n_channels == 3) {
            sum[1] = multiply_add((f32)pixel[1], weight, sum[1]);
            sum[2] = multiply_add((f32)pixel[2], weight, sum[2]);
        }
    }
    u16* out = batch.across + image.across_at + number;
    FD_UNROLL
    for (u32 channel = 0; channel < 3; ++channel) {
        if (channel < n_channels) {
            out[channel * plane] = (u16)multiply_add(mean_of(sum[channel], total), 256.0f, 0.5f);
        }
    }
}

// To the nearest, ties to even. Not all GPUs have an instruction for bfloat16.
FD_DEVICE u16 to_bf16(f32 value) {
    const u32 bits = f32_bits(value);
    return (u16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

FD_DEVICE u16 to_f16(f32 value) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    const u32 bits = f32_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude >= 0x7F800000) {
        return (u16)(sign | (magnitude > 0x7F800000 ? 0x7FFF : 0x7C00));
    }
    if (magnitude >= 0x477FF000) {
        return (u16)(sign | 0x7C00);
    }
    if (magnitude >= 0x38800000) {
        const u32 moved = magnitude - 0x38000000;
        return (u16)(sign | (moved + 0xFFF + (moved >> 13 & 1)) >> 13);
    }
    // Subnormal: units of 2 to the power of -24.
    const u32 exponent = magnitude >> 23;
    if (exponent < 102) {
        return (u16)sign;
    }
    const u32 mantissa = (magnitude & 0x7FFFFF) | 0x800000, drop = 126 - exponent;
    const u32 half_unit = (1u << (drop - 1)) - 1 + (mantissa >> drop & 1);
    return (u16)(sign | (mantissa + half_unit) >> drop);
#endif
}

FD_DEVICE void store(const Batch& batch, u64 at, f32 sample, u32 channel) {
    if (batch.dtype == DTYPE_U8) {
        batch.output[at] = (u8)clamp_u8((i32)(sample + 0.5f));
        return;
    }
    const f32 value = multiply_add(sample, batch.factor[channel], batch.offset[channel]);
    if (batch.dtype == DTYPE_F16) {
        ((u16*)batch.output)[at] = to_f16(value);
    } else if (batch.dtype == DTYPE_BF16) {
        ((u16*)batch.output)[at] = to_bf16(value);
    } else {
        ((f32*)batch.output)[at] = value;
    }
}

// One pixel of the output; gray images get three equal channels, images without pixels zeros.
FD_DEVICE void resize_down(const Batch& batch, const Image& image, u32 flags, u32 item,
                           u32 thread) {
    const Crop& crop = image.crop;
    const u32 n_pixels = batch.out_width * batch.out_height, number = item * RESIZE_THREADS + thread;
    if (number >= n_pixels) {
        return;
    }
    const u32 x = number % batch.out_width, y = number / batch.out_width;
    const Filter filter = filter_of(crop.top, crop.step_y, y, crop.first_y, crop.end_y);
    const u64 plane = (u64)batch.out_width * (crop.end_y - crop.first_y);
    const u64 start = image.output_at;
    f32 sample = 0.0f;
    FD_UNROLL
    for (u32 channel = 0; channel < 3; ++channel) {
        if (channel < image.n_components && flags == 0) {
            const u16* column = batch.across + image.across_at + channel * plane + x;
            f32 sum = 0.0f, total = 0.0f;
            for (u32 at = filter.first; at < filter.end; ++at) {
                const f32 weight = weight_of(filter, at);
                total += weight;
                sum = multiply_add((f32)column[(u64)(at - crop.first_y) * batch.out_width], weight,
                                   sum);
            }
            sample = mean_of(sum, total) * (1.0f / 256.0f);
        }
        const u64 at = batch.order == ORDER_NCHW ? start + (u64)channel * n_pixels + number
                                                 : start + (u64)number * 3 + channel;
        store(batch, at, sample, channel);
    }
}

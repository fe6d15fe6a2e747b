// Changes to 8-bit images: the operations of crates/loader/src/transform/augment, which match
// Pillow bit for bit. The host has chosen them and computed their parameters.
//
// One block of threads applies all changes of an image in order, at the output's size. A change
// that depends on one pixel is a table per channel, or is done in place; one that reads other
// pixels (`warp`, `sharpness`) reads one half of the memory and writes the other.
//
//     clear, count, sum   levels of each channel are counted, where a table depends on them
//     table               a thread per level
//     apply               every level is looked up
//
// Counts are sums of ones: the same in any order. Floating point is single precision where Pillow
// has it and double where Pillow has that; nothing is fused.
#pragma once

constexpr u32 CHANGE_THREADS = 512;

struct ChangeShared {
    f64 scale[3], offset[3];      // For stretching: 1 and 0 for no change.
    u32 counts[3][256];           // After `sum`: the number of darker pixels.
    u32 step[3];                  // For equalizing: pixels per level; 0 for no change.
    u32 mean;                     // Of the gray image.
    u8 table[3][256];
};

FD_DEVICE bool is_counted(u32 kind) {
    return kind == CHANGE_CONTRAST || kind == CHANGE_AUTO_CONTRAST || kind == CHANGE_EQUALIZE;
}

// ITU-R 601 in 16 bits. The weights add up to 2^16.
FD_DEVICE u32 luma_of(const u8* pixel) {
    return (pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16;
}

// At factor 0 `dull`, at 1 `level`, above 1 beyond it; clamped to 0 to 255, then truncated.
FD_DEVICE u32 mix(u32 dull, u32 level, f32 factor) {
    const f32 from = (f32)dull, to = (f32)level;
    const f32 mixed = from + factor * (to - from);
    // These comparisons are false for NaN.
    return mixed > 0.0f ? (mixed < 255.0f ? (u32)mixed : 255) : 0;
}

// Copies each pixel from its source position, in units of 2^-16 pixels. Positions outside the image
// give black.
FD_DEVICE void warp(const Batch& batch, const Change& change, const u8* from, u8* to, u32 thread) {
    const u32 width = batch.out_width, n_pixels = width * batch.out_height;
    for (u32 number = thread; number < n_pixels; number += CHANGE_THREADS) {
        const i64 x = number % width, y = number / width;
        const i64 at_x = (change.start[0] + x * change.right[0] + y * change.down[0]) >> 16;
        const i64 at_y = (change.start[1] + x * change.right[1] + y * change.down[1]) >> 16;
        u8* out = to + (u64)number * 3;
        out[0] = out[1] = out[2] = 0;
        if (at_x >= 0 && at_x < (i64)width && at_y >= 0 && at_y < (i64)batch.out_height) {
            const u8* pixel = from + ((u64)at_y * width + (u64)at_x) * 3;
            out[0] = pixel[0], out[1] = pixel[1], out[2] = pixel[2];
        }
    }
}

// Moves each pixel away from, or towards, a blurred image that weighs a pixel by five and each of
// its neighbours by one. The outermost pixels stay.
FD_DEVICE void sharpness(const Batch& batch, const Change& change, const u8* from, u8* to,
                         u32 thread) {
    const u32 width = batch.out_width, n_pixels = width * batch.out_height;
    const u64 row_bytes = (u64)width * 3;
    for (u32 number = thread; number < n_pixels; number += CHANGE_THREADS) {
        const u32 x = number % width, y = number / width;
        const u8* here = from + (u64)number * 3;
        u8* out = to + (u64)number * 3;
        const bool is_inside = x > 0 && x + 1 < width && y > 0 && y + 1 < batch.out_height;
        for (u32 channel = 0; channel < 3; ++channel) {
            const u32 level = here[channel];
            if (!is_inside) {
                out[channel] = (u8)level;
                continue;
            }
            const u8* above = here + channel - row_bytes;
            const u8* below = here + channel + row_bytes;
            const u32 sides = here[(i32)channel - 3] + here[channel + 3];
            const u32 total = above[-3] + above[0] + above[3] + below[-3] + below[0] + below[3] +
                              sides + 5 * level;
            // Divided by 13 and rounded; halves cannot occur.
            out[channel] = (u8)mix((2 * total + 13) / 26, level, change.factor);
        }
    }
}

// Moves each pixel away from, or towards, gray.
FD_DEVICE void color(const Batch& batch, const Change& change, u8* image, u32 thread) {
    const u32 n_pixels = batch.out_width * batch.out_height;
    for (u32 number = thread; number < n_pixels; number += CHANGE_THREADS) {
        u8* pixel = image + (u64)number * 3;
        const u32 gray = luma_of(pixel);
        for (u32 channel = 0; channel < 3; ++channel) {
            pixel[channel] = (u8)mix(gray, pixel[channel], change.factor);
        }
    }
}

FD_DEVICE void clear_counts(ChangeShared& shared, u32 thread) {
    for (u32 at = thread; at < 3 * 256; at += CHANGE_THREADS) {
        shared.counts[at / 256][at % 256] = 0;
    }
}

// Contrast counts gray levels, in the first channel.
FD_DEVICE void count_levels(ChangeShared& shared, const Batch& batch, const Change& change,
                            const u8* image, u32 thread) {
    const u32 n_pixels = batch.out_width * batch.out_height;
    for (u32 number = thread; number < n_pixels; number += CHANGE_THREADS) {
        const u8* pixel = image + (u64)number * 3;
        if (change.kind == CHANGE_CONTRAST) {
            add_to(&shared.counts[0][luma_of(pixel)], 1);
            continue;
        }
        for (u32 channel = 0; channel < 3; ++channel) {
            add_to(&shared.counts[channel][pixel[channel]], 1);
        }
    }
}

// 255 divided by 1 to 255, to the nearest number, ties to even. Computed bit by bit: the code that
// compilers emit for a division in double precision takes registers from all threads.
FD_DEVICE f64 divided_255(u32 divisor) {
    const u64 most = (u64)1 << 52;
    u64 digits = 255 / divisor;
    u32 rest = 255 % divisor;
    f64 unit = 1.0;
    while (digits < most) {
        rest *= 2;
        const u32 digit = rest >= divisor;
        rest -= digit * divisor;
        digits = 2 * digits + digit;
        unit *= 0.5;
    }
    const bool is_up = 2 * rest > divisor || (2 * rest == divisor && (digits & 1) != 0);
    return (f64)(digits + is_up) * unit;
}

// One thread for each channel.
FD_DEVICE void sum_counts(ChangeShared& shared, const Batch& batch, u32 thread) {
    if (thread >= 3) return;
    const u32 n_pixels = batch.out_width * batch.out_height;
    u32* counts = shared.counts[thread];
    u32 n_darker = 0, darkest = 255, brightest = 0, n_brightest = 0;
    u64 sum = 0;
    for (u32 level = 0; level < 256; ++level) {
        const u32 n = counts[level];
        counts[level] = n_darker;
        n_darker += n;
        sum += (u64)n * level;
        if (n > 0) {
            darkest = smaller(darkest, level);
            brightest = level;
            n_brightest = n;
        }
    }
    const f64 scale = brightest > darkest ? divided_255(brightest - darkest) : 1.0;
    shared.scale[thread] = scale;
    shared.offset[thread] = brightest > darkest ? -(f64)darkest * scale : 0.0;
    // The brightest level is not spread.
    shared.step[thread] = (n_pixels - smaller(n_brightest, n_pixels)) / 255;
    // Rounds to the nearest level. Fractions of a half are exact in double precision, which Pillow
    // uses, and all others are farther from a half than its rounding error. A 64-bit division would
    // take registers from all threads.
    u32 mean = 0;
    while (mean < 255 && (u64)(2 * mean + 1) * n_pixels <= 2 * sum) ++mean;
    if (thread == 0) shared.mean = mean;
}

// Stretches the levels in use over 0 to 255.
FD_DEVICE u32 stretched(u32 level, f64 scale, f64 offset) {
    const f64 value = (f64)level * scale + offset;
    return value > 0.0 ? (value < 255.0 ? (u32)value : 255) : 0;
}

FD_DEVICE u32 equalized(u32 level, u32 n_darker, u32 step) {
    if (step == 0) return level;
    return smaller((step / 2 + n_darker) / step, 255);
}

FD_DEVICE u32 changed_level(const ChangeShared& shared, const Change& change, u32 channel,
                            u32 level) {
    switch (change.kind) {
        case CHANGE_BRIGHTNESS: return mix(0, level, change.factor);
        case CHANGE_CONTRAST: return mix(shared.mean, level, change.factor);
        case CHANGE_POSTERIZE: return level & change.level;
        case CHANGE_SOLARIZE: return level < change.level ? level : 255 - level;
        case CHANGE_AUTO_CONTRAST:
            return stretched(level, shared.scale[channel], shared.offset[channel]);
        case CHANGE_EQUALIZE:
            return equalized(level, shared.counts[channel][level], shared.step[channel]);
        case CHANGE_INVERT: return 255 - level;
        default: return level;
    }
}

FD_DEVICE void make_table(ChangeShared& shared, const Change& change, u32 thread) {
    for (u32 at = thread; at < 3 * 256; at += CHANGE_THREADS) {
        shared.table[at / 256][at % 256] = (u8)changed_level(shared, change, at / 256, at % 256);
    }
}

FD_DEVICE void apply_table(const ChangeShared& shared, const Batch& batch, u8* image, u32 thread) {
    const u32 n_pixels = batch.out_width * batch.out_height;
    for (u32 number = thread; number < n_pixels; number += CHANGE_THREADS) {
        u8* pixel = image + (u64)number * 3;
        for (u32 channel = 0; channel < 3; ++channel) {
            pixel[channel] = shared.table[channel][pixel[channel]];
        }
    }
}

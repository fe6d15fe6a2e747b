// From planes of samples to RGB, as libjpeg-turbo does it, bit for bit.
//
// Components with fewer samples are enlarged. Where the factor is 2 across, 2 down or both, each
// new sample is 3/4 of the nearer and 1/4 of the farther old one ("fancy" upsampling), except
// across planes of one or two columns, for which libjpeg uses the simple method. Any other whole
// factor repeats samples. The host refuses fractional factors, as libjpeg does.
#pragma once

constexpr u32 PIXEL_THREADS = 256;

struct PixelShared {
    u32 unused;
};

FD_DEVICE u32 neighbour(u32 at, u32 odd, u32 n) {
    if (odd) {
        return at + 1 < n ? at + 1 : at;
    }
    return at > 0 ? at - 1 : 0;
}

// The sample of a component at a pixel of the window.
FD_DEVICE u32 sample_at(const Batch& batch, const Image& image, u32 component, u32 x, u32 y) {
    const Plane plane = plane_of(image, component);
    const u8* samples = batch.samples + plane.at;
    const u32 h = image.max_h / image.h[component], v = image.max_v / image.v[component];
    const u32 near_x = x / h, near_y = y / v;
    // Neighbours are chosen in the image, then mapped to the plane, which has a margin.
    const u8* near_row = samples + (u64)(near_y - plane.y) * plane.stride;
    const u32 near_at = near_x - plane.x;
    if (h == 1 && v == 1) {
        return near_row[near_at];
    }
    // Samples that belong to the image; padding is never blended in.
    const u32 width = divide_up(image.width * image.h[component], image.max_h);
    const u32 height = divide_up(image.height * image.v[component], image.max_v);
    const u32 far_y = neighbour(near_y, y & 1, height);
    if (h == 1 && v == 2) {
        const u8* far_row = samples + (u64)(far_y - plane.y) * plane.stride;
        return (near_row[near_at] * 3u + far_row[near_at] + (y & 1 ? 2 : 1)) >> 2;
    }
    if (h != 2 || v > 2 || width <= 2) {
        return near_row[near_at];
    }
    const u32 far_x = neighbour(near_x, x & 1, width), far_at = far_x - plane.x;
    if (v == 1) {
        return far_x == near_x ? near_row[near_at]
                               : (near_row[near_at] * 3u + near_row[far_at] + (x & 1 ? 2 : 1)) >> 2;
    }
    const u8* far_row = samples + (u64)(far_y - plane.y) * plane.stride;
    const u32 near_sum = near_row[near_at] * 3u + far_row[near_at];
    const u32 far_sum = near_row[far_at] * 3u + far_row[far_at];
    return (near_sum * 3 + far_sum + (x & 1 ? 7 : 8)) >> 4;
}

struct Rgb {
    u32 red, green, blue;
};

// The conversion of JFIF with constants of 16 bits.
FD_DEVICE Rgb to_rgb(u32 luma, u32 blue_difference, u32 red_difference) {
    const i32 y = (i32)luma, cb = (i32)blue_difference - 128, cr = (i32)red_difference - 128;
    const i32 red = y + ((91881 * cr + 32768) >> 16);
    const i32 green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16);
    const i32 blue = y + ((116130 * cb + 32768) >> 16);
    return {clamp_u8(red), clamp_u8(green), clamp_u8(blue)};
}

// One pixel of the window. Images without pixels are black.
FD_DEVICE void write_pixel(const Batch& batch, const Image& image, u32 flags, u32 item,
                           u32 thread) {
    const u32 width = image.crop.end_x - image.crop.first_x;
    const u32 height = image.crop.end_y - image.crop.first_y;
    const u64 number = (u64)item * PIXEL_THREADS + thread;
    if (number >= (u64)width * height) {
        return;
    }
    const u32 x = image.crop.first_x + (u32)(number % width);
    const u32 y = image.crop.first_y + (u32)(number / width);
    u8* out = batch.pixels + image.pixels_at + number * image.n_components;
    Rgb pixel = {0, 0, 0};
    if (flags == 0) {
        pixel.red = sample_at(batch, image, 0, x, y);
        if (image.n_components == 3) {
            pixel.green = sample_at(batch, image, 1, x, y);
            pixel.blue = sample_at(batch, image, 2, x, y);
        }
        if (image.color == COLOR_YCBCR) {
            pixel = to_rgb(pixel.red, pixel.green, pixel.blue);
        }
    }
    out[0] = (u8)pixel.red;
    if (image.n_components == 3) {
        out[1] = (u8)pixel.green;
        out[2] = (u8)pixel.blue;
    }
}

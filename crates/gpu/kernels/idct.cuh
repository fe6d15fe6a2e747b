// From coefficients to samples: dequantisation and the inverse DCT of libjpeg's "islow", bit for
// bit (Loeffler, Ligtenberg and Moschytz, 13-bit constants). Eight threads do a block: each a
// column, then each a row. Arithmetic wraps, because damaged data may hold any number.
#pragma once

constexpr u32 IDCT_THREADS = 128;
constexpr u32 IDCT_BLOCKS = IDCT_THREADS / 8;
// Columns of 9 words keep the eight threads of a block in different banks.
constexpr u32 IDCT_STRIDE = 9;

struct IdctShared {
    u32 values[IDCT_BLOCKS][8 * IDCT_STRIDE];
};

// Fixed-point constants: round(x * 8192).
constexpr u32 F_0_298 = 2446, F_0_390 = 3196, F_0_541 = 4433, F_0_765 = 6270, F_0_899 = 7373;
constexpr u32 F_1_175 = 9633, F_1_501 = 12299, F_1_847 = 15137, F_1_961 = 16069, F_2_053 = 16819;
constexpr u32 F_2_562 = 20995, F_3_072 = 25172;

// One dimension; the results are divided by 2 to the power of `descale`.
template <u32 descale>
FD_DEVICE void transform(const u32 (&in)[8], u32 (&out)[8]) {
    const u32 round = 1u << (descale - 1);
    const u32 z = (in[2] + in[6]) * F_0_541;
    const u32 t2 = z - in[6] * F_1_847, t3 = z + in[2] * F_0_765;
    const u32 t0 = (in[0] + in[4]) << 13, t1 = (in[0] - in[4]) << 13;
    const u32 even[4] = {t0 + t3 + round, t1 + t2 + round, t1 - t2 + round, t0 - t3 + round};

    const u32 z1 = 0u - (in[7] + in[1]) * F_0_899, z2 = 0u - (in[5] + in[3]) * F_2_562;
    const u32 z5 = (in[7] + in[3] + in[5] + in[1]) * F_1_175;
    const u32 z3 = z5 - (in[7] + in[3]) * F_1_961, z4 = z5 - (in[5] + in[1]) * F_0_390;
    const u32 odd[4] = {in[1] * F_1_501 + z1 + z4, in[3] * F_3_072 + z2 + z3,
                        in[5] * F_2_053 + z2 + z4, in[7] * F_0_298 + z1 + z3};
    FD_UNROLL
    for (u32 i = 0; i < 4; ++i) {
        out[i] = (u32)((i32)(even[i] + odd[i]) >> descale);
        out[7 - i] = (u32)((i32)(even[i] - odd[i]) >> descale);
    }
}

// Blocks of the wanted MCUs; no other is transformed.
FD_DEVICE u32 n_wanted(const Image& image) {
    const Mcus& mcus = image.mcus;
    return (mcus.end_x - mcus.first_x) * (mcus.end_y - mcus.first_y) * image.blocks_per_mcu;
}

struct Place {
    u32 block;  // Among the coefficients.
    u32 component;
    u32 x, y;   // Blocks within the component's plane.
};

// The place of one of the wanted blocks.
FD_DEVICE Place place_of(const Image& image, u32 number) {
    const u32 columns = image.mcus.end_x - image.mcus.first_x;
    const u32 within = number / image.blocks_per_mcu, slot = number % image.blocks_per_mcu;
    const u32 mcu_x = within % columns, mcu_y = within / columns;
    const u32 mcu = (image.mcus.first_y + mcu_y) * image.mcus_x + image.mcus.first_x + mcu_x;
    const u32 component = smaller(slot_component(image, slot), 2);
    const u32 x = mcu_x * image.h[component] + (image.slot_x >> (2 * slot) & 3);
    const u32 y = mcu_y * image.v[component] + (image.slot_y >> (2 * slot) & 3);
    return {mcu * image.blocks_per_mcu + slot - image.base_block, component, x, y};
}

// Samples of a component in the wanted MCUs, row by row. Planes follow each other; together they
// take 64 bytes per wanted block. The first sample is the one at `x` and `y` of the component.
struct Plane {
    u64 at;
    u32 stride;
    u32 x, y;
};

FD_DEVICE Plane plane_of(const Image& image, u32 component) {
    u32 blocks_before = 0;
    for (u32 i = 0; i < component; ++i) {
        blocks_before += image.h[i] * image.v[i];
    }
    const Mcus& mcus = image.mcus;
    const u32 columns = mcus.end_x - mcus.first_x, h = image.h[component] * 8;
    const u64 n_mcus = (u64)columns * (mcus.end_y - mcus.first_y);
    return {(image.samples_at + n_mcus * blocks_before) * 64, columns * h, mcus.first_x * h,
            mcus.first_y * image.v[component] * 8};
}

FD_DEVICE void idct_columns(IdctShared& shared, const Batch& batch, const Image& image, u32 item,
                            u32 thread) {
    const u32 within = thread / 8, column = thread % 8, number = item * IDCT_BLOCKS + within;
    if (number >= n_wanted(image)) {
        return;
    }
    const Place place = place_of(image, number);
    const i16* values = batch.coefficients + ((u64)image.coefficients_at + place.block) * 64;
    const u16* factors = batch.quantisation + (u64)image.quantisation[place.component] * 64;
    u32 in[8], out[8];
    FD_UNROLL
    for (u32 row = 0; row < 8; ++row) {
        in[row] = (u32)(i32)values[row * 8 + column] * factors[row * 8 + column];
    }
    transform<11>(in, out);
    FD_UNROLL
    for (u32 row = 0; row < 8; ++row) {
        shared.values[within][row * IDCT_STRIDE + column] = out[row];
    }
}

FD_DEVICE void idct_rows(IdctShared& shared, const Batch& batch, const Image& image, u32 item,
                         u32 thread) {
    const u32 within = thread / 8, row = thread % 8, number = item * IDCT_BLOCKS + within;
    if (number >= n_wanted(image)) {
        return;
    }
    u32 in[8], out[8];
    FD_UNROLL
    for (u32 column = 0; column < 8; ++column) {
        in[column] = shared.values[within][row * IDCT_STRIDE + column];
    }
    transform<18>(in, out);
    u64 samples = 0;
    FD_UNROLL
    for (u32 column = 0; column < 8; ++column) {
        samples |= (u64)clamp_u8((i32)(out[column] + 128)) << (8 * column);
    }
    const Place place = place_of(image, number);
    const Plane plane = plane_of(image, place.component);
    const u64 at = plane.at + (u64)(place.y * 8 + row) * plane.stride + place.x * 8;
    *(u64*)(batch.samples + at) = samples;
}

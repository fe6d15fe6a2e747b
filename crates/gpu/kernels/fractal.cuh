// Images of iterated function systems: the sampler `lanes64-v1` of crates/fractal, bit for bit.
//
// crates/fractal/src/lanes/mod.rs defines it; the names are the same. A block of threads draws an
// image, a thread one of the 64 lanes. The points are computed twice, because the bounds of all
// must be known before the first is drawn, and computing them again is cheaper than keeping 800 KB
// per image. Hits are bits: setting one is the same in any order.
//
//     load     the table of the system comes into shared memory, all hits go
//     lead     one thread computes the points that the lanes start from
//     bounds   every lane keeps the bounds of its points
//     map      one thread joins them, and says how points become pixels
//     draw     every lane sets the bits of its points
//     write    the bits leave shared memory, and are counted
//     judge    one thread says whether they are enough
//     patch    3x3 patches of coin tosses
//
// The layout of bitmaps is that of crates/fractal: row after row, each a multiple of 64 bits, the
// first pixel in the lowest bit. Bitmaps that do not fit into shared memory are drawn in place.
#pragma once

#define FRACTAL_LANES 64
#define FRACTAL_THREADS FRACTAL_LANES
#define FRACTAL_SLOTS 8
#define FRACTAL_LEAD_IN 128
#define FRACTAL_LEAD_IN_COUNTER 0xF0000000u
// Size of the bitmap kept in shared memory, 256x256 hits, small enough that blocks still fill the
// GPU.
#define FRACTAL_WORDS 2048

struct FractalSystem {
    f32 map[6][FRACTAL_SLOTS];  // Parameter k of the map in slot j.
    u32 words[FRACTAL_SLOTS];   // Threshold and alias of each slot.
};

// Reason for which an image is left to the CPU.
enum FractalLeft : u32 {
    FRACTAL_ORBIT = 1,  // Only the single orbit draws it.
    FRACTAL_EMPTY = 2,  // Its points cover too little; it is redrawn with other weights.
};

struct FractalImage {
    u32 system;
    u32 key[2];
    u32 least;  // Pixels that its points must cover.
    u32 left;   // Written: 0, or a `FractalLeft`.
};

struct Fractals {
    const FractalSystem* systems;
    FractalImage* images;
    u32* coverage;  // A bitmap for each image.
    u32* patches;   // Likewise, or null.
    u32 first_image;
    u32 size, pad;
    u32 n_steps;    // Points of every lane.
};

struct FractalShared {
    FractalSystem system;
    f32 lead_x[FRACTAL_LEAD_IN], lead_y[FRACTAL_LEAD_IN];
    f32 least_x[FRACTAL_LANES], most_x[FRACTAL_LANES];
    f32 least_y[FRACTAL_LANES], most_y[FRACTAL_LANES];
    f32 scale[2], offset[2];
    u32 is_drawn;
    u32 n_hits[FRACTAL_LANES];
    u32 hits[FRACTAL_WORDS];
};

struct FractalHash {
    u32 first, second;
};

struct FractalPoint {
    f32 x, y;
};

FD_DEVICE u32 fractal_hash(FractalHash hash, u32 counter) {
    u32 bits = counter + hash.first;
    bits ^= bits >> 16;
    bits *= 0x21F0AAADu;
    bits ^= hash.second;
    bits ^= bits >> 15;
    bits *= 0xD35A2D97u;
    return bits ^ bits >> 15;
}

FD_DEVICE FractalHash fractal_hash_of(const FractalImage& image) {
    return FractalHash{image.key[0], image.key[1]};
}

// Hash of the coins: the words of the key, mixed once more.
FD_DEVICE FractalHash fractal_coin(const FractalImage& image) {
    u64 z = ((u64)image.key[1] << 32 | image.key[0]) + 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return FractalHash{(u32)z, (u32)(z >> 32)};
}

FD_DEVICE FractalPoint fractal_next(const FractalSystem& system, u32 random, FractalPoint at) {
    const u32 slot = smaller(random, system.words[random & 7]) & 7;
    const f32(&map)[6][FRACTAL_SLOTS] = system.map;
    return FractalPoint{
        multiply_add(map[0][slot], at.x, multiply_add(map[1][slot], at.y, map[4][slot])),
        multiply_add(map[2][slot], at.x, multiply_add(map[3][slot], at.y, map[5][slot])),
    };
}

FD_DEVICE u32 fractal_row_words(const Fractals& batch) { return divide_up(batch.size, 64) * 2; }
FD_DEVICE u32 fractal_n_words(const Fractals& batch) {
    return fractal_row_words(batch) * batch.size;
}

FD_DEVICE void fractal_load(FractalShared& shared, const Fractals& batch, const FractalImage& image,
                            u32* coverage, u32 thread) {
    const FractalSystem& system = batch.systems[image.system];
    if (thread < FRACTAL_SLOTS) {
        for (u32 k = 0; k < 6; ++k) shared.system.map[k][thread] = system.map[k][thread];
        shared.system.words[thread] = system.words[thread];
    }
    const u32 n_words = fractal_n_words(batch);
    u32* hits = n_words <= FRACTAL_WORDS ? shared.hits : coverage;
    for (u32 word = thread; word < n_words; word += FRACTAL_THREADS) hits[word] = 0;
}

FD_DEVICE void fractal_lead(FractalShared& shared, const FractalImage& image, u32 thread) {
    if (thread != 0) return;
    const FractalHash hash = fractal_hash_of(image);
    FractalPoint point = {0.0f, 0.0f};
    for (u32 i = 0; i < FRACTAL_LEAD_IN; ++i) {
        if (i != 0) {
            const u32 random = fractal_hash(hash, FRACTAL_LEAD_IN_COUNTER + i - 1);
            point = fractal_next(shared.system, random, point);
        }
        shared.lead_x[i] = point.x;
        shared.lead_y[i] = point.y;
    }
}

// Calls `use` for every point of a lane: the two of the lead-in, then those of the steps.
template <typename Use>
FD_DEVICE void fractal_points(const FractalShared& shared, const Fractals& batch,
                              const FractalImage& image, u32 lane, Use use) {
    const FractalHash hash = fractal_hash_of(image);
    use(FractalPoint{shared.lead_x[lane], shared.lead_y[lane]});
    FractalPoint point = {shared.lead_x[FRACTAL_LANES + lane], shared.lead_y[FRACTAL_LANES + lane]};
    use(point);
    u32 counter = lane;
    for (u32 step = 0; step < batch.n_steps; ++step) {
        point = fractal_next(shared.system, fractal_hash(hash, counter), point);
        use(point);
        counter += FRACTAL_LANES;
    }
}

// Written as a comparison so that NaN is ignored.
FD_DEVICE f32 fractal_least(f32 so_far, f32 value) { return value < so_far ? value : so_far; }
FD_DEVICE f32 fractal_most(f32 so_far, f32 value) { return value > so_far ? value : so_far; }

struct FractalBounds {
    f32 least_x, most_x, least_y, most_y;

    FD_METHOD void operator()(FractalPoint point) {
        least_x = fractal_least(least_x, point.x), most_x = fractal_most(most_x, point.x);
        least_y = fractal_least(least_y, point.y), most_y = fractal_most(most_y, point.y);
    }
};

FD_DEVICE void fractal_bounds(FractalShared& shared, const Fractals& batch,
                              const FractalImage& image, u32 thread) {
    // The origin is one of the points.
    FractalBounds bounds = {0.0f, 0.0f, 0.0f, 0.0f};
    fractal_points<FractalBounds&>(shared, batch, image, thread, bounds);
    shared.least_x[thread] = bounds.least_x, shared.most_x[thread] = bounds.most_x;
    shared.least_y[thread] = bounds.least_y, shared.most_y[thread] = bounds.most_y;
}

FD_DEVICE bool is_finite(f32 value) { return (f32_bits(value) & 0x7F800000u) != 0x7F800000u; }

FD_DEVICE bool fractal_axis(const Fractals& batch, f32 least, f32 most, f32& scale, f32& offset) {
    const f32 span = most - least;
    scale = span == 0.0f ? 0.0f : (f32)(batch.size - 2 * batch.pad) / span;
    offset = multiply_add(scale, -least, (f32)batch.pad);
    return is_finite(span) && is_finite(scale);
}

FD_DEVICE void fractal_map(FractalShared& shared, const Fractals& batch, FractalImage& image,
                           u32 thread) {
    if (thread != 0) return;
    FractalBounds all = {0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 lane = 0; lane < FRACTAL_LANES; ++lane) {
        all(FractalPoint{shared.least_x[lane], shared.least_y[lane]});
        all(FractalPoint{shared.most_x[lane], shared.most_y[lane]});
    }
    const bool x = fractal_axis(batch, all.least_x, all.most_x, shared.scale[0], shared.offset[0]);
    const bool y = fractal_axis(batch, all.least_y, all.most_y, shared.scale[1], shared.offset[1]);
    shared.is_drawn = x && y;
    image.left = shared.is_drawn ? 0 : (u32)FRACTAL_ORBIT;
}

// Inside the bounds this equals a cast; outside it still returns a number.
FD_DEVICE u32 fractal_cut(f32 value) {
    return value > 0.0f ? (u32)(i32)(value < 65535.0f ? value : 65535.0f) : 0;
}

struct FractalDraw {
    u32* hits;
    f32 scale_x, scale_y, offset_x, offset_y;
    u32 stride, last;

    FD_METHOD void operator()(FractalPoint point) {
        const u32 column = fractal_cut(multiply_add(point.x, scale_x, offset_x));
        const u32 row = fractal_cut(multiply_add(point.y, scale_y, offset_y));
        const u32 place = smaller(row * stride + column, last);
        set_flags(hits + (place >> 5), 1u << (place & 31));
    }
};

FD_DEVICE void fractal_draw(FractalShared& shared, const Fractals& batch, const FractalImage& image,
                            u32* coverage, u32 thread) {
    if (!shared.is_drawn) return;
    const u32 n_words = fractal_n_words(batch);
    FractalDraw draw = {shared.hits,      shared.scale[0],  shared.scale[1],
                        shared.offset[0], shared.offset[1], fractal_row_words(batch) * 32,
                        n_words * 32 - 1};
    if (n_words <= FRACTAL_WORDS) {
        fractal_points<FractalDraw&>(shared, batch, image, thread, draw);
    } else {
        draw.hits = coverage;
        fractal_points<FractalDraw&>(shared, batch, image, thread, draw);
    }
}

FD_DEVICE void fractal_write(FractalShared& shared, const Fractals& batch, u32* coverage,
                             u32 thread) {
    const u32 n_words = fractal_n_words(batch);
    const bool is_shared = n_words <= FRACTAL_WORDS;
    u32 n_hits = 0;
    for (u32 word = thread; word < n_words; word += FRACTAL_THREADS) {
        const u32 hits = is_shared ? shared.hits[word] : coverage[word];
        n_hits += count_bits(hits);
        if (is_shared) coverage[word] = hits;
    }
    shared.n_hits[thread] = n_hits;
}

FD_DEVICE void fractal_judge(const FractalShared& shared, FractalImage& image, u32 thread) {
    if (thread != 0) return;
    u32 n_hits = 0;
    for (u32 lane = 0; lane < FRACTAL_LANES; ++lane) n_hits += shared.n_hits[lane];
    if (shared.is_drawn && n_hits < image.least) image.left = FRACTAL_EMPTY;
}

// A word of a row, shifted one to three pixels to the right.
FD_DEVICE u32 fractal_smeared(const u32* row, u32 word) {
    const u32 here = row[word], before = word == 0 ? 0 : row[word - 1];
    return shift_pair(here, before, 1) | shift_pair(here, before, 2) | shift_pair(here, before, 3);
}

FD_DEVICE void fractal_patch(const Fractals& batch, const FractalImage& image, const u32* coverage,
                             u32* patches, u32 thread) {
    const FractalHash coin = fractal_coin(image);
    const u32 row_words = fractal_row_words(batch), n_words = fractal_n_words(batch);
    for (u32 index = thread; index < n_words; index += FRACTAL_THREADS) {
        const u32 row = index / row_words, word = index % row_words;
        u32 lit = 0;
        for (u32 above = 1; above <= 3 && above <= row; ++above) {
            lit |= fractal_smeared(coverage + (row - above) * row_words, word);
        }
        // All bits after the last pixel of a row are 0.
        const u32 n_before = word * 32;
        const u32 n_bits = batch.size > n_before ? batch.size - n_before : 0;
        const u32 mask = n_bits >= 32 ? ~0u : (1u << n_bits) - 1;
        patches[index] = lit & fractal_hash(coin, index) & mask;
    }
}

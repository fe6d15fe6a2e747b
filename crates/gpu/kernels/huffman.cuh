// Decodes the segments of an image, one block of threads per image.
//
//     load:   the tables of the image go to shared memory
//     decode: each thread decodes the segments of its run; DC values stay differences
//     sum:    the start of each DC prediction, from the sums of all threads before it
//     add:    each thread turns its differences into values
//
// A thread has consecutive segments, so that all it needs from the others is one sum per component.
// At a restart, predictions start from 0: nothing before it counts.
//
// For a crop, the host passes the segments that the crop needs and the earlier ones that the DC
// prediction needs. Segments between two restarts that can be left out are replaced by one entry
// marked as skipped. Blocks are counted from `base_block`.
//
// The loop decodes one code per turn in every lane, whatever its block: lanes diverge only where a
// block ends or a code is long. Reads are clamped to the available words, coefficient positions to
// the 64 of a block, and blocks to those of the image, so damaged data leads to wrong values at
// worst. A segment must end at the exact bit where the next one starts, which damage rarely
// preserves.
#pragma once

constexpr u32 HUFFMAN_THREADS = 128;
constexpr u32 MAX_PAIRS = 3;
constexpr u32 MAX_SLOTS = 10;
constexpr u32 RESETS = 1u << 31;
constexpr u32 SKIPPED = 1u << 30;

FD_CONSTANT u8 ZIGZAG[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

struct HuffmanShared {
    // For each pair: DC, then AC.
    u32 lookups[MAX_PAIRS * 2 * FIRST_ENTRIES];
    u8 zigzag[64];
    // Start of the tables of each block of an MCU in `lookups`, and its component.
    u16 slot_lookup[MAX_SLOTS];
    u8 slot_component[MAX_SLOTS];
    // Per component and thread: the sum of the DC differences since the last restart, later the
    // thread's starting sum.
    u32 sums[3][HUFFMAN_THREADS];
    u8 resets[HUFFMAN_THREADS];
};

struct Run {
    u32 first, end;
};

// The segments of a thread.
FD_DEVICE Run run_of(const Image& image, u32 thread) {
    const u32 per_thread = divide_up(image.n_segments, HUFFMAN_THREADS);
    const u32 first = smaller(thread * per_thread, image.n_segments);
    return {first, smaller(first + per_thread, image.n_segments)};
}

struct Blocks {
    u32 first, n;
};

// The blocks of a segment; none if any of them is outside the decoded range. `base_block` is the
// first block of an MCU, so that a number counted from it determines the slot.
FD_DEVICE Blocks blocks_of(const Image& image, const Segment* segment) {
    const u32 first = segment[0].block & ~(RESETS | SKIPPED);
    const u32 end = segment[1].block & ~(RESETS | SKIPPED);
    const bool inside = image.base_block <= first && first <= end && end <= image.end_block;
    return {inside ? first - image.base_block : 0, inside ? end - first : 0};
}

FD_DEVICE void huffman_load(HuffmanShared& shared, const Batch& batch, const Image& image,
                            u32 thread) {
    for (u32 pair = 0; pair < smaller(image.n_pairs, MAX_PAIRS); ++pair) {
        const u32* dc = batch.lookups + (u64)image.dc_table[pair] * FIRST_ENTRIES;
        const u32* ac = batch.lookups + (u64)image.ac_table[pair] * FIRST_ENTRIES;
        u32* to = shared.lookups + pair * 2 * FIRST_ENTRIES;
        for (u32 i = thread; i < FIRST_ENTRIES; i += HUFFMAN_THREADS) {
            to[i] = dc[i];
            to[FIRST_ENTRIES + i] = ac[i];
        }
    }
    if (thread < 64) {
        shared.zigzag[thread] = ZIGZAG[thread];
    }
    if (thread < MAX_SLOTS) {
        const u32 component = smaller(slot_component(image, thread), 2);
        shared.slot_component[thread] = (u8)component;
        shared.slot_lookup[thread] = (u16)(image.pair[component] * 2 * FIRST_ENTRIES);
    }
}

// Decodes `blocks` from `bit` on and returns the bit after them. Sets bit 30 of `bad` where the
// bits are no code.
FD_DEVICE u32 decode_blocks(const HuffmanShared& shared, const u32* second, const u32* words,
                            u32 n_words, u32 blocks_per_mcu, Blocks blocks, u32 bit,
                            i16* coefficients, u32* bad) {
    // `high` and `low` hold the bits from word `at` on; `next` is being loaded.
    u32 at = bit / 32, shift = bit % 32;
    u32 high = at < n_words ? swap_bytes(words[at]) : 0;
    u32 low = at + 1 < n_words ? swap_bytes(words[at + 1]) : 0;
    u32 next = at + 2 < n_words ? swap_bytes(words[at + 2]) : 0;
    u32 slot = blocks.first % blocks_per_mcu, place = 0, seen = 0;
    const u32* lookup = shared.lookups + shared.slot_lookup[slot];
    i16* block = coefficients + (u64)blocks.first * 64;
    const i16* end = block + (u64)blocks.n * 64;
    while (block < end) {
        const u32 bits = shift_pair(high, low, shift);
        u32 entry = lookup[(place != 0 ? FIRST_ENTRIES : 0) + (bits >> (32 - FIRST_BITS))];
        if (entry & ENTRY_SECOND) {
            const u32 within = bits >> (32 - MAX_CODE_BITS) & (SECOND_ENTRIES - 1);
            entry = second[(entry & ~ENTRY_SECOND) + within];
        }
        seen |= entry;
        // The bits after the code: a value of `size` bits, the lower half of which is negative.
        const u32 size = entry >> 11 & 15;
        const u32 rest = bits << (entry >> 6 & 31);
        const u32 below_half = ~(u32)((i32)rest >> 31);
        const u32 value = ((rest >> 1) >> (31 - size)) - (((1u << size) - 1) & below_half);
        place += entry >> 16 & 127;
        if (size != 0) {
            block[shared.zigzag[(place - 1) & 63]] = (i16)value;
        }
        shift += entry & 63;
        if (shift >= 32) {
            shift -= 32;
            at += 1;
            high = low;
            low = next;
            next = at + 2 < n_words ? swap_bytes(words[at + 2]) : 0;
        }
        if (place >= 64) {
            // A run beyond the end of the block, unless it is the end-of-block code.
            if (place > 64 && (entry >> 16 & WHOLE_BLOCK) == 0) {
                seen |= ENTRY_NO_CODE;
            }
            place = 0;
            block += 64;
            slot = slot + 1 == blocks_per_mcu ? 0 : slot + 1;
            lookup = shared.lookups + shared.slot_lookup[slot];
        }
    }
    *bad |= seen & ENTRY_NO_CODE;
    return at * 32 + shift;
}

// One sum per component, in registers, where an array indexed by a variable cannot be.
struct Sums {
    u32 y, cb, cr;
};

FD_DEVICE u32 add_to(Sums& sums, u32 component, u32 value) {
    if (component == 0) {
        return sums.y += value;
    }
    return component == 1 ? sums.cb += value : sums.cr += value;
}

FD_DEVICE void huffman_decode(HuffmanShared& shared, const Batch& batch, const Image& image,
                              i16* coefficients, State& state, u32 thread) {
    const Run run = run_of(image, thread);
    const Segment* segments = batch.segments + image.first_segment;
    const u32* words = batch.words + image.words_at;
    const u32 n_words = divide_up(state.n_bytes, 4);
    Sums sums = {0, 0, 0};
    u32 flags = 0, bad = 0;
    shared.resets[thread] = 0;
    for (u32 i = run.first; i < run.end; ++i) {
        const Segment* segment = segments + i;
        if (segment[0].block & SKIPPED) {
            continue;
        }
        const Blocks blocks = blocks_of(image, segment);
        if (blocks.n == 0) {
            flags |= FLAG_RANGE;
            continue;
        }
        const u32 bit = decode_blocks(shared, batch.second, words, n_words, image.blocks_per_mcu,
                                      blocks, segment[0].bit, coefficients, &bad);
        // Before a restart up to 7 bits fill the last byte.
        const u32 left = segment[1].bit - bit;
        if (left > (segment[1].block & RESETS ? 7u : 0u)) {
            flags |= FLAG_SEGMENT;
        }
        if (segment[0].block & RESETS) {
            sums = {0, 0, 0};
            shared.resets[thread] = 1;
        }
        u32 slot = blocks.first % image.blocks_per_mcu;
        for (u32 block = 0; block < blocks.n; ++block) {
            const i16 difference = coefficients[(u64)(blocks.first + block) * 64];
            add_to(sums, shared.slot_component[slot], (u32)(i32)difference);
            slot = slot + 1 == image.blocks_per_mcu ? 0 : slot + 1;
        }
    }
    shared.sums[0][thread] = sums.y;
    shared.sums[1][thread] = sums.cb;
    shared.sums[2][thread] = sums.cr;
    if (bad != 0) {
        flags |= FLAG_CODE;
    }
    if (flags != 0) {
        set_flags(&state.flags, flags);
    }
}

FD_DEVICE void huffman_sum(HuffmanShared& shared, const Image& image, u32 thread) {
    if (thread >= 3) {
        return;
    }
    u32 before = image.first_dc[thread];
    for (u32 i = 0; i < HUFFMAN_THREADS; ++i) {
        const u32 sum = shared.sums[thread][i];
        shared.sums[thread][i] = before;
        before = sum + (shared.resets[i] ? 0 : before);
    }
}

FD_DEVICE void huffman_add(HuffmanShared& shared, const Batch& batch, const Image& image,
                           i16* coefficients, u32 thread) {
    const Run run = run_of(image, thread);
    const Segment* segments = batch.segments + image.first_segment;
    Sums sums = {shared.sums[0][thread], shared.sums[1][thread], shared.sums[2][thread]};
    for (u32 i = run.first; i < run.end; ++i) {
        if (segments[i].block & SKIPPED) {
            continue;
        }
        const Blocks blocks = blocks_of(image, segments + i);
        if (segments[i].block & RESETS) {
            sums = {0, 0, 0};
        }
        u32 slot = blocks.first % image.blocks_per_mcu;
        for (u32 block = 0; block < blocks.n; ++block) {
            i16* dc = coefficients + (u64)(blocks.first + block) * 64;
            *dc = (i16)add_to(sums, shared.slot_component[slot], (u32)(i32)*dc);
            slot = slot + 1 == image.blocks_per_mcu ? 0 : slot + 1;
        }
    }
}

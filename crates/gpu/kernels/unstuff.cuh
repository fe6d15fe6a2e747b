// Takes stuffed zeros, restart markers and fill bytes out of a scan, so that the decoder reads
// plain words. One block of threads per image goes over the scan in tiles:
//
//     count:  each thread counts the bytes it keeps of its 16, and the markers it meets
//     sum:    two levels of prefix sums give the place of each thread's bytes
//     write:  each thread writes its bytes, and checks the markers against the checkpoints
//
// The neighbours of a byte decide whether it stays: FF stays only before 00, and the byte after an
// FF is removed if it is 00 or a restart marker.
//
// For a crop that needs only the beginning of a scan, the kernel stops after the tile that has its
// end. The position in the file of a bit of the un-stuffed scan is unknown, so reading always
// starts at the beginning.
#pragma once

constexpr u32 UNSTUFF_THREADS = 256;
constexpr u32 UNSTUFF_RUN = 16;
constexpr u32 UNSTUFF_TILE = UNSTUFF_THREADS * UNSTUFF_RUN;
constexpr u32 UNSTUFF_GROUPS = 16;
constexpr u32 UNSTUFF_GROUP = UNSTUFF_THREADS / UNSTUFF_GROUPS;

struct UnstuffShared {
    // Kept bytes in the lower half, markers in the upper half: those before each thread, within its
    // group. A tile has at most 4096 of them.
    u32 counts[UNSTUFF_THREADS];
    u32 groups[UNSTUFF_GROUPS];
    // Before this tile.
    u32 n_kept, n_markers;
    u32 tile_kept, tile_markers;
};

FD_DEVICE bool is_restart(u32 byte) { return (byte & 0xF8) == 0xD0; }

FD_DEVICE bool stays(u32 previous, u32 byte, u32 next) {
    if (byte == 0xFF) {
        return next == 0;
    }
    return !(previous == 0xFF && (byte == 0 || is_restart(byte)));
}

// Calls `kept(byte)` and `marker(byte)` for the bytes of one thread's run.
template <typename Kept, typename Marker>
FD_DEVICE void over_run(const u8* scan, u32 n_bytes, u32 start, Kept kept, Marker marker) {
    if (start >= n_bytes) {
        return;
    }
    const u32 end = smaller(n_bytes - start, UNSTUFF_RUN) + start;
    u32 previous = start > 0 ? scan[start - 1] : 0;
    u32 byte = scan[start];
    for (u32 at = start; at < end; ++at) {
        const u32 next = at + 1 < n_bytes ? scan[at + 1] : 0xFF;
        if (previous == 0xFF && is_restart(byte)) {
            marker(byte);
        } else if (stays(previous, byte, next)) {
            kept(byte);
        }
        previous = byte;
        byte = next;
    }
}

FD_DEVICE void unstuff_begin(UnstuffShared& shared, u32 thread) {
    if (thread == 0) {
        shared.n_kept = shared.n_markers = 0;
    }
}

FD_DEVICE void unstuff_count(UnstuffShared& shared, const Image& image, u32 tile, u32 thread) {
    const u8* scan = image.scan;
    const u32 start = tile * UNSTUFF_TILE + thread * UNSTUFF_RUN;
    u32 count = 0;
    over_run(
        scan, image.scan_bytes, start, [&](u32) { count += 1; }, [&](u32) { count += 1 << 16; });
    shared.counts[thread] = count;
}

FD_DEVICE void unstuff_sum_groups(UnstuffShared& shared, u32 thread) {
    if (thread >= UNSTUFF_GROUPS) {
        return;
    }
    u32 sum = 0;
    for (u32 i = thread * UNSTUFF_GROUP; i < (thread + 1) * UNSTUFF_GROUP; ++i) {
        const u32 count = shared.counts[i];
        shared.counts[i] = sum;
        sum += count;
    }
    shared.groups[thread] = sum;
}

FD_DEVICE void unstuff_sum_tile(UnstuffShared& shared, u32 thread) {
    if (thread != 0) {
        return;
    }
    u32 sum = 0;
    for (u32 i = 0; i < UNSTUFF_GROUPS; ++i) {
        const u32 count = shared.groups[i];
        shared.groups[i] = sum;
        sum += count;
    }
    shared.tile_kept = sum & 0xFFFF;
    shared.tile_markers = sum >> 16;
}

FD_DEVICE void unstuff_write(UnstuffShared& shared, const Batch& batch, const Image& image,
                             State& state, u32 tile, u32 thread) {
    const u8* scan = image.scan;
    u8* out = (u8*)(batch.words + image.words_at);
    const u32* restarts = batch.restarts + image.first_restart;
    const u32 start = tile * UNSTUFF_TILE + thread * UNSTUFF_RUN;
    const u32 before = shared.counts[thread] + shared.groups[thread / UNSTUFF_GROUP];
    u32 at = shared.n_kept + (before & 0xFFFF);
    u32 number = shared.n_markers + (before >> 16);
    bool in_turn = true;
    over_run(
        scan, image.scan_bytes, start, [&](u32 byte) { out[at++] = (u8)byte; },
        [&](u32 byte) {
            in_turn = in_turn && number < image.n_restarts && restarts[number] == at &&
                      (number & 7) == (byte & 7);
            number += 1;
        });
    if (!in_turn) {
        set_flags(&state.flags, FLAG_RESTART);
    }
}

FD_DEVICE void unstuff_next_tile(UnstuffShared& shared, u32 thread) {
    if (thread == 0) {
        shared.n_kept += shared.tile_kept;
        shared.n_markers += shared.tile_markers;
    }
}

// Fills the last word with zeros. If the whole scan was read, compares its length with the
// checkpoints: at most 7 bits are left after the last block.
FD_DEVICE void unstuff_end(UnstuffShared& shared, const Batch& batch, const Image& image,
                           State& state, u32 thread) {
    if (thread != 0) {
        return;
    }
    u8* out = (u8*)(batch.words + image.words_at);
    for (u32 at = shared.n_kept; at % 4 != 0; ++at) {
        out[at] = 0;
    }
    state.n_bytes = shared.n_kept;
    if (shared.n_kept >= image.needed_bytes) {
        return;
    }
    const u64 n_bits = (u64)shared.n_kept * 8;
    u32 flags = shared.n_markers == image.n_restarts ? 0 : (u32)FLAG_RESTART;
    if (image.total_bits > n_bits || n_bits - image.total_bits >= 8) {
        flags |= FLAG_LENGTH;
    }
    if (flags != 0) {
        set_flags(&state.flags, flags);
    }
}

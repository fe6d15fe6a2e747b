// Changes 8-bit images with any numbers that the host may pass, shows parts of drawings, and writes
// outputs of every kind.
//
//     rows SEED N
//
// Built with the address and undefined-behaviour sanitizers by `cargo xtask kernels`. Every array
// has the host's exact size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "fdconvert.cu"

namespace {

std::mt19937_64 generator;

u32 below(u32 bound) { return (u32)(generator() % bound); }
bool one_in(u32 n) { return below(n) == 0; }
u32 bits() { return (u32)generator(); }

// Any number, including infinities and NaN.
f32 any_float() {
    const u32 number = bits();
    f32 value;
    std::memcpy(&value, &number, sizeof value);
    return one_in(3) ? value : (f32)below(3000) / 1000.0f - 0.5f;
}

// Within the host's limits.
i32 step() {
    const i32 most = 1 << 28;
    return one_in(3) ? (i32)below(2u * most + 1) - most : (i32)below(1 << 18) - (1 << 17);
}

i64 position() {
    const i64 most = (i64)1 << 50;
    return one_in(3) ? (i64)(generator() % (u64)(2 * most + 1)) - most : (i64)below(1 << 22) - (1 << 21);
}

Change make_change() {
    const u32 kind = below(CHANGE_INVERT + 1);
    const u32 level = kind == CHANGE_SOLARIZE ? below(257) : below(256);
    return {kind, any_float(), level, 0, {step(), step()}, {step(), step()}, {position(), position()}};
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments != 3) return 2;
    generator.seed(std::strtoull(arguments[1], nullptr, 10));
    const unsigned long n = std::strtoul(arguments[2], nullptr, 10);
    unsigned long n_rows = 0, n_changes = 0;
    while (n_rows < n) {
        Batch batch = {};
        batch.out_width = 1 + below(one_in(20) ? 300 : 40), batch.out_height = 1 + below(40);
        batch.dtype = below(4), batch.order = below(2);
        for (u32 channel = 0; channel < 3; ++channel) {
            batch.mean[channel] = any_float(), batch.deviation[channel] = any_float();
        }
        const u32 n_images = 1 + below(4), n_pixels = batch.out_width * batch.out_height;
        std::vector<u8> rows((size_t)n_images * n_pixels * 3), spare_rows(rows.size());
        const u32 n_kinds = one_in(4) ? 1 + below(3) : 256;
        for (u8& level : rows) level = (u8)below(n_kinds);
        std::vector<Change> changes;
        std::vector<Row> table(n_images);
        std::vector<Drawing> drawings;
        std::vector<FractalImage> drawn;
        std::vector<State> states;
        std::vector<u32> bitmaps;
        for (u32 image = 0; image < n_images; ++image) {
            Row& row = table[image];
            row = {(u32)changes.size(), below(4), 0, below(2), (u64)image * n_pixels * 3};
            for (u32 number = 0; number < row.n_changes; ++number) {
                changes.push_back(make_change());
                const u32 kind = changes.back().kind;
                row.is_moved ^= kind == CHANGE_WARP || kind == CHANGE_SHARPNESS;
            }
            n_changes += row.n_changes;
            if (one_in(2)) continue;
            const u32 least = batch.out_width > batch.out_height ? batch.out_width : batch.out_height;
            const u32 size = least + below(70);
            drawings.push_back({bitmaps.size(), image, size, below(size - batch.out_width + 1),
                                below(size - batch.out_height + 1), below(2), below(2), below(256), 0});
            drawn.push_back({0, {0, 0}, 0, below(3)});
            states.push_back({9, 0});
            for (u32 word = 0; word < divide_up(size, 64) * 2 * size; ++word) bitmaps.push_back(bits());
        }
        std::vector<u32> output((size_t)n_images * n_pixels * 3);  // Sized for the largest sample type.
        batch.rows = rows.data(), batch.spare_rows = spare_rows.data();
        batch.row_table = table.data(), batch.changes = changes.data();
        batch.drawings = drawings.data(), batch.drawn = drawn.data();
        batch.bitmaps = bitmaps.data(), batch.states = states.data();
        batch.output = (u8*)output.data();
        const u32 n_items = divide_up(n_pixels, ROW_THREADS);
        fdconvert_expand(&batch, n_items, (u32)drawings.size());
        fdconvert_change(&batch, 1, n_images);
        fdconvert_write(&batch, n_items, n_images);
        for (size_t at = 0; at < drawn.size(); ++at) {
            if (states[at].flags != drawn[at].left) return 1;
        }
        n_rows += n_images;
    }
    std::printf("%lu rows: %lu changes\n", n_rows, n_changes);
    return 0;
}

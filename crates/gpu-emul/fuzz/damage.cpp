// Damages images in every way that the host does not rule out, and runs all kernels on them.
//
//     damage SEED N
//
// Built with the address and undefined-behaviour sanitizers by `cargo xtask kernels`. Every array
// of an image is a separate allocation of the host's exact size, so that an access one byte outside
// is detected.
//
// Each image starts out sound: a random size and sampling, random tables that are prefix codes, a
// scan written by the encoder below, and its true checkpoints. Most are then damaged: bits and
// bytes of the scan, positions and blocks of checkpoints, restarts, counts and values of tables,
// the crop, or all bytes at once. Sound ones must come out without a flag. Half of all images are
// passed as the host does for a crop, with only the data that it needs; for the sound ones the
// output must equal that of decoding everything.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "fdconvert.cu"

namespace {

std::mt19937_64 generator;

u32 below(u32 bound) { return (u32)(generator() % bound); }
bool one_in(u32 n) { return below(n) == 0; }

struct Code {
    u32 bits = 0, code = 0;
};

// A table with codes of random lengths for all values that the encoder needs.
struct Table {
    RawTable raw;
    Code codes[256];
};

void assign(Table& table) {
    u32 code = 0, at = 0;
    for (u32 bits = 1; bits <= 16; ++bits) {
        for (u32 i = 0; i < table.raw.counts[bits - 1]; ++i, ++at, ++code) {
            table.codes[table.raw.values[at & 255]] = {bits, code};
        }
        code <<= 1;
    }
}

Table make_table(bool is_ac) {
    Table table;
    std::memset(&table.raw, 0, sizeof table.raw);
    table.raw.is_ac = is_ac;
    std::vector<u8> values;
    if (is_ac) {
        for (u32 value = 0; value < 256; ++value) {
            const u32 run = value >> 4, size = value & 15;
            if (size != 0 ? size <= 10 : run == 0 || run == 15) values.push_back((u8)value);
        }
    } else {
        for (u32 value = 0; value < 12; ++value) values.push_back((u8)value);
    }
    std::shuffle(values.begin(), values.end(), generator);
    // Room in units of 16-bit codes, one of which stays free; the remaining codes must still fit.
    u32 room = 65535, bits = 1 + below(6);
    for (u32 at = 0; at < values.size(); ++at) {
        const u32 left = (u32)values.size() - at - 1;
        while (bits < 16 && ((1u << (16 - bits)) > room - left || one_in(12))) bits += 1;
        table.raw.counts[bits - 1] += 1;
        room -= 1u << (16 - bits);
    }
    std::memcpy(table.raw.values, values.data(), values.size());
    assign(table);
    return table;
}

u32 n_second(const RawTable& table) {
    u32 entries = 0;
    for (u32 bits = 11; bits <= 16; ++bits) entries += (u32)table.counts[bits - 1] << (16 - bits);
    return divide_up(entries, 64);
}

struct Writer {
    std::vector<u8> bytes;
    u32 bit = 0;

    void put(u32 value, u32 n_bits) {
        for (u32 i = n_bits; i-- > 0;) {
            if (bit % 8 == 0) bytes.push_back(0);
            bytes.back() |= (u8)((value >> i & 1) << (7 - bit % 8));
            bit += 1;
        }
    }
    void pad() {
        while (bit % 8 != 0) put(1, 1);
    }
};

void put_value(Writer& writer, const Table& table, u32 run, i32 value) {
    u32 size = 0;
    for (i32 rest = value < 0 ? -value : value; rest != 0; rest >>= 1) size += 1;
    const Code code = table.codes[run << 4 | size];
    writer.put(code.code, code.bits);
    writer.put((u32)(value < 0 ? value + (1 << size) - 1 : value), size);
}

// Prediction of the DC values of each component.
struct Prediction {
    u32 of[3] = {0, 0, 0};
};

// Everything that the kernels receive for one image.
struct Case {
    Image image;
    std::vector<u8> scan;
    std::vector<Segment> segments;
    std::vector<Prediction> predictions;  // At the start of each segment.
    std::vector<u32> restarts;
    std::vector<RawTable> tables;
    std::vector<u16> quantisation;
    u32 out_width, out_height, dtype, order;
};

u32 floor_to(u32 value, u32 step) { return value - value % step; }

// Returns the DC difference.
i32 put_block(Writer& writer, const Table& dc, const Table& ac) {
    const i32 difference = (i32)below(400) - 200;
    put_value(writer, dc, 0, difference);
    u32 place = 1;
    while (place < 64 && !one_in(6)) {
        const u32 run = one_in(8) ? below(40) : below(4);
        u32 zeros = smaller(run, 63 - place);
        place += zeros;
        for (; zeros > 15; zeros -= 16) writer.put(ac.codes[0xF0].code, ac.codes[0xF0].bits);
        i32 value = (i32)below(1u << (1 + below(10))) - (1 << below(9));
        value = value == 0 ? 1 : value > 1023 ? 1023 : value;
        put_value(writer, ac, zeros, value);
        place += 1;
    }
    if (place < 64) writer.put(ac.codes[0].code, ac.codes[0].bits);
    return difference;
}

Case make_case() {
    Case made = {};
    Image& image = made.image;
    const u32 max_side = one_in(20) ? 200 : 40;
    image.width = 1 + below(max_side), image.height = 1 + below(max_side);
    image.n_components = one_in(4) ? 1 : 3;
    image.color = image.n_components == 1 ? (u32)COLOR_GRAY : one_in(4) ? (u32)COLOR_RGB : (u32)COLOR_YCBCR;
    const u32 largest = 1 + below(2), tallest = 1 + below(2);
    image.max_h = image.max_v = 1;
    u32 slot = 0;
    for (u32 i = 0; i < 3; ++i) {
        const bool is_single = image.n_components == 1;
        image.h[i] = is_single ? 1 : i == 0 ? largest : 1 + below(largest);
        image.v[i] = is_single ? 1 : i == 0 ? tallest : 1 + below(tallest);
        if (i == 0 || (i == 1 && !is_single) || (i == 2 && !is_single)) {
            image.max_h = image.h[i] > image.max_h ? image.h[i] : image.max_h;
            image.max_v = image.v[i] > image.max_v ? image.v[i] : image.max_v;
        }
    }
    for (u32 i = 0; i < image.n_components; ++i) {
        for (u32 y = 0; y < image.v[i]; ++y) {
            for (u32 x = 0; x < image.h[i] && slot < MAX_SLOTS; ++x, ++slot) {
                image.slot_component |= i << (2 * slot);
                image.slot_x |= x << (2 * slot);
                image.slot_y |= y << (2 * slot);
            }
        }
    }
    u32 n_slots = 0;
    for (u32 i = 0; i < image.n_components; ++i) n_slots += image.h[i] * image.v[i];
    if (n_slots > MAX_SLOTS) return make_case();
    image.blocks_per_mcu = n_slots;
    image.mcus_x = divide_up(image.width, 8 * image.max_h);
    image.mcus_y = divide_up(image.height, 8 * image.max_v);
    image.n_blocks = image.mcus_x * image.mcus_y * n_slots;
    image.n_pairs = 1 + below(3);
    std::vector<Table> tables;
    for (u32 i = 0; i < image.n_pairs; ++i) {
        image.dc_table[i] = (u32)tables.size();
        tables.push_back(make_table(false));
        image.ac_table[i] = (u32)tables.size();
        tables.push_back(make_table(true));
    }
    for (u32 i = 0; i < 3; ++i) image.pair[i] = below(image.n_pairs);
    for (u32 i = 0; i < 64; ++i) made.quantisation.push_back((u16)(one_in(9) ? below(65536) : 1 + below(99)));

    const u32 grid = 64u << below(5), interval = one_in(2) ? 0 : 1 + below(8);
    Writer writer;
    Prediction prediction;
    u32 next = 0;
    for (u32 block = 0; block < image.n_blocks; ++block) {
        const u32 mcu = block / n_slots, within = block % n_slots;
        bool resets = block == 0;
        if (interval != 0 && block != 0 && within == 0 && mcu % interval == 0) {
            writer.pad();
            made.restarts.push_back(writer.bit / 8);
            prediction = {};
            resets = true;
        }
        if (resets || writer.bit >= next) {
            made.segments.push_back({writer.bit, block | (resets ? RESETS : 0)});
            made.predictions.push_back(prediction);
            next = (writer.bit / grid + 1) * grid;
        }
        const u32 component = slot_component(image, within), pair = image.pair[component];
        prediction.of[component] += (u32)put_block(writer, tables[2 * pair], tables[2 * pair + 1]);
    }
    made.segments.push_back({writer.bit, image.n_blocks});
    image.total_bits = writer.bit, image.needed_bytes = 0xFFFFFFFF;
    image.end_block = image.n_blocks;
    image.mcus = {0, image.mcus_x, 0, image.mcus_y};
    writer.pad();
    u32 restart = 0;
    for (u32 at = 0; at < writer.bytes.size(); ++at) {
        if (restart < made.restarts.size() && made.restarts[restart] == at) {
            for (u32 fill = below(3); fill > 0; --fill) made.scan.push_back(0xFF);
            made.scan.push_back(0xFF);
            made.scan.push_back((u8)(0xD0 | (restart & 7)));
            restart += 1;
        }
        made.scan.push_back(writer.bytes[at]);
        if (writer.bytes[at] == 0xFF) made.scan.push_back(0);
    }
    for (const Table& table : tables) made.tables.push_back(table.raw);

    Crop& crop = image.crop;
    crop.first_x = below(image.width), crop.end_x = crop.first_x + 1 + below(image.width - crop.first_x);
    crop.first_y = below(image.height), crop.end_y = crop.first_y + 1 + below(image.height - crop.first_y);
    made.out_width = 1 + below(20), made.out_height = 1 + below(20);
    crop.left = (f32)crop.first_x, crop.top = (f32)crop.first_y;
    crop.step_x = (f32)(crop.end_x - crop.first_x) / (f32)made.out_width;
    crop.step_y = (f32)(crop.end_y - crop.first_y) / (f32)made.out_height;
    crop.flip = below(2);
    made.dtype = below(4), made.order = below(2);
    return made;
}

// The MCUs of the window in one direction, with one sample more for each component that is
// enlarged.
void margin(u32 first, u32 end, const u32* factors, u32 n, u32 largest, u32 n_mcus, u32& from, u32& to) {
    from = n_mcus, to = 0;
    for (u32 i = 0; i < n; ++i) {
        const u32 more = factors[i] < largest ? 1 : 0;
        u32 low = first * factors[i] / largest, high = divide_up(end * factors[i], largest) + more;
        low = (low > more ? low - more : 0) / (8 * factors[i]);
        high = smaller(divide_up(high, 8 * factors[i]), n_mcus);
        from = smaller(from, low), to = high > to ? high : to;
    }
}

// Keeps the segments that the crop needs: those with blocks of the window, and those before them
// back to a start of the DC prediction; or from the first such segment on, if its prediction is
// given.
void trim(Case& made) {
    Image& image = made.image;
    const Crop& crop = image.crop;
    Mcus& mcus = image.mcus;
    const u32 n = image.n_components;
    margin(crop.first_x, crop.end_x, image.h, n, image.max_h, image.mcus_x, mcus.first_x, mcus.end_x);
    margin(crop.first_y, crop.end_y, image.v, n, image.max_v, image.mcus_y, mcus.first_y, mcus.end_y);
    const u32 n_segments = (u32)made.segments.size() - 1;
    std::vector<bool> needed(n_segments + 1);
    for (u32 i = 0; i < n_segments; ++i) {
        const u32 end = made.segments[i + 1].block & ~RESETS;
        for (u32 block = made.segments[i].block & ~RESETS; block < end; ++block) {
            const u32 mcu = block / image.blocks_per_mcu;
            const u32 x = mcu % image.mcus_x, y = mcu / image.mcus_x;
            if (x >= mcus.first_x && x < mcus.end_x && y >= mcus.first_y && y < mcus.end_y) needed[i] = true;
        }
    }
    u32 first = 0;
    while (!needed[first]) first += 1;
    const bool is_told = one_in(2);
    if (is_told) std::memcpy(image.first_dc, made.predictions[first].of, sizeof image.first_dc);
    for (u32 i = n_segments; i-- > (is_told ? first : 0);) {
        if (needed[i + 1] && (made.segments[i + 1].block & RESETS) == 0) needed[i] = true;
    }
    std::vector<Segment> kept;
    u32 end = 0;
    image.base_block = image.n_blocks;
    for (u32 i = 0; i < n_segments; ++i) {
        Segment segment = made.segments[i];
        if (needed[i]) {
            kept.push_back(segment);
            image.base_block = smaller(image.base_block, floor_to(segment.block & ~RESETS, image.blocks_per_mcu));
            end = i + 1;
        } else if (!kept.empty() && needed[i - 1]) {
            segment.block |= SKIPPED;
            kept.push_back(segment);
        }
    }
    while (kept.back().block & SKIPPED) kept.pop_back();
    kept.push_back(made.segments[end]);
    image.end_block = made.segments[end].block & ~RESETS;
    if (end < n_segments) image.needed_bytes = divide_up(made.segments[end].bit, 8);
    made.segments = kept;
}

// Damage that passes the checks of the host, or that no check exists for.
void damage(Case& made) {
    for (u32 n = 1 + below(4); n > 0; --n) {
        switch (below(10)) {
            case 0: made.scan[below((u32)made.scan.size())] ^= (u8)(1u << below(8)); break;
            case 1: made.scan[below((u32)made.scan.size())] = one_in(2) ? 0xFF : (u8)below(256); break;
            case 2: made.scan.resize(1 + below((u32)made.scan.size())); break;
            case 3:
                for (u8& byte : made.scan) byte = (u8)below(256);
                break;
            case 4: made.segments[below((u32)made.segments.size())].bit = (u32)generator() >> below(32); break;
            case 5: made.segments[below((u32)made.segments.size())].block = (u32)generator() >> below(32); break;
            case 6:
                if (!made.restarts.empty()) made.restarts[below((u32)made.restarts.size())] += below(9) - 4;
                break;
            case 7: made.tables[below((u32)made.tables.size())].values[below(256)] = (u8)below(256); break;
            case 8: made.tables[below((u32)made.tables.size())].counts[below(16)] = (u8)below(256); break;
            case 9: {
                Crop& crop = made.image.crop;
                const u32 bits = (u32)generator();
                f32* field[] = {&crop.left, &crop.top, &crop.step_x, &crop.step_y};
                std::memcpy(field[below(4)], &bits, 4);
                break;
            }
        }
    }
}

// Exactly as many values as requested, so that the sanitizer knows the end.
template <typename T>
struct Exact {
    std::unique_ptr<T[]> values;
    explicit Exact(size_t n) : values(new T[n]) { std::memset((void*)values.get(), 0xA5, n * sizeof(T)); }
    explicit Exact(const std::vector<T>& from) : Exact(from.size()) {
        if (!from.empty()) std::memcpy((void*)values.get(), from.data(), from.size() * sizeof(T));
    }
    T* at() { return values.get(); }
};

struct Ran {
    u32 flags;
    std::vector<u32> output;
};

Ran run(Case made) {
    Image& image = made.image;
    image.scan_bytes = (u32)made.scan.size();
    image.n_segments = (u32)made.segments.size() - 1;
    image.n_restarts = (u32)made.restarts.size();
    u32 second = 0;
    for (RawTable& table : made.tables) {
        table.second_at = second;
        table.n_second = n_second(table);
        second += table.n_second * SECOND_ENTRIES;
    }
    const Crop& crop = image.crop;
    const u32 width = crop.end_x - crop.first_x, height = crop.end_y - crop.first_y;
    const size_t n_out = (size_t)made.out_width * made.out_height * 3;
    Exact<u8> scan(made.scan);
    Exact<Segment> segments(made.segments);
    Exact<u32> restarts(made.restarts), words(divide_up(image.scan_bytes, 4));
    Exact<RawTable> tables(made.tables);
    Exact<u16> quantisation(made.quantisation);
    Exact<u32> lookups(made.tables.size() * FIRST_ENTRIES), seconds(second);
    const size_t n_decoded = image.end_block - image.base_block;
    Exact<i16> coefficients(n_decoded * 64);
    Exact<u64> samples((size_t)n_wanted(image) * 8);
    Exact<u8> pixels((size_t)width * height * image.n_components);
    Exact<u16> across((size_t)made.out_width * height * image.n_components);
    const u32 per_word = made.dtype == DTYPE_F32 ? 1 : made.dtype == DTYPE_U8 ? 4 : 2;
    const u32 n_output = divide_up((u32)n_out, per_word);
    Exact<u32> output(n_output);
    State state = {0, 0};
    std::memset(coefficients.at(), 0, n_decoded * 128);
    Batch batch = {};
    image.scan = scan.at();
    batch.images = &image, batch.segments = segments.at();
    batch.restarts = restarts.at(), batch.tables = tables.at(), batch.quantisation = quantisation.at();
    batch.words = words.at(), batch.lookups = lookups.at(), batch.second = seconds.at();
    batch.coefficients = coefficients.at(), batch.samples = (u8*)samples.at(), batch.pixels = pixels.at();
    batch.across = across.at(), batch.output = (u8*)output.at(), batch.states = &state;
    batch.n_tables = (u32)made.tables.size();
    batch.out_width = made.out_width, batch.out_height = made.out_height;
    batch.dtype = made.dtype, batch.order = made.order;
    for (u32 i = 0; i < 3; ++i) batch.factor[i] = 0.017f, batch.offset[i] = -2.0f;
    fdconvert_tables(&batch, batch.n_tables, 1);
    fdconvert_unstuff(&batch, 1, 1);
    fdconvert_huffman(&batch, 1, 1);
    fdconvert_idct(&batch, divide_up(n_wanted(image), IDCT_BLOCKS), 1);
    // Half of the damaged images continue as if no fault had been found.
    const u32 flags = state.flags;
    if (flags != 0 && one_in(2)) state.flags = 0;
    fdconvert_pixels(&batch, divide_up(width * height, PIXEL_THREADS), 1);
    fdconvert_across(&batch, divide_up(made.out_width * height, RESIZE_THREADS), 1);
    fdconvert_down(&batch, divide_up(made.out_width * made.out_height, RESIZE_THREADS), 1);
    return {flags, std::vector<u32>(output.at(), output.at() + n_output)};
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments != 3) {
        std::fprintf(stderr, "damage SEED N\n");
        return 2;
    }
    generator.seed(std::strtoull(arguments[1], nullptr, 10));
    const u64 n = std::strtoull(arguments[2], nullptr, 10);
    u64 n_sound = 0, n_found = 0, n_unfound = 0, n_blocks = 0, n_trimmed = 0;
    for (u64 i = 0; i < n; ++i) {
        Case made = make_case();
        n_blocks += made.image.n_blocks;
        const bool is_sound = one_in(8);
        const Case whole = made;
        const bool is_trimmed = one_in(2);
        if (is_trimmed) trim(made);
        if (!is_sound) damage(made);
        const Ran ran = run(made);
        if (is_sound && ran.flags != 0) {
            std::fprintf(stderr, "image %llu is sound, and has flags %u\n", i, ran.flags);
            return 1;
        }
        if (is_sound && is_trimmed) {
            if (ran.output != run(whole).output) {
                std::fprintf(stderr, "image %llu is another when all of it is decoded\n", i);
                return 1;
            }
            n_trimmed += 1;
        }
        (is_sound ? n_sound : ran.flags != 0 ? n_found : n_unfound) += 1;
    }
    std::printf("%llu images, %llu blocks: %llu sound (%llu crops equal to all of it), %llu damaged and "
                "found, %llu damaged and not found\n", n, n_blocks, n_sound, n_trimmed, n_found, n_unfound);
    return 0;
}

// Makes decoding tables from those of the file, one block of threads per table. The layout of an
// entry is that of the crate fdconvert-jpeg (`Code` in huffman.rs):
//
//     bits 0 to 5    bits of code and value together, 1 to 31
//     bits 6 to 10   bits of the code, 1 to 16
//     bits 11 to 14  bits of the value, 0 to 15
//     bits 16 to 22  places of the block it fills, 1 to 16; 64 for the end of the block
//     bit 30         no code
//     bit 31         the rest is where the 64 entries of a second table start
//
// The first ten bits select an entry, or a second table that the next six bits index. Codes are
// assigned in order of their lengths, so codes of more than ten bits share the prefixes from some
// `lead` on: the second tables are consecutive, and their number follows from the counts.
//
// Every entry takes at least one bit and fills at least one place, whatever the table says, so no
// decoder can loop forever.
#pragma once

constexpr u32 TABLE_THREADS = 128;
constexpr u32 FIRST_BITS = 10;
constexpr u32 FIRST_ENTRIES = 1 << FIRST_BITS;
constexpr u32 SECOND_BITS = 6;
constexpr u32 SECOND_ENTRIES = 1 << SECOND_BITS;
constexpr u32 MAX_CODE_BITS = FIRST_BITS + SECOND_BITS;
constexpr u32 ENTRY_SECOND = 1u << 31;
constexpr u32 ENTRY_NO_CODE = 1u << 30;
constexpr u32 WHOLE_BLOCK = 64;
constexpr u32 NO_CODE = ENTRY_NO_CODE | WHOLE_BLOCK << 16 | 1 << 6 | 1;

struct TableShared {
    u8 counts[16];
    u8 values[256];
    // By length: the first code, and the index of its value.
    u32 first_code[MAX_CODE_BITS + 2];
    u32 first_value[MAX_CODE_BITS + 2];
    u32 lead;
};

FD_DEVICE u32 make_entry(u32 bits, u32 value, bool is_ac) {
    const u32 run = value >> 4, size = value & 15;
    u32 places = run + 1;
    if (is_ac && value == 0) {
        places = WHOLE_BLOCK;
    } else if (is_ac ? size == 0 && run < 15 : run != 0) {
        // Runs without a value have a meaning in progressive scans only.
        return NO_CODE;
    }
    return (bits + size) | bits << 6 | size << 11 | places << 16;
}

// The entry of the code that starts `prefix`, if it has `shortest` to `n_bits` bits.
FD_DEVICE u32 find_entry(const TableShared& shared, u32 prefix, u32 n_bits, u32 shortest,
                         bool is_ac) {
    for (u32 bits = shortest; bits <= n_bits; ++bits) {
        const u32 within = (prefix >> (n_bits - bits)) - shared.first_code[bits];
        if (within < shared.counts[bits - 1]) {
            const u32 place = (shared.first_value[bits] + within) & 255;
            return make_entry(bits, shared.values[place], is_ac);
        }
    }
    return NO_CODE;
}

FD_DEVICE void table_load(TableShared& shared, const RawTable& table, u32 thread) {
    for (u32 i = thread; i < 256; i += TABLE_THREADS) {
        shared.values[i] = table.values[i];
    }
    if (thread < 16) {
        shared.counts[thread] = table.counts[thread];
    }
}

FD_DEVICE void table_codes(TableShared& shared, u32 thread) {
    if (thread != 0) {
        return;
    }
    u32 code = 0, value = 0;
    for (u32 bits = 1; bits <= MAX_CODE_BITS; ++bits) {
        shared.first_code[bits] = code;
        shared.first_value[bits] = value;
        code = (code + shared.counts[bits - 1]) << 1;
        value += shared.counts[bits - 1];
    }
    shared.lead = shared.first_code[FIRST_BITS + 1] >> 1;
}

FD_DEVICE void table_first(TableShared& shared, const RawTable& table, u32* lookup, u32 thread) {
    for (u32 prefix = thread; prefix < FIRST_ENTRIES; prefix += TABLE_THREADS) {
        u32 entry = find_entry(shared, prefix, FIRST_BITS, 1, table.is_ac != 0);
        const u32 number = prefix - shared.lead;
        if (entry == NO_CODE && number < table.n_second) {
            entry = ENTRY_SECOND | (table.second_at + number * SECOND_ENTRIES);
        }
        lookup[prefix] = entry;
    }
}

FD_DEVICE void table_second(TableShared& shared, const RawTable& table, u32* second, u32 thread) {
    for (u32 i = thread; i < table.n_second * SECOND_ENTRIES; i += TABLE_THREADS) {
        const u32 prefix = (shared.lead << SECOND_BITS) + i;
        second[table.second_at + i] =
            find_entry(shared, prefix, MAX_CODE_BITS, FIRST_BITS + 1, table.is_ac != 0);
    }
}

// The structures that the host passes to the kernels. `src/layout.rs` declares them in Rust; a test
// compares the offsets. All numbers are little-endian; the host has sized the memory of every
// array.
#pragma once

// Reasons for which an image of the batch has no pixels; several may be set.
enum Flag : u32 {
    FLAG_CODE = 1,      // Bits that are no code of the table, or a run beyond its block.
    FLAG_SEGMENT = 2,   // A segment that does not end where the next one starts.
    FLAG_RESTART = 4,   // Restart markers that are missing, additional, or misplaced.
    FLAG_LENGTH = 8,    // A scan of another length than its checkpoints say.
    FLAG_RANGE = 16,    // A checkpoint outside of the image.
};

enum Color : u32 { COLOR_GRAY = 0, COLOR_YCBCR = 1, COLOR_RGB = 2 };
enum DType : u32 { DTYPE_U8 = 0, DTYPE_F16 = 1, DTYPE_BF16 = 2, DTYPE_F32 = 3 };
enum Order : u32 { ORDER_NCHW = 0, ORDER_NHWC = 1 };

// The wanted part of an image, in image pixels. The window contains every pixel that the crop
// touches; only it is converted to RGB.
struct Crop {
    f32 left, top;             // Edge of the first output pixel.
    f32 step_x, step_y;        // Image pixels per output pixel.
    u32 first_x, end_x;        // The window.
    u32 first_y, end_y;
    u32 flip;                  // Mirrored left to right if not 0.
};

// The MCUs that contain the window of the crop, with the neighbouring samples that upsampling
// blends in.
struct Mcus {
    u32 first_x, end_x;
    u32 first_y, end_y;
};

struct Image {
    u32 width, height;
    u32 n_components, color;
    u32 mcus_x, mcus_y;
    u32 n_blocks, blocks_per_mcu;
    u32 max_h, max_v;
    u32 h[3], v[3];                              // Sampling factors.
    u32 slot_component, slot_x, slot_y;          // Two bits for each block of an MCU.
    u32 n_pairs;                                 // Different pairs of tables, 1 to 3.
    u32 pair[3];                                 // Pair of tables of each component.
    u32 dc_table[3], ac_table[3];                // Of each pair, an index into the batch's tables.
    u32 quantisation[3];                         // Of each component; index likewise.
    u32 scan_bytes;                              // Including stuffing and markers.
    u32 total_bits;                              // Of the un-stuffed scan, padding left out.
    u32 needed_bytes;                            // Un-stuffing stops after this many.
    u32 words_at;                                // The un-stuffed scan, in words.
    u32 first_segment, n_segments;               // One entry more says where the last one ends.
    u32 first_restart, n_restarts;               // In the whole scan.
    u32 base_block, end_block;                   // Range of decoded blocks, from a whole MCU on.
    u32 first_dc[3];                             // Predictions that the first segment starts from.
    u32 coefficients_at;                         // Block number of `base_block` in the chunk.
    u32 samples_at;                              // In blocks within the chunk.
    Mcus mcus;
    Crop crop;
    const u8* scan;
    u64 pixels_at;                               // Place of the window's RGB or gray bytes.
    u64 across_at;                               // Place of its rows at the output's width.
    u64 output_at;                               // In samples of the output.
};

// Start of a segment, which is also the end of the one before.
struct Segment {
    u32 bit;
    // Bit 31: the DC prediction starts again from 0. Bit 30: the segment is skipped, not decoded;
    // the next one starts the DC prediction again.
    u32 block;
};

// A Huffman table as stored in the file, and the place of its second tables.
struct RawTable {
    u8 counts[16];
    u8 values[256];
    u32 is_ac;
    u32 second_at;       // In entries.
    u32 n_second;        // Number of reserved tables of 64 entries.
};

// Findings of the kernels about an image; zeros before the first one runs.
struct State {
    u32 flags;
    u32 n_bytes;         // Length of the un-stuffed scan.
};

// Kinds of changes to an 8-bit image. change.cuh explains their parameters.
enum ChangeKind : u32 {
    CHANGE_WARP = 0,
    CHANGE_BRIGHTNESS = 1,
    CHANGE_COLOR = 2,
    CHANGE_CONTRAST = 3,
    CHANGE_SHARPNESS = 4,
    CHANGE_POSTERIZE = 5,
    CHANGE_SOLARIZE = 6,
    CHANGE_AUTO_CONTRAST = 7,
    CHANGE_EQUALIZE = 8,
    CHANGE_INVERT = 9,
};

struct Change {
    u32 kind;
    f32 factor;                   // Brightness, color, contrast, sharpness.
    u32 level;                    // Posterize: mask of kept bits. Solarize: first inverted level.
    u32 unused;
    i32 right[2], down[2];        // Warp: x and y of a step to the right and of one down.
    i64 start[2];                 // Warp: x and y of the first pixel.
};

// An 8-bit image on its way to the output.
struct Row {
    u32 first_change, n_changes;
    u32 is_moved;                 // Not 0 if the changes leave it in `spare_rows`.
    u32 flip;                     // Mirrored left to right, after the changes, if not 0.
    u64 output_at;                // In samples of the output.
};

struct FractalImage;              // Defined in fractal.cuh.

// An image drawn as a bitmap, and the visible part of it.
struct Drawing {
    u64 bitmap_at;                // In words.
    u32 row;
    u32 size;                     // Columns and rows of the bitmap.
    u32 left, top;                // Of the visible part, in the (perhaps turned) image.
    u32 mirror, turn;             // Left to right and top to bottom, unless 0.
    u32 level;                    // Level of the bits that are 1.
    u32 unused;
};

// The argument of every kernel except the drawing one.
struct Batch {
    const Image* images;
    const Segment* segments;
    const u32* restarts;          // The byte of the un-stuffed scan after each restart marker.
    const RawTable* tables;
    const u16* quantisation;      // 64 values each, in natural order.
    u32* words;
    u32* lookups;                 // 1024 entries for each table.
    u32* second;
    i16* coefficients;            // 64 for each decoded block, in natural order.
    u8* samples;                  // 64 for each block of the images' `mcus`, as planes.
    u8* pixels;
    u16* across;
    u8* output;
    State* states;
    u32 first_image;              // First of the chunk: block.image counts from here.
    u32 n_tables;
    u32 out_width, out_height;
    u32 dtype, order;
    f32 factor[3], offset[3];     // Per channel: output = sample * factor + offset.
    // 8-bit images, all of the output's size, as interleaved RGB bytes.
    u8* rows;
    u8* spare_rows;               // Of the same size, for changes that read other pixels.
    const Row* row_table;
    const Change* changes;
    const Drawing* drawings;
    const FractalImage* drawn;    // Results of the drawing kernel.
    const u32* bitmaps;
    u32 n_decoded;                // Number of decoded images; states of drawings follow theirs.
    f32 mean[3], deviation[3];    // Per channel, for normalising `rows`.
};

FD_DEVICE u32 slot_component(const Image& image, u32 slot) {
    return image.slot_component >> (2 * slot) & 3;
}

use crate::Class;

/// Reason for which a JPEG gets no entry points. The file may well be sound, and is then decoded
/// from its start. `offset` counts the bytes from the start of the file; `bit` those of the
/// un-stuffed scan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The file does not start like a JPEG.
    #[error("not a JPEG: it does not start with FF D8")]
    NotJpeg,
    /// The file ends before its scan.
    #[error("the JPEG ends at byte {offset}, before its scan")]
    Ends {
        /// The length of the file.
        offset: usize,
    },
    /// There is a stray byte, or a marker at the wrong place.
    #[error("byte {offset} of the JPEG should start another marker than {found:#04x}")]
    Marker {
        /// Byte offset at which the marker should start.
        offset: usize,
        /// The byte found there, or the marker's code.
        found: u8,
    },
    /// The length of a segment does not fit its content.
    #[error("the JPEG segment {marker:#04x} at byte {offset} has a bad length")]
    Length {
        /// Byte offset of the segment.
        offset: usize,
        /// Code of the marker.
        marker: u8,
    },
    /// The image is progressive: several scans refine it (SOF2).
    #[error("the JPEG is progressive (frame at byte {offset})")]
    Progressive {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// A progressive image has a segment, a scan or an end that does not continue what came before,
    /// or leaves bits out; or the image is not progressive.
    #[error("the JPEG's segment at byte {offset} is not the next one of a progressive image")]
    Progression {
        /// Byte offset of the segment.
        offset: usize,
    },
    /// The image has arithmetic codes instead of Huffman's.
    #[error("the JPEG is arithmetically coded (frame at byte {offset})")]
    Arithmetic {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// The image is lossless (SOF3).
    #[error("the JPEG is lossless (frame at byte {offset})")]
    Lossless {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// The image is hierarchical: its frames build upon each other.
    #[error("the JPEG is hierarchical (marker at byte {offset})")]
    Hierarchical {
        /// Byte offset of the marker.
        offset: usize,
    },
    /// The precision is not 8 bits.
    #[error("the JPEG has samples of {bits} bits (frame at byte {offset})")]
    Precision {
        /// Byte offset of the frame header.
        offset: usize,
        /// Bits per sample.
        bits: u8,
    },
    /// The height is 0, so DNL must define it after the scan.
    #[error("the JPEG leaves its height open (frame at byte {offset})")]
    OpenHeight {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// A DNL marker defines the height after the scan.
    #[error("the JPEG gives its height by a DNL marker at byte {offset}")]
    LateHeight {
        /// Byte offset of the marker.
        offset: usize,
    },
    /// The width is 0.
    #[error("the JPEG has no width (frame at byte {offset})")]
    NoWidth {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// There are four components: CMYK or YCCK.
    #[error("the JPEG is CMYK (frame at byte {offset})")]
    Cmyk {
        /// Byte offset of the frame header.
        offset: usize,
    },
    /// There are neither 1 nor 3 components.
    #[error("the JPEG has {n_components} components (frame at byte {offset})")]
    Components {
        /// Byte offset of the frame header.
        offset: usize,
        /// Number of components.
        n_components: u8,
    },
    /// A sampling factor is outside 1 to 4.
    #[error("the JPEG has a component of sampling {h}x{v} (frame at byte {offset})")]
    Sampling {
        /// Byte offset of the frame header.
        offset: usize,
        /// Horizontal factor.
        h: u8,
        /// Vertical factor.
        v: u8,
    },
    /// An MCU has more blocks than the standard allows (10).
    #[error("the JPEG has {n_blocks} blocks per MCU, more than 10 (frame at byte {offset})")]
    BlocksPerMcu {
        /// Byte offset of the frame header.
        offset: usize,
        /// Blocks per MCU.
        n_blocks: u32,
    },
    /// There is a second frame header.
    #[error("the JPEG has a second frame at byte {offset}")]
    SecondFrame {
        /// Byte offset of the second header.
        offset: usize,
    },
    /// A scan comes before any frame header.
    #[error("the JPEG has a scan at byte {offset} without a frame before it")]
    NoFrame {
        /// Byte offset of the scan header.
        offset: usize,
    },
    /// The components are in several scans.
    #[error("the JPEG has several scans (one at byte {offset})")]
    MultiScan {
        /// Byte offset of the scan header.
        offset: usize,
    },
    /// The scan's components are not those of the frame, in order.
    #[error("the JPEG's scan at byte {offset} has other components than its frame")]
    ScanComponents {
        /// Byte offset of the scan header.
        offset: usize,
    },
    /// The scan's spectral selection or approximation is not that of a sequential JPEG.
    #[error("the JPEG's scan at byte {offset} holds only a part of each block")]
    ScanParameters {
        /// Byte offset of the scan header.
        offset: usize,
    },
    /// A component refers to a quantisation table that was not defined.
    #[error("the JPEG's scan at byte {offset} uses quantisation table {index}, which is missing")]
    NoQuantTable {
        /// Byte offset of the scan header.
        offset: usize,
        /// Number of the table.
        index: u8,
    },
    /// A component refers to a Huffman table that was not defined.
    #[error("the JPEG's scan at byte {offset} uses {class} table {index}, which is missing")]
    NoHuffmanTable {
        /// Byte offset of the scan header.
        offset: usize,
        /// DC or AC.
        class: Class,
        /// Number of the table.
        index: u8,
    },
    /// A Huffman table in use is not a prefix code.
    #[error("the JPEG's scan at byte {offset} uses {class} table {index}, which {what}")]
    BadHuffmanTable {
        /// Byte offset of the scan header.
        offset: usize,
        /// DC or AC.
        class: Class,
        /// Number of the table.
        index: u8,
        /// The fault of the table.
        what: &'static str,
    },
    /// The number of a table is above 3, or its class is unknown.
    #[error("the JPEG defines a table of unknown kind {kind:#04x} at byte {offset}")]
    TableKind {
        /// Byte offset of the segment.
        offset: usize,
        /// The byte with class or precision, and table number.
        kind: u8,
    },
    /// The scan is not followed by the end of the image.
    #[error("the JPEG's scan is followed by marker {marker:#04x} at byte {offset}")]
    AfterScan {
        /// Byte offset of the marker.
        offset: usize,
        /// Code of the marker.
        marker: u8,
    },
    /// `FF FF 00` occurs inside the scan: decoders disagree about it.
    #[error("the JPEG's scan has a fill byte inside its data, at byte {offset}")]
    FillByte {
        /// Byte offset of the fill byte.
        offset: usize,
    },
    /// The scan has more bits than 32-bit numbers count.
    #[error("the JPEG's scan has {n_bytes} bytes, which is more than entry points can hold")]
    TooLong {
        /// Length of the scan.
        n_bytes: usize,
    },
    /// A restart marker is out of order, or one too many.
    #[error("the JPEG has restart marker {found} at byte {offset}, where no such is due")]
    Restart {
        /// Byte offset of the marker.
        offset: usize,
        /// Number of the marker, 0 to 7.
        found: u8,
    },
    /// There are fewer restart markers than the restart interval requires.
    #[error("the JPEG has {found} restart markers instead of {expected}")]
    Restarts {
        /// Number of required markers.
        expected: u32,
        /// Number of markers in the scan.
        found: u32,
    },
    /// The bits are no code of the table, or a code without a meaning in a sequential scan.
    #[error("block {block} of the JPEG, near bit {bit} of its scan, has no valid code")]
    BadCode {
        /// Position of the block in scan order.
        block: u32,
        /// Its bit in the scan, to within the block.
        bit: u64,
    },
    /// A run of zeros ends after its block.
    #[error("block {block} of the JPEG, at bit {bit} of its scan, has more than 64 values")]
    LongBlock {
        /// Position of the block in scan order.
        block: u32,
        /// The bit of the scan at which the block starts.
        bit: u64,
    },
    /// The scan, or a restart interval, ends inside a block.
    #[error("the JPEG's data ends inside block {block} of {n_blocks}")]
    DataEnds {
        /// Position of the block in scan order.
        block: u32,
        /// Number of blocks of the image.
        n_blocks: u32,
    },
    /// Data is left after all blocks of the scan, or of a restart interval.
    #[error("{n_bits} bits of the JPEG's data are left after block {block}")]
    DataLeft {
        /// The block after which it is left.
        block: u32,
        /// Number of remaining bits.
        n_bits: u64,
    },
    /// The grid is not one of [`GRIDS_BITS`](crate::GRIDS_BITS).
    #[error("entry points every {grid_bits} bits; 512, 1024, 2048 and 4096 exist")]
    Grid {
        /// The requested grid.
        grid_bits: u32,
    },
    /// The [`Jpeg`](crate::Jpeg) was parsed from other bytes.
    #[error("the JPEG was parsed from other bytes: it should have a scan at {offset}")]
    OtherBytes {
        /// Byte offset at which the scan should start.
        offset: usize,
    },
}

impl Refused {
    /// Returns a short name for the kind of reason, for counts; similar reasons share one.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotJpeg => "not-jpeg",
            Self::Ends { .. } | Self::DataEnds { .. } => "cut-short",
            Self::Marker { .. } | Self::Length { .. } => "bad-marker",
            Self::Progressive { .. } => "progressive",
            Self::Progression { .. } => "progression",
            Self::Arithmetic { .. } => "arithmetic",
            Self::Lossless { .. } => "lossless",
            Self::Hierarchical { .. } => "hierarchical",
            Self::Precision { .. } => "precision",
            Self::OpenHeight { .. } | Self::LateHeight { .. } => "late-height",
            Self::NoWidth { .. }
            | Self::Sampling { .. }
            | Self::BlocksPerMcu { .. }
            | Self::SecondFrame { .. }
            | Self::NoFrame { .. } => "bad-frame",
            Self::Cmyk { .. } => "cmyk",
            Self::Components { .. } => "components",
            Self::MultiScan { .. } | Self::ScanComponents { .. } | Self::ScanParameters { .. } => {
                "several-scans"
            }
            Self::NoQuantTable { .. }
            | Self::NoHuffmanTable { .. }
            | Self::BadHuffmanTable { .. }
            | Self::TableKind { .. } => "bad-tables",
            Self::AfterScan { .. } => "after-scan",
            Self::FillByte { .. } => "fill-byte",
            Self::TooLong { .. } => "too-long",
            Self::Restart { .. } | Self::Restarts { .. } => "bad-restarts",
            Self::BadCode { .. } | Self::LongBlock { .. } => "bad-code",
            Self::DataLeft { .. } => "data-left",
            Self::Grid { .. } => "grid",
            Self::OtherBytes { .. } => "other-bytes",
        }
    }
}

/// Reason for which stored entry points are not used. The image is then decoded from its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryPointError {
    /// The bytes were written by a newer, or much older, program.
    #[error("entry points of version {found}; this build reads version {supported}")]
    Version {
        /// The version of the bytes.
        found: u8,
        /// The version that this build reads.
        supported: u8,
    },
    /// The bytes end too early.
    #[error("the entry points end at byte {len} in the middle")]
    Ends {
        /// Number of available bytes.
        len: usize,
    },
    /// The bytes break the specification, or belong to another image.
    #[error("entry points that do not fit their JPEG: {what}, {found} instead of {expected}")]
    Damaged {
        /// The fault.
        what: &'static str,
        /// The value in the bytes.
        found: u64,
        /// The value that the image or the specification requires, or the nearest such value.
        expected: u64,
    },
}

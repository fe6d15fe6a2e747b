use crate::Class;

/// Why a JPEG gets no entry points. Such a file may well be sound; it is decoded from its start, as
/// ever. `offset` counts the bytes from the start of the file; `bit` those of the un-stuffed scan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It does not start like a JPEG.
    #[error("not a JPEG: it does not start with FF D8")]
    NotJpeg,
    /// The file ends before its scan.
    #[error("the JPEG ends at byte {offset}, before its scan")]
    Ends {
        /// The length of the file.
        offset: usize,
    },
    /// What should be a marker of this place is none.
    #[error("byte {offset} of the JPEG should start another marker than {found:#04x}")]
    Marker {
        /// Where the marker should start.
        offset: usize,
        /// The byte that is there, or the marker's code.
        found: u8,
    },
    /// A segment whose length does not fit what it holds.
    #[error("the JPEG segment {marker:#04x} at byte {offset} has a bad length")]
    Length {
        /// Where the segment starts.
        offset: usize,
        /// Its code.
        marker: u8,
    },
    /// Several scans refine the image (SOF2).
    #[error("the JPEG is progressive (frame at byte {offset})")]
    Progressive {
        /// Where the frame header starts.
        offset: usize,
    },
    /// Arithmetic codes instead of Huffman's.
    #[error("the JPEG is arithmetically coded (frame at byte {offset})")]
    Arithmetic {
        /// Where the frame header starts.
        offset: usize,
    },
    /// Lossless JPEG (SOF3).
    #[error("the JPEG is lossless (frame at byte {offset})")]
    Lossless {
        /// Where the frame header starts.
        offset: usize,
    },
    /// Frames that build upon each other.
    #[error("the JPEG is hierarchical (marker at byte {offset})")]
    Hierarchical {
        /// Where the marker starts.
        offset: usize,
    },
    /// Another precision than 8 bits.
    #[error("the JPEG has samples of {bits} bits (frame at byte {offset})")]
    Precision {
        /// Where the frame header starts.
        offset: usize,
        /// Bits per sample.
        bits: u8,
    },
    /// Height 0: it would be told after the scan, by DNL.
    #[error("the JPEG leaves its height open (frame at byte {offset})")]
    OpenHeight {
        /// Where the frame header starts.
        offset: usize,
    },
    /// A DNL marker, which tells the height after the scan.
    #[error("the JPEG tells its height by a DNL marker at byte {offset}")]
    LateHeight {
        /// Where the marker starts.
        offset: usize,
    },
    /// Width 0.
    #[error("the JPEG has no width (frame at byte {offset})")]
    NoWidth {
        /// Where the frame header starts.
        offset: usize,
    },
    /// Four components: CMYK or YCCK.
    #[error("the JPEG is CMYK (frame at byte {offset})")]
    Cmyk {
        /// Where the frame header starts.
        offset: usize,
    },
    /// Neither 1 nor 3 components.
    #[error("the JPEG has {n_components} components (frame at byte {offset})")]
    Components {
        /// Where the frame header starts.
        offset: usize,
        /// The number of it has.
        n_components: u8,
    },
    /// A sampling factor outside 1 to 4.
    #[error("the JPEG has a component of sampling {h}x{v} (frame at byte {offset})")]
    Sampling {
        /// Where the frame header starts.
        offset: usize,
        /// Horizontal factor.
        h: u8,
        /// Vertical factor.
        v: u8,
    },
    /// More blocks in an MCU than the standard allows (10).
    #[error("the JPEG has {n_blocks} blocks per MCU, more than 10 (frame at byte {offset})")]
    BlocksPerMcu {
        /// Where the frame header starts.
        offset: usize,
        /// Blocks per MCU.
        n_blocks: u32,
    },
    /// A second frame header.
    #[error("the JPEG has a second frame at byte {offset}")]
    SecondFrame {
        /// Where it starts.
        offset: usize,
    },
    /// A scan before any frame header.
    #[error("the JPEG has a scan at byte {offset} without a frame before it")]
    NoFrame {
        /// Where the scan header starts.
        offset: usize,
    },
    /// The components are spread over several scans.
    #[error("the JPEG has several scans (one at byte {offset})")]
    MultiScan {
        /// Where the scan header starts.
        offset: usize,
    },
    /// The scan's components are not those of the frame, in order.
    #[error("the JPEG's scan at byte {offset} has other components than its frame")]
    ScanComponents {
        /// Where the scan header starts.
        offset: usize,
    },
    /// The scan's spectral selection or approximation is not that of a sequential JPEG.
    #[error("the JPEG's scan at byte {offset} holds only a part of each block")]
    ScanParameters {
        /// Where the scan header starts.
        offset: usize,
    },
    /// A component refers to a quantisation table that was not defined.
    #[error("the JPEG's scan at byte {offset} uses quantisation table {index}, which is missing")]
    NoQuantTable {
        /// Where the scan header starts.
        offset: usize,
        /// The number of the table.
        index: u8,
    },
    /// A component refers to a Huffman table that was not defined.
    #[error("the JPEG's scan at byte {offset} uses {class} table {index}, which is missing")]
    NoHuffmanTable {
        /// Where the scan header starts.
        offset: usize,
        /// DC or AC.
        class: Class,
        /// The number of the table.
        index: u8,
    },
    /// A Huffman table in use that is not a prefix code.
    #[error("the JPEG's scan at byte {offset} uses {class} table {index}, which {what}")]
    BadHuffmanTable {
        /// Where the scan header starts.
        offset: usize,
        /// DC or AC.
        class: Class,
        /// The number of the table.
        index: u8,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The number of a table is above 3, or its class is unknown.
    #[error("the JPEG defines a table of unknown kind {kind:#04x} at byte {offset}")]
    TableKind {
        /// Where the segment starts.
        offset: usize,
        /// The byte with class or precision, and number.
        kind: u8,
    },
    /// Something else than the end of the image follows the scan.
    #[error("the JPEG's scan is followed by marker {marker:#04x} at byte {offset}")]
    AfterScan {
        /// Where the marker starts.
        offset: usize,
        /// Its code.
        marker: u8,
    },
    /// `FF FF 00` inside the scan: decoders disagree about it.
    #[error("the JPEG's scan has a fill byte inside its data, at byte {offset}")]
    FillByte {
        /// Where.
        offset: usize,
    },
    /// A scan whose bits 32-bit numbers do not count.
    #[error("the JPEG's scan has {n_bytes} bytes, which is more than entry points can tell")]
    TooLong {
        /// Its length.
        n_bytes: usize,
    },
    /// A restart marker that is not the next one in turn, or one too many.
    #[error("the JPEG has restart marker {found} at byte {offset}, where no such is due")]
    Restart {
        /// Where the marker starts.
        offset: usize,
        /// Its number, 0 to 7.
        found: u8,
    },
    /// Fewer restart markers than the restart interval demands.
    #[error("the JPEG has {found} restart markers instead of {expected}")]
    Restarts {
        /// The number of the scan should have.
        expected: u32,
        /// The number of it has.
        found: u32,
    },
    /// Bits that are no code of the table, or a code that a sequential scan gives no meaning.
    #[error("block {block} of the JPEG, near bit {bit} of its scan, has no valid code")]
    BadCode {
        /// The block, counted in the order of the scan.
        block: u32,
        /// Where, to within the block.
        bit: u64,
    },
    /// A run of zeros that ends behind the block.
    #[error("block {block} of the JPEG, at bit {bit} of its scan, has more than 64 values")]
    LongBlock {
        /// The block, counted in the order of the scan.
        block: u32,
        /// Where the block starts.
        bit: u64,
    },
    /// The scan, or a restart interval, ends inside a block.
    #[error("the JPEG's data ends inside block {block} of {n_blocks}")]
    DataEnds {
        /// The block, counted in the order of the scan.
        block: u32,
        /// The blocks of the image.
        n_blocks: u32,
    },
    /// Data is left when all blocks of the scan, or of a restart interval, are there.
    #[error("{n_bits} bits of the JPEG's data are left after block {block}")]
    DataLeft {
        /// The block behind which they are.
        block: u32,
        /// How many.
        n_bits: u64,
    },
    /// Not one of [`GRIDS_BITS`](crate::GRIDS_BITS).
    #[error("entry points every {grid_bits} bits; 512, 1024, 2048 and 4096 exist")]
    Grid {
        /// What was asked for.
        grid_bits: u32,
    },
    /// The bytes are not those that the [`Jpeg`](crate::Jpeg) was parsed from.
    #[error("the JPEG was parsed from other bytes: it should have a scan at {offset}")]
    OtherBytes {
        /// Where the scan should start.
        offset: usize,
    },
}

impl Refused {
    /// A short name for the kind of reason, for counts; reasons that people would treat alike
    /// share one.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotJpeg => "not-jpeg",
            Self::Ends { .. } | Self::DataEnds { .. } => "cut-short",
            Self::Marker { .. } | Self::Length { .. } => "bad-marker",
            Self::Progressive { .. } => "progressive",
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

/// Why stored entry points are not used. The image is then decoded from its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryPointError {
    /// Written by a program that is newer, or much older, than this one.
    #[error("entry points of version {found}; this build reads version {supported}")]
    Version {
        /// The version of the bytes.
        found: u8,
        /// The one this build reads.
        supported: u8,
    },
    /// The bytes end too early.
    #[error("the entry points end at byte {len} in the middle")]
    Ends {
        /// The number of bytes there are.
        len: usize,
    },
    /// Bytes that break the specification, or are not of this image.
    #[error("entry points that do not fit their JPEG: {what}, {found} instead of {expected}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
        /// What the bytes say.
        found: u64,
        /// What the image or the specification demands, or the nearest such value.
        expected: u64,
    },
}

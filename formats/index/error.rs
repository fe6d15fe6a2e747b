/// Why a block, or a part of it, cannot be used. Offsets count from the start of the block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The bytes break the specification.
    #[error("index block: at its byte {offset}: {what}")]
    Damaged {
        /// Byte offset in the block.
        offset: u64,
        /// Problem: what was expected and what was found.
        what: String,
    },
    /// Written by a program that is newer, or much older, than this one.
    #[error("index block of version {found}; this build reads version {supported}")]
    Version {
        /// Version in the block.
        found: u32,
        /// The one this build reads.
        supported: u32,
    },
    /// A section that must be understood is not.
    #[error("index block has a required section of kind {kind}, which this build does not know")]
    Section {
        /// Its kind.
        kind: u32,
    },
    /// The caller asked for a sample or field that is not there.
    #[error("index block has no {what} {asked}, only {len}")]
    Position {
        /// "sample" or "region".
        what: &'static str,
        /// Position asked for.
        asked: u64,
        /// Number of them.
        len: u64,
    },
}

impl IndexError {
    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { offset, what: what.into() }
    }
}

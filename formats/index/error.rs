/// Reason for which a block, or a part of it, cannot be used. Offsets count from the start of the
/// block.
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
    /// The block was written by a newer, or much older, program.
    #[error("index block of version {found}; this build reads version {supported}")]
    Version {
        /// Version in the block.
        found: u32,
        /// Version that this build reads.
        supported: u32,
    },
    /// A required section is unknown.
    #[error("index block has a required section of kind {kind}, which this build does not know")]
    Section {
        /// Kind of the section.
        kind: u32,
    },
    /// The caller requested a sample or field that does not exist.
    #[error("index block has no {what} {asked}, only {len}")]
    Position {
        /// "sample" or "region".
        what: &'static str,
        /// The requested position.
        asked: u64,
        /// Number of samples or regions.
        len: u64,
    },
}

impl IndexError {
    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { offset, what: what.into() }
    }
}

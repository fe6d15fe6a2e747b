//! A fake format with chosen properties, for tests of the steps before anything is written.
use fdconvert_core::{
    Capabilities, Codec, Create, Error, Format, ImageHeader, Layout, OpenOptions, OptionValues,
    Reader, Result, ShardWriter,
};
use std::path::Path;

/// Answers the questions of policies and plans, and neither writes nor reads.
pub struct Fake {
    holds: fn(&ImageHeader) -> bool,
    fallback: Codec,
    is_sharded: bool,
}

impl Fake {
    /// Creates a format of one file, from the images that it can store unchanged and the codec of
    /// the others.
    #[must_use]
    pub const fn new(holds: fn(&ImageHeader) -> bool, fallback: Codec) -> Self {
        Self { holds, fallback, is_sharded: false }
    }

    /// Makes it a folder of shards.
    #[must_use]
    pub const fn sharded(self) -> Self {
        Self { is_sharded: true, ..self }
    }
}

/// Like a folder: any file, but no raw pixels.
pub const FILES: Fake = Fake::new(|header| !matches!(header.codec, Codec::Raw), Codec::Png);

/// Like a dataset of shards: any image.
pub const SHARDS: Fake = Fake::new(|_| true, Codec::Png).sharded();

impl Format for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn about(&self) -> &'static str {
        "for tests"
    }

    fn with_options(&self, _: &OptionValues) -> Result<Box<dyn Format>> {
        Err(refusal())
    }

    fn detect(&self, _: &Path) -> bool {
        false
    }

    fn suits(&self, _: &Path) -> bool {
        false
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        (self.holds)(header)
    }

    fn fallback(&self) -> Codec {
        self.fallback
    }

    fn capabilities(&self) -> Capabilities {
        let layout = if self.is_sharded { Layout::Shards } else { Layout::File };
        Capabilities { layout, ..Capabilities::default() }
    }

    fn create(&self, _: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Err(refusal())
    }

    fn open_with(&self, _: &Path, _: &OpenOptions) -> Result<Box<dyn Reader>> {
        Err(refusal())
    }
}

fn refusal() -> Error {
    Error::usage("fake", "it only answers")
}

#[cfg(feature = "write")]
use super::writer::{ParquetWriter, finished};
use super::{
    ParquetReader,
    layout::{FORMAT, MAX_VALUE_BYTES},
    open::{files, is_parquet},
};
use fdconvert_core::{
    Capabilities, Codec, Create, Format, ImageHeader, MaxDecompressed, OptionValues, Reader,
    Result, ShardSummary, ShardWriter,
};
use fdconvert_storage::place;
use std::{ffi::OsStr, path::Path};

/// The format. It has no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["datasets", "huggingface"]
    }

    fn about(&self) -> &'static str {
        "A table as Hugging Face `datasets` writes and reads it"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_sample_bytes: Some(MAX_VALUE_BYTES), ..Capabilities::default() }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, &[])?;
        Ok(Box::new(*self))
    }

    /// A file that begins as such files do, or a folder with files that are called so.
    fn detect(&self, path: &Path) -> bool {
        match place::look(path) {
            Ok(Some(place::Kind::File)) => is_parquet(path),
            Ok(Some(place::Kind::Folder)) => {
                // Beside folders of images img2dataset writes tables that are called as they are.
                let is_of_folder = |file: &Path| {
                    matches!(place::look(&file.with_extension("")), Ok(Some(place::Kind::Folder)))
                };
                files(path).is_ok_and(|files| {
                    files.first().is_some_and(|first| is_parquet(first) && !is_of_folder(first))
                })
            }
            _ => false,
        }
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension() == Some(OsStr::new(FORMAT))
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        header.codec != Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        finished(request)
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Ok(Box::new(ParquetWriter::create(request)?))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Reader>> {
        self.open_within(path, MaxDecompressed::default())
    }

    fn open_within(&self, path: &Path, limit: MaxDecompressed) -> Result<Box<dyn Reader>> {
        Ok(Box::new(ParquetReader::open_within(path, limit)?))
    }
}

#[cfg(feature = "write")]
use super::writer::{ParquetWriter, finished};
use super::{
    ParquetReader,
    files::{Listing, is_parquet},
    layout::{FORMAT, MAX_VALUE_BYTES},
};
use crate::sidecars;
use fdconvert_core::{
    Capabilities, Codec, Create, Error, Format, FormatOption, ImageHeader, OpenOptions,
    OptionValues, Reader, Result, ShardSummary, ShardWriter, option,
};
use fdconvert_storage::place;
use std::{ffi::OsStr, path::Path};

const OPTIONS: &[FormatOption] = &[sidecars::OPTION];

/// The format, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parquet {
    pub(crate) croissant: bool,
}

impl Format for Parquet {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["datasets", "huggingface"]
    }

    fn about(&self) -> &'static str {
        "a table as Hugging Face `datasets` writes and reads it"
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_sample_bytes: Some(MAX_VALUE_BYTES),
            counts_last: true,
            ..Capabilities::default()
        }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, OPTIONS)?;
        let mut parquet = *self;
        if let Some(list) = values.choice(sidecars::OPTION.name) {
            parquet.croissant = has_croissant(list)?;
        }
        Ok(Box::new(parquet))
    }

    /// Recognises a file with Parquet's magic, and a folder of files with its extensions.
    fn detect(&self, path: &Path) -> bool {
        match place::look(path) {
            Ok(Some(place::Kind::File)) => is_parquet(path),
            Ok(Some(place::Kind::Folder)) => {
                // img2dataset writes tables of the same names as folders of images beside those.
                let is_of_folder = |file: &Path| {
                    matches!(place::look(&file.with_extension("")), Ok(Some(place::Kind::Folder)))
                };
                match Listing::of(path) {
                    Ok(Listing::Files(files, _)) => files
                        .first()
                        .is_some_and(|first| is_parquet(&first.path) && !is_of_folder(&first.path)),
                    Ok(Listing::Configurations(_)) => true,
                    Err(_) => false,
                }
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
        Ok(Box::new(ParquetWriter::create(request, self.croissant)?))
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(ParquetReader::open_with(path, options)?))
    }
}

/// Returns true if a list of sidecars contains the only one supported.
fn has_croissant(list: &str) -> Result<bool> {
    if let Some(word) = list.split(',').map(str::trim).find(|word| ["card", "hf"].contains(word)) {
        let what = format!(
            "`{word}` is for tar shards: Hugging Face datasets finds the classes and sizes of a \
             Parquet file in the file; leave it out"
        );
        return Err(Error::usage(option::SIDECARS, what));
    }
    Ok(sidecars::chosen(list, FORMAT)?.contains(&"croissant"))
}

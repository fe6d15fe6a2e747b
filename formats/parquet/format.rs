use super::{
    ParquetReader,
    files::{Listing, has_extension, is_parquet},
    layout::{FORMAT, IMAGE_FRAMING_BYTES, MAX_VALUE_BYTES},
    manifest::NAME,
};
#[cfg(feature = "write")]
use super::{
    card, edit, shards,
    writer::{ParquetWriter, finished},
};
#[cfg(feature = "write")]
use crate::shards::existing;
use crate::sidecars;
use fdconvert_core::{
    Capabilities, Codec, Create, Error, Format, FormatOption, ImageHeader, Kind, Layout,
    OpenOptions, OptionValues, Reader, Remark, Result, Schema, ShardSummary, ShardWriter, option,
};
#[cfg(feature = "write")]
use fdconvert_core::{Complete, Edit, Existing, LogEntry, Shard, Version};
use fdconvert_storage::place;
use std::path::Path;
#[cfg(feature = "write")]
use std::path::PathBuf;

const OPTIONS: &[FormatOption] = &[sidecars::OPTION];

/// The format, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parquet {
    /// `None` if the option is not given: then a folder gets a card, and a file nothing.
    pub(crate) sidecars: Option<Chosen>,
    /// True for a folder of several files.
    pub(crate) in_shards: bool,
}

/// The files for other readers that the option names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Chosen {
    pub(crate) card: bool,
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
            layout: if self.in_shards { Layout::Shards } else { Layout::File },
            names_splits: self.in_shards,
            max_sample_bytes: Some(MAX_VALUE_BYTES),
            counts_last: true,
            ..Capabilities::default()
        }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, OPTIONS)?;
        let mut parquet = *self;
        if let Some(list) = values.choice(sidecars::OPTION.name) {
            let chosen = sidecars::chosen(list, FORMAT)?;
            let has = |name| chosen.contains(&name);
            parquet.sidecars = Some(Chosen { card: has("card"), croissant: has("croissant") });
        }
        Ok(Box::new(parquet))
    }

    fn in_shards(&self) -> Option<Box<dyn Format>> {
        (!self.in_shards).then(|| Box::new(Self { in_shards: true, ..*self }) as Box<dyn Format>)
    }

    /// Recognises a file with Parquet's magic, and a folder of files with its extensions.
    fn detect(&self, path: &Path) -> bool {
        match place::look(path) {
            Ok(Some(place::Kind::File)) => is_parquet(path),
            Ok(Some(place::Kind::Folder)) if place::is_file(&path.join(NAME)) => true,
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
        has_extension(path)
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        header.codec != Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    fn sample_bytes(&self, schema: &Schema, image_bytes: u64) -> u64 {
        let n_images = schema.fields.iter().filter(|field| field.kind == Kind::Image).count();
        image_bytes.saturating_add(IMAGE_FRAMING_BYTES.saturating_mul(n_images as u64))
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        if self.in_shards { shards::finished(request) } else { finished(request) }
    }

    #[cfg(feature = "write")]
    fn finished_together(&self, requests: &[Create<'_>]) -> Vec<Result<Option<ShardSummary>>> {
        existing::finished_together(self, requests)
    }

    #[cfg(feature = "write")]
    fn existing(&self, request: &Create<'_>) -> Result<Existing> {
        if self.in_shards {
            return existing::existing(request, &request.out.join(NAME));
        }
        Ok(Existing::Resumable)
    }

    #[cfg(feature = "write")]
    fn withdraw(&self, out: &Path, shards: &[Shard]) -> Result<()> {
        if self.in_shards { shards::withdraw(out, shards) } else { Ok(()) }
    }

    #[cfg(feature = "write")]
    fn leftovers(&self, out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
        if self.in_shards { shards::leftovers(out, shards) } else { Ok(Vec::new()) }
    }

    #[cfg(feature = "write")]
    fn complete(&self, request: &Complete<'_>) -> Result<Vec<PathBuf>> {
        if self.in_shards { shards::complete(request, self.has_card()) } else { Ok(Vec::new()) }
    }

    #[cfg(feature = "write")]
    fn notices(&self, out: &Path) -> Vec<Remark> {
        card::notice(out).into_iter().filter(|_| self.in_shards && self.has_card()).collect()
    }

    #[cfg(feature = "write")]
    fn completed(&self, out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
        if self.in_shards { shards::completed(out, fingerprint) } else { Ok(false) }
    }

    #[cfg(feature = "write")]
    fn version(&self, out: &Path) -> Result<Option<Version>> {
        if place::is_folder(out) { edit::version(out).map(Some) } else { Ok(None) }
    }

    #[cfg(feature = "write")]
    fn edit(&self, request: &Edit<'_>) -> Result<LogEntry> {
        edit::edit(request, self.has_card())
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let Chosen { card, croissant } = self.sidecars.unwrap_or_default();
        if !self.in_shards {
            if card {
                let what = "`card` describes a folder of Parquet files, and this is one file, in \
                            which `datasets` finds its classes and sizes; leave it out";
                return Err(Error::usage(option::SIDECARS, what)
                    .cure("to write a folder", option::SHARD_SIZE.with("500MB")));
            }
            return Ok(Box::new(ParquetWriter::create(request, croissant)?));
        }
        if croissant {
            let what = "`croissant` describes a dataset of one Parquet file; leave it out";
            return Err(Error::usage(option::SIDECARS, what));
        }
        Ok(Box::new(shards::Writer::create(request)?))
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(ParquetReader::open_with(path, options)?))
    }
}

impl Parquet {
    /// Returns true if a folder gets a card.
    #[cfg(feature = "write")]
    fn has_card(&self) -> bool {
        self.sidecars.is_none_or(|chosen| chosen.card)
    }
}

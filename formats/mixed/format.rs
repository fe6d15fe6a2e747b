#[cfg(feature = "write")]
use crate::mixed::{
    complete, edit,
    writer::{self, Writer},
};
use crate::mixed::{
    layout::{FORMAT, IMAGE_FIELD, MANIFEST, code_of},
    manifest,
    reader::MixedReader,
};
use crate::wds::Wds;
use fdconvert_core::{
    Capabilities, Codec, Complete, Create, Error, Existing, Format, FormatOption, ImageHeader,
    OpenOptions, OptionValues, Reader, Result, Schema, Shard, ShardSummary, ShardWriter, option,
};
#[cfg(feature = "write")]
use fdconvert_core::{Edit, LogEntry, Version};
use std::path::{Path, PathBuf};

/// The format, with the options of its shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixed {
    pub(crate) wds: Wds,
}

impl Default for Mixed {
    fn default() -> Self {
        // The name is a constant that passes the check.
        Self {
            wds: Wds::default().with_image_field(IMAGE_FIELD).unwrap_or_default().with_one_suffix(),
        }
    }
}

impl Mixed {
    /// Opens a mixed set.
    ///
    /// # Errors
    /// `Io`; `Corrupt` or `Version` when the manifest or a codec's folder cannot be read or they do
    /// not belong together.
    pub fn open_dataset(&self, path: &Path) -> Result<MixedReader> {
        MixedReader::open(path, None)
    }
}

impl Format for Mixed {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "images in several codecs: a folder of WebDataset shards for each"
    }

    fn options(&self) -> &'static [FormatOption] {
        // The options of the shards.
        Wds::default().options()
    }

    fn capabilities(&self) -> Capabilities {
        // The choice of codecs is drawn over all samples.
        Capabilities { mixes_codecs: true, counts_last: false, ..self.wds.capabilities() }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, self.options())?;
        let mut wds = match values.choice("sidecars") {
            Some(list) => {
                Wds::with_sidecars(list)?.with_image_field(IMAGE_FIELD)?.with_one_suffix()
            }
            None => self.wds.clone(),
        };
        if let Some(name) = values.choice("image_field") {
            wds = wds.with_image_field(name)?;
        }
        if !wds.sidecars().contains(&"fdx") {
            let what = "a mixed set needs `fdx`, which has the keys: add it to the list";
            return Err(Error::usage(option::SIDECARS, what));
        }
        Ok(Box::new(Self { wds }))
    }

    /// Recognises a folder with a manifest of this format.
    fn detect(&self, path: &Path) -> bool {
        manifest::begins(&path.join(MANIFEST))
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(FORMAT))
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        code_of(header.codec).is_some()
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    fn sample_bytes(&self, schema: &Schema, image_bytes: u64) -> u64 {
        self.wds.sample_bytes(schema, image_bytes)
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Ok(Box::new(Writer::create(self, request)?))
    }

    #[cfg(feature = "write")]
    fn finished_together(&self, requests: &[Create<'_>]) -> Vec<Result<Option<ShardSummary>>> {
        crate::shards::existing::finished_together(self, requests)
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        writer::finished(self, request)
    }

    #[cfg(feature = "write")]
    fn existing(&self, request: &Create<'_>) -> Result<Existing> {
        crate::shards::existing::existing(request, &request.out.join(MANIFEST))
    }

    #[cfg(feature = "write")]
    fn withdraw(&self, out: &Path, shards: &[Shard]) -> Result<()> {
        complete::withdraw(out, shards)
    }

    #[cfg(feature = "write")]
    fn leftovers(&self, out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
        complete::leftovers(out, shards)
    }

    #[cfg(feature = "write")]
    fn complete(&self, request: &Complete<'_>) -> Result<Vec<PathBuf>> {
        complete::complete(self, request)
    }

    #[cfg(feature = "write")]
    fn completed(&self, out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
        complete::completed(out, fingerprint)
    }

    #[cfg(feature = "write")]
    fn version(&self, out: &Path) -> Result<Option<Version>> {
        edit::version(out).map(Some)
    }

    #[cfg(feature = "write")]
    fn edit(&self, request: &Edit<'_>) -> Result<LogEntry> {
        edit::edit(self, request)
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(MixedReader::open(path, options.version)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_shards() {
        let with = |name: &str, value: &str| {
            let values = [(name.to_owned(), value.to_owned())].into();
            Mixed::default().with_options(&OptionValues(values)).map(drop)
        };
        with("image_field", "jpg").unwrap();
        with("sidecars", "fdx,hf").unwrap();
        for (name, value) in
            [("image_field", "A"), ("sidecars", "none"), ("sidecars", "hf"), ("page_size", "1")]
        {
            let refused = with(name, value);
            assert!(matches!(refused, Err(Error::Usage { .. })), "{name} {value}: {refused:?}");
        }
    }
}

#[cfg(feature = "write")]
use crate::wds::{complete, edit, existing, writer::Writer};
use crate::{
    members::npy,
    wds::{WdsReader, fields, layout},
};
use crate::{
    shards::{among::Among, manifest},
    sidecars, tarball,
};
use fdconvert_core::{
    Capabilities, Codec, Common, Complete, Create, Error, Existing, FieldSpec, Format,
    FormatOption, ImageHeader, Kind, Layout, OpenOptions, OptionKind, OptionValues, Reader, Remark,
    Result, Schema, Shard, ShardSummary, ShardWriter, option,
};
#[cfg(feature = "write")]
use fdconvert_core::{Edit, LogEntry, Version};
use fdconvert_storage::place;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The format's name.
pub(crate) const FORMAT: &str = "wds";

const OPTIONS: &[FormatOption] = &[
    FormatOption {
        name: "image_field",
        kind: OptionKind::Text("NAME"),
        help: "Name of the images in the tar: small letters, digits, `_`, `-` and dots [default: the extension of each image's codec]",
    },
    sidecars::OPTION,
];

/// The format, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wds {
    pub(crate) image_field: Option<String>,
    /// True if further images use the suffix of the first one's name, whatever their codec.
    pub(crate) one_suffix: bool,
    /// Kinds of sidecars, in the order of their table.
    pub(crate) sidecars: Vec<&'static str>,
}

impl Default for Wds {
    fn default() -> Self {
        Self { image_field: None, one_suffix: false, sidecars: vec!["fdx", "dali", "wids"] }
    }
}

impl Wds {
    /// Selects the files to write beside the shards: a comma-separated list, or `none`.
    ///
    /// # Errors
    /// `Usage` for an unknown name.
    pub fn with_sidecars(list: &str) -> Result<Self> {
        Ok(Self { sidecars: sidecars::chosen(list, FORMAT)?, ..Self::default() })
    }

    /// Sets the name of the images in the tar.
    ///
    /// # Errors
    /// `Usage` for a name that some reader rejects.
    pub fn with_image_field(self, name: &str) -> Result<Self> {
        check_image_field(name)?;
        Ok(Self { image_field: Some(name.to_owned()), ..self })
    }

    /// Gives further images the suffix of the first one's name, whatever their codec. For mixed
    /// sets, since their readers take the names for all datasets from one.
    #[must_use]
    pub fn with_one_suffix(self) -> Self {
        Self { one_suffix: true, ..self }
    }

    /// Returns the sidecars, by their names in the option.
    #[must_use]
    pub fn sidecars(&self) -> &[&'static str] {
        &self.sidecars
    }

    /// Opens a folder of shards or a single one.
    ///
    /// # Errors
    /// `Io`; `Corrupt`, `Unsupported` or `Version` when a shard or the manifest cannot be read;
    /// `Limit` for a compressed shard that is too large.
    pub fn open_dataset(&self, path: &Path) -> Result<WdsReader> {
        WdsReader::open(path, &OpenOptions::default())
    }
}

impl Format for Wds {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["webdataset"]
    }

    fn about(&self) -> &'static str {
        "WebDataset: a folder of tar shards"
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            layout: Layout::Shards,
            names_splits: true,
            // They are in the index.
            entry_points: self.sidecars.contains(&"fdx"),
            counts_last: true,
            ..Capabilities::default()
        }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, OPTIONS)?;
        let mut wds = self.clone();
        if let Some(name) = values.choice("image_field") {
            check_image_field(name)?;
            wds.image_field = Some(name.to_owned());
        }
        if let Some(list) = values.choice("sidecars") {
            wds.sidecars = sidecars::chosen(list, FORMAT)?;
        }
        Ok(Box::new(wds))
    }

    /// Recognises a folder with a manifest, a folder with more samples in shards than images, and a
    /// shard that is not an archived folder of images.
    fn detect(&self, path: &Path) -> bool {
        if place::is_folder(path) {
            // Check the manifest first: a store lists a thousand objects per request.
            return match manifest::format_of(path) {
                Some(format) => format == FORMAT,
                None => tarball::in_folder(path).is_ok_and(|shards| {
                    let held = |enough| tarball::held(&shards, enough);
                    !shards.is_empty() && Among::of(path, held) != Among::Images
                }),
            };
        }
        tarball::is_name(path)
            && place::is_file(path)
            && tarball::starts_as_one(path)
            && (place::is_file(&layout::index_path(path)) || !tarball::is_folder(path))
    }

    fn suits(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(OsStr::to_str);
        extension.is_some_and(|it| it == FORMAT || it.eq_ignore_ascii_case("tar"))
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        // Everything but raw pixels is a file.
        header.codec != Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    fn sample_bytes(&self, schema: &Schema, image_bytes: u64) -> u64 {
        let is_of_images = |field: &&FieldSpec| matches!(field.kind, Kind::Image | Kind::Images);
        let n_images = schema.fields.iter().filter(is_of_images).count();
        // The padding of the first image is known; for the others assume half a block.
        let images = match n_images as u64 {
            0 => 0,
            n => layout::member_bytes(image_bytes) + (n - 1) * (layout::BLOCK + layout::BLOCK / 2),
        };
        let others = schema.fields.iter().filter(|field| !is_of_images(field));
        let others = others.map(|field| match &field.kind {
            Kind::Array(spec) => {
                let header = npy::header(spec).len() as u64;
                layout::member_bytes(spec.byte_len().unwrap_or(0).saturating_add(header))
            }
            _ => layout::member_bytes(1),
        });
        others.fold(images, u64::saturating_add)
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
        existing::finished(request, self.sidecars.contains(&"fdx"))
    }

    #[cfg(feature = "write")]
    fn existing(&self, request: &Create<'_>) -> Result<Existing> {
        crate::shards::existing::existing(request, &request.out.join(manifest::NAME))
    }

    #[cfg(feature = "write")]
    fn withdraw(&self, out: &Path, shards: &[Shard]) -> Result<()> {
        existing::withdraw(out, shards)
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
        existing::completed(out, fingerprint)
    }

    #[cfg(feature = "write")]
    fn version(&self, out: &Path) -> Result<Option<Version>> {
        edit::version(out).map(Some)
    }

    #[cfg(feature = "write")]
    fn edit(&self, request: &Edit<'_>) -> Result<LogEntry> {
        edit::edit(self, request)
    }

    fn remarks(&self, schema: &Schema, common: &Common) -> Vec<Remark> {
        fields::remarks(self, schema, common)
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(WdsReader::open(path, options)?))
    }
}

/// WebDataset lowers names, DALI does not; and names that start with `__` are no members of a
/// sample.
fn check_image_field(name: &str) -> Result<()> {
    let legal = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
    };
    let whole = !name.is_empty() && name.len() <= 40 && name.bytes().all(legal);
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if !whole || dots || name.ends_with("__") {
        let what = format!(
            "`{name}` is not a name of a field: use small letters, digits, `_`, `-` and single dots"
        );
        return Err(Error::usage(option::IMAGE_FIELD, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::FieldSpec;

    fn with(name: &str, value: &str) -> Result<Box<dyn Format>> {
        let values = [(name.to_owned(), value.to_owned())].into();
        Wds::default().with_options(&OptionValues(values))
    }

    #[test]
    fn options_are_checked() {
        for name in ["jpg", "img", "rgb.png"] {
            assert!(with("image_field", name).is_ok(), "{name}");
        }
        for name in ["", "JPG", ".jpg", "a b", "a/b", "jpg.", "x__"] {
            assert!(with("image_field", name).is_err(), "{name}");
        }
        assert!(with("sidecars", "wids, fdx").is_ok());
        for list in ["", "fdx,none", "idx", "hf,card"] {
            assert!(with("sidecars", list).is_err(), "{list}");
        }
        assert_eq!(sidecars::chosen("wids,fdx", FORMAT).unwrap(), ["fdx", "wids"]);
        assert!(sidecars::chosen("none", FORMAT).unwrap().is_empty());
    }

    #[test]
    fn sizes_count_the_framing() {
        let image = FieldSpec::new("image", Kind::Image);
        let label = FieldSpec::new("label", Kind::Int);
        let schema = Schema::new(vec![image, label]).unwrap();
        assert_eq!(Wds::default().sample_bytes(&schema, 1000), 512 + 1024 + 1024);
        assert_eq!(Wds::default().sample_bytes(&schema, 1024), 512 + 1024 + 1024);
    }
}

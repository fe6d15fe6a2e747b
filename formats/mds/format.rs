use crate::mds::{
    MdsReader, hash,
    layout::{FORMAT, INDEX},
};
#[cfg(feature = "write")]
use crate::mds::{
    complete, edit,
    place::{Found, Place},
    writer::Writer,
};
use crate::shards::among::{Among, Held};
use fdconvert_core::{
    Capabilities, Codec, Complete, Create, Error, Existing, Format, FormatOption, ImageHeader,
    Kind, Layout, OpenOptions, OptionKind, OptionValues, Reader, Result, Schema, Shard,
    ShardSummary, ShardWriter, option,
};
#[cfg(feature = "write")]
use fdconvert_core::{Edit, LogEntry, Version};
use fdconvert_storage::{any_of, place};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The format, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mds {
    pub(crate) zstd: bool,
    pub(crate) hashes: Vec<String>,
}

const OPTIONS: &[FormatOption] = &[
    FormatOption {
        name: "compression",
        kind: OptionKind::Choice(&["none", "zstd"]),
        help: "Compress shards as a whole; images hardly shrink [default: none]",
    },
    FormatOption {
        name: "hashes",
        kind: OptionKind::Text("LIST"),
        help: "Hashes of every shard: none, or some of sha1, sha256, sha512, xxh32, xxh64, xxh3_64, xxh3_128, xxh128 with commas [default: xxh64]",
    },
];

/// Estimated bytes of a key, text or document, for lack of a better value.
const UNKNOWN_BYTES: u64 = 32;
/// Bytes of an index to read for its first shard's description.
const DETECT_BYTES: usize = 1 << 16;

impl Default for Mds {
    fn default() -> Self {
        Self { zstd: false, hashes: vec![hash::DEFAULT.to_owned()] }
    }
}

impl Format for Mds {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["streaming", "mosaicml"]
    }

    fn about(&self) -> &'static str {
        "MosaicML Streaming's folder of shards"
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { layout: Layout::Shards, counts_last: true, ..Capabilities::default() }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, OPTIONS)?;
        let mut mds = self.clone();
        match values.choice("compression") {
            None => {}
            Some("none") => mds.zstd = false,
            Some("zstd") if cfg!(feature = "compressed") => mds.zstd = true,
            Some("zstd") => {
                let what = "this build lacks the feature `compressed`";
                return Err(Error::usage(option::COMPRESSION, what));
            }
            Some(other) => {
                let what = format!("`{other}` is neither `none` nor `zstd`");
                return Err(Error::usage(option::COMPRESSION, what));
            }
        }
        if let Some(list) = values.choice("hashes") {
            mds.hashes = hash::parse_list(list)?;
        }
        Ok(Box::new(mds))
    }

    /// Recognises a folder with an index of MDS shards, or a folder of such folders.
    fn detect(&self, path: &Path) -> bool {
        if is_mds(path) {
            let is_ours = place::is_file(&path.join(crate::shards::manifest::NAME));
            return is_ours
                || place::is_url(path)
                || Among::of(path, |_| held(path)) != Among::Images;
        }
        place::is_folder(path)
            && !place::is_file(&path.join(INDEX))
            && place::list_folders(path)
                .is_ok_and(|folders| any_of(path, &folders, |folder| is_mds(folder)))
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
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Ok(Box::new(Writer::create(self, request)?))
    }

    fn sample_bytes(&self, schema: &Schema, image_bytes: u64) -> u64 {
        let field = |kind: &Kind| match kind {
            Kind::Image => 4,
            Kind::Int | Kind::Float => 8,
            Kind::Array(spec) => spec.byte_len().unwrap_or(u64::MAX),
            _ => 4 + UNKNOWN_BYTES,
        };
        let fields = schema.fields.iter().map(|spec| field(&spec.kind));
        // Offset, key and fields.
        let framing = fields.fold(4 + 4 + UNKNOWN_BYTES, u64::saturating_add);
        image_bytes.saturating_add(framing)
    }

    #[cfg(feature = "write")]
    fn finished_together(&self, requests: &[Create<'_>]) -> Vec<Result<Option<ShardSummary>>> {
        crate::shards::existing::finished_together(self, requests)
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        let place = Place::new(request.out, request.shard)?;
        match place.find(request)? {
            Found::Finished(record) => Ok(Some(record.summary(&place.folder))),
            Found::Foreign(what) if !request.overwrite => {
                Err(Error::usage("output", format!("{what}; move it away"))
                    .cure("to replace it", option::OVERWRITE.on()))
            }
            _ => Ok(None),
        }
    }

    #[cfg(feature = "write")]
    fn existing(&self, request: &Create<'_>) -> Result<Existing> {
        crate::shards::existing::existing(request, &request.out.join(crate::shards::manifest::NAME))
    }

    #[cfg(feature = "write")]
    fn withdraw(&self, out: &Path, shards: &[Shard]) -> Result<()> {
        super::place::withdraw(out, shards)
    }

    #[cfg(feature = "write")]
    fn leftovers(&self, out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
        super::place::leftovers(out, shards)
    }

    #[cfg(feature = "write")]
    fn complete(&self, request: &Complete<'_>) -> Result<Vec<PathBuf>> {
        complete::complete(request)
    }

    #[cfg(feature = "write")]
    fn completed(&self, out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
        super::place::completed(out, fingerprint)
    }

    #[cfg(feature = "write")]
    fn version(&self, out: &Path) -> Result<Option<Version>> {
        edit::version(out).map(Some)
    }

    #[cfg(feature = "write")]
    fn edit(&self, request: &Edit<'_>) -> Result<LogEntry> {
        edit::edit(request)
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(MdsReader::open_with(path, options)?))
    }
}

/// Number of samples according to the index.
fn held(folder: &Path) -> Held {
    let index = place::whole(&folder.join(INDEX)).unwrap_or_default();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap_or_default();
    let shards = index.get("shards").and_then(|shards| shards.as_array()).into_iter().flatten();
    let n_samples = shards.filter_map(|shard| shard.get("samples")?.as_u64());
    Held { n_samples: n_samples.fold(0, u64::saturating_add), has_more: true }
}

/// Returns true if the folder has an index that mentions MDS in its first bytes.
fn is_mds(folder: &Path) -> bool {
    let start = place::read_start(&folder.join(INDEX), DETECT_BYTES).unwrap_or_default();
    let mut start = start.to_vec();
    start.retain(|byte| !byte.is_ascii_whitespace());
    let has = |wanted: &[u8]| start.windows(wanted.len()).any(|window| window == wanted);
    start.starts_with(b"{") && has(b"\"shards\":[") && has(b"\"format\":\"mds\"")
}

use crate::beton::{
    BetonReader,
    layout::{BadField, DESCRIPTOR_LEN, FORMAT, HEADER_LEN, Header, VERSION, parse_descriptor},
};
use fdconvert_core::{
    Capabilities, Codec, Color, Create, Error, Format, FormatOption, ImageHeader, OpenOptions,
    OptionKind, OptionValues, Reader, Result, ShardSummary, ShardWriter, option,
};
use fdconvert_storage::place::{self, is_url};
use std::{ffi::OsStr, path::Path};

/// The format, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beton {
    pub(crate) page_bytes: u64,
    pub(crate) compact: bool,
    pub(crate) compat: bool,
}

const OPTIONS: &[FormatOption] = &[
    FormatOption {
        name: "page_size",
        kind: OptionKind::Bytes,
        help: "Size of a page, which holds a sample as a whole: a power of two from 2MiB to 2GiB [default: 8MiB]",
    },
    FormatOption {
        name: "compact",
        kind: OptionKind::Flag,
        help: "Leave no gap before the first sample and after the last [default: off]",
    },
    FormatOption {
        name: "compat",
        kind: OptionKind::Choice(&["ffcv"]),
        help: "Write exactly the bytes FFCV would: no checksums, keys and class names [default: off]",
    },
];

impl Beton {
    /// FFCV's smallest page.
    pub(crate) const MIN_PAGE_BYTES: u64 = 1 << 21;
    /// The largest that fits, because the page size is stored in 32 bits.
    pub(crate) const MAX_PAGE_BYTES: u64 = 1 << 31;
}

impl Default for Beton {
    fn default() -> Self {
        Self { page_bytes: 1 << 23, compact: false, compat: false }
    }
}

impl Format for Beton {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["ffcv"]
    }

    fn about(&self) -> &'static str {
        "FFCV's single file of pages; FFCV loads it too"
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_sample_bytes: Some(self.page_bytes),
            // They are in the index block, which FFCV does not write.
            entry_points: !self.compat,
            // In FFCV's own files all images are pixels, because its readers expect them.
            whole_images: !self.compat,
            ..Capabilities::default()
        }
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        values.check(FORMAT, OPTIONS)?;
        let mut beton = *self;
        if let Some(bytes) = values.bytes("page_size")? {
            let sizes = Self::MIN_PAGE_BYTES..=Self::MAX_PAGE_BYTES;
            if !bytes.is_power_of_two() || !sizes.contains(&bytes) {
                let what = format!("{bytes} is not a power of two from 2MiB to 2GiB");
                return Err(Error::usage(option::PAGE_SIZE, what));
            }
            beton.page_bytes = bytes;
        }
        beton.compact |= values.flag("compact");
        match values.choice("compat") {
            None => {}
            Some("ffcv") => beton.compat = true,
            Some(other) => {
                return Err(Error::usage(option::COMPAT, format!("`{other}` is not `ffcv`")));
            }
        }
        if beton.compact && beton.compat {
            let what = "FFCV writes no compact files; leave it or `compat` out";
            return Err(Error::usage(option::COMPACT, what));
        }
        Ok(Box::new(beton))
    }

    fn detect(&self, path: &Path) -> bool {
        if !place::is_file(path) {
            return false;
        }
        let n_bytes = HEADER_LEN as usize + DESCRIPTOR_LEN;
        let start = place::read_start(path, n_bytes).unwrap_or_default();
        // The format has no magic number: check that version, page size and first field are
        // plausible.
        let Some((header, descriptor)) = start.split_at_checked(HEADER_LEN as usize) else {
            return false;
        };
        let header = Header::parse(header);
        let field_makes_sense = !matches!(parse_descriptor(descriptor), Err(BadField::Damaged(_)));
        start.len() == n_bytes
            && field_makes_sense
            && header.is_some_and(|header| {
                header.version == VERSION
                    && header.n_fields > 0
                    && header.page_bytes.is_power_of_two()
            })
    }

    fn suits(&self, path: &Path) -> bool {
        path.extension() == Some(OsStr::new(FORMAT))
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        let fits = |side: u32| (1..=u32::from(u16::MAX)).contains(&side);
        let color = match header.codec {
            Codec::Jpeg => matches!(header.color, Color::Gray | Color::Rgb),
            Codec::Raw => header.color == Color::Rgb,
            _ => false,
        };
        color && header.bits == 8 && fits(header.width) && fits(header.height)
    }

    fn fallback(&self) -> Codec {
        Codec::Raw
    }

    #[cfg(feature = "write")]
    fn finished(&self, request: &Create<'_>) -> Result<Option<ShardSummary>> {
        // With `overwrite` a finished file is written again.
        match request.overwrite {
            true => Ok(None),
            false => finished(request),
        }
    }

    #[cfg(feature = "write")]
    fn create(&self, request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        Ok(Box::new(crate::beton::writer::BetonWriter::create(self, request)?))
    }

    fn open_with(&self, path: &Path, _: &OpenOptions) -> Result<Box<dyn Reader>> {
        Ok(Box::new(BetonReader::open(path)?))
    }
}

/// The file written by this same run, or the object: stores have no half-written objects.
#[cfg(feature = "write")]
fn finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    use crate::{beton::journal, shards::existing::complete_file};
    use fdconvert_storage::{Claim, has_partial};

    let is_object = is_url(request.out);
    if !is_object && let Some(summary) = journal::finished(request.out, request.stamp)? {
        return Ok(Some(summary));
    }
    // The file is being replaced.
    if has_partial(request.out)? {
        return Ok(None);
    }
    let open = || BetonReader::open(request.out);
    let run = |reader: &BetonReader| reader.index.as_ref()?.meta().run.clone();
    let summary = complete_file(request, open, run)?;
    if is_object && summary.is_some() {
        // The run may have been killed before it removed its claim.
        Claim::open(request.out, request.stamp, false)?.remove();
    }
    Ok(summary)
}

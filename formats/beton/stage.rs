//! Turns a sample's values into the bytes to store, or a reason to refuse it. All faults of a
//! sample are found here, before the file changes.
use crate::beton::{
    Beton,
    journal::RunPlan,
    layout::{ImageCell, MODE_JPEG, MODE_RAW, RowLayout, Storage},
    text,
};
use crate::index::ImageFacts;
use fdconvert_core::{
    Codec, Encoded, Error, Remark, Result, Sample, Schema, Value, image_list, option,
};
use std::borrow::Cow;

pub(crate) struct Stored<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// JSON values end with a NUL.
    pub(crate) nul: bool,
    pub(crate) image: Option<ImageFacts>,
    /// XXH3 of `bytes`, if known.
    pub(crate) xxh3: Option<u64>,
}

impl<'a> Stored<'a> {
    fn new(bytes: Cow<'a, [u8]>) -> Self {
        Self { bytes, nul: false, image: None, xxh3: None }
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.nul)
    }

    /// Bytes that the value takes in a page. An empty value takes one byte, except in FFCV's own
    /// layout, so that no two values share a pointer (FFCV looks sizes up by pointer).
    pub(crate) fn space(&self, compat: bool) -> u64 {
        if compat { self.len() } else { self.len().max(1) }
    }
}

/// Bytes that a sample takes in a page.
pub(crate) fn space(values: &[Stored<'_>], compat: bool) -> u64 {
    values.iter().map(|value| value.space(compat)).sum()
}

/// Stored values of a sample, in field order, or why they cannot be stored.
pub(crate) fn stage<'a>(
    schema: &Schema,
    layout: &RowLayout,
    sample: &'a Sample<Encoded>,
    plan: &RunPlan,
) -> Result<Vec<Stored<'a>>> {
    schema.check(sample)?;
    let mut staged = Vec::with_capacity(plan.n_regions as usize);
    let fields = schema.fields.iter().zip(&layout.columns);
    for ((field, column), value) in fields.zip(&sample.values) {
        let refuse =
            |what: String| Error::sample(&sample.key, format!("field `{}`: {what}", field.name));
        let plain = |bytes: &'a [u8]| Stored::new(bytes.into());
        staged.push(match value {
            Value::Int(_) | Value::Float(_) => continue,
            Value::Image(image) => {
                let check = match column.storage {
                    Storage::Image => check_image,
                    _ => check_file,
                };
                let facts = check(image).map_err(refuse)?;
                Stored { image: Some(facts), xxh3: image.xxh3, ..plain(&image.bytes) }
            }
            Value::Images(images) => {
                images.iter().try_for_each(|image| check_file(image).map(drop)).map_err(refuse)?;
                Stored::new(image_list::to_bytes(images).into())
            }
            Value::Bytes(bytes) | Value::Array(bytes) => plain(bytes),
            Value::Json(json) if json.contains(&0) => {
                return Err(refuse("a NUL inside a JSON document".into()));
            }
            Value::Json(json) => Stored { nul: true, ..plain(json) },
            Value::Text(string) => {
                let bytes = text::to_json(string).into_bytes().into();
                Stored { nul: true, ..Stored::new(bytes) }
            }
            _ => return Err(refuse("a kind of value that a beton does not hold".into())),
        });
    }
    let space = space(&staged, plan.compat);
    if space > plan.page_bytes {
        let what = format!("its {space} bytes do not fit a page of {}", plan.page_bytes);
        return Err(Error::sample(&sample.key, with_cure(what, space)));
    }
    Ok(staged)
}

/// Arrays have the same size in every sample: if a page cannot hold them, it holds no sample.
pub(crate) fn check_arrays(storages: &[Storage], page_bytes: u64) -> Result<()> {
    let lens = storages.iter().map(|storage| match storage {
        Storage::Array(len) => *len,
        _ => 0,
    });
    match lens.fold(0, u64::saturating_add) {
        bytes if bytes > page_bytes => {
            let what = format!("arrays of {bytes} bytes do not fit a page of {page_bytes}");
            Err(Error::usage(option::PAGE_SIZE, with_cure(what, bytes)))
        }
        _ => Ok(()),
    }
}

/// Adds the page size that would suffice.
fn with_cure(what: String, bytes: u64) -> Remark {
    match bytes.checked_next_power_of_two() {
        Some(page_bytes) if page_bytes <= Beton::MAX_PAGE_BYTES => {
            let size = option::PAGE_SIZE.with(format_args!("{}MiB", page_bytes >> 20));
            Remark::from(what).cure("to make pages large enough", size)
        }
        _ => {
            let largest = Beton::MAX_PAGE_BYTES;
            format!("{what}; no page size would do, the largest is {largest}").into()
        }
    }
}

/// Checks an image and returns its index entry and row, or why a beton cannot hold it.
fn check_image(image: &Encoded) -> Result<ImageFacts, String> {
    let (width, height) = (image.width, image.height);
    let sides = 1..=u32::from(u16::MAX);
    if !sides.contains(&width) || !sides.contains(&height) {
        return Err(format!("{width}x{height}: sides are 1 to {} in a beton", sides.end()));
    }
    let raw_len = u64::from(width) * u64::from(height) * 3;
    match image.codec {
        Codec::Jpeg if image.bytes.starts_with(&[0xff, 0xd8]) => {}
        Codec::Jpeg => return Err("it does not start as a JPEG does".into()),
        Codec::Raw if image.bytes.len() as u64 == raw_len => {}
        Codec::Raw => {
            let len = image.bytes.len();
            return Err(format!("{len} raw bytes; {width}x{height} RGB takes {raw_len}"));
        }
        codec => {
            return Err(format!("a beton holds JPEG and raw images, not {}", codec.extension()));
        }
    }
    Ok(ImageFacts { codec: image.codec, width, height })
}

/// Checks an image stored as a file and returns its index entry.
fn check_file(image: &Encoded) -> Result<ImageFacts, String> {
    let (codec, width, height) = (image.codec, image.width, image.height);
    match codec {
        Codec::Raw => Err("raw pixels are no file: store them as PNG or another codec".into()),
        _ if width == 0 || height == 0 => Err(format!("{width}x{height}: no pixels")),
        _ => Ok(ImageFacts { codec, width, height }),
    }
}

pub(crate) fn image_cell(image: &ImageFacts, pointer: u64) -> ImageCell {
    // `check_image` has refused larger sides.
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    let mode = if image.codec == Codec::Raw { MODE_RAW } else { MODE_JPEG };
    ImageCell { mode, width: side(image.width), height: side(image.height), pointer }
}

//! Images: the stored bytes, which the browser decodes, or a smaller image where that saves much.
use crate::{
    answer::{Answer, Content, Failure, Shown, is_among},
    dataset::Dataset,
    request::Asked,
    thumbnails::Thumbnails,
};
use fdconvert_codec::{Encoder, JpegOptions, Thumbnailer};
use fdconvert_core::{Codec, Encoded, Limits, Pixels, Result, Value, probe};
use fdconvert_storage::sigbus;
use xxhash_rust::xxh3::xxh3_64;

/// Allowed sides of small images.
const SIDES: std::ops::RangeInclusive<u32> = 16..=4096;

/// Images below both limits are sent as stored: decoding them here would take longer than in the
/// browser.
const FEW_BYTES: usize = 64 << 10;
const FEW_PIXELS: u64 = 1_000_000;

/// JPEG quality of small images, without visible artefacts at this size.
const QUALITY: u8 = 85;

/// `image/I` and `image/I/FIELD`.
pub(crate) fn answer(
    dataset: &Dataset,
    asked: &Asked,
    thumbnails: &Thumbnails,
) -> Result<Answer, Failure> {
    let (index, (field, _)) = (dataset.sample(asked)?, dataset.field(asked)?);
    let side: Option<u32> = asked.number("side")?;
    if let Some(side) = side.filter(|side| !SIDES.contains(side)) {
        let (least, most) = (SIDES.start(), SIDES.end());
        let what = format!("`side={side}` is not within {least} to {most}");
        return Err(Failure::asked_wrong(what));
    }
    if let Some(answer) = known(dataset, asked, index, field, side) {
        return Ok(answer);
    }
    let key = (asked.is_second()?, index, field, side.unwrap_or(0));
    if let Some(answer) = thumbnails.get(key) {
        return Ok(answer);
    }
    let (name, image) = image_of(dataset, index, field)?;
    let hash = image.xxh3.unwrap_or_else(|| xxh3_64(&image.bytes));
    match as_stored(&name, &image)? {
        Some(shown) if side.is_none_or(|side| is_small(&image, side)) => {
            let answer = Answer::new(Content::Image(shown), image.bytes.clone());
            Ok(answer.tagged(tag(hash, None)))
        }
        _ => {
            let pixels = upright(&name, &image, side)?;
            let answer = encoded(&name, &pixels, side.is_some())?.tagged(tag(hash, Some(side)));
            thumbnails.put(key, &answer);
            Ok(answer)
        }
    }
}

/// Answers a browser that has the image already, without its bytes. If a checksum is recorded,
/// nothing has to be read.
fn known(
    dataset: &Dataset,
    asked: &Asked,
    index: u64,
    field: usize,
    side: Option<u32>,
) -> Option<Answer> {
    let has = asked.has.as_deref()?;
    if dataset.schema().first_image() != Some(field) {
        return None;
    }
    let extent = sigbus::caught(|| dataset.reader().image_extent(index)).ok()??;
    let hash = extent.xxh3?;
    let tags = [tag(hash, None), tag(hash, Some(side))];
    let tag = tags.into_iter().find(|tag| is_among(has, tag))?;
    Some(Answer::new(Content::Opaque, "").tagged(tag))
}

/// Returns a tag of the stored bytes' checksum and the conversion.
fn tag(hash: u64, made: Option<Option<u32>>) -> String {
    match made {
        None => format!("\"{hash:016x}\""),
        Some(None) => format!("\"{hash:016x}-png\""),
        Some(Some(side)) => format!("\"{hash:016x}-{side}\""),
    }
}

/// Returns the image of a field, after comparing its checksum, and the sample's key.
pub(crate) fn image_of(
    dataset: &Dataset,
    index: u64,
    field: usize,
) -> Result<(String, Encoded), Failure> {
    let sample =
        dataset.checked_sample(index).map_err(|error| Failure::unreadable(error.chain()))?;
    match sample.values.into_iter().nth(field) {
        Some(Value::Image(image)) => Ok((sample.key, image)),
        // The first image stands for its list.
        Some(Value::Images(images)) => match images.into_iter().next() {
            Some(image) => Ok((sample.key, image)),
            None => Err(Failure::missing("this list has no images")),
        },
        _ => Err(Failure::missing("this field holds no images")),
    }
}

/// Returns the kind for the stored bytes, by their content and not by the dataset's claim.
fn as_stored(name: &str, image: &Encoded) -> Result<Option<Shown>, Failure> {
    if image.codec == Codec::Raw {
        return Ok(None);
    }
    let header = probe::probe(&image.bytes)
        .map_err(|what| Failure::unreadable(format!("sample `{name}`: {what}")))?;
    Ok(Shown::of(header.codec))
}

fn is_small(image: &Encoded, side: u32) -> bool {
    let longer = image.width.max(image.height);
    let n_pixels = u64::from(image.width) * u64::from(image.height);
    longer <= side.saturating_mul(2) || (image.bytes.len() < FEW_BYTES && n_pixels < FEW_PIXELS)
}

/// Decodes an image upright, as a browser shows it, with at most this longer side.
pub(crate) fn upright(name: &str, image: &Encoded, side: Option<u32>) -> Result<Pixels> {
    let side = side.unwrap_or(u32::MAX);
    sigbus::caught(|| Thumbnailer::new().thumbnail(name, image, &Limits::DEFAULT, side))
}

/// Encodes as JPEG if that suffices, else as PNG.
fn encoded(name: &str, pixels: &Pixels, may_lose: bool) -> Result<Answer> {
    let is_jpeg = may_lose && pixels.channels != 4;
    let codec = if is_jpeg { Codec::Jpeg } else { Codec::Png };
    let shown = if is_jpeg { Shown::Jpeg } else { Shown::Png };
    let options = JpegOptions { quality: QUALITY, ..JpegOptions::default() };
    let image = Encoder::new().encode(name, pixels, codec, &options, None)?;
    Ok(Answer::new(Content::Image(shown), image.bytes))
}

/// Returns a small image to embed in a page.
pub(crate) fn small(name: &str, image: &Encoded, side: u32) -> Result<Answer> {
    encoded(name, &upright(name, image, Some(side))?, true)
}

pub(crate) fn png(name: &str, pixels: &Pixels) -> Result<Answer> {
    encoded(name, pixels, false)
}

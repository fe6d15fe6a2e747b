//! What a camera wrote beside an image.
use exif::{In, Reader, Tag};
use fdconvert_core::{Codec, caught};
use serde_json::{Value as Json, json};

/// Entries that are shown, and letters of each: the rest is hardly for people.
const MOST: usize = 200;
const LONGEST: usize = 200;

/// Names and values, as text; none where there is no EXIF, or a damaged one.
pub(crate) fn entries(image: &[u8], codec: Codec) -> Vec<Json> {
    let Some(tiff) = fdconvert_codec::find_exif(image, codec) else { return Vec::new() };
    // Bytes from outside, in the hands of a library.
    caught(|| read(tiff)).unwrap_or_default()
}

fn read(tiff: Vec<u8>) -> Vec<Json> {
    let Ok(exif) = Reader::new().read_raw(tiff) else { return Vec::new() };
    let is_shown = |field: &&exif::Field| {
        field.ifd_num == In::PRIMARY && ![Tag::MakerNote, Tag::UserComment].contains(&field.tag)
    };
    let entry = |field: &exif::Field| {
        let value = field.display_value().with_unit(&exif).to_string();
        let value: String = value.chars().take(LONGEST).collect();
        json!({"name": field.tag.to_string(), "value": value})
    };
    exif.fields().filter(is_shown).take(MOST).map(entry).collect()
}

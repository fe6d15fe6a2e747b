//! Camera data of an image.
use exif::{In, Reader, Tag};
use fdconvert_core::{Codec, caught};
use serde_json::{Value as Json, json};

/// Limits on the number of shown entries, and on their length.
const MOST: usize = 200;
const LONGEST: usize = 200;

/// Returns names and values, as text; empty for a missing or damaged EXIF.
pub(crate) fn entries(image: &[u8], codec: Codec) -> Vec<Json> {
    let Some(tiff) = fdconvert_codec::find_exif(image, codec) else { return Vec::new() };
    // A library parses bytes from outside.
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

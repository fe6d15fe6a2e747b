//! Contact sheets: the first filtered samples, as one picture or one page.
use crate::{
    answer::{Answer, Content, Failure},
    dataset::Dataset,
    filter::{Filter, complete},
    image::{image_of, png, small, upright},
    request::Asked,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use fdconvert_codec::ContactSheet;
use fdconvert_core::Shown as Spelled;
use fdconvert_pipeline::Cancel;
use std::{fmt::Write, time::Duration};

/// Allowed numbers of images, and their sides.
const COUNT: std::ops::RangeInclusive<u32> = 1..=1000;
const SIDE: std::ops::RangeInclusive<u32> = 32..=512;
const DEFAULT_COUNT: u32 = 100;
const DEFAULT_SIDE: u32 = 128;

/// Longest wait for samples still to be found.
const PATIENCE: Duration = Duration::from_secs(2);

struct Sheet {
    samples: Vec<u64>,
    /// Position of the image field.
    field: usize,
    side: u32,
}

impl Sheet {
    fn asked(dataset: &Dataset, asked: &Asked, ended: &Cancel) -> Result<Self, Failure> {
        let filter = Filter::parse(asked, dataset)?;
        let count = asked.number_within("count", COUNT, DEFAULT_COUNT)?;
        let side = asked.number_within("side", SIDE, DEFAULT_SIDE)?;
        let field = dataset.schema().shown_images();
        let field = field.ok_or_else(|| Failure::missing("this dataset has no images"))?;
        let mut selection = dataset.select(&filter);
        if selection.len() < count.into() {
            selection = complete(dataset, &filter, PATIENCE, ended);
        }
        Ok(Self { samples: selection.page(0, count.into()), field, side })
    }
}

/// `sheet.png`.
pub(crate) fn picture(dataset: &Dataset, asked: &Asked, ended: &Cancel) -> Result<Answer, Failure> {
    let sheet = Sheet::asked(dataset, asked, ended)?;
    let places = ContactSheet::new(sheet.samples.len() as u64, None, sheet.side);
    if places.is_too_large() {
        let (count, side) = (sheet.samples.len(), sheet.side);
        let what = format!(
            "{count} images of {side} pixels are too many for one sheet: take fewer, or a smaller side"
        );
        return Err(Failure::asked_wrong(what));
    }
    let images = sheet.samples.iter().map(|index| {
        let (name, image) = image_of(dataset, *index, sheet.field).ok()?;
        upright(&name, &image, Some(sheet.side)).ok()
    });
    Ok(png("the sheet", &places.lay_out(images))?.saved_as("sheet.png"))
}

/// `sheet.html`.
pub(crate) fn page(dataset: &Dataset, asked: &Asked, ended: &Cancel) -> Result<Answer, Failure> {
    let sheet = Sheet::asked(dataset, asked, ended)?;
    let (name, side) = (escaped(dataset.reader().name()), sheet.side);
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <title>{name}</title>\n<style>\n\
         body {{ font: 12px sans-serif; margin: 16px; }}\n\
         main {{ display: flex; flex-wrap: wrap; gap: 8px; }}\n\
         figure {{ margin: 0; width: {side}px; overflow-wrap: anywhere; }}\n\
         img {{ display: block; max-width: 100%; }}\n</style>\n</head>\n<body>\n\
         <h1>{name}</h1>\n<main>\n"
    );
    for index in &sheet.samples {
        let key = escaped(&dataset.reader().key(*index));
        let figure = image_of(dataset, *index, sheet.field)
            .and_then(|(name, image)| Ok(small(&name, &image, side)?));
        let figure = match figure {
            Ok(Answer { content: Content::Image(shown), body, .. }) => {
                let (mime, data) = (shown.mime(), BASE64_STANDARD.encode(&body));
                format!("<img alt=\"{key}\" src=\"data:{mime};base64,{data}\">")
            }
            Ok(_) => String::new(),
            Err(failure) => format!("<p>{}</p>", escaped(failure.what())),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<figure>{figure}<figcaption>{index} {key}</figcaption></figure>");
    }
    text.push_str("</main>\n</body>\n</html>\n");
    // Saved, never shown by this server: an attachment of a kind that no browser executes.
    Ok(Answer::new(Content::Opaque, text).saved_as("sheet.html"))
}

/// Escapes text of a dataset for a page.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in Spelled(text).to_string().chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_a_tag() {
        assert_eq!(escaped("<a href='x\">&\n"), "&lt;a href=&#39;x&quot;&gt;&amp;\\n");
    }
}

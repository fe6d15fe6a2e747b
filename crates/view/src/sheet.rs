//! Contact sheets: the first samples that the filters keep, as one picture or one page.
use crate::{
    answer::{Answer, Content, Failure},
    dataset::Dataset,
    filter::{Filter, complete},
    image::{image_of, png, small, upright},
    request::Asked,
    server::Shared,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use fdconvert_core::{Pixels, Shown as Spelled};
use std::{fmt::Write, time::Duration};

/// Images of a sheet, and their sides.
const COUNT: std::ops::RangeInclusive<u32> = 1..=1000;
const SIDE: std::ops::RangeInclusive<u32> = 32..=512;
const DEFAULT_COUNT: u32 = 100;
const DEFAULT_SIDE: u32 = 128;

/// Pixels of a picture: what browsers and viewers still open.
const MOST_PIXELS: u64 = 64_000_000;

/// Between images, and its colour, which no image has often.
const GAP: u32 = 4;
const GAP_COLOR: [u8; 3] = [48, 64, 96];

/// How long it is waited for samples that may come.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a sheet shows.
struct Sheet {
    samples: Vec<u64>,
    /// The field of images.
    field: usize,
    side: u32,
}

impl Sheet {
    fn asked(shared: &Shared, asked: &Asked, dataset: &Dataset) -> Result<Self, Failure> {
        let filter = Filter::parse(asked, dataset)?;
        let count = asked.number_within("count", COUNT, DEFAULT_COUNT)?;
        let side = asked.number_within("side", SIDE, DEFAULT_SIDE)?;
        let field = dataset.schema().first_image();
        let field = field.ok_or_else(|| Failure::missing("this dataset has no images"))?;
        let mut selection = dataset.select(&filter);
        if selection.len() < count.into() {
            selection = complete(shared, dataset, &filter, PATIENCE);
        }
        Ok(Self { samples: selection.page(0, count.into()), field, side })
    }
}

/// `sheet.png`.
pub(crate) fn picture(shared: &Shared, asked: &Asked) -> Result<Answer, Failure> {
    let dataset = shared.dataset(asked)?;
    let sheet = Sheet::asked(shared, asked, dataset)?;
    let n_images = sheet.samples.len().max(1) as u32;
    let columns = (1..).find(|side: &u32| side * side >= n_images).unwrap_or(1);
    let rows = n_images.div_ceil(columns);
    let length = |n_images: u32| GAP + n_images * (sheet.side + GAP);
    let (width, height) = (length(columns), length(rows));
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        let what =
            format!("{width}x{height} pixels are too many: take fewer images or a smaller side");
        return Err(Failure::asked_wrong(what));
    }
    let data = GAP_COLOR.repeat(width as usize * height as usize);
    let mut whole = Pixels { width, height, channels: 3, data };
    for (place, index) in (0..).zip(&sheet.samples) {
        // One that cannot be read leaves its place empty.
        let tile = image_of(dataset, *index, sheet.field)
            .and_then(|(name, image)| Ok(upright(&name, &image, Some(sheet.side))?));
        if let Ok(tile) = tile {
            let (column, row) = (place % columns, place / columns);
            let (left, top) = (length(column), length(row));
            put(&mut whole, &tile, left as usize, top as usize);
        }
    }
    Ok(png("the sheet", &whole)?.saved_as("sheet.png"))
}

/// Copies an image of any number of channels into one of three.
fn put(whole: &mut Pixels, tile: &Pixels, left: usize, top: usize) {
    let (width, channels) = (tile.width as usize, usize::from(tile.channels));
    for (y, line) in tile.data.chunks_exact((width * channels).max(1)).enumerate() {
        let at = ((top + y) * whole.width as usize + left) * 3;
        let Some(place) = whole.data.get_mut(at..at + width * 3) else { return };
        for (to, from) in place.chunks_exact_mut(3).zip(line.chunks_exact(channels.max(1))) {
            match *from {
                [gray] => to.fill(gray),
                [red, green, blue] => to.copy_from_slice(&[red, green, blue]),
                [red, green, blue, alpha] => {
                    // Over white, as on paper.
                    let over = |level: u8| {
                        let (level, alpha) = (u32::from(level), u32::from(alpha));
                        ((level * alpha + 255 * (255 - alpha)) / 255) as u8
                    };
                    to.copy_from_slice(&[over(red), over(green), over(blue)]);
                }
                _ => {}
            }
        }
    }
}

/// `sheet.html`.
pub(crate) fn page(shared: &Shared, asked: &Asked) -> Result<Answer, Failure> {
    let dataset = shared.dataset(asked)?;
    let sheet = Sheet::asked(shared, asked, dataset)?;
    let (name, side) = (escaped(&dataset.reader().name()), sheet.side);
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
    // Saved, never shown by this server: an attachment of no kind that a browser runs.
    Ok(Answer::new(Content::Opaque, text).saved_as("sheet.html"))
}

/// Text of a dataset within a page.
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

    #[test]
    fn images_of_any_channels_are_put_into_colours() {
        let mut whole = Pixels { width: 2, height: 1, channels: 3, data: vec![9; 6] };
        put(&mut whole, &Pixels { width: 1, height: 1, channels: 1, data: vec![5] }, 1, 0);
        let half = Pixels { width: 1, height: 1, channels: 4, data: vec![0, 255, 100, 0] };
        put(&mut whole, &half, 0, 0);
        assert_eq!(whole.data, [255, 255, 255, 5, 5, 5]);
    }
}

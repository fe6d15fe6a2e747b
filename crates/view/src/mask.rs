//! Label images, and masks of objects, in colours.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    image::{image_of, png},
    objects,
    request::Asked,
};
use fdconvert_codec::{Decoder, orient, orientation};
use fdconvert_core::{Kind, Limits, Pixels, Result, RunLengths};
use fdconvert_storage::sigbus;

/// Limit of object masks, which have the size that a document claims.
const MOST_PIXELS: u64 = 100_000_000;

/// `mask/I/FIELD`, and for a field of objects `mask/I/FIELD?object=N`.
pub(crate) fn answer(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let (index, (field, spec)) = (dataset.sample(asked)?, dataset.field(asked)?);
    let pixels = match spec.kind {
        Kind::Image => {
            let (name, image) = image_of(dataset, index, field)?;
            sigbus::caught(|| {
                let mut levels = Vec::new();
                let mut decoder = Decoder::new();
                let size =
                    decoder.decode_levels_into(&name, &image, &Limits::DEFAULT, &mut levels)?;
                let data = colors(&levels, size.n_bytes.into()).flatten().collect();
                let (width, height) = (size.width, size.height);
                Ok(orient(Pixels { width, height, channels: 4, data }, orientation(&image)))
            })
            .map_err(|error| Failure::unreadable(error.chain()))?
        }
        Kind::Json => {
            let object = asked.number("object")?;
            let object: usize =
                object.ok_or_else(|| Failure::asked_wrong("`object` is missing"))?;
            let mask = objects::mask(dataset, index, field, object)?;
            filled(&mask, object)?
        }
        _ => return Err(Failure::missing("this field holds no masks")),
    };
    Ok(png("the mask", &pixels)?)
}

/// Yields the colours of labels of one byte, or of two in little endian.
pub(crate) fn colors(labels: &[u8], n_bytes: usize) -> impl Iterator<Item = [u8; 4]> {
    let label = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, low| high << 8 | u16::from(*low));
    labels.chunks_exact(n_bytes).map(move |bytes| color(label(bytes)))
}

/// Returns the colour of a label: neighbours have very different hues, and 0 is transparent.
pub(crate) fn color(label: u16) -> [u8; 4] {
    if label == 0 {
        return [0; 4];
    }
    // Steps of the golden angle stay far from earlier hues for long.
    const GOLDEN: f32 = 0.618_034;
    let hue = (f32::from(label) * GOLDEN).fract() * 6.0;
    let value = if label.is_multiple_of(2) { 0.95 } else { 0.75 };
    let channel = |shift: f32| {
        let at = (hue + shift) % 6.0;
        let level = (at - 3.0).abs() - 1.0;
        (255.0 * value * (0.25 + 0.75 * level.clamp(0.0, 1.0))) as u8
    };
    [channel(0.0), channel(4.0), channel(2.0), 255]
}

/// Returns the pixels of a mask given as run lengths, down its columns.
fn filled(mask: &RunLengths, object: usize) -> Result<Pixels, Failure> {
    let [height, width] = mask.size();
    let n_pixels = u64::from(height) * u64::from(width);
    if n_pixels == 0 || n_pixels > MOST_PIXELS {
        let what =
            format!("its mask of {width}x{height} is not drawn: at most {MOST_PIXELS} pixels");
        return Err(Failure::unreadable(what));
    }
    let mut data = vec![0; n_pixels as usize * 4];
    paint(&mut data, mask.size(), mask.counts(), object);
    Ok(Pixels { width, height, channels: 4, data })
}

/// Paints the pixels of a mask in the colour of the object, into an image of four channels of this
/// height and width.
pub(crate) fn paint(image: &mut [u8], [height, width]: [u32; 2], counts: &[u32], object: usize) {
    let color = color(u16::try_from(object + 1).unwrap_or(1));
    let (height, width) = (u64::from(height), u64::from(width));
    let (mut at, mut is_inside) = (0_u64, false);
    for run in counts {
        let end = (at + u64::from(*run)).min(height * width);
        for place in if is_inside { at..end } else { 0..0 } {
            let (column, row) = (place / height, place % height);
            let pixel = (row * width + column) as usize * 4;
            if let Some(pixel) = image.get_mut(pixel..pixel + 4) {
                pixel.copy_from_slice(&color);
            }
        }
        (at, is_inside) = (end, !is_inside);
    }
}

#[cfg(test)]
mod tests {
    use super::color;
    use std::collections::BTreeSet;

    #[test]
    fn labels_have_colours_of_their_own() {
        assert_eq!(color(0), [0; 4]);
        let colors: BTreeSet<[u8; 4]> = (1..=64).map(color).collect();
        assert_eq!(colors.len(), 64);
        assert!(colors.iter().all(|color| color[3] == 255));
    }
}

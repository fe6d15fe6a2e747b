//! Decodes images on the CPU into one contiguous batch, `[N, 224, 224, 3]` of bytes, for a training
//! loop: `cargo run --release --example batch -- train.beton`.
#![allow(clippy::print_stdout)]
use fdconvert_codec::{Decoder, Filter, Resizer};
use fdconvert_core::{Error, Limits, Pixels};
use fdconvert_reader::{Result, Value, open};

const SIDE: u32 = 224;
const BATCH: u64 = 32;
const IMAGE_BYTES: usize = (SIDE * SIDE * 3) as usize;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "train.beton".into());
    let dataset = open(path)?;
    let n_images = dataset.len().min(BATCH);
    let mut batch = vec![0; n_images as usize * IMAGE_BYTES];
    let mut labels = Vec::new();
    // Both keep their buffers from image to image: one of each per thread.
    let (mut decoder, mut resizer) = (Decoder::new(), Resizer::new());
    for (index, slot) in (0..n_images).zip(batch.chunks_exact_mut(IMAGE_BYTES)) {
        let sample = dataset.get(index)?;
        for value in &sample.values {
            match value {
                Value::Image(image) => {
                    let pixels = decoder.decode(&sample.key, image, &Limits::default())?.pixels;
                    fit(&sample.key, &mut resizer, pixels, slot)?;
                }
                Value::Int(label) => labels.push(*label),
                _ => {}
            }
        }
    }
    let mean = batch.iter().map(|&byte| f64::from(byte)).sum::<f64>() / batch.len() as f64;
    println!("batch of {n_images} x {SIDE} x {SIDE} x 3, mean {mean:.1}, labels {labels:?}");
    Ok(())
}

/// Scales the shorter side down to `SIDE` and puts the centre into `slot`. A smaller image is
/// centred in the slot; gray becomes three channels.
fn fit(key: &str, resizer: &mut Resizer, pixels: Pixels, slot: &mut [u8]) -> Result<()> {
    let short = pixels.width.min(pixels.height);
    let scale = (f64::from(SIDE) / f64::from(short)).min(1.0);
    let size = |side: u32| ((f64::from(side) * scale).round() as u32).max(1);
    let (width, height) = (size(pixels.width), size(pixels.height));
    let mut small = Vec::new();
    let data = if (width, height) == (pixels.width, pixels.height) {
        &pixels.data
    } else {
        resizer.resize(key, &pixels, (width, height), Filter::Area, &mut small)?;
        &small
    };
    let channels = usize::from(pixels.channels);
    let offset = |from: u32| (from.saturating_sub(SIDE) / 2, SIDE.saturating_sub(from) / 2);
    let ((left, slot_left), (top, slot_top)) = (offset(width), offset(height));
    for row in 0..height.min(SIDE) {
        for column in 0..width.min(SIDE) {
            let from = ((top + row) * width + left + column) as usize * channels;
            let to = ((slot_top + row) * SIDE + slot_left + column) as usize * 3;
            let cut = || Error::sample(key, "the pixels do not fill the image");
            let pixel = data.get(from..from + channels).ok_or_else(cut)?;
            let rgb = if channels == 1 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
            slot.get_mut(to..to + 3).ok_or_else(cut)?.copy_from_slice(&rgb);
        }
    }
    Ok(())
}

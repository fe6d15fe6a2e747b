//! Checks that the pages of a beton are large enough, before anything is packed.
use fdconvert_codec::{Encode, Policy, Size};
use fdconvert_core::{Codec, Error, Image, Pixels, Result, Source, Value, option};
use fdconvert_pipeline::Plan;

/// Limit on the sample headers to read, spread evenly over the plan.
const MAX_LOOKS: u64 = 20_000;

/// Refuses a page size that is too small for an image to be stored as raw pixels. Unreadable
/// samples are left to packing.
///
/// # Errors
/// `Usage`, with the name `--page-size`.
pub(crate) fn check(
    source: &dyn Source,
    policy: &Policy,
    plan: &Plan,
    page_bytes: u64,
) -> Result<()> {
    let is_enough = match policy.size {
        Some(Size::MaxSide(side)) => Pixels::byte_len(side, side, 3) <= page_bytes,
        _ => false,
    };
    if is_enough || !matches!(policy.encode, Encode::Raw | Encode::Mix { .. }) {
        return Ok(());
    }
    let step = plan.len().div_ceil(MAX_LOOKS).max(1);
    let mut largest: Option<(u64, String)> = None;
    for position in (0..plan.len()).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let index = plan.source_index(position);
        let key = source.key(index);
        if !policy.wants_raw(&key) {
            continue;
        }
        let Ok(sample) = source.read(index) else { continue };
        let images = sample.values.iter().enumerate().filter_map(|(field, value)| match value {
            Value::Image(image) if !source.facts().field(field).keeps_pixels => Some(image),
            _ => None,
        });
        let n_bytes = images.map(|image| raw_bytes(image, policy)).sum();
        if n_bytes > largest.as_ref().map_or(page_bytes, |(n_bytes, _)| *n_bytes) {
            largest = Some((n_bytes, key));
        }
    }
    let Some((n_bytes, key)) = largest else { return Ok(()) };
    let what = format!(
        "`{key}` takes {n_bytes} bytes as raw pixels and does not fit a page of {page_bytes}"
    );
    Err(match n_bytes.checked_next_power_of_two() {
        Some(enough) if enough <= 1 << 31 => {
            let size = option::PAGE_SIZE.with(format_args!("{}MiB", enough >> 20));
            Error::usage(option::PAGE_SIZE, what).cure("to make pages large enough", size)
        }
        _ => Error::usage(option::PAGE_SIZE, format!("{what}; no page is as large"))
            .cure("to make images smaller", option::MAX_SIDE),
    })
}

fn raw_bytes(image: &Image, policy: &Policy) -> u64 {
    let (width, height) = match image {
        // Unchanged bytes are smaller than their pixels, or raw themselves.
        Image::Encoded(image) if image.codec == Codec::Raw => return image.bytes.len() as u64,
        Image::Encoded(image) => (image.width, image.height),
        Image::Pixels(pixels) => (pixels.width, pixels.height),
        Image::Bilevel(image) => (image.width, image.height),
    };
    let (width, height) = policy.size.map_or((width, height), |size| size.target(width, height));
    Pixels::byte_len(width, height, 3)
}

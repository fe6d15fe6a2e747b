//! AVIF: the boxes are read by `fdconvert-core`, AV1 is decoded by rav1d, and here the pictures are
//! put together and become 8-bit pixels.
//!
//! Deliberately absent: frames after the first, and gain maps.

mod av1;
mod colors;
mod planes;

use crate::{Notes, convert, guard::confined};
use colors::Range;
use fdconvert_core::{
    ImageHeader, Limits,
    probe::{Avif, AvifPicture},
};
use planes::Planes;

/// Decodes to 1, 3 or 4 channels of 8 bits.
pub(crate) fn decode_avif(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<(u8, Notes), String> {
    let avif = Avif::parse(bytes)?;
    if let Some(alpha) = &avif.alpha
        && (alpha.width, alpha.height) != (header.width, header.height)
    {
        return Err(format!("its alpha channel is of {}x{} pixels", alpha.width, alpha.height));
    }
    let picture = planes(&avif, &avif.picture, limits)?;
    let alpha = avif.alpha.as_ref().map(|alpha| planes(&avif, alpha, limits)).transpose()?;
    let colors = avif.colors.unwrap_or(picture.colors);
    let channels = match (picture.is_gray(), &alpha) {
        (true, None) => 1,
        (false, None) => 3,
        (_, Some(_)) => 4,
    };
    out.clear();
    out.resize(header.width as usize * header.height as usize * usize::from(channels), u8::MAX);
    if picture.is_gray() {
        let range = Range::of(picture.bits, colors.is_full_range);
        picture.write_gray(range, usize::from(channels), out);
    } else {
        picture.write_colors(colors, usize::from(channels), out)?;
    }
    if let Some(alpha) = &alpha {
        alpha.write_alpha(Range::of(alpha.bits, alpha.colors.is_full_range), out);
        if avif.is_premultiplied {
            convert::unpremultiply::<4>(out);
        }
    }
    let bits = picture.bits.max(alpha.map_or(0, |alpha| alpha.bits));
    Ok((channels, Notes::DEPTH_REDUCED.when(bits > 8)))
}

/// Decodes a picture, each tile in a thread that its decoder may not end with the process.
fn planes(avif: &Avif<'_>, picture: &AvifPicture, limits: &Limits) -> Result<Planes, String> {
    let size = picture.tile;
    // Tiles may reach over the edges of the image, whose own size was compared already.
    let n_pixels = u64::from(size.0) * u64::from(size.1);
    if n_pixels > limits.max_pixels {
        let most = limits.max_pixels;
        return Err(format!("its tiles have {n_pixels} pixels, over the limit of {most}"));
    }
    Planes::of_tiles(picture, |tile| {
        // The thread may outlive this call.
        let data = avif.data(tile)?.into_owned();
        confined(move || av1::decode(&data, size))
    })
}

//! JPEG XL, through libjxl's decoder in Rust.
//!
//! Deliberately absent: frames after the first, colour management (samples stay in the profile of the
//! file; what was encoded in XYB comes back in its profile if that has a name, else in sRGB), and the
//! JPEG that some files can be turned back to.

use crate::{Notes, convert};
use fdconvert_core::{Color, ImageHeader, Limits, Pixels, probe::jxl_has_more_channels};
use jxl::api::{
    AlphaMode, Event, JxlColorType, JxlDataFormat, JxlDecoder, JxlDecoderOptions, JxlOutputBuffer,
    JxlPixelFormat, ProfileLevel,
};

/// Samples per pixel within the limit: three colours, and five channels more.
const MAX_SAMPLES: u64 = 8;

/// Decodes to 1, 3 or 4 channels of 8 bits.
pub(crate) fn decode_jxl(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(u8, Notes), String> {
    let (channels, color_type) = match header.color {
        Color::Gray => (1, JxlColorType::Grayscale),
        Color::GrayAlpha => (2, JxlColorType::GrayscaleAlpha),
        Color::Rgb => (3, JxlColorType::Rgb),
        Color::Rgba => (4, JxlColorType::Rgba),
        Color::Cmyk => return Err("four inks cannot be decoded".into()),
    };
    let mut decoder = open(limits);
    let mut input = bytes;
    advance(&mut decoder, &mut input, None, |event| event == Event::BasicInfo)?;
    let info = decoder.basic_info().ok_or("its header is incomplete")?;
    if info.size != (header.width as usize, header.height as usize) {
        return Err(format!("decodes to {}x{}", info.size.0, info.size.1));
    }
    let format = JxlPixelFormat {
        color_type,
        color_data_format: Some(JxlDataFormat::U8 { bit_depth: 8 }),
        extra_channel_format: vec![None; info.extra_channels.len()],
    };
    decoder.set_pixel_format(format).map_err(|error| error.to_string())?;
    let length = Pixels::byte_len(header.width, header.height, channels) as usize;
    out.clear();
    out.resize(length, 0);
    let row_bytes = header.width as usize * usize::from(channels);
    let target = JxlOutputBuffer::new(out, header.height as usize, row_bytes);
    advance(&mut decoder, &mut input, Some(target), |event| {
        matches!(event, Event::FrameComplete { .. })
    })?;
    let notes = Notes::DEPTH_REDUCED.when(header.bits > 8)
        | Notes::CHANNELS_LEFT_OUT.when(jxl_has_more_channels(bytes));
    if channels == 2 {
        convert::gray_alpha_to_rgba(out, scratch);
        std::mem::swap(out, scratch);
        return Ok((4, notes));
    }
    Ok((channels, notes))
}

fn open(limits: &Limits) -> JxlDecoder {
    let mut options = JxlDecoderOptions::default();
    options.adjust_orientation = false;
    options.alpha_mode = AlphaMode::Unpremultiplied;
    let max_samples = limits.max_pixels.saturating_mul(MAX_SAMPLES);
    options.sample_limit = Some(usize::try_from(max_samples).unwrap_or(usize::MAX));
    options.max_profile_level = ProfileLevel::Main10;
    JxlDecoder::new(options)
}

/// Decodes up to the wanted event.
fn advance(
    decoder: &mut JxlDecoder,
    input: &mut &[u8],
    mut target: Option<JxlOutputBuffer<'_>>,
    is_wanted: impl Fn(Event) -> bool,
) -> Result<(), String> {
    loop {
        let buffers = target.as_mut().map(std::slice::from_mut);
        match decoder.process(input, buffers, None).map_err(|error| error.to_string())? {
            event if is_wanted(event) => return Ok(()),
            Event::NeedMoreInput { .. } => return Err("it is cut off".into()),
            Event::Complete => return Err("it has no frame".into()),
            _ => {}
        }
    }
}

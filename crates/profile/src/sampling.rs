use crate::measure::Measuring;
use fdconvert_codec::{Decoder, Encoder, JpegOptions, stored_bilevel};
use fdconvert_core::{
    Bilevel, Class, Codec, Color, Encoded, Error, Image, ImageHeader, Kind, Pixels, Result, Source,
    Value,
};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Chooses `n` of the samples `0..of`, without repetition, in ascending order: the same for the
/// same seed on every machine. Floyd's method: work and memory are proportional to `n`.
#[must_use]
pub fn choose(of: u64, n: u64, seed: u64) -> Vec<u64> {
    let mut chosen = BTreeSet::new();
    for last in of.saturating_sub(n)..of {
        let any = xxh3_64_with_seed(&last.to_le_bytes(), seed) % (last + 1);
        if !chosen.insert(any) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

/// An image in every measured format.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Key in the source.
    pub key: String,
    /// The image, one value per format.
    pub forms: Vec<Encoded>,
}

/// Sampled images in memory, and counts of the others.
#[derive(Debug, Clone, Default)]
pub struct Sampled {
    /// Formats, in the requested order.
    pub formats: Vec<Codec>,
    /// Images that every format can hold.
    pub images: Vec<Stored>,
    /// Number of images that could not be read or decoded.
    pub n_unreadable: u64,
    /// For each format, the number of images that it cannot hold, and the reason for the first.
    pub refused: Vec<(u64, Option<String>)>,
    /// True if sampling ended because the kept images filled their memory.
    pub memory_was_full: bool,
}

/// Reads the sampled images and stores each in every format, in memory. An image that one format
/// cannot hold is left out for all, because costs are comparable only over the same images.
///
/// # Errors
/// `Usage` when the samples have no images; `Cancelled` when `cancelled` is set; `Io` and `Corrupt`
/// from the source. Bad samples are counted and left out.
pub fn sample(
    source: &dyn Source,
    formats: &[Codec],
    options: &Measuring,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Sampled> {
    let is_image = |field: &fdconvert_core::FieldSpec| field.kind == Kind::Image;
    let Some(field) = source.schema().fields.iter().position(is_image) else {
        return Err(Error::usage("profile", "the samples have no images"));
    };
    let mut kept_bytes = 0;
    let mut maker = Maker::default();
    let mut prepared = Sampled {
        formats: formats.to_vec(),
        refused: vec![(0, None); formats.len()],
        ..Sampled::default()
    };
    // Random order: if memory ends the sampling early, the rest must not be the start of the
    // dataset.
    let mut indices = choose(source.len(), options.samples, options.seed);
    indices.sort_by_key(|index| xxh3_64_with_seed(&index.to_le_bytes(), !options.seed));
    for index in indices {
        if cancelled() {
            return Err(Error::Cancelled);
        }
        let read = source.read(index).and_then(|mut sample| {
            let value = (field < sample.values.len()).then(|| sample.values.swap_remove(field));
            match value {
                Some(Value::Image(image)) => maker.forms(&sample.key, image, formats, options),
                _ => Err(Error::sample(&sample.key, "has no image")),
            }
        });
        let forms = match read {
            Ok(forms) => forms,
            Err(error) if error.class() == Class::Data => {
                prepared.n_unreadable += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut held = Vec::new();
        for (form, (n_refused, reason)) in forms.into_iter().zip(&mut prepared.refused) {
            match form {
                Ok(encoded) => held.push(encoded),
                Err(why) => {
                    *n_refused += 1;
                    reason.get_or_insert(why);
                }
            }
        }
        if held.len() < formats.len() {
            continue;
        }
        kept_bytes += held.iter().map(|encoded| encoded.bytes.len() as u64).sum::<u64>();
        if kept_bytes > options.max_kept_bytes && !prepared.images.is_empty() {
            prepared.memory_was_full = true;
            break;
        }
        prepared.images.push(Stored { key: source.key(index), forms: held });
    }
    Ok(prepared)
}

#[derive(Default)]
struct Maker {
    decoder: Decoder,
    encoder: Encoder,
}

impl Maker {
    /// Returns the image in every format, or why that format cannot hold it.
    ///
    /// Bytes that are already in a format are kept, as in packing, and so are the bits of images of
    /// two gray levels. EXIF orientation is not applied: it does not change the cost.
    fn forms(
        &mut self,
        key: &str,
        image: Image,
        formats: &[Codec],
        options: &Measuring,
    ) -> Result<Vec<Result<Encoded, String>>> {
        let (pixels, header, stored) = match image {
            Image::Encoded(stored) => {
                let decoded = self.decoder.decode(key, &stored, &options.limits)?;
                if let Some(bits) = stored_bilevel(&stored) {
                    return Ok(self.bilevel_forms(key, &bits, Some(&stored), formats, options));
                }
                (decoded.pixels, Some(decoded.header), Some(stored))
            }
            Image::Pixels(pixels) => (pixels, None, None),
            Image::Bilevel(bits) => {
                bits.check().map_err(|what| Error::sample(key, what))?;
                return Ok(self.bilevel_forms(key, &bits, None, formats, options));
            }
        };
        let form = |&format: &Codec| match &stored {
            Some(stored) if stored.codec == format => Ok(stored.clone()),
            _ => {
                let source = stored.as_ref().filter(|stored| stored.codec == Codec::Jpeg);
                let source = source.map(|stored| stored.bytes.as_ref());
                self.encode(key, &pixels, header.as_ref(), format, &options.jpeg, source)
            }
        };
        Ok(formats.iter().map(form).collect())
    }

    fn bilevel_forms(
        &mut self,
        key: &str,
        bits: &Bilevel,
        stored: Option<&Encoded>,
        formats: &[Codec],
        options: &Measuring,
    ) -> Vec<Result<Encoded, String>> {
        let form = |&format: &Codec| match stored {
            Some(stored) if stored.codec == format => Ok(stored.clone()),
            _ => {
                let encoded = self.encoder.encode_bilevel(key, bits, format, &options.jpeg);
                encoded.map_err(|error| error.chain())
            }
        };
        formats.iter().map(form).collect()
    }

    fn encode(
        &mut self,
        key: &str,
        pixels: &Pixels,
        header: Option<&ImageHeader>,
        format: Codec,
        jpeg: &JpegOptions,
        source: Option<&[u8]>,
    ) -> Result<Encoded, String> {
        // The decoder has reduced these to 8-bit RGB: the written image would not be the same.
        if let Some(header) = header {
            if header.bits > 8 {
                return Err(format!("{key}: {} bits per channel", header.bits));
            }
            if header.color == Color::Cmyk {
                return Err(format!("{key}: CMYK"));
            }
        }
        self.encoder.encode(key, pixels, format, jpeg, source).map_err(|error| error.chain())
    }
}

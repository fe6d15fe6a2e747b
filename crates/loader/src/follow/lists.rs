//! Lists of images: decoded at their own sizes, and not changed otherwise.
use crate::{
    decoding::{DecodeOptions, Needed, decode, upright_size},
    fields::{FieldValue, Fields, RowValues},
};
use fdconvert_codec::Decoder;
use fdconvert_core::{Codec, Encoded, Error, Result, Value};

/// Decodes the lists of a row; one for each decoding thread, for its buffer.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pixels: Vec<u8>,
    /// Number of images that were rounded to 8 bits since this was read.
    pub(crate) n_rounded: u64,
}

impl Lists {
    /// Replaces the images of each list by their RGB pixels, upright if the options say so.
    ///
    /// # Errors
    /// `Sample` or `Limit`, with key, field and number of the image.
    pub(crate) fn decode(
        &mut self,
        decoder: &mut Decoder,
        key: &str,
        fields: &Fields,
        options: &DecodeOptions,
        values: &mut RowValues,
    ) -> Result<()> {
        let Some(stored) = values.fields.as_deref().filter(|_| fields.have_lists()) else {
            return Ok(());
        };
        let mut decoded: Vec<FieldValue> = Vec::with_capacity(stored.len());
        for (value, spec) in stored.iter().zip(fields.specs()) {
            let Value::Images(images) = value else {
                decoded.push(value.clone());
                continue;
            };
            let mut list = Vec::with_capacity(images.len());
            for (number, image) in images.iter().enumerate() {
                let image = self.image(decoder, key, image, options);
                list.push(image.map_err(|error| named(error, &spec.name, number))?);
            }
            decoded.push(Value::Images(list));
        }
        values.fields = Some(decoded.into());
        Ok(())
    }

    fn image(
        &mut self,
        decoder: &mut Decoder,
        key: &str,
        image: &Encoded,
        options: &DecodeOptions,
    ) -> Result<Encoded> {
        let turned = options.turn(image);
        let size = upright_size(image, turned);
        let needed = Needed::of(std::iter::empty(), size);
        let part = decode(decoder, (key, image), turned, needed, options, &mut self.pixels)?;
        self.n_rounded += u64::from(part.is_rounded);
        let region = part.region(&self.pixels);
        let rgb = match region.channels {
            1 => region.pixels.iter().flat_map(|gray| [*gray; 3]).collect(),
            _ => region.pixels.to_vec(),
        };
        Ok(Encoded::new(Codec::Raw, size.0, size.1, rgb.into()))
    }
}

/// Adds field and number of the image to an error of decoding.
fn named(error: Error, field: &str, number: usize) -> Error {
    match error {
        Error::Sample { key, what } => {
            let what = what.reworded(|what| format!("its field `{field}`, image {number}: {what}"));
            Error::Sample { key, what }
        }
        other => other,
    }
}

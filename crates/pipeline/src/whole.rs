//! Images that a format of pixels stores as separate files: masks, images of more than 8 bits, and
//! further images other than RGB.
use fdconvert_codec::{Encode, Policy};
use fdconvert_core::{
    Codec, Color, Error, Format, Image, ImageHeader, Kind, OpenOptions, OptionValues, Reader,
    Result, Schema, Source, Value, option, probe,
};
use std::path::Path;

/// Offset of the colour type in a PNG, and its value for palette images.
const PNG_KIND: (usize, u8) = (25, 3);

/// Number of samples that are read to find a sound one.
const N_LOOKS: u64 = 16;

/// Returns the positions of the fields of images to store as files: those that must not change,
/// those whose image in the first readable sample has more than 8 bits or other bands, and those of
/// further images that the format can only hold as pixels; all of it unless an option encodes them.
pub(crate) fn fields(source: &dyn Source, policy: &Policy, format: &dyn Format) -> Vec<usize> {
    let schema = source.schema();
    let first = schema.first_image();
    let fields = schema.fields.iter().enumerate();
    let images = fields.filter(|(_, field)| field.kind == Kind::Image);
    let images: Vec<usize> = images.map(|(number, _)| number).collect();
    let is_encoded = policy.encode != Encode::Keep || policy.size.is_some();
    // A read may be a request to a store.
    let may_be_deep = !is_encoded && source.facts().n_ready() > 0 && may_be_deep(&source.key(0));
    let is_unsure = |field: &usize| {
        !source.facts().field(*field).keeps_pixels && (Some(*field) != first || may_be_deep)
    };
    // Bad samples are ignored here, and are errors when they are packed.
    let n_looks =
        if images.iter().any(is_unsure) { source.facts().n_ready().min(N_LOOKS) } else { 0 };
    let sample = (0..n_looks).find_map(|index| source.read(index).ok());
    let suits = |field: usize| match sample.as_ref().and_then(|it| it.values.get(field)) {
        Some(Value::Image(image)) if Some(field) == first => is_encoded || !is_deep(image),
        Some(Value::Image(image)) => suits(image, policy, format),
        _ => true,
    };
    images
        .into_iter()
        .filter(|&field| source.facts().field(field).keeps_pixels || !suits(field))
        .collect()
}

/// Returns true if an image is RGB of 8 bits that the format holds as it is, or that an option
/// encodes anyway.
fn suits(image: &Image, policy: &Policy, format: &dyn Format) -> bool {
    match image {
        Image::Encoded(encoded) if encoded.codec == Codec::Raw => true,
        Image::Encoded(encoded) => {
            let Ok(header) = probe::probe(&encoded.bytes) else { return false };
            let is_encoded = policy.encode != Encode::Keep
                && (header.color, header.bits) == (Color::Rgb, 8)
                && !has_palette(image);
            is_encoded || format.holds(&header)
        }
        Image::Pixels(pixels) => pixels.channels == 3,
        Image::Bilevel(_) => false,
    }
}

fn has_palette(image: &Image) -> bool {
    let (at, of_palette) = PNG_KIND;
    let Image::Encoded(encoded) = image else { return false };
    encoded.codec == Codec::Png && encoded.bytes.get(at) == Some(&of_palette)
}

/// Returns true unless the extension of a key is that of images of 8 bits.
fn may_be_deep(key: &str) -> bool {
    let extension = key.rsplit_once('.').and_then(|(_, it)| Codec::from_extension(it));
    matches!(extension, None | Some(Codec::Png | Codec::Tiff))
}

/// Returns true for a file of more than 8 bits, or of bands that are not a picture.
fn is_deep(image: &Image) -> bool {
    let Image::Encoded(encoded) = image else { return false };
    let is_deep = || {
        let header = probe::probe(&encoded.bytes)?;
        let are_bands = || probe::bands_only(&encoded.bytes, &header).is_some();
        Ok::<_, String>(header.bits > 8 || are_bands())
    };
    encoded.codec != Codec::Raw && is_deep().unwrap_or(false)
}

/// Refuses a further image with values that would be lost in a field that becomes pixels because
/// the first sample's image there suits it: palette indices, and more than 8 bits.
///
/// # Errors
/// `Sample`.
pub(crate) fn check(schema: &Schema, field: usize, key: &str, image: &Image) -> Result<()> {
    if Some(field) == schema.first_image() {
        return Ok(());
    }
    let values = match image {
        image if has_palette(image) => "a PNG with a palette, whose numbers",
        image if is_deep(image) => "an image of more than 8 bits, which",
        _ => return Ok(()),
    };
    let name = schema.fields.get(field).map_or("", |field| &field.name);
    let what = format!(
        "field `{name}` is {values} would be lost, as the field is stored as RGB by its first image; \
         pack into a format that stores files, such as wds"
    );
    Err(Error::sample(key, what)
        .cure("to leave the field out", option::DROP_FIELDS.with(name))
        .cure("to leave out such samples", option::ON_ERROR.with("skip")))
}

/// Stands in for a format that stores files of images: it holds all kinds of files.
pub(crate) struct AsFiles<'a>(pub(crate) &'a dyn Format);

impl Format for AsFiles<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn about(&self) -> &'static str {
        self.0.about()
    }

    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>> {
        self.0.with_options(values)
    }

    fn detect(&self, path: &Path) -> bool {
        self.0.detect(path)
    }

    fn suits(&self, path: &Path) -> bool {
        self.0.suits(path)
    }

    fn holds(&self, header: &ImageHeader) -> bool {
        header.codec != Codec::Raw
    }

    fn fallback(&self) -> Codec {
        Codec::Png
    }

    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
        self.0.open_with(path, options)
    }
}

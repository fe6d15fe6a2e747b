//! Images that a format of pixels stores as separate files: masks, and other images than RGB.
use fdconvert_core::{
    Codec, Color, Error, Format, Image, ImageHeader, Kind, OpenOptions, OptionValues, Reader,
    Result, Schema, Source, Value, option, probe,
};
use std::path::Path;

/// Offset of the colour type in a PNG, and its value for palette images.
const PNG_KIND: (usize, u8) = (25, 3);

/// Number of samples that are read to find a sound one.
const N_LOOKS: u64 = 16;

/// Returns the positions of the fields of further images that must not change, or that are not RGB
/// of 8 bits in the first readable sample.
pub(crate) fn fields(source: &dyn Source) -> Vec<usize> {
    let schema = source.schema();
    let first = schema.first_image();
    let fields = schema.fields.iter().enumerate();
    let images =
        fields.filter(|(number, field)| field.kind == Kind::Image && Some(*number) != first);
    let further: Vec<usize> = images.map(|(number, _)| number).collect();
    let is_unsure = |field: &usize| !source.facts().field(*field).keeps_pixels;
    // Bad samples are ignored here, and are errors when they are packed.
    let n_looks =
        if further.iter().any(is_unsure) { source.facts().n_ready().min(N_LOOKS) } else { 0 };
    let sample = (0..n_looks).find_map(|index| source.read(index).ok());
    let is_rgb = |field: usize| match sample.as_ref().and_then(|it| it.values.get(field)) {
        Some(Value::Image(image)) => is_rgb(image),
        _ => true,
    };
    further
        .into_iter()
        .filter(|&field| source.facts().field(field).keeps_pixels || !is_rgb(field))
        .collect()
}

fn is_rgb(image: &Image) -> bool {
    match image {
        Image::Encoded(encoded) if matches!(encoded.codec, Codec::Jpeg | Codec::Raw) => true,
        Image::Encoded(encoded) => {
            let header = probe::probe(&encoded.bytes);
            !has_palette(image)
                && header.is_ok_and(|header| (header.color, header.bits) == (Color::Rgb, 8))
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

/// Refuses a further image with palette indices that would be lost: in a field that becomes pixels,
/// because the first sample's image there is RGB.
///
/// # Errors
/// `Sample`.
pub(crate) fn check(schema: &Schema, field: usize, key: &str, image: &Image) -> Result<()> {
    if Some(field) == schema.first_image() || !has_palette(image) {
        return Ok(());
    }
    let name = schema.fields.get(field).map_or("", |field| &field.name);
    let what = format!(
        "field `{name}` is a PNG with a palette, whose numbers would be lost, as the field is stored \
         as RGB by its first image; pack into a format that stores files, such as wds"
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

//! Maps fields of a schema to members of a sample, and back.
use crate::{
    members::npy,
    wds::{
        Wds, kept,
        keys::{KeyCodec, Omitted},
        layout::MAX_NAME_BYTES,
        list::numbered,
        names::Name,
    },
};
use fdconvert_core::{
    Codec, Common, Encoded, Error, FieldSpec, Kind, Remark, Result, Schema, Value, option,
};
use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _};

/// Name of images with different codecs, for readers that know only one name per field.
pub(crate) const ANY_IMAGE: &str = "img";
/// This much of a key always suffices to tell it from others.
const MIN_KEY_BYTES: usize = 24;

/// Positions of the fields in member order: images, then the rest.
pub(crate) fn order(schema: &Schema) -> Vec<usize> {
    let is_image = |&i: &usize| matches!(schema.fields[i].kind, Kind::Image | Kind::Images);
    let (images, others): (Vec<_>, Vec<_>) = (0..schema.fields.len()).partition(is_image);
    [images, others].concat()
}

/// Returns true if the field is stored in the rows of the index rather than as a region of the tar.
pub(crate) fn is_cell(field: &FieldSpec) -> bool {
    matches!(field.kind, Kind::Int | Kind::Float)
}

/// Member names without key and dot, in schema order: the source's names as long as they stay
/// distinct in the written tar, otherwise those derived from the fields.
pub(crate) fn names(schema: &Schema, format: &Wds, common: &Common) -> Result<Vec<Name>> {
    if !common.members.is_empty()
        && let Ok(names) = all_names(schema, format, common, &common.members)
    {
        return Ok(names);
    }
    all_names(schema, format, common, &[])
}

/// The codec for keys beside members of these names.
pub(crate) fn key_codec(schema: &Schema, names: &[Name], common: &Common) -> KeyCodec {
    let longest = names.iter().map(Name::max_bytes).max().unwrap_or(0);
    let image = schema.first_image().and_then(|image| names.get(image));
    let omitted = match (&common.extension, image) {
        (Some(extension), _) => Omitted::One(extension.clone()),
        (None, _) if common.distinct_stems => Omitted::AnyImage,
        (None, Some(Name::Fixed(name))) => Omitted::One(name.clone()),
        (None, _) => Omitted::One(String::new()),
    };
    KeyCodec { omitted, max_bytes: MAX_NAME_BYTES - 1 - longest }
}

fn all_names(
    schema: &Schema,
    format: &Wds,
    common: &Common,
    members: &[Option<String>],
) -> Result<Vec<Name>> {
    let one_name = ["hf", "card"].iter().any(|kind| format.sidecars.contains(kind));
    let own = |field: usize| members.get(field).and_then(Option::as_deref);
    // The folders of a mixed set have the same names for images.
    let own_image = |field: usize| own(field).filter(|_| !format.one_suffix);
    let first_image = schema.first_image();
    let image = match (&format.image_field, first_image.and_then(own_image), common.codec) {
        (Some(name), ..) => Name::Fixed(name.clone()),
        (None, Some(own), _) => kept::first_image(own, common, one_name),
        (None, None, Some(codec)) => Name::Fixed(codec.extension().to_owned()),
        // Hugging Face datasets takes the fields of all samples from the first ones.
        (None, None, None) if one_name => Name::Fixed(ANY_IMAGE.to_owned()),
        (None, None, None) => Name::ByCodec(String::new()),
    };
    let further = |field: usize| {
        let plain = plain_name(&schema.fields[field].name);
        match &image {
            Name::Fixed(first) if format.one_suffix => {
                let suffix = first.rsplit('.').next().unwrap_or(first);
                Name::Fixed(format!("{plain}.{suffix}"))
            }
            _ if one_name => Name::Fixed(format!("{plain}.{ANY_IMAGE}")),
            _ => match own_image(field) {
                Some(own) => kept::further_image(own),
                None => Name::ByCodec(format!("{plain}.")),
            },
        }
    };
    let mut names = Vec::with_capacity(schema.fields.len());
    for (field, spec) in schema.fields.iter().enumerate() {
        if spec.kind == Kind::Images {
            if one_name {
                let what = format!(
                    "Hugging Face datasets takes the same members of all samples from the first \
                     ones, and `{}` is a list of images: leave out `hf` and `card`, or pack into \
                     parquet",
                    spec.name
                );
                return Err(Error::usage(option::SIDECARS, what));
            }
            names.push(Name::Numbered(format!("{}.", plain_name(&spec.name))));
            continue;
        }
        names.push(match (fixed_name(schema, field)?, own(field)) {
            (Some(_), Some(own)) => Name::Fixed(own.to_owned()),
            (Some(name), None) => Name::Fixed(name),
            (None, _) if Some(field) == first_image => image.clone(),
            (None, _) => further(field),
        });
    }
    check(schema, &names)?;
    Ok(names)
}

/// The member name derived from a field's name and kind; `None` for images, which are named by
/// codec.
pub(crate) fn fixed_name(schema: &Schema, position: usize) -> Result<Option<String>> {
    let Some(field) = schema.fields.get(position) else { return Ok(None) };
    let label = schema.label().filter(|&label| schema.fields[label].kind == Kind::Int);
    let plain = plain_name(&field.name);
    Ok(Some(match &field.kind {
        Kind::Image | Kind::Images => return Ok(None),
        Kind::Int if Some(position) == label => "cls".to_owned(),
        Kind::Int => format!("{plain}.cls"),
        Kind::Float | Kind::Json => format!("{plain}.json"),
        Kind::Text => format!("{plain}.txt"),
        Kind::Bytes => format!("{plain}.bin"),
        Kind::Array(spec) if npy::header(spec).len() > 4096 => {
            let what = format!("field `{}` has too many dimensions", field.name);
            return Err(Error::usage("schema", what));
        }
        Kind::Array(_) => format!("{plain}.npy"),
        _ => {
            let what = format!("a shard cannot hold field `{}`", field.name);
            return Err(Error::usage("schema", what));
        }
    }))
}

/// Warns about names that differ between samples.
pub(crate) fn remarks(format: &Wds, schema: &Schema, common: &Common) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let image = schema.first_image();
    let names = image.and_then(|image| names(schema, format, common).ok()?.get(image).cloned());
    match names {
        Some(Name::ByCodec(_)) => {
            let what = "images of several codecs are members of several names, such as .jpg and \
                        .png: webdataset and DALI read them as `jpg;png`; Hugging Face datasets \
                        takes one name only";
            let one = option::IMAGE_FIELD.with("jpg");
            remarks.push(Remark::from(what).cure("to give all images one", one));
        }
        Some(Name::Fixed(name)) if name == ANY_IMAGE && format.image_field.is_none() => {
            let what = format!(
                "images of several codecs are all called .{ANY_IMAGE}, because Hugging Face \
                 datasets (`hf`) takes one name only"
            );
            let jpg = option::IMAGE_FIELD.with("jpg");
            remarks.push(Remark::from(what).cure("for webdataset's decoders", jpg));
        }
        _ => {}
    }
    if image.is_some() && common.extension.is_none() && !common.distinct_stems {
        remarks.push(
            "some keys differ only in their extension: keys in the shards keep theirs, with %2E \
             for the dot"
                .into(),
        );
    }
    remarks
}

/// Refuses names that readers would confuse, and names too long to leave room for a key.
fn check(schema: &Schema, names: &[Name]) -> Result<()> {
    let mut seen = BTreeMap::new();
    let lists = names.iter().filter_map(|name| match name {
        Name::Numbered(stem) => Some(stem.to_ascii_lowercase().into_bytes()),
        _ => None,
    });
    let lists: Vec<Vec<u8>> = lists.collect();
    for (name, field) in names.iter().zip(&schema.fields) {
        for name in name.all() {
            // WebDataset reads names in lower case.
            let lower = name.to_ascii_lowercase();
            let of_list = numbered(lower.as_bytes()).map(|(stem, _)| stem);
            if of_list.is_some_and(|stem| lists.iter().any(|list| list == stem)) {
                let what = format!(
                    "field `{}` would be stored as `{name}`, as if it were of a list of images: \
                     rename it",
                    field.name
                );
                return Err(Error::usage("schema", what));
            }
            if let Some(earlier) = seen.insert(lower, &field.name) {
                let what = format!(
                    "the fields `{earlier}` and `{}` would both be stored as `{name}`: rename one",
                    field.name
                );
                return Err(Error::usage("schema", what));
            }
        }
        if name.max_bytes() + 1 + MIN_KEY_BYTES > MAX_NAME_BYTES {
            let what = format!("the name of field `{}` is too long for a shard", field.name);
            return Err(Error::usage("schema", what));
        }
    }
    Ok(())
}

/// Removes the characters of a field's name that a member name may not have.
pub(crate) fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            plain.push(char::from(byte));
        } else {
            let _ = write!(plain, "%{byte:02x}");
        }
    }
    plain
}

/// Contents of a member: the value, after a header that is not part of it.
pub(crate) struct Contents<'a> {
    pub(crate) header: Vec<u8>,
    pub(crate) bytes: Cow<'a, [u8]>,
}

impl Contents<'_> {
    pub(crate) fn len(&self) -> u64 {
        (self.header.len() + self.bytes.len()) as u64
    }
}

/// Encodes a value as stored.
pub(crate) fn encode<'a>(kind: &Kind, value: &'a Value<Encoded>) -> Result<Contents<'a>, String> {
    let bytes: Cow<'_, [u8]> = match value {
        Value::Image(image) => return encode_image(image),
        Value::Int(int) => Cow::Owned(int.to_string().into_bytes()),
        Value::Float(float) => Cow::Owned(float_text(*float).into_bytes()),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => Cow::Borrowed(bytes),
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        _ => return Err("a shard cannot hold a value of this kind".into()),
    };
    let header = match kind {
        Kind::Array(spec) => npy::header(spec),
        _ => Vec::new(),
    };
    Ok(Contents { header, bytes })
}

/// Returns an image as stored.
pub(crate) fn encode_image(image: &Encoded) -> Result<Contents<'_>, String> {
    if image.codec == Codec::Raw {
        return Err("raw pixels are no file: store them as PNG or another codec".into());
    }
    Ok(Contents { header: Vec::new(), bytes: Cow::Borrowed(&image.bytes) })
}

/// Formats a float as Python's `json` does.
fn float_text(float: f64) -> String {
    match float {
        _ if float.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        // The shortest text that parses to the same float.
        _ => format!("{float:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::decode;
    use bytes::Bytes;

    fn schema(fields: &[(&str, Kind)]) -> Schema {
        let fields = fields.iter().map(|(name, kind)| FieldSpec::new(*name, kind.clone()));
        Schema::new(fields.collect()).unwrap()
    }

    #[test]
    fn members_are_named_for_the_decoders_of_others() {
        let schema = schema(&[
            ("label", Kind::Int),
            ("photo", Kind::Image),
            ("mask", Kind::Image),
            ("age in years", Kind::Int),
            ("score", Kind::Float),
            ("caption", Kind::Text),
        ]);
        let wds = Wds::default();
        let check = |wds: &Wds, codec, expected: [&str; 3]| {
            let common = Common { codec, ..Common::default() };
            let rest = ["age%20in%20years.cls", "score.json", "caption.txt"];
            let png = Encoded::new(Codec::Png, 1, 1, Bytes::new());
            let png = Value::Image(png);
            let names = names(&schema, wds, &common).unwrap();
            let names: Vec<_> = names.iter().map(|name| name.of(&png)).collect();
            assert_eq!(names, [&expected[..], &rest].concat());
        };
        check(&wds, Some(Codec::Png), ["cls", "png", "mask.png"]);
        // A different codec per image.
        check(&wds, Some(Codec::Jpeg), ["cls", "jpg", "mask.png"]);
        check(&wds, None, ["cls", "png", "mask.png"]);
        let named = wds.clone().with_image_field("a.jpg").unwrap();
        check(&named, None, ["cls", "a.jpg", "mask.png"]);
        check(&named.with_one_suffix(), None, ["cls", "a.jpg", "mask.jpg"]);
        let hf = Wds::with_sidecars("fdx,hf").unwrap();
        check(&hf, None, ["cls", "img", "mask.img"]);
        check(&hf, Some(Codec::Jpeg), ["cls", "jpg", "mask.img"]);
        assert_eq!(order(&schema), [1, 2, 0, 3, 4, 5]);
    }

    #[test]
    fn names_that_others_cannot_tell_apart_are_refused() {
        let wds = Wds::default();
        let twice = schema(&[("a", Kind::Text), ("A", Kind::Text)]);
        assert!(names(&twice, &wds, &Common::default()).is_err());
        let float_and_json = schema(&[("a", Kind::Float), ("b", Kind::Json)]);
        assert!(names(&float_and_json, &wds, &Common::default()).is_ok());
        let long = schema(&[(&"n".repeat(80), Kind::Text)]);
        assert!(names(&long, &wds, &Common::default()).is_err());
    }

    #[test]
    fn floats_come_back_to_the_bit() {
        for float in [0.0, -0.0, 0.1, f64::MAX, 5e-324, f64::INFINITY, f64::NEG_INFINITY] {
            let text = float_text(float).into();
            let Ok(Value::Float(back)) = decode(&Kind::Float, text) else { panic!("{float}") };
            assert_eq!(back.to_bits(), float.to_bits());
        }
        assert!(decode(&Kind::Float, float_text(f64::NAN).into()).is_ok());
    }
}

//! Keeps member names of other tools' shards when their samples are packed again: their readers
//! expect `txt`, not `txt.txt`.
use crate::wds::{
    fields::{ANY_IMAGE, fixed_name, plain_name},
    names::{Column, Name, stem_of_image},
};
use fdconvert_core::{Codec, Common, Schema};

/// The source's member name for a field, if it differs from the one that
/// [`names`](crate::wds::fields::names) would choose. Ignores names that fdconvert would not write:
/// see `SPEC.md`, "Fields".
pub(crate) fn of_source(schema: &Schema, field: usize, column: &Column) -> Option<String> {
    let name = std::str::from_utf8(column.first()).ok().filter(|name| is_plain(name))?;
    let usual = match fixed_name(schema, field).ok()? {
        Some(fixed) => fixed == name,
        None => is_usual_image(schema, field, name),
    };
    (!usual).then(|| name.to_owned())
}

/// Accepts `jpg` for the first image, `mask.jpg` for the field `mask`.
fn is_usual_image(schema: &Schema, field: usize, name: &str) -> bool {
    let stem = match schema.first_image() {
        Some(first) if first == field => String::new(),
        _ => schema.fields.get(field).map_or_else(String::new, |it| plain_name(&it.name) + "."),
    };
    let extension = name.strip_prefix(&stem).unwrap_or_default();
    Codec::from_extension(extension).is_some_and(|codec| codec.extension() == extension)
}

fn is_plain(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.%".contains(&byte);
    let dots = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    !name.is_empty() && name.bytes().all(legal) && !dots
}

/// Name of the first image; `own` is its name in the source.
pub(crate) fn first_image(own: &str, common: &Common, one_name: bool) -> Name {
    let Some((stem, extension)) = split_image(own) else { return Name::Fixed(own.to_owned()) };
    match common.codec {
        // In all samples, not only in the first.
        Some(codec)
            if Codec::from_extension(extension) == Some(codec)
                && common.extension.as_deref() == Some(own) =>
        {
            Name::Fixed(own.to_owned())
        }
        Some(codec) => Name::Fixed(format!("{stem}{}", codec.extension())),
        None if one_name => Name::Fixed(ANY_IMAGE.to_owned()),
        None => Name::ByCodec(stem.to_owned()),
    }
}

/// Name of a further image; `own` is its name in the source.
pub(crate) fn further_image(own: &str) -> Name {
    match split_image(own) {
        Some((stem, _)) if !stem.is_empty() => Name::ByCodec(stem.to_owned()),
        // Beside a `jpg`, a bare `png` is distinguished only by its extension.
        _ => Name::Fixed(own.to_owned()),
    }
}

/// Splits a name into the part up to and including the dot, and the extension of an image.
fn split_image(name: &str) -> Option<(&str, &str)> {
    name.split_at_checked(stem_of_image(name.as_bytes())?.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wds::{Wds, fields::names, infer::tests::of_names};

    /// Names that the members of a sample of another tool keep.
    fn kept(members: &[&str], codec: Option<Codec>, extension: Option<&str>) -> Vec<Name> {
        let (schema, columns) = of_names(members);
        let own = columns.iter().enumerate().map(|(field, it)| of_source(&schema, field, it));
        let (members, extension) = (own.collect(), extension.map(str::to_owned));
        let common = Common { codec, extension, members, ..Common::default() };
        names(&schema, &Wds::default(), &common).unwrap()
    }

    #[test]
    fn names_of_others_stay() {
        let fixed = |names: &[&str]| -> Vec<_> {
            names.iter().map(|name| Name::Fixed((*name).to_owned())).collect()
        };
        let (jpeg, png) = (Some(Codec::Jpeg), Some(Codec::Png));
        for names in [
            &["jpg", "txt"][..],
            &["jpg", "text", "json", "pickle", "npy"],
            &["jpg", "id", "caption.txt", "caption.json", "mp4"],
            &["img", "png", "cls"],
        ] {
            assert_eq!(kept(names, jpeg, Some("jpg")), fixed(names));
        }
        assert_eq!(kept(&["jpeg", "TXT"], jpeg, Some("jpeg")), fixed(&["jpeg", "TXT"]));
        // Only the first sample has this name; the images become PNGs.
        assert_eq!(kept(&["jpeg", "txt"], jpeg, None), fixed(&["jpg", "txt"]));
        assert_eq!(kept(&["jpeg", "txt"], png, Some("jpeg")), fixed(&["png", "txt"]));
        assert_eq!(kept(&["left.jpg"], png, Some("left.jpg")), fixed(&["left.png"]));
        let by_codec = |stem: &str| Name::ByCodec(stem.to_owned());
        let pair = kept(&["left.jpg", "right.jpg"], None, None);
        assert_eq!(pair, [by_codec("left."), by_codec("right.")]);
    }

    #[test]
    fn names_that_would_collide_or_cannot_be_written_are_ours() {
        let png = kept(&["jpg", "png"], Some(Codec::Png), Some("jpg"));
        assert_eq!(png, [Name::Fixed("png".into()), Name::ByCodec("png.".into())]);
        let odd = kept(&["jpg", "a b"], Some(Codec::Jpeg), Some("jpg"));
        assert_eq!(odd[1], Name::Fixed("a%20b.bin".into()));
    }
}

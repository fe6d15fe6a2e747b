//! Files beside images as fields: `--beside txt,json`. See `SPEC.md`, "Files beside images".
use crate::{
    folder::layout::{is_hidden, promised, split_extension},
    members,
};
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Ignored, Kind, Result, Schema, option};

/// Refuses extensions that no file name can end with.
pub(crate) fn check(extensions: &[String]) -> Result<()> {
    for (position, extension) in extensions.iter().enumerate() {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
        if !extension.split('.').all(is_name) {
            let what = format!(
                "`{extension}` is not the extension of a file, such as `txt` or `mask.png`: \
                 letters, digits, `_` and `-`, with single dots between them"
            );
            return Err(Error::usage(option::BESIDE, what));
        }
        if extensions.iter().take(position).any(|earlier| earlier == extension) {
            return Err(Error::usage(option::BESIDE, format!("`{extension}` occurs twice")));
        }
    }
    Ok(())
}

/// The path of the file with that extension beside an image.
pub(crate) fn path_beside(image: &[u8], extension: &str) -> Vec<u8> {
    [stem(image), b".", extension.as_bytes()].concat()
}

/// A path without the extension of its last part.
fn stem(path: &[u8]) -> &[u8] {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(name);
    let stem = split_extension(name).map_or(name, |(stem, _)| stem);
    path.get(..folder.len() + stem.len()).unwrap_or(path)
}

/// Role of a file in a walk, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    Image,
    /// A file beside an image, with the image's name without extension.
    Beside(&'a [u8]),
    Other,
}

/// Returns the role of a regular file in a walk for images with files of these `extensions` beside
/// them.
pub(crate) fn role<'a>(name: &'a [u8], extensions: &[String]) -> Role<'a> {
    let stem = |extension: &String| name.strip_suffix(extension.as_bytes())?.strip_suffix(b".");
    let is_stem = |stem: &&[u8]| !stem.is_empty() && !is_hidden(stem);
    // The longest extension wins: with `png` and `mask.png`, `a.mask.png` is the mask of `a`.
    let stems = extensions.iter().filter_map(stem).filter(is_stem);
    match stems.min_by_key(|stem| stem.len()) {
        Some(stem) => Role::Beside(stem),
        None if promised(name).is_some() => Role::Image,
        None => Role::Other,
    }
}

/// Returns true if stem, dot and `rest` form the name of an image.
pub(crate) fn completes_image(stem: &[u8], rest: &[u8], extensions: &[String]) -> bool {
    let name = [stem, b".", rest].concat();
    !rest.contains(&b'.') && role(&name, extensions) == Role::Image
}

/// Counts a skipped file.
pub(crate) fn count(name: &[u8], ignored: &mut Ignored) {
    let extension = split_extension(name).map_or_else(
        || "no extension".to_owned(),
        |(_, extension)| {
            format!(".{}", crate::folder::layout::key_of_path(&extension.to_ascii_lowercase()))
        },
    );
    ignored.count_file(extension);
}

/// The schema with a field for each extension. Arrays take the shape of the first one, which
/// `read_first` returns.
pub(crate) fn with_fields(
    schema: &Schema,
    extensions: &[String],
    read_first: impl Fn(&str) -> Result<Bytes>,
) -> Result<Schema> {
    let mut fields = schema.fields.clone();
    for extension in extensions {
        let full = extension.as_str();
        let (first, suffix) = full.rsplit_once('.').unwrap_or(("", full));
        let suffix = suffix.to_ascii_lowercase();
        let bytes = if suffix == "npy" { read_first(extension)? } else { Bytes::new() };
        let kind = members::kind(&suffix, &bytes);
        // The names that WebDataset shards without a schema would have.
        let preferred = match (&kind, first) {
            (Kind::Int, "") => "label",
            (Kind::Bytes, _) | (_, "") => full,
            (_, first) => first,
        };
        let is_free = |name: &&str| fields.iter().all(|field| field.name != *name);
        let Some(name) = [preferred, full].into_iter().find(is_free) else {
            let what = format!("there is a field `{full}` already; leave it out");
            return Err(Error::usage(option::BESIDE, what));
        };
        fields.push(FieldSpec::new(name, kind));
    }
    Schema::new(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_tell_images_from_files_beside_them() {
        let extensions = names(&["txt", "png", "mask.png"]);
        let role = |name: &'static str| role(name.as_bytes(), &extensions);
        assert_eq!(role("a.jpg"), Role::Image);
        assert_eq!(role("a.b.txt"), Role::Beside(b"a.b"));
        assert_eq!(role("a.mask.png"), Role::Beside(b"a"));
        assert_eq!(role("a.png"), Role::Beside(b"a"));
        for other in ["a.TXT", "a.json", ".txt", "txt", "atxt"] {
            assert_eq!(role(other), Role::Other, "{other}");
        }
        assert_eq!(path_beside(b"x.y/a.b.jpg", "txt"), b"x.y/a.b.txt");
        assert_eq!(path_beside(b"x.y/a", "mask.png"), b"x.y/a.mask.png");
    }

    #[test]
    fn fields_are_called_as_in_shards() {
        let image = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        let extensions = ["txt", "json", "cls", "seg.png", "png", "b.txt", "index", "bin"];
        let schema = with_fields(&image, &names(&extensions), |_| Ok(Bytes::new())).unwrap();
        let fields = schema.fields.iter().skip(1);
        let found: Vec<_> = fields.map(|it| (&*it.name, it.kind.name())).collect();
        let expected = [
            ("txt", "text"),
            ("json", "json"),
            ("label", "int"),
            ("seg", "image"),
            ("png", "image"),
            ("b", "text"),
            ("index", "int"),
            ("bin", "bytes"),
        ];
        assert_eq!(found, expected);
        assert!(with_fields(&image, &names(&["image.txt"]), |_| Ok(Bytes::new())).is_ok());
        for bad in ["", ".", "a..b", ".txt", "a/b", "é"] {
            assert!(check(&names(&[bad])).is_err(), "{bad}");
        }
        assert!(check(&names(&["txt", "txt"])).is_err());
    }
}

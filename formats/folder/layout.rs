//! Names: which files are images, and conversion between paths and keys.
use fdconvert_core::Codec;
use fdconvert_storage::os;
use std::path::{Path, PathBuf};

/// The table of rows beside the images, if the tree alone does not describe the dataset.
pub(crate) const ROWS: &str = "labels.jsonl";
/// The schema that belongs to the table.
pub(crate) const META: &str = "fdconvert.json";

/// Longest name of a file or folder on common file systems, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Lower-case extensions of images, with the codec that each one promises.
const EXTENSIONS: [(&str, Codec); 15] = [
    ("jpg", Codec::Jpeg),
    ("jpeg", Codec::Jpeg),
    ("jpe", Codec::Jpeg),
    ("jfif", Codec::Jpeg),
    ("png", Codec::Png),
    ("apng", Codec::Png),
    ("bmp", Codec::Bmp),
    ("dib", Codec::Bmp),
    ("webp", Codec::Webp),
    ("tif", Codec::Tiff),
    ("tiff", Codec::Tiff),
    ("gif", Codec::Gif),
    ("avif", Codec::Avif),
    ("avifs", Codec::Avif),
    ("jxl", Codec::Jxl),
];

/// Returns the codec that the extension of a file name promises; `None` for a name that is no
/// image's.
pub(crate) fn promised(name: &[u8]) -> Option<Codec> {
    let extension = split_extension(name)?.1;
    let known = EXTENSIONS.iter().find(|(text, _)| extension.eq_ignore_ascii_case(text.as_bytes()));
    known.map(|&(_, codec)| codec)
}

/// Returns true if a file of that name counts as an image.
#[must_use]
pub fn is_image_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| promised(name.as_encoded_bytes()).is_some())
}

/// Lists the image extensions, for messages.
pub(crate) fn extensions() -> String {
    EXTENSIONS.map(|(text, _)| format!(".{text}")).join(" ")
}

/// Splits the name at its last dot; a leading dot does not count.
pub(crate) fn split_extension(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    Some((name.get(..dot)?, name.get(dot + 1..)?))
}

/// Returns true if a file or folder of this name is skipped.
pub(crate) fn is_hidden(name: &[u8]) -> bool {
    name.first() == Some(&b'.')
}

/// Folder that macOS adds to its archives: resource forks under the names of files.
pub(crate) const MACOSX: &[u8] = b"__MACOSX";

pub(crate) fn join(root: &Path, relative: &[u8]) -> PathBuf {
    root.join(os::path_of(relative))
}

/// Converts a relative path to a key: bytes that are not UTF-8, and the backslash itself, become
/// `\xNN`, so that no two paths share a key and [`path_of_key`] can reverse it.
pub(crate) fn key_of_path(path: &[u8]) -> String {
    let mut key = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for (i, piece) in chunk.valid().split('\\').enumerate() {
            if i > 0 {
                key.push_str("\\x5c");
            }
            key.push_str(piece);
        }
        for byte in chunk.invalid() {
            key.push_str(&format!("\\x{byte:02x}"));
        }
    }
    key
}

/// Converts a key to its relative path, proven to stay below the root.
///
/// The error completes the sentence "the key ...".
pub(crate) fn path_of_key(key: &str) -> Result<Vec<u8>, String> {
    let mut pieces = key.split('\\');
    let mut path = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let escaped = piece.strip_prefix('x').and_then(|rest| {
            let byte = u8::from_str_radix(rest.get(..2)?, 16).ok()?;
            (byte == b'\\' || byte >= 0x80).then_some((byte, rest.get(2..)?))
        });
        let Some((byte, rest)) = escaped else {
            return Err("has a backslash, which is not part of a file name here".to_owned());
        };
        path.push(byte);
        path.extend_from_slice(rest.as_bytes());
    }
    check_relative(&path)?;
    Ok(path)
}

/// Proves that a path stays below the root it is joined to (apart from links).
///
/// The error completes a sentence such as "the path ...".
pub(crate) fn check_relative(path: &[u8]) -> Result<(), String> {
    if path.is_empty() {
        return Err("is empty".to_owned());
    }
    if path.starts_with(b"/") {
        return Err("is absolute; it has to be relative to the folder".to_owned());
    }
    if path.contains(&0) {
        return Err("has a NUL byte".to_owned());
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" => return Err("has an empty part (`//`, or `/` at its end)".to_owned()),
            b"." | b".." => {
                let part = String::from_utf8_lossy(part);
                return Err(format!("has a part `{part}`, which could lead out of the folder"));
            }
            _ if part.len() > MAX_NAME_BYTES => {
                let bytes = part.len();
                return Err(format!(
                    "has a part of {bytes} bytes; file names end at {MAX_NAME_BYTES}"
                ));
            }
            _ => {
                if let Some(why) = os::unfit(part) {
                    let part = String::from_utf8_lossy(part);
                    return Err(format!("has a part `{part}`, which has {why}"));
                }
            }
        }
    }
    Ok(())
}

/// Folder name for a class: the class name, made valid if necessary.
pub(crate) fn class_folder(class_name: Option<&str>, label: i64) -> Vec<u8> {
    let number = || format!("{label:05}").into_bytes();
    let Some(name) = class_name else { return number() };
    if let Ok(path) = path_of_key(name)
        && !path.contains(&b'/')
        && !is_hidden(&path)
    {
        return path;
    }
    let mut folder = name.replace(['/', '\\', '\0'], "_");
    if folder.starts_with('.') {
        folder.replace_range(..1, "_");
    }
    if check_relative(folder.as_bytes()).is_err() { number() } else { folder.into_bytes() }
}

/// Path for an image of that key and codec. A key that is a bare name without an image extension
/// goes into `class_folder`; other keys already have a place.
pub(crate) fn image_path(
    key: &str,
    codec: Codec,
    class_folder: Option<&[u8]>,
) -> Result<Vec<u8>, String> {
    let mut path = path_of_key(key)?;
    let name_start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let name = path.get(name_start..).unwrap_or_default();
    match promised(name) {
        Some(promise) if promise == codec => {}
        Some(_) => {
            let stem_len = split_extension(name).map_or(name.len(), |(stem, _)| stem.len());
            path.truncate(name_start + stem_len + 1);
            path.extend_from_slice(codec.extension().as_bytes());
        }
        None => {
            path.push(b'.');
            path.extend_from_slice(codec.extension().as_bytes());
            if name_start == 0
                && let Some(folder) = class_folder
            {
                path.splice(..0, [folder, b"/"].concat());
            }
        }
    }
    check_target(path)
}

/// Path for the image of a further field: beside the first one, with the field's name added.
pub(crate) fn extra_image_path(first: &[u8], field: &str, codec: Codec) -> Result<Vec<u8>, String> {
    // The name of the first image has a dot: `image_path` has given it an extension.
    let stem = match first.iter().rposition(|&byte| byte == b'.') {
        Some(dot) => first.get(..dot).unwrap_or(first),
        None => first,
    };
    let field = field.replace(['/', '\\', '\0'], "_");
    let name = format!(".{field}.{}", codec.extension());
    check_target([stem, name.as_bytes()].concat())
}

/// Refuses the names of fdconvert's own files.
fn check_target(path: Vec<u8>) -> Result<Vec<u8>, String> {
    check_relative(&path)?;
    let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
    if first.starts_with(ROWS.as_bytes()) || first == META.as_bytes() {
        return Err(format!("starts with a name that is kept for {ROWS} or {META}"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn image(key: &str, codec: Codec) -> String {
        image_path(key, codec, Some(b"cat"))
            .map_or_else(|why| format!("! {why}"), |path| String::from_utf8(path).unwrap())
    }

    #[test]
    fn extensions_say_what_they_promise() {
        for name in ["a.jpg", "a.JPEG", "a.b.Jpe", "x.jfif"] {
            assert_eq!(promised(name.as_bytes()), Some(Codec::Jpeg), "{name}");
        }
        assert_eq!(promised(b"a.dib"), Some(Codec::Bmp));
        for name in ["jpg", ".jpg", "a.txt", "a.", "a.jpg.gz", ""] {
            assert_eq!(promised(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn recorded_names_are_kept_and_lies_are_not() {
        assert_eq!(image("n01/x.JPEG", Codec::Jpeg), "n01/x.JPEG");
        assert_eq!(image("x.jfif", Codec::Jpeg), "x.jfif");
        assert_eq!(image("n01/x.JPEG", Codec::Png), "n01/x.png");
        assert_eq!(image("n01/v1.2", Codec::Png), "n01/v1.2.png");
        assert_eq!(image("00000012", Codec::Jpeg), "cat/00000012.jpg");
        assert_eq!(image_path("7", Codec::Bmp, None).unwrap(), b"7.bmp");
        assert_eq!(
            extra_image_path(b"a/b.c.jpg", "m/ask", Codec::Png).unwrap(),
            b"a/b.c.m_ask.png"
        );
    }

    #[test]
    fn no_key_leads_out() {
        for key in ["", "/a.jpg", "../a.jpg", "a/../b.jpg", "a//b.jpg", "./a.jpg", "a/", "a\0.jpg"]
        {
            assert!(image(key, Codec::Jpeg).starts_with('!'), "{key:?}");
        }
        for key in ["..\\a.jpg", "a\\x2fb.jpg", "\\x2e\\x2e/a.jpg", "labels.jsonl/a.jpg"] {
            assert!(image(key, Codec::Jpeg).starts_with('!'), "{key:?}");
        }
        assert!(image(&format!("a/{}.jpg", "x".repeat(300)), Codec::Jpeg).contains("304 bytes"));
    }

    #[test]
    fn a_class_becomes_a_folder() {
        let folder = |name| String::from_utf8(class_folder(name, 7)).unwrap();
        assert_eq!(folder(Some("tench")), "tench");
        assert_eq!(folder(Some("a/b")), "a_b");
        assert_eq!(folder(Some("..")), "_.");
        assert_eq!(folder(Some("")), "00007");
        assert_eq!(folder(None), "00007");
    }

    proptest! {
        #[test]
        fn every_path_survives_as_a_key(path in "[a-z\\\\xé]{1,6}(/[0-9a-f\\\\x]{1,8}){0,2}", tail in any::<Vec<u8>>()) {
            let tail = tail.into_iter().filter(|&byte| byte != 0 && byte != b'/');
            let path: Vec<u8> = path.bytes().chain(tail).collect();
            prop_assume!(check_relative(&path).is_ok());
            prop_assert_eq!(path_of_key(&key_of_path(&path)).unwrap(), path);
        }

        #[test]
        fn any_key_stays_below_or_is_refused(key in any::<String>(), class in any::<String>()) {
            let folder = class_folder(Some(&class), 3);
            prop_assert!(check_relative(&folder).is_ok() && !folder.contains(&b'/'));
            if let Ok(path) = image_path(&key, Codec::Png, Some(&folder)) {
                prop_assert!(check_relative(&path).is_ok());
                prop_assert_eq!(promised(&path), Some(Codec::Png));
            }
        }
    }
}

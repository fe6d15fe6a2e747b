//! Encodes keys as names in a tar, and decodes them.
//!
//! Other readers split a name at the first dot of its last part, list names separated by blanks,
//! and give some names a special meaning. So only ASCII letters, digits and the marks that every
//! reader and file system accepts are written literally, and a slash only between two parts that
//! are not empty; everything else becomes `%XX`.
use fdconvert_core::Codec;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_64;

/// Encodes the keys of one dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyCodec {
    pub(crate) omitted: Omitted,
    /// Maximum bytes of a name.
    pub(crate) max_bytes: usize,
}

/// The extension that is omitted from the names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Omitted {
    /// This extension, without its dot; empty if names are complete.
    One(String),
    /// That of any image: no two keys of the dataset differ only in it.
    AnyImage,
}

/// Characters written literally, beside letters, digits, `_` and `-`.
const MARKS: &[u8] = b"!#$&'()+,;=@[]^`{}";

/// Bytes of `~` and the hash of the key, which end the names of long keys.
pub(crate) const HASH_BYTES: usize = 17;

impl KeyCodec {
    /// Encodes a key as a name, without dot and field. Two keys get the same name only if they
    /// differ in the omitted extension alone, or if their 64-bit hashes collide.
    pub(crate) fn encode(&self, key: &str) -> String {
        let encoded = encode(self.strip(key));
        if encoded.len() <= self.max_bytes {
            return encoded;
        }
        let mut end = self.max_bytes.saturating_sub(HASH_BYTES);
        // Neither inside a `%XX` nor right after a slash.
        let cuts = |end: usize| {
            let head = &encoded.as_bytes()[..end];
            head.ends_with(b"/") || head.iter().rev().take(2).any(|&byte| byte == b'%')
        };
        while cuts(end) {
            end -= 1;
        }
        format!("{}~{:016x}", &encoded[..end], xxh3_64(key.as_bytes()))
    }

    fn strip<'a>(&self, key: &'a str) -> &'a str {
        let stem = match &self.omitted {
            Omitted::AnyImage => Codec::strip_extension(key),
            Omitted::One(extension) => key
                .strip_suffix(extension.as_str())
                .and_then(|stem| stem.strip_suffix('.'))
                // A file name that is only an extension keeps it.
                .filter(|stem| !extension.is_empty() && !stem.is_empty() && !stem.ends_with('/')),
        };
        stem.unwrap_or(key)
    }
}

fn encode(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    // Some readers take names that start with `__` for metadata of the archive, not samples.
    let first_part = key.split('/').next().unwrap_or_default();
    let is_meta = first_part.starts_with("__") && first_part.ends_with("__");
    let bytes = key.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let plain = match byte {
            b'/' => {
                let after = bytes.get(at + 1).is_some_and(|&next| next != b'/');
                let before =
                    at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|&b| b != b'/');
                before && after
            }
            b'_' => at > 0 || !is_meta,
            byte => byte.is_ascii_alphanumeric() || byte == b'-' || MARKS.contains(&byte),
        };
        if plain {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    // An empty name is not valid for a file.
    if name.is_empty() { "%".to_owned() } else { name }
}

/// Decodes a name that [`encode`] has made; returns other names, as other programs write them,
/// unchanged.
pub(crate) fn decode(name: &[u8]) -> String {
    let as_it_is = || String::from_utf8_lossy(name).into_owned();
    if !name.contains(&b'%') {
        return as_it_is();
    }
    let key = unescape(name).and_then(|bytes| String::from_utf8(bytes).ok());
    key.filter(|key| encode(key).as_bytes() == name).unwrap_or_else(as_it_is)
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    if name == b"%" {
        return Some(Vec::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codec() -> KeyCodec {
        KeyCodec { omitted: Omitted::One("jpg".into()), max_bytes: 90 }
    }

    #[test]
    fn names_are_what_other_readers_take_for_keys() {
        let check = |key: &str, name: &str| {
            assert_eq!(codec().encode(key), name);
            let back = decode(name.as_bytes());
            assert!(back == key || format!("{back}.jpg") == key, "{key}: {back}");
        };
        check("cat/tom.jpg", "cat/tom");
        check("cat/tom.JPEG", "cat/tom%2EJPEG");
        check("v1.0/a b.jpg", "v1%2E0/a%20b");
        check("../evil.jpg", "%2E%2E/evil");
        check("/etc//x/", "%2Fetc%2F%2Fx%2F");
        check("__meta__/a.jpg", "%5F_meta__/a");
        check(".jpg", "%2Ejpg");
        check("a/.jpg", "a/%2Ejpg");
        check("", "%");
        check("%41", "%2541");
        check("é", "%C3%A9");
        check("jack-o'-lantern/1 (2).jpg", "jack-o'-lantern/1%20(2)");
        check("a:b*c?\"<>|\\~.jpg", "a%3Ab%2Ac%3F%22%3C%3E%7C%5C%7E");
    }

    #[test]
    fn any_extension_of_an_image_is_left_out() {
        let codec = KeyCodec { omitted: Omitted::AnyImage, max_bytes: 90 };
        for (key, name) in [
            ("a/x.JPEG", "a/x"),
            ("ONE.JPG", "ONE"),
            ("k.png", "k"),
            ("v1.2.webp", "v1%2E2"),
            ("a/.png", "a/%2Epng"),
            ("n.txt", "n%2Etxt"),
        ] {
            assert_eq!(codec.encode(key), name);
        }
    }

    #[test]
    fn names_of_others_stay_as_they_are() {
        for name in ["100%", "%41", "%zz", "%e9", "a b", "%FF", "é"] {
            assert_eq!(decode(name.as_bytes()), name);
        }
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![".{0,40}", "[a-z./_%~]{0,12}", "[a-z/]{0,9}(\\.jpg)?", "[é/]{30,60}"]
    }

    proptest! {
        #[test]
        fn names_are_legal_and_lead_back(key in key()) {
            let name = codec().encode(&key);
            prop_assert!(!name.is_empty() && name.len() <= 90);
            let legal = |b: u8| b.is_ascii_alphanumeric() || b"_/-%~".contains(&b) || MARKS.contains(&b);
            prop_assert!(name.bytes().all(legal), "{}", name);
            prop_assert!(!name.starts_with('/') && !name.ends_with('/') && !name.contains("//"));
            if name.contains('~') {
                let hash = format!("~{:016x}", xxh3_64(key.as_bytes()));
                prop_assert!(name.ends_with(&hash));
            } else {
                let back = decode(name.as_bytes());
                let same = back == key || format!("{back}.jpg") == key;
                prop_assert!(same, "{} became {}", key, back);
            }
        }

        #[test]
        fn two_keys_have_two_names(a in key(), b in key()) {
            let same_but_extension = format!("{a}.jpg") == b || format!("{b}.jpg") == a;
            prop_assume!(a != b && !same_but_extension);
            prop_assert_ne!(codec().encode(&a), codec().encode(&b));
        }
    }
}

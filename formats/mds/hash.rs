//! File hashes in an index, by Streaming's names.
use fdconvert_core::{Error, Result, option};
#[cfg(feature = "hashes")]
use sha1::Sha1;
#[cfg(feature = "hashes")]
use sha2::{Digest, Sha256, Sha512};
use std::collections::BTreeMap;
use xxhash_rust::{xxh3::Xxh3, xxh32::Xxh32, xxh64::Xxh64};

/// Default hash: the cheapest common one.
pub(crate) const DEFAULT: &str = "xxh64";
const KNOWN: &str = "sha1, sha256, sha512, xxh32, xxh64, xxh3_64, xxh3_128, xxh128";

pub(crate) struct Hashes(Vec<(String, Hasher)>);

enum Hasher {
    #[cfg(feature = "hashes")]
    Sha1(Box<Sha1>),
    #[cfg(feature = "hashes")]
    Sha256(Box<Sha256>),
    #[cfg(feature = "hashes")]
    Sha512(Box<Sha512>),
    Xxh32(Box<Xxh32>),
    Xxh64(Box<Xxh64>),
    Xxh3(Box<Xxh3>),
    Xxh128(Box<Xxh3>),
}

/// Parses a list such as `sha1,xxh64` into sorted names; `none` gives none.
pub(crate) fn parse_list(list: &str) -> Result<Vec<String>> {
    if list == "none" {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for name in list.split(',').map(str::trim) {
        if Hasher::new(name).is_none() {
            let what = format!("`{name}` is not a hash we know; known are none, {KNOWN}");
            return Err(Error::usage(option::HASHES, what));
        }
        names.push(name.to_owned());
    }
    names.sort();
    names.dedup();
    Ok(names)
}

impl Hashes {
    /// Starts the known hashes among `names`.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let known = names.into_iter().filter_map(|name| Some((name.clone(), Hasher::new(name)?)));
        Self(known.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        for (_, hasher) in &mut self.0 {
            match hasher {
                #[cfg(feature = "hashes")]
                Hasher::Sha1(hasher) => Digest::update(&mut **hasher, bytes),
                #[cfg(feature = "hashes")]
                Hasher::Sha256(hasher) => Digest::update(&mut **hasher, bytes),
                #[cfg(feature = "hashes")]
                Hasher::Sha512(hasher) => Digest::update(&mut **hasher, bytes),
                Hasher::Xxh32(hasher) => hasher.update(bytes),
                Hasher::Xxh64(hasher) => hasher.update(bytes),
                Hasher::Xxh3(hasher) | Hasher::Xxh128(hasher) => hasher.update(bytes),
            }
        }
    }

    pub(crate) fn finish(self) -> BTreeMap<String, String> {
        self.0.into_iter().map(|(name, hasher)| (name, hasher.finish())).collect()
    }
}

impl Hasher {
    fn new(name: &str) -> Option<Self> {
        Some(match name {
            #[cfg(feature = "hashes")]
            "sha1" => Self::Sha1(Box::default()),
            #[cfg(feature = "hashes")]
            "sha256" => Self::Sha256(Box::default()),
            #[cfg(feature = "hashes")]
            "sha512" => Self::Sha512(Box::default()),
            "xxh32" => Self::Xxh32(Box::new(Xxh32::new(0))),
            "xxh64" => Self::Xxh64(Box::new(Xxh64::new(0))),
            "xxh3_64" => Self::Xxh3(Box::new(Xxh3::new())),
            "xxh3_128" | "xxh128" => Self::Xxh128(Box::new(Xxh3::new())),
            _ => return None,
        })
    }

    fn finish(self) -> String {
        #[cfg(feature = "hashes")]
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            #[cfg(feature = "hashes")]
            Self::Sha1(hasher) => hex(&hasher.finalize()),
            #[cfg(feature = "hashes")]
            Self::Sha256(hasher) => hex(&hasher.finalize()),
            #[cfg(feature = "hashes")]
            Self::Sha512(hasher) => hex(&hasher.finalize()),
            Self::Xxh32(hasher) => format!("{:08x}", hasher.digest()),
            Self::Xxh64(hasher) => format!("{:016x}", hasher.digest()),
            Self::Xxh3(hasher) => format!("{:016x}", hasher.digest()),
            Self::Xxh128(hasher) => format!("{:032x}", hasher.digest128()),
        }
    }
}

#[cfg(all(test, feature = "hashes"))]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_python() {
        // Made with Python 3.11 (hashlib, xxhash 3.8.2) for b"abc"; fed in two pieces here.
        let expected = [
            ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("xxh128", "06b05ab6733a618578af5f94892f3950"),
            ("xxh32", "32d153ff"),
            ("xxh3_128", "06b05ab6733a618578af5f94892f3950"),
            ("xxh3_64", "78af5f94892f3950"),
            ("xxh64", "44bc2cf5ad770999"),
        ];
        let mut hashes = Hashes::new(&parse_list(KNOWN).unwrap());
        hashes.update(b"a");
        hashes.update(b"bc");
        let found = hashes.finish();
        for (name, digest) in expected {
            assert_eq!(found.get(name).map(String::as_str), Some(digest), "{name}");
        }
        assert!(found["sha512"].starts_with("ddaf35a193617abacc417349ae204131"));
    }

    #[test]
    fn lists_are_sorted_and_checked() {
        assert_eq!(parse_list("xxh64, sha1,xxh64").unwrap(), ["sha1", "xxh64"]);
        assert!(parse_list("none").unwrap().is_empty());
        assert!(parse_list("crc8").is_err());
        assert!(parse_list("").is_err());
    }
}

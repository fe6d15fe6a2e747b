//! Parses URLs into a store and a key.
use crate::{os, store::address::is_name};
use fdconvert_core::{Error, Result};
use object_store::path::Path as Key;
use std::path::{Path, PathBuf};
use url::Url;

/// The protocol of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    /// Amazon S3, or a compatible service.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
    /// A web server.
    Http,
    /// Hugging Face.
    Hf,
}

/// Prefixes of URLs.
const SCHEMES: &[(&str, Scheme)] = &[
    ("s3://", Scheme::S3),
    ("s3a://", Scheme::S3),
    ("gs://", Scheme::Gs),
    ("gcs://", Scheme::Gs),
    ("az://", Scheme::Az),
    ("abfs://", Scheme::Az),
    ("abfss://", Scheme::Az),
    ("http://", Scheme::Http),
    ("https://", Scheme::Http),
    ("hf://", Scheme::Hf),
];

fn scheme_of(path: &Path) -> Option<(&str, Scheme)> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let found = SCHEMES.iter().find(|(start, _)| bytes.starts_with(start.as_bytes()));
    found.map(|&(start, scheme)| (start, scheme))
}

fn known() -> String {
    SCHEMES.iter().map(|&(start, _)| start).collect::<Vec<_>>().join(", ")
}

/// An object, or a folder of objects, in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    pub(crate) scheme: Scheme,
    /// The part before the key; one client serves all objects with the same base.
    pub(crate) base: Base,
    pub(crate) key: Key,
}

/// A bucket, container, host or repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Base {
    /// A bucket of S3 or Google, or a container of Azure.
    Bucket { scheme: Scheme, name: String },
    /// `https://HOST:PORT`.
    Host(String),
    /// `OWNER/NAME` and the revision.
    Repository { name: String, revision: String },
}

impl Location {
    ///
    /// # Errors
    /// `Usage` when the URL belongs to no supported store, or lacks a bucket, host or repository.
    pub(crate) fn parse(path: &Path) -> Result<Self> {
        let refuse = |what: String| Error::usage("location", what);
        let shown = path.display();
        // Joined as paths are, which on Windows takes a backslash.
        let text = os::slashed(path);
        let text = str::from_utf8(&text).map_err(|_| refuse(format!("{shown} is not UTF-8")))?;
        let (start, scheme) = scheme_of(path)
            .ok_or_else(|| refuse(format!("{shown} must begin with one of {}", known())))?;
        let rest = text.get(start.len()..).unwrap_or_default();
        let (base, key) = match scheme {
            Scheme::Http => host(text).ok_or_else(|| refuse(format!("{shown} names no host")))?,
            Scheme::Hf => repository(rest).ok_or_else(|| {
                refuse(format!("{shown} is not hf://datasets/OWNER/NAME[@REVISION]/PATH"))
            })?,
            Scheme::S3 | Scheme::Gs | Scheme::Az => {
                let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
                if name.is_empty() {
                    return Err(refuse(format!("{shown} names no bucket")));
                }
                if !is_name(name) {
                    let name = name.escape_debug();
                    return Err(refuse(format!(
                        "{shown} names no bucket: `{name}` is not the name of one, which has \
                         letters, digits, `-`, `_` and `.`"
                    )));
                }
                (Base::Bucket { scheme, name: name.to_owned() }, key.to_owned())
            }
        };
        let key = match scheme {
            // Percent-encoded, as in browsers: `%20` is a blank.
            Scheme::Http => Key::from_url_path(&key),
            _ => Key::parse(&key),
        };
        let key = key.map_err(|cause| refuse(format!("{shown}: {cause}")))?;
        Ok(Self { path: path.to_owned(), scheme, base, key })
    }

    /// Returns true if objects can be written there.
    pub(crate) fn is_writable(&self) -> bool {
        !matches!(self.scheme, Scheme::Http | Scheme::Hf)
    }

    /// Returns true if the store can list the objects below a key.
    pub(crate) fn is_listed(&self) -> bool {
        self.scheme != Scheme::Http
    }
}

fn host(text: &str) -> Option<(Base, String)> {
    let url = Url::parse(text).ok()?;
    url.host_str()?;
    let path = url.path().to_owned();
    Some((Base::Host(url.origin().ascii_serialization()), path))
}

fn repository(rest: &str) -> Option<(Base, String)> {
    let mut parts = rest.splitn(4, '/');
    let (kind, owner, name) = (parts.next()?, parts.next()?, parts.next()?);
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let sound = kind == "datasets" && !owner.is_empty() && !name.is_empty();
    let base = Base::Repository { name: format!("{owner}/{name}"), revision: revision.to_owned() };
    sound.then(|| (base, parts.next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (Base, String) {
        let location = Location::parse(Path::new(url)).unwrap();
        (location.base, location.key.to_string())
    }

    #[test]
    fn urls_name_store_and_key() {
        let bucket = |scheme, name: &str| Base::Bucket { scheme, name: name.into() };
        assert_eq!(parsed("s3://b/a/c.tar"), (bucket(Scheme::S3, "b"), "a/c.tar".into()));
        assert_eq!(parsed("s3://b"), (bucket(Scheme::S3, "b"), String::new()));
        assert_eq!(parsed("gs://b/a b/"), (bucket(Scheme::Gs, "b"), "a b".into()));
        let host = Base::Host("https://h:1".into());
        assert_eq!(parsed("https://h:1/x%20y/z.tar"), (host, "x y/z.tar".into()));
        let repository =
            |revision: &str| Base::Repository { name: "o/n".into(), revision: revision.into() };
        assert_eq!(parsed("hf://datasets/o/n/a/b"), (repository("main"), "a/b".into()));
        assert_eq!(parsed("hf://datasets/o/n@v1"), (repository("v1"), String::new()));
    }

    #[test]
    fn joined_paths_stay_urls() {
        let joined = Path::new("s3://b/sub").join("x.tar");
        assert_eq!(parsed(joined.to_str().unwrap()).1, "sub/x.tar");
        assert_eq!(joined.parent(), Some(Path::new("s3://b/sub")));
        assert_eq!(joined.parent().unwrap().as_os_str(), "s3://b/sub");
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for url in ["s3://", "s3:///x", "hf://models/o/n", "hf://datasets/o", "x/y", "s3://b/../c"]
        {
            assert!(Location::parse(Path::new(url)).is_err(), "{url}");
        }
        for url in ["s3://my bucket/d", "gs://<b>/d", "az://c@account/d", "s3://b\n/d", "s3://é/d"]
        {
            let said = Location::parse(Path::new(url)).unwrap_err().chain();
            assert!(said.contains("is not the name of one"), "{said}");
        }
        let said = Location::parse(Path::new("ftp://h/x")).unwrap_err().chain();
        assert!(said.contains("must begin with one of s3://, "), "{said}");
    }
}

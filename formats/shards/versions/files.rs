//! Where the files of a version are.
use super::{EditFacts, KEPT, TODO, kept, number, stage};
use crate::shards::{RECORDS, manifest::MAX_BYTES, record::is_missing};
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use fdconvert_storage::{place, read_file, read_if_there, unseal_json};
use serde::Deserialize;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Files of a version, by their names in the dataset.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    root: PathBuf,
    /// Path of the folder within the dataset, with a slash behind it, or nothing.
    within: String,
    /// Folders with the files that are not under their names, the first one that has one decides.
    layers: Arc<[Layer]>,
    /// Number of the version, if there is a manifest.
    version: Option<u64>,
}

#[derive(Debug)]
struct Layer {
    folder: PathBuf,
    names: HashSet<String>,
}

impl Files {
    /// All files are under their names.
    pub(crate) fn plain(root: &Path) -> Self {
        let (root, within) = (root.to_path_buf(), String::new());
        Self { root, within, layers: Arc::from([]), version: None }
    }

    /// Returns the path of a file, whether or not it exists.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let name = format!("{}{name}", self.within);
        let layer = self.layers.iter().find(|layer| layer.names.contains(&name));
        layer.map_or(&self.root, |layer| &layer.folder).join(name)
    }

    /// Returns where an object is once an edit has replaced it: with the last version that had it,
    /// if that is kept. Files are open before.
    pub(crate) fn elsewhere(&self, name: &str) -> Vec<PathBuf> {
        let Some(version) = self.version.filter(|_| place::is_url(&self.root)) else {
            return Vec::new();
        };
        let path = self.path(name);
        let name = format!("{}{name}", self.within);
        let kept = (version..version + MOST_TRIED).map(|it| kept(&self.root, it).join(&name));
        // One that was staged when it was opened comes to its name.
        let named = Some(self.root.join(&name)).filter(|named| *named != path);
        kept.chain(named).collect()
    }

    /// Returns the files of a folder of the dataset.
    pub(crate) fn within(&self, folder: &str) -> Self {
        Self { within: format!("{}{folder}/", self.within), ..self.clone() }
    }

    /// Returns the folder of the dataset that these are in.
    pub(crate) fn folder(&self) -> PathBuf {
        if self.within.is_empty() { self.root.clone() } else { self.root.join(&self.within) }
    }

    fn layered(root: &Path, folders: Vec<PathBuf>, manifest: &str, version: u64) -> Result<Self> {
        let layer = |folder: PathBuf| {
            let names = match place::files_below(&folder) {
                // A server that cannot list has no dataset that is being edited.
                Err(error) if is_unsupported(&error) => Vec::new(),
                names => names?,
            };
            let names = names.into_iter().filter(|name| name != manifest && name != TODO);
            Ok(Layer { folder, names: names.collect() })
        };
        let layers = folders.into_iter().map(layer).collect::<Result<_>>()?;
        Ok(Self { layers, version: Some(version), ..Self::plain(root) })
    }
}

fn is_unsupported(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::Unsupported)
}

/// The manifest of a version, and its files.
#[derive(Debug)]
pub(crate) struct OpenVersion {
    pub(crate) text: Bytes,
    /// Path of the manifest.
    pub(crate) path: PathBuf,
    pub(crate) files: Files,
    /// The manifest of the current version.
    current: Bytes,
}

impl OpenVersion {
    fn is_staged(&self) -> bool {
        self.files.layers.iter().any(|layer| !layer.names.is_empty())
    }
}

/// Limit of tries to open a version while edits follow each other.
const TRIES: u32 = 10;

/// What every manifest says of its version.
#[derive(Deserialize)]
struct Loose {
    #[serde(default)]
    fingerprint: String,
    #[serde(default)]
    edit: Option<EditFacts>,
}

/// Start of the member in a manifest, to spare those without it a second parsing.
const MEMBER: &[u8] = b"\n  \"edit\": {";

fn loose(text: &[u8]) -> Option<Loose> {
    if !text.windows(MEMBER.len()).any(|window| window == MEMBER) {
        return None;
    }
    // The format reports damage.
    let object = unseal_json(text).ok()?;
    let loose: Loose = serde_json::from_slice(&object).ok()?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (loose.edit.is_some() && digits(&loose.fingerprint)).then_some(loose)
}

/// Returns the fingerprint of a manifest that an edit has made.
#[cfg(feature = "write")]
pub(super) fn staged_fingerprint(text: &[u8]) -> Option<String> {
    loose(text).map(|it| it.fingerprint)
}

/// Returns the number of the version of a manifest.
#[cfg(feature = "write")]
pub(super) fn version_of(text: &[u8]) -> u64 {
    number(loose(text).and_then(|it| it.edit).as_ref())
}

/// Opens a version of the dataset `root`, the current one by default, with its manifest called
/// `name`; `None` if the dataset has no manifest. If an edit moves the files meanwhile, opens it
/// again.
///
/// # Errors
/// `Usage`, with the versions that are kept, for another one; `Io`; those of `read`.
pub(crate) fn open<T>(
    root: &Path,
    name: &str,
    version: Option<u64>,
    read: impl Fn(Option<OpenVersion>) -> Result<T>,
) -> Result<T> {
    let mut n_tries = 0;
    loop {
        n_tries += 1;
        let opened = open_once(root, name, version)?;
        let (is_staged, before) = match &opened {
            Some(opened) => (opened.is_staged(), opened.current.clone()),
            None => return read(opened),
        };
        let result = read(opened);
        // Objects are compared when they are read.
        if n_tries == TRIES || place::is_url(root) && result.is_ok() {
            return result;
        }
        let is_same = read_if_there(&root.join(name), MAX_BYTES)?.is_some_and(|now| now == before);
        if is_same && (result.is_ok() || !is_staged) {
            return result;
        }
    }
}

/// Returns the current manifest and its path, for an edit: no file waits for its name then.
///
/// # Errors
/// `Usage` for a dataset without one; `Io`.
#[cfg(feature = "write")]
pub(crate) fn current(root: &Path, name: &str) -> Result<(Bytes, PathBuf)> {
    let path = root.join(name);
    match read_if_there(&path, MAX_BYTES)? {
        Some(text) => Ok((text, path)),
        None => Err(super::without_manifest(root)),
    }
}

/// Opens its manifest.
fn open_once(root: &Path, name: &str, version: Option<u64>) -> Result<Option<OpenVersion>> {
    let path = root.join(name);
    let text = match read_file(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if is_missing(&error) && version.is_none() => return Ok(None),
        Err(error) if is_missing(&error) => {
            let what = format!("{} has no manifest, and no versions", root.display());
            return Err(Error::usage("dataset", what));
        }
        Err(error) => return Err(error),
    };
    let current = loose(&text);
    let current_number = number(current.as_ref().and_then(|it| it.edit.as_ref()));
    match version {
        Some(version) if version != current_number => {
            let opened = open_kept(root, name, version, current_number)?;
            Ok(Some(OpenVersion { current: text, ..opened }))
        }
        _ => {
            let folders = current.map(|it| stage(root, &it.fingerprint)).into_iter().collect();
            let files = Files::layered(root, folders, name, current_number)?;
            Ok(Some(OpenVersion { current: text.clone(), text, path, files }))
        }
    }
}

fn open_kept(root: &Path, name: &str, version: u64, current: u64) -> Result<OpenVersion> {
    let path = kept(root, version).join(name);
    let text = match read_file(&path, MAX_BYTES) {
        Err(error) if is_missing(&error) => return Err(not_kept(root, version, current)?),
        text => text?,
    };
    let numbers = (version..current).filter(|number| *number <= version + MOST_KEPT);
    let folders = numbers.map(|number| kept(root, number)).collect();
    let files = Files::layered(root, folders, name, version)?;
    Ok(OpenVersion { current: Bytes::new(), text, path, files })
}

/// Number of later versions in which a replaced object is looked for.
const MOST_TRIED: u64 = 8;
/// Limit of versions between one and the current one, for damaged manifests.
const MOST_KEPT: u64 = 1 << 16;

/// Returns the numbers of the kept versions but for the current one, ascending.
///
/// # Errors
/// `Io`.
pub(crate) fn kept_numbers(root: &Path) -> Result<Vec<u64>> {
    let folders = match place::list(&root.join(RECORDS).join(KEPT)) {
        Err(error) if is_missing(&error) => Vec::new(),
        folders => folders?,
    };
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u64>().ok();
    let mut numbers: Vec<u64> = folders.iter().filter_map(|(path, _)| number(path)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn not_kept(root: &Path, version: u64, current: u64) -> Result<Error> {
    let mut numbers = kept_numbers(root)?;
    numbers.retain(|number| *number < current);
    numbers.push(current);
    let listed: Vec<_> = numbers.iter().map(u64::to_string).collect();
    let what = format!(
        "{} has no version {version}: there {} {}",
        root.display(),
        if numbers.len() == 1 { "is only" } else { "are" },
        listed.join(", ")
    );
    let cure = "to keep earlier ones in an edit";
    Ok(Error::usage("dataset", what).cure(cure, option::KEEP_VERSIONS.with(2)))
}

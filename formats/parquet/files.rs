//! Finds the files of a dataset in a folder, and derives splits and columns from names.
use super::layout::{FORMAT, MAGIC};
use fdconvert_core::{Error, Remark, Result, Shard, split_named, split_of_file};
use fdconvert_storage::place::{self, Kind as PlaceKind};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// File extensions, in any case.
const EXTENSIONS: [&str; 3] = [FORMAT, "parq", "pq"];
/// Table of a folder of images, which is not a dataset.
const METADATA: &str = "metadata.parquet";
/// Names of data folders, beside those of splits.
const FOLDERS: [&str; 2] = ["data", "default"];
/// Limit of nested folders; datasets are not divided more deeply.
const MAX_DEPTH: usize = 8;
/// Limit of folders to check for configurations, and of entries in each: folders of classes can
/// have millions of images.
const LOOKED_AT: usize = 16;
/// Folders in which versioned tables record their files.
const TABLES: [(&str, &str); 2] = [("_delta_log", "Delta Lake"), (".hoodie", "Hudi")];
/// Common prefixes of the pieces of a split.
const PIECES: [&str; 5] = ["part", "shard", "chunk", "data", "file"];

/// A file of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) split: String,
    /// Columns from its folder names such as `label=cat`, outermost first.
    pub(crate) partitions: Vec<(String, String)>,
    /// Where it is once an edit has replaced it.
    pub(crate) elsewhere: Vec<PathBuf>,
}

/// Content of a folder.
#[derive(Debug)]
pub(crate) enum Listing {
    /// The files of a dataset, possibly none, and the name of the table format if it is a versioned
    /// one.
    Files(Vec<Found>, Option<&'static str>),
    /// Names of folders with a separate dataset in each.
    Configurations(Vec<String>),
}

impl Listing {
    /// Lists the files of a folder, sorted by name: those directly in it, or else those in its
    /// folders.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        let entries = place::list(folder)?;
        walk(&entries, (0, false), &mut paths)?;
        if !paths.is_empty() {
            let is_there = |name: &str| {
                entries
                    .iter()
                    .any(|(path, kind)| *kind == PlaceKind::Folder && name_of(path) == name)
            };
            let table = TABLES.into_iter().find(|(log, _)| is_there(log)).map(|(_, name)| name);
            return Ok(Self::Files(found(folder, paths), table));
        }
        let mut configurations = configurations(folder)?;
        Ok(match &mut configurations[..] {
            [] => Self::Files(Vec::new(), None),
            [(folder, paths)] => Self::Files(found(folder, std::mem::take(paths)), None),
            several => Self::Configurations(
                several.iter().map(|(folder, _)| name_of(folder).into_owned()).collect(),
            ),
        })
    }

    /// Warns that files may belong to an earlier version of a table.
    pub(crate) fn remark(&self) -> Option<Remark> {
        let Self::Files(_, table) = self else { return None };
        table.map(|table| {
            format!(
                "it is a table of {table}, whose log is not read: deleted or replaced rows remain \
                 until the table is vacuumed"
            )
            .into()
        })
    }

    /// # Errors
    /// `Unsupported` if the folder has several datasets.
    pub(crate) fn files(self, folder: &Path) -> Result<Vec<Found>> {
        match self {
            Self::Files(files, _) => Ok(files),
            Self::Configurations(names) => {
                let first = names.first().map_or_else(PathBuf::new, |name| folder.join(name));
                let what = format!(
                    "its folders `{}` are separate datasets: name one of them, as {}",
                    names.join("`, `"),
                    first.display()
                );
                Err(Error::Unsupported { format: FORMAT, path: folder.into(), what: what.into() })
            }
        }
    }
}

/// `column` is true below a folder such as `label=cat`: everything below belongs to the dataset.
fn walk(
    entries: &[(PathBuf, PlaceKind)],
    (depth, column): (usize, bool),
    files: &mut Vec<PathBuf>,
) -> Result<()> {
    let before = files.len();
    let of_dataset = |(path, kind): &&(PathBuf, PlaceKind)| {
        // The metadata table of the images beside it.
        *kind == PlaceKind::File && is_named(path) && name_of(path) != METADATA
    };
    files.extend(entries.iter().filter(of_dataset).map(|(path, _)| path.clone()));
    if files.len() > before || depth == MAX_DEPTH {
        return Ok(());
    }
    for (path, kind) in entries {
        // Other folders are classes of images and need not be searched.
        let is_taken = is_known(&name_of(path)) || (column && !is_hidden(path));
        if *kind == PlaceKind::Folder && is_taken {
            let column = column || partition(&name_of(path)).is_some();
            walk(&place::list(path)?, (depth + 1, column), files)?;
        }
    }
    Ok(())
}

/// The subfolders that contain only a dataset, and its files.
fn configurations(folder: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>> {
    let is_url = place::is_url(folder);
    if is_url && !folder.starts_with("hf:") {
        return Ok(Vec::new());
    }
    let mut folders = place::list_folders(folder)?;
    folders.retain(|folder| !is_hidden(folder));
    let looked_at = folders.iter().take(LOOKED_AT);
    if !is_url && !looked_at.clone().any(|folder| may_be_configuration(folder)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for folder in folders {
        if is_url || may_be_configuration(&folder) {
            let mut files = Vec::new();
            walk(&place::list(&folder)?, (1, false), &mut files)?;
            if !files.is_empty() {
                found.push((folder, files));
            }
        }
    }
    Ok(found)
}

/// Returns true if the first entries of a folder are files of a dataset, or folders of them.
fn may_be_configuration(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut entries = entries.flatten().map(|entry| entry.path()).filter(|path| !is_hidden(path));
    let mut entries = entries.by_ref().take(LOOKED_AT).peekable();
    entries.peek().is_some() && entries.all(|path| is_named(&path) || is_known(&name_of(&path)))
}

fn found(folder: &Path, paths: Vec<PathBuf>) -> Vec<Found> {
    let parts = |path: &Path| {
        let below = path.strip_prefix(folder).ok().and_then(Path::parent).map(Path::to_path_buf);
        below.unwrap_or_default()
    };
    let is_split = |(key, value): &(String, String)| key == "split" && split_named(value).is_some();
    // The neighbours of such a folder, such as `split=holdout`, are splits, too.
    let tell_splits = paths.iter().any(|path| {
        let below = parts(path);
        let mut names = below.iter().map(|name| name.to_string_lossy());
        names.any(|name| partition(&name).is_some_and(|partition| is_split(&partition)))
    });
    let found = |path: PathBuf| {
        let below = path.strip_prefix(folder).ok().and_then(Path::parent);
        let names = below.into_iter().flatten().map(|name| name.to_string_lossy());
        let (mut split, mut partitions) = (None, Vec::new());
        for name in names {
            match partition(&name) {
                Some((key, value)) if tell_splits && key == "split" => split = Some(value),
                Some(partition) => partitions.push(partition),
                None => split = split_of(&name).map(str::to_owned).or(split),
            }
        }
        let split = split.unwrap_or_else(|| of_name(&path));
        Found { path, split, partitions, elsewhere: Vec::new() }
    };
    let mut files: Vec<Found> = paths.into_iter().map(found).collect();
    // The samples of a split are contiguous; splits are in the order of their first file.
    let mut order: Vec<String> = Vec::new();
    for file in &files {
        if !order.contains(&file.split) {
            order.push(file.split.clone());
        }
    }
    files.sort_by_key(|file| order.iter().position(|known| *known == file.split));
    files
}

fn is_known(folder: &str) -> bool {
    FOLDERS.contains(&folder) || split_of(folder).is_some() || partition(folder).is_some()
}

/// The split of a folder. The Hub converts only a part of large datasets, and the name says so.
fn split_of(folder: &str) -> Option<&'static str> {
    split_named(folder.strip_prefix("partial-").unwrap_or(folder))
}

/// Splits the folder name `label=cat` into `label` and `cat`; characters may be escaped as `%2F`.
fn partition(folder: &str) -> Option<(String, String)> {
    let (key, value) = folder.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some((unescaped(key), unescaped(value)))
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.first_chunk::<2>().filter(|_| first == b'%');
        let byte =
            digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = byte.and_then(|_| others.get(2..)).unwrap_or(others);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `train` for `train-00000-of-00005.parquet`, `train.parquet` and `photos-train.parquet`
/// (`pack` names the files of several splits like that). A name with Hugging Face's piece numbers
/// is always a split; otherwise a word in it decides, as in `cc.train0.parquet`.
fn of_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let start = stem.split('-').next().unwrap_or_default();
    let last = stem.rsplit('-').next().and_then(split_named);
    if let Some(split) = split_named(start).or(last) {
        return split.to_owned();
    }
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = stem.rsplitn(4, '-');
    let counted = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(all), Some("of"), Some(number), Some(name)) => {
            (is_number(all) && is_number(number)).then_some(name)
        }
        _ => None,
    };
    let counted = counted.filter(|name| !name.is_empty() && !PIECES.contains(name));
    let by_word = || split_of_file(&stem).map(|(split, _)| split);
    counted.or_else(by_word).unwrap_or(Shard::DEFAULT_SPLIT).to_owned()
}

/// Returns true if the file name has one of the extensions.
pub(crate) fn has_extension(path: &Path) -> bool {
    let is_one = |extension: &OsStr| EXTENSIONS.iter().any(|it| extension.eq_ignore_ascii_case(it));
    path.extension().is_some_and(is_one)
}

/// Returns true if a file with that name belongs to a dataset.
pub(crate) fn is_named(path: &Path) -> bool {
    has_extension(path) && !is_hidden(path)
}

pub(crate) fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b".") || name.starts_with(b"_")
}

fn name_of(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Returns true if a file starts like a Parquet file.
pub(crate) fn is_parquet(path: &Path) -> bool {
    place::read_start(path, MAGIC.len()).is_ok_and(|start| start[..] == MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pieces_are_no_splits() {
        for (name, split) in [
            ("train-00000-of-00005", "train"),
            ("Validation", "validation"),
            ("photos-val", "val"),
            ("seen-00000-of-00005", "seen"),
            ("my-own-00000-of-00005", "my-own"),
            ("part-00000-of-00005", "train"),
            ("part-00000-ab-c000.snappy", "train"),
            ("part-0", "train"),
            ("0000", "train"),
            ("dogs", "train"),
            ("cc.val.0", "val"),
            ("testing_1", "testing"),
            ("test_sft-00000-of-00005", "test_sft"),
            ("seen-00000", "train"),
        ] {
            let path = PathBuf::from(format!("{name}.parquet"));
            assert_eq!(of_name(&path), split, "{name}");
        }
    }

    #[test]
    fn folders_tell_splits_and_columns() {
        let root = Path::new("/r");
        let of = |path: &str| {
            let found = found(root, vec![root.join(path)]);
            (found[0].split.clone(), found[0].partitions.clone())
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(of("default/partial-train/0000.parquet"), ("train".into(), vec![]));
        let found = of("split=val/label=a%2Fb/year=2020/x.parquet");
        assert_eq!(found, ("val".into(), vec![pair("label", "a/b"), pair("year", "2020")]));
        assert_eq!(of("split=seen/x.parquet").1, [pair("split", "seen")]);
        assert_eq!(partition("=x"), None);
        assert_eq!(unescaped("100%%2"), "100%%2");
    }
}

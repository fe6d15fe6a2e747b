//! YOLO: a YAML file of Ultralytics or a data file of Darknet at the root.
use super::{
    Opened, Recognised,
    files::{refuse, text_of},
    names::Names,
};
use crate::folder::{Folder, FolderReader, annotations};
use fdconvert_core::Result;
use std::path::{Path, PathBuf};

/// Usual names, in the order of preference.
const USUAL: [&str; 4] = ["data.yaml", "data.yml", "dataset.yaml", "dataset.yml"];
/// Darknet's.
const DARKNET: &str = "obj.data";
/// Larger files describe no dataset, and are not looked into.
const MAX_BYTES: u64 = 16 << 20;

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let found = |name: &str| Recognised::new(name, names.root(), vec![names.root().join(name)]);
    let usual = USUAL.into_iter().filter(|name| names.has_file(name));
    for name in usual {
        if is_dataset(&names.root().join(name)) {
            return Ok(Some(found(name)));
        }
    }
    if names.has_file(DARKNET) {
        return Ok(Some(found(DARKNET)));
    }
    let others = names.files("yaml").chain(names.files("yml"));
    let others: Vec<&str> = others.filter(|name| is_dataset(&names.root().join(name))).collect();
    Ok(match &others[..] {
        [only] => Some(found(only)),
        // Which one is meant is not known.
        _ => None,
    })
}

pub(super) fn of_file(file: &Path) -> Result<Option<Recognised>> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("yaml" | "yml") if is_dataset(file) => {}
        Some("data") => {}
        _ => return Ok(None),
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let below = path_key(file).map(|path| own.join(path)).filter(|folder| folder.is_dir());
    let root = below.unwrap_or_else(|| own.to_path_buf());
    Ok(Some(Recognised::new(name, &root, vec![file.to_path_buf()])))
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let Some(file) = files.first() else { return Ok(Opened::Folders(Vec::new())) };
    let annotated = annotations::read(root, file, how)?
        .ok_or_else(|| refuse(file, "it is not a dataset of YOLO"))?;
    Ok(Opened::Folders(vec![FolderReader::open_annotated(root, annotated, how.clone())?]))
}

/// Returns true if a file has the keys of a dataset at the beginning of its lines.
fn is_dataset(file: &Path) -> bool {
    let Some(text) = small_text(file) else { return false };
    let has = |key: &str| {
        text.lines().any(|line| {
            line.trim_start_matches('\u{feff}')
                .strip_prefix(key)
                .is_some_and(|it| it.trim_start().starts_with(':'))
        })
    };
    (has("names") || has("nc")) && (has("train") || has("val") || has("test"))
}

/// The folder that a file names as that of its dataset, if it is below the file's own.
fn path_key(file: &Path) -> Option<PathBuf> {
    let text = small_text(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix("path:"))?;
    let value = line.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let path = crate::folder::names::listed(value).ok()?;
    let path = std::str::from_utf8(&path).ok()?;
    (path != ".").then(|| PathBuf::from(path))
}

fn small_text(file: &Path) -> Option<String> {
    let how = Folder::default();
    let len = std::fs::metadata(file).ok()?.len();
    if len > MAX_BYTES {
        return None;
    }
    text_of(file, &how).ok()
}

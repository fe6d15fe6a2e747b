//! Hugging Face's image folder: tables called `metadata` in it or in its folders of splits.
use super::{Opened, Recognised, files::starts_with_one, names::Names};
use crate::folder::{Folder, FolderReader, labels::tables_in};
use fdconvert_core::{Error, Result};
use std::path::{Path, PathBuf};

/// The column that makes a table one of Hugging Face.
const FILE_NAME: &str = "file_name";

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let root = names.root();
    let tables = match tables_in(root) {
        Ok(tables) => tables.files,
        // Two tables of one folder: which one is meant is not known.
        Err(Error::Usage { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_of_files = |(table, _): &(PathBuf, Vec<u8>)| starts_with_one(table, &[FILE_NAME]);
    let Some((first, _)) = tables.first().filter(|_| tables.iter().all(is_of_files)) else {
        return Ok(None);
    };
    let by = first.strip_prefix(root).unwrap_or(first).display().to_string();
    Ok(Some(Recognised::new(by, root, vec![root.to_path_buf()])))
}

/// Any table of samples, for the folder that it is in.
pub(super) fn of_file(file: &Path) -> Result<Option<Recognised>> {
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    if !matches!(extension.to_str(), Some("csv" | "tsv" | "jsonl" | "ndjson")) {
        return Ok(None);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let root = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(Some(Recognised::new(name, root, vec![file.to_path_buf()])))
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let table = files.first().unwrap_or(root);
    Ok(Opened::Folders(vec![FolderReader::open_with_labels(root, table, how.clone())?]))
}

//! The tables in Hugging Face's image folders.
use super::{OPTION, parse, rows::Rows};
use crate::folder::{Folder, split_folders::split_of};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use fdconvert_storage::read_file;
use std::{
    fs,
    path::{Path, PathBuf},
};

const CSV: &str = "metadata.csv";
const JSONL: &str = "metadata.jsonl";

/// Tables of a folder.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Each with the folder that its names are relative to.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    pub(crate) remarks: Vec<String>,
}

/// Finds the tables: one in the folder, or in each of the split folders in it or in its folder
/// `data`.
///
/// # Errors
/// `Usage` if a folder has two tables, since their relation is unknown; `Io`.
pub(crate) fn tables_in(folder: &Path) -> Result<Tables> {
    if !folder.is_dir() {
        return Ok(Tables::default());
    }
    let mut tables = Tables::default();
    if let Some(table) = table_of(folder)? {
        tables.files.push((table, Vec::new()));
        return Ok(tables);
    }
    let mut missing = Vec::new();
    for (below, name) in folders_in(folder)? {
        match table_of(&below)? {
            Some(table) => tables.files.push((table, [&name[..], b"/"].concat())),
            None if name == b"data" => {
                for (below, split) in folders_in(&below)? {
                    if let Some(table) = table_of(&below)? {
                        tables.files.push((table, [b"data/", &split[..], b"/"].concat()));
                    }
                }
            }
            None if split_of(&name).is_some() => missing.push(below),
            None => {}
        }
    }
    if !tables.files.is_empty() {
        tables.remarks.extend(missing.iter().map(|split| {
            format!("no {CSV} or {JSONL} is in {}, so its images are not listed", split.display())
        }));
    }
    Ok(tables)
}

/// The table directly in a folder. Kinds of tables that only fdconvert supports must be given by
/// name.
fn table_of(folder: &Path) -> Result<Option<PathBuf>> {
    let [csv, jsonl] = [CSV, JSONL].map(|name| folder.join(name));
    match (csv.is_file(), jsonl.is_file()) {
        (true, true) => {
            let what = format!(
                "{} has both {CSV} and {JSONL}; keep one of them, or give the one that is meant",
                folder.display()
            );
            Err(Error::usage(OPTION, what))
        }
        (true, false) => Ok(Some(csv)),
        (false, true) => Ok(Some(jsonl)),
        (false, false) => Ok(None),
    }
}

/// Direct subfolders with their names, sorted by name.
fn folders_in(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let name = entry.file_name().as_encoded_bytes().to_vec();
        // A link may lead to a folder.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file && !name.starts_with(b".") && entry.path().is_dir() {
            folders.push((entry.path(), name));
        }
    }
    folders.sort_unstable();
    Ok(folders)
}

/// The rows of several tables in sequence, and the bytes of all tables.
pub(super) fn read(tables: &[(PathBuf, Vec<u8>)], how: &Folder) -> Result<(Rows, Bytes)> {
    let mut all: Option<Rows> = None;
    let mut identity = Vec::new();
    for (file, folder) in tables {
        let bytes = read_file(file, how.limits.max_file_bytes)?;
        identity.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        identity.extend_from_slice(&bytes);
        let mut rows = parse(file, &bytes)?;
        for path in &mut rows.paths {
            *path = [folder, &**path].concat().into();
        }
        all = Some(match all {
            None => rows,
            Some(before) => before
                .join(rows)
                .map_err(|what| Error::usage(OPTION, format!("{}: {what}", file.display())))?,
        });
    }
    let rows = all.ok_or_else(|| Error::usage(OPTION, "there is no table"))?;
    Ok((rows, identity.into()))
}

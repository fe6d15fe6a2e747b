//! Images that no row of a table lists.
use crate::folder::{
    annotations::files,
    layout::{MACOSX, is_hidden, promised},
    names::Files,
    objects,
    table::Table,
};
use fdconvert_core::{Error, Result};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// Reports the number of images in the source that a table or annotations do not list, and the
/// tables in it that are not among those `read`.
pub(crate) fn tell_unlisted(
    table: &Table,
    files: &Files<'_>,
    read: &[PathBuf],
    remarks: &mut Vec<String>,
) -> Result<()> {
    let is_read = |table: &String| {
        let table = fs::canonicalize(files.root.join(table)).ok();
        table.is_some() && read.iter().any(|it| fs::canonicalize(it).ok() == table)
    };
    let listed: BTreeSet<&[u8]> = table.paths.iter().map(|path| &**path).collect();
    let is_other = |path: &[u8]| !listed.contains(path);
    let n_others = match files.objects {
        Some(list) => {
            let is_passed_over = |part: &[u8]| is_hidden(part) || part == MACOSX;
            let images = list.iter().map(|object| object.path);
            let images = images.filter(|path| promised(path).is_some() && is_other(path));
            images.filter(|path| !objects::parts(path).any(is_passed_over)).count()
        }
        None => match files::images(files.root, files.how) {
            Ok((images, ignored)) => {
                let others = ignored.tables.into_iter().filter(|it| !is_read(it));
                remarks.extend(others.map(|table| format!("{table} in the source is not read")));
                images.iter().filter(|path| is_other(path)).count()
            }
            // No image at all: the listed files must have other names.
            Err(Error::Usage { .. }) => 0,
            Err(error) => return Err(error),
        },
    };
    if n_others > 0 {
        let are = if n_others == 1 { "image of the source is" } else { "images of the source are" };
        remarks.push(format!("{n_others} {are} not listed, and left out"));
    }
    Ok(())
}

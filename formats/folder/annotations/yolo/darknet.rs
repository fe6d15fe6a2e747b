//! `obj.data` of Darknet: the places of the image lists, and the class names.
use super::{class_names, data::Data};
use crate::folder::Folder;
use fdconvert_core::{Error, Result, option};
use std::path::Path;

/// Keys of image lists, and their splits.
const LISTS: [(&str, &str); 3] = [("train", "train"), ("valid", "val"), ("test", "test")];

/// Reads the file and the class names beside it.
pub(super) fn read(text: &[u8], root: &Path, file: &Path, how: &Folder) -> Result<Data> {
    let refuse = |what: &str| Error::usage(option::LABELS, format!("{}: {what}", file.display()));
    let text = std::str::from_utf8(text).map_err(|_| refuse("it is not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let get = |wanted: &str| {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let mut values = pairs.filter(|(key, _)| key.trim() == wanted);
        values.next().map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let written = get("names").ok_or_else(|| refuse("it has no `names = FILE`"))?;
    // Files written on Windows.
    let written = &*written.replace('\\', "/");
    let folders = [Some(root), file.parent(), file.parent().and_then(Path::parent)];
    // Paths are relative to Darknet's working directory, which is unknown.
    let name = Path::new(written).file_name().unwrap_or_default();
    let mut places = folders.into_iter().flatten().flat_map(|it| [it.join(written), it.join(name)]);
    let names = places.find(|place| place.is_file()).ok_or_else(|| {
        refuse(&format!("its `names = {written}` is neither next to it nor in the source"))
    })?;
    let splits =
        LISTS.into_iter().filter_map(|(key, split)| Some((split, vec![get(key)?.to_owned()])));
    Ok(Data {
        names: class_names(&names, how)?,
        splits: splits.collect(),
        keypoints: None,
        remarks: Vec::new(),
    })
}

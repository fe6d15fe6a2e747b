//! Food-101: photos in folders of classes, and lists of two splits.
use super::{
    Opened, Recognised,
    files::{lines, refuse, text_of},
    masks::{Masked, MaskedImages},
    names::Names,
};
use crate::folder::{Folder, names::listed};
use fdconvert_core::{Ignored, Result};
use std::{collections::BTreeSet, path::Path};

const SPLITS: [&str; 2] = ["train", "test"];

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let lists = SPLITS.map(|split| format!("meta/{split}.txt"));
    let is_one = names.has_folder("images") && lists.iter().all(|list| names.has_file(list));
    Ok(is_one.then(|| Recognised::new("meta/train.txt", names.root(), Vec::new())))
}

/// An image of a list: its class and its path.
type Entry = (String, Box<[u8]>);

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let mut entries: Vec<(&str, Vec<Entry>)> = Vec::new();
    for split in SPLITS {
        let file = root.join("meta").join(format!("{split}.txt"));
        let text = text_of(&file, how)?;
        let read = read(&text).map_err(|what| refuse(&file, what))?;
        entries.push((split, read));
    }
    check_once(&entries).map_err(|what| refuse(&root.join("meta"), what))?;
    let names: BTreeSet<String> =
        entries.iter().flat_map(|(_, own)| own).map(|(name, _)| name.clone()).collect();
    let class_names: Vec<String> = names.into_iter().collect();
    let n_classes = class_names.len();
    let mut found = MaskedImages {
        samples: Vec::new(),
        runs: Vec::new(),
        class_names,
        remarks: Vec::new(),
        ignored: Ignored::default(),
        origin: format!("{n_classes} classes from the folders in images"),
    };
    for (split, own) in entries {
        found.runs.push((split.to_owned(), own.len() as u64));
        let samples = own.into_iter().map(|(name, path)| {
            let label = found.class_names.binary_search(&name).map_or(-1, |at| at as i64);
            Masked { image: path, mask: None, label: Some(label) }
        });
        let samples: Vec<Masked> = samples.collect();
        found.samples.extend(samples);
    }
    Ok(Opened::Folders(vec![found.open(root, how)?]))
}

/// Lines such as `apple_pie/1005649`.
fn read(text: &str) -> Result<Vec<Entry>, String> {
    let entries = lines(text).map(|(line, text)| {
        let class = Path::new(text).parent().and_then(Path::to_str).filter(|it| !it.is_empty());
        let class = class.ok_or_else(|| format!("line {line} is not a class and an image"))?;
        let path = format!("images/{text}.jpg");
        let path = listed(&path).map_err(|why| format!("line {line}: `{text}` {why}"))?;
        Ok((class.to_owned(), path))
    });
    let entries = entries.collect::<Result<Vec<_>, String>>()?;
    if entries.is_empty() { Err("it lists no image".to_owned()) } else { Ok(entries) }
}

fn check_once(entries: &[(&str, Vec<Entry>)]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (split, (_, path)) in
        entries.iter().flat_map(|(split, own)| own.iter().map(move |it| (split, it)))
    {
        if !seen.insert(path) {
            let path = String::from_utf8_lossy(path);
            return Err(format!("{split}.txt lists `{path}`, which is listed already"));
        }
    }
    Ok(())
}

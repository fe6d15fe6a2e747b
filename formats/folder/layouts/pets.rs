//! Oxford-IIIT Pet: photos in one folder, lists of two splits with breeds, and trimaps as masks.
use super::{
    Opened, Recognised,
    files::{lines, refuse, text_of},
    masks::{Masked, MaskedImages},
    names::Names,
};
use crate::folder::{Folder, names::listed};
use fdconvert_core::{Error, Ignored, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Lists, and the splits that they are.
const LISTS: [(&str, &str); 2] = [("trainval", "train"), ("test", "test")];
const TRIMAPS: &str = "annotations/trimaps";
/// Breeds are numbered from 1.
const MAX_BREEDS: usize = 10_000;

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let list = names.first_file(&["annotations/trainval.txt", "annotations/test.txt"]);
    let is_one = names.has_folder("images");
    Ok(list.filter(|_| is_one).map(|list| Recognised::new(list, names.root(), Vec::new())))
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let has_masks = root.join(TRIMAPS).is_dir();
    let mut breeds: BTreeMap<usize, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut read: Vec<(&str, Vec<Masked>)> = Vec::new();
    for (list, split) in LISTS {
        let file = root.join("annotations").join(format!("{list}.txt"));
        if !file.is_file() {
            continue;
        }
        let mut samples = Vec::new();
        for (line, text) in lines(&text_of(&file, how)?).filter(|(_, text)| !text.starts_with('#'))
        {
            let in_line = |what: String| refuse(&file, format!("line {line}: {what}"));
            let mut words = text.split_whitespace();
            let (Some(name), Some(number)) = (words.next(), words.next()) else {
                return Err(in_line("it is not the name of an image and a class".to_owned()));
            };
            let number = number.parse::<usize>().ok().filter(|it| (1..=MAX_BREEDS).contains(it));
            let number =
                number.ok_or_else(|| in_line("the class is not a number from 1".to_owned()))?;
            // The breed is in front of the number of the image.
            let breed = name.rsplit_once('_').map_or(name, |(breed, _)| breed);
            let known = breeds.entry(number).or_insert_with(|| breed.to_owned());
            if known != breed {
                return Err(in_line(format!("the class {number} is both `{known}` and `{breed}`")));
            }
            let path = |folder: &str, extension: &str| {
                let path = format!("{folder}/{name}.{extension}");
                listed(&path).map_err(|why| in_line(format!("`{name}` {why}")))
            };
            let image = path("images", "jpg")?;
            if !seen.insert(image.clone()) {
                return Err(in_line(format!("`{name}` is listed already")));
            }
            let mask = if has_masks { Some(path(TRIMAPS, "png")?) } else { None };
            samples.push(Masked { image, mask, label: Some(number as i64 - 1) });
        }
        read.push((split, samples));
    }
    let n_breeds = breeds.len();
    if breeds.keys().next_back() != Some(&n_breeds) {
        let what = "the lists in annotations do not have all numbers of classes from 1 on";
        return Err(Error::usage("source", format!("{}: {what}", root.display())));
    }
    let mut found = MaskedImages {
        samples: Vec::new(),
        runs: Vec::new(),
        class_names: breeds.into_values().collect(),
        remarks: Vec::new(),
        ignored: Ignored::default(),
        origin: format!("{n_breeds} breeds from the lists in annotations"),
    };
    read.into_iter().for_each(|(split, samples)| found.add(root, split, samples));
    super::cityscapes::check(&found, root)?;
    Ok(Opened::Folders(vec![found.open(root, how)?]))
}

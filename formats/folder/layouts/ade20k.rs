//! ADE20K as in the challenge of scene parsing: `images` and `annotations` with the same names.
use super::{
    Opened, Recognised,
    cityscapes::check,
    files::{lines, refuse, text_of},
    masks::{Masked, MaskedImages},
    names::Names,
};
use crate::folder::{
    Folder,
    annotations::files::{images, stem},
    objects::parts,
};
use fdconvert_core::{Error, Ignored, Result};
use std::collections::{BTreeMap, BTreeSet};

const SPLITS: [&str; 2] = ["training", "validation"];
const SCENES: &str = "sceneCategories.txt";

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let both = |split: &&&str| {
        names.has_folder(&format!("images/{split}"))
            && names.has_folder(&format!("annotations/{split}"))
    };
    let split = SPLITS.iter().find(both);
    Ok(split.map(|split| Recognised::new(format!("annotations/{split}"), names.root(), Vec::new())))
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let scenes = root.join(SCENES);
    let scenes = scenes.is_file().then(|| text_of(&scenes, how)).transpose()?;
    let scenes = scenes.map(|text| self::scenes(&text)).transpose();
    let scenes = scenes.map_err(|what| refuse(&root.join(SCENES), what))?;
    let class_names: BTreeSet<String> = scenes.iter().flat_map(BTreeMap::values).cloned().collect();
    let class_names: Vec<String> = class_names.into_iter().collect();
    let (mut ignored, mut n_without) = (Ignored::default(), 0_u64);
    let mut found = MaskedImages {
        samples: Vec::new(),
        runs: Vec::new(),
        class_names: Vec::new(),
        remarks: Vec::new(),
        ignored: Ignored::default(),
        origin: match scenes {
            Some(_) => format!("{} scenes from {SCENES}", class_names.len()),
            None => format!("none: there is no {SCENES}"),
        },
    };
    for split in SPLITS {
        let folder = root.join("images").join(split);
        let (paths, own_ignored) = match images(&folder, how) {
            Ok(found) => found,
            Err(Error::Usage { .. } | Error::Io { .. }) if !folder.is_dir() => continue,
            Err(error) => return Err(error),
        };
        ignored.add(own_ignored);
        let samples = paths.iter().map(|path| {
            let name = parts(stem(path)).last().unwrap_or_default();
            let label = scenes.as_ref().map(|scenes| {
                let scene = scenes.get(&*String::from_utf8_lossy(name));
                n_without += u64::from(scene.is_none());
                scene.and_then(|it| class_names.binary_search(it).ok()).map_or(-1, |at| at as i64)
            });
            Masked {
                image: [b"images/", split.as_bytes(), b"/", path].concat().into(),
                mask: Some(
                    [b"annotations/", split.as_bytes(), b"/", stem(path), b".png"].concat().into(),
                ),
                label,
            }
        });
        let samples = samples.collect();
        found.add(root, split, samples);
    }
    if n_without > 0 {
        let have = if n_without == 1 { "image has" } else { "images have" };
        found.remarks.push(format!("{n_without} {have} no scene in {SCENES}, and the label -1"));
    }
    (found.class_names, found.ignored) = (class_names, ignored);
    check(&found, root)?;
    Ok(Opened::Folders(vec![found.open(root, how)?]))
}

/// The scene of each image: lines such as `ADE_train_00000001 airport_terminal`.
fn scenes(text: &str) -> Result<BTreeMap<String, String>, String> {
    let pairs = lines(text).map(|(line, text)| {
        let (name, scene) = text
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("line {line} is not the name of an image and a scene"))?;
        Ok((name.to_owned(), scene.trim().to_owned()))
    });
    pairs.collect()
}

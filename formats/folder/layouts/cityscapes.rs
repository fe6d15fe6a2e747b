//! Cityscapes: photos in `leftImg8bit`, and masks of the same names in `gtFine`.
use super::{
    Opened, Recognised,
    masks::{Masked, MaskedImages},
    names::Names,
};
use crate::folder::{Folder, annotations::files::images};
use fdconvert_core::{Ignored, Result};

const IMAGES: &str = "leftImg8bit";
const MASKS: &str = "gtFine";
const ENDING: &[u8] = b"_leftImg8bit.png";
/// The masks that hold numbers of classes as Cityscapes' scripts write them.
const MASK_ENDING: &[u8] = b"_gtFine_labelIds.png";
const SPLITS: [&str; 3] = ["train", "val", "test"];

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let is_one = names.has_folder(IMAGES) && names.has_folder(MASKS);
    Ok(is_one.then(|| Recognised::new(format!("{IMAGES} and {MASKS}"), names.root(), Vec::new())))
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let (paths, ignored) = images(&root.join(IMAGES), how)?;
    let mut found = MaskedImages {
        samples: Vec::new(),
        runs: Vec::new(),
        class_names: Vec::new(),
        remarks: Vec::new(),
        ignored: Ignored { tables: Vec::new(), ..ignored },
        origin: "none: the masks are the field `mask`".to_owned(),
    };
    let mut n_read = 0;
    for split in SPLITS {
        let folder = format!("{split}/");
        let own = paths.iter().filter(|path| path.starts_with(folder.as_bytes()));
        let samples = own.filter_map(|path| {
            let stem = path.strip_suffix(ENDING)?;
            let image = [IMAGES.as_bytes(), b"/", path].concat().into();
            let mask = [MASKS.as_bytes(), b"/", stem, MASK_ENDING].concat().into();
            Some(Masked { image, mask: Some(mask), label: None })
        });
        let samples: Vec<Masked> = samples.collect();
        n_read += samples.len();
        found.add(root, split, samples);
    }
    let n_others = paths.len() - n_read;
    if n_others > 0 {
        let are = if n_others == 1 { "image is" } else { "images are" };
        found
            .remarks
            .push(format!("{n_others} {are} in no split of {}, and left out", SPLITS.join(", ")));
    }
    found
        .remarks
        .push(format!("masks are those of *_labelIds.png; other files in {MASKS} are not read"));
    check(&found, root)?;
    Ok(Opened::Folders(vec![found.open(root, how)?]))
}

/// Refuses a folder of which nothing is left.
pub(super) fn check(found: &MaskedImages, root: &std::path::Path) -> Result<()> {
    if found.samples.is_empty() {
        let what =
            format!("{} has no image with a mask: {}", root.display(), found.remarks.join("; "));
        return Err(fdconvert_core::Error::usage("source", what));
    }
    Ok(())
}

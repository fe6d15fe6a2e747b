//! Detects files with names of masks of images in the same folder.
use crate::folder::{
    layout::{key_of_path, split_extension},
    listing::Listing,
};

/// Warn if at least one in this many files has the name of a mask.
const MASKS_TOLD: u64 = 10;

/// Name endings that always denote masks.
const MASK_ENDS: [&str; 6] = ["_mask", "_masks", "-mask", "_segmentation", "_gt", "_labelids"];

/// Name endings that denote masks only if the image without the ending is in the same folder.
const MASK_ENDS_BESIDE: [&str; 9] =
    ["_seg", "_segs", "_label", "_labels", "_lbl", "_ann", "_anno", "_annotation", "_l"];

/// For a mask's name, the length of its image's name, such as `1` for `1_mask.png`, and whether it
/// is a mask only if that image exists.
fn mask_of(name: &[u8]) -> Option<(usize, bool)> {
    let stem = split_extension(name).map_or(name, |(stem, _)| stem);
    // Several masks of one image are numbered.
    let digits = stem.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let unnumbered = stem.get(..stem.len() - digits)?;
    let unnumbered = unnumbered.strip_suffix(b"_").filter(|_| digits > 0);
    let of = |stem: &[u8], ends: &[&str]| {
        ends.iter().find_map(|end| {
            let len = stem.len().checked_sub(end.len()).filter(|&len| len > 0)?;
            stem.get(len..)?.eq_ignore_ascii_case(end.as_bytes()).then_some(len)
        })
    };
    let stems = [Some(stem), unnumbered];
    let stems = || stems.iter().flatten().copied();
    let certain = stems().find_map(|stem| of(stem, &MASK_ENDS));
    let beside = || stems().find_map(|stem| of(stem, &MASK_ENDS_BESIDE));
    certain.map(|len| (len, false)).or_else(|| Some((beside()?, true)))
}

/// Warns if many files have names of masks of their neighbours and would become samples.
pub(crate) fn masks_among_images(listing: &Listing) -> Option<String> {
    let (mut n_masks, mut first) = (0_u64, None);
    // Earlier names in the same folder that are prefixes of the next ones. Sorted by name, an image
    // comes before its masks.
    let (mut folder, mut before): (u32, Vec<&[u8]>) = (0, Vec::new());
    for (lies_in, name) in listing.files() {
        let stem = split_extension(name).map_or(name, |(stem, _)| stem);
        before.retain(|earlier| folder == lies_in && name.starts_with(earlier));
        folder = lies_in;
        let is_there = |len: usize| before.iter().any(|earlier| Some(*earlier) == name.get(..len));
        if mask_of(name).is_some_and(|(len, beside)| !beside || is_there(len)) {
            n_masks += 1;
            first.get_or_insert(name);
        }
        before.push(stem);
    }
    let (n_files, first) = (listing.len(), key_of_path(first?));
    (n_masks >= n_files.div_ceil(MASKS_TOLD)).then(|| {
        let are = match n_masks {
            1 => format!("has the name of a mask of another, {first}, and is a separate sample"),
            _ => format!(
                "have names of masks of others, such as {first}, and are separate samples"
            ),
        };
        format!(
            "{n_masks} of {n_files} images {are} here: move masks elsewhere, or list the images in a \
             table"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::listing::ListingBuilder;

    #[test]
    fn masks_beside_their_images_are_told_with_their_number() {
        let said = |names: &[&str]| {
            let mut listing = ListingBuilder::default();
            let folder = listing.add_folder(b"x", 0).unwrap();
            names.iter().for_each(|name| listing.add_file(folder, name.as_bytes()).unwrap());
            masks_among_images(&listing.finish().unwrap()).unwrap_or_default()
        };
        for (image, mask) in [
            ("1.jpg", "1_mask.png"),
            ("1.png", "1_seg.png"),
            ("1.png", "1_label.png"),
            ("0001TP_006690.png", "0001TP_006690_L.png"),
            ("benign (1).png", "benign (1)_mask_1.png"),
        ] {
            let told = said(&[image, mask]);
            assert!(
                told.starts_with(&format!(
                    "1 of 2 images has the name of a mask of another, {mask}"
                )),
                "{told}"
            );
            assert_eq!(said(&[image, "2_z.png"]), "");
        }
        let two = said(&["b (1).png", "b (1)_mask.png", "b (1)_mask_1.png"]);
        assert!(two.starts_with("2 of 3 images have names of masks of others"), "{two}");
        // Without the image, it may be an ordinary name.
        assert_eq!(said(&["1.png", "2_label.png", "size_l.png"]), "");
    }
}

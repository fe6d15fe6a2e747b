use super::super::{RunLengthMasks, path::Path};
use super::*;
use crate::transform::PaddingMode;
use fdconvert_core::StoredRunLengths;

/// Moves a mask of two columns and one row.
fn moved(changes: &[Change]) -> Vec<u8> {
    Nearest::default().moved::<1>(&[1, 2], (2, 1), changes, [9])
}

#[test]
fn a_padded_side_shows_the_fill_value_and_a_crop_beyond_the_image_nothing() {
    let pad = |padding| Change::Pad { padding, fill: [0; 3], padding_mode: PaddingMode::Constant };
    let beyond = Change::Crop { top: 0, left: 0, height: 2, width: 3 };
    assert_eq!(moved(&[pad([0, 1, 0, 1])]), [9, 9, 1, 2, 9, 9]);
    assert_eq!(moved(&[pad([1, 0, 1, 0])]), [9, 1, 2, 9]);
    assert_eq!(moved(std::slice::from_ref(&beyond)), [1, 2, 0, 0, 0, 0]);
    // What is added last lies over what was added before.
    assert_eq!(moved(&[beyond.clone(), pad([0, 0, 0, 1])]), [1, 2, 0, 0, 0, 0, 9, 9, 9]);
    let both = [pad([0, 0, 1, 0]), beyond, Change::HorizontalFlip];
    assert_eq!(moved(&both), [9, 2, 1, 0, 0, 0]);
}

/// The runs of a mask add up to the pixels of the row, also where nothing of the image is in it.
#[test]
fn runs_of_a_row_in_the_padding_are_those_of_nothing() {
    let pad = Change::Pad {
        padding: [20, 20, 20, 20],
        fill: [0; 3],
        padding_mode: PaddingMode::Constant,
    };
    let stored: StoredRunLengths =
        serde_json::from_str(r#"{"size":[10,10],"counts":[5,95]}"#).unwrap();
    let mask = stored.decode().unwrap();
    for (top, left) in [(0, 0), (0, 15), (15, 0), (41, 41), (15, 15)] {
        let changes = [pad.clone(), Change::Crop { top, left, height: 8, width: 8 }];
        let mut nearest = Nearest::default();
        let mut path = Path::new(&changes, (10, 10), &mut nearest);
        let masks = RunLengthMasks::of_row(&[&Some(mask.clone())], &mut path).unwrap();
        assert_eq!(masks.counts.iter().sum::<u32>(), 64, "{top} {left}");
    }
}

use super::*;
use crate::transform::PaddingMode;

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

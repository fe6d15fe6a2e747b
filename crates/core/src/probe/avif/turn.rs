//! The turn of an image as an EXIF orientation. The EXIF itself has no effect in a HEIF
//! (ISO/IEC 23008-12, annex A.2.1).
use super::{items::Meta, picture::properties};

/// Returns the orientation that the properties of an item make together.
pub(super) fn orientation(meta: &Meta<'_>, id: u32) -> u8 {
    properties(meta, id).fold(1, |turn, block| match (&block.kind, block.content.first()) {
        (b"irot", Some(angle)) => rotated(turn, angle & 3),
        (b"imir", Some(axis)) => mirrored(turn, axis & 1),
        _ => turn,
    })
}

/// Adds quarter turns against the clock.
fn rotated(turn: u8, n_quarters: u8) -> u8 {
    (0..n_quarters).fold(turn, |turn, _| match turn {
        1 => 8,
        8 => 3,
        3 => 6,
        6 => 1,
        2 => 5,
        5 => 4,
        4 => 7,
        _ => 2,
    })
}

/// Adds an exchange of top and bottom (axis 0) or of left and right (axis 1).
fn mirrored(turn: u8, axis: u8) -> u8 {
    match (turn, axis) {
        (1, 0) => 4,
        (4, 0) => 1,
        (2, 0) => 3,
        (3, 0) => 2,
        (5, 0) => 8,
        (8, 0) => 5,
        (6, 0) => 7,
        (_, 0) => 6,
        (1, _) => 2,
        (2, _) => 1,
        (3, _) => 4,
        (4, _) => 3,
        (5, _) => 6,
        (6, _) => 5,
        (7, _) => 8,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Turn;

    /// The corner where a pixel at the top left, and where one at the top right, ends.
    fn corners(turn: u8) -> [[f64; 2]; 2] {
        let turn = Turn::upright([2.0, 2.0], turn);
        [turn.pixel([0.0, 0.0]), turn.pixel([1.0, 0.0])]
    }

    #[test]
    fn turns_follow_one_another_as_corners_do() {
        for turn in 1..=8 {
            let [first, second] = corners(turn);
            let against_clock = |[x, y]: [f64; 2]| [y, 1.0 - x];
            assert_eq!(corners(rotated(turn, 1)), [against_clock(first), against_clock(second)]);
            assert_eq!(rotated(turn, 0), turn);
            assert_eq!(rotated(rotated(turn, 3), 1), turn);
            let upside_down = |[x, y]: [f64; 2]| [x, 1.0 - y];
            assert_eq!(corners(mirrored(turn, 0)), [upside_down(first), upside_down(second)]);
            let mirror = |[x, y]: [f64; 2]| [1.0 - x, y];
            assert_eq!(corners(mirrored(turn, 1)), [mirror(first), mirror(second)]);
        }
    }
}

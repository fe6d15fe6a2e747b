//! Converts coordinates between a photo as stored and as turned by its EXIF orientation.
use crate::RunLengths;

/// Limit of pixels in a mask to turn.
const MAX_MASK_PIXELS: u64 = 1 << 28;
/// Turned coordinates are rounded to this fraction of a pixel, so that the difference of two
/// decimal numbers is again a short decimal number.
const PER_PIXEL: f64 = 1_000_000.0;

/// Turns coordinates like an EXIF orientation turns their image, or back.
///
/// ```
/// use fdconvert_core::Turn;
///
/// let upright = Turn::upright([200.0, 100.0], 6);
/// assert_eq!(upright.bbox([40.0, 20.0, 80.0, 20.0]), [60.0, 40.0, 20.0, 80.0]);
/// let stored = Turn::stored([100.0, 200.0], 6);
/// assert_eq!(stored.bbox([60.0, 40.0, 20.0, 80.0]), [40.0, 20.0, 80.0, 20.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Width and height before.
    size: [f64; 2],
    orientation: u8,
}

impl Turn {
    /// Turns from the stored image, of that width and height, to the upright one.
    #[must_use]
    pub fn upright(size: [f64; 2], orientation: u8) -> Self {
        Self { size, orientation }
    }

    /// Turns from the upright image, of that width and height, to the stored one.
    #[must_use]
    pub fn stored(size: [f64; 2], orientation: u8) -> Self {
        let orientation = match orientation {
            6 => 8,
            8 => 6,
            // All others are their own inverse.
            other => other,
        };
        Self { size, orientation }
    }

    /// Returns width and height before turning.
    #[must_use]
    pub fn before(self) -> [f64; 2] {
        self.size
    }

    /// Returns width and height after turning.
    #[must_use]
    pub fn after(self) -> [f64; 2] {
        let [width, height] = self.size;
        if self.orientation >= 5 { [height, width] } else { self.size }
    }

    fn turned(self, [x, y]: [f64; 2], [right, bottom]: [f64; 2]) -> [f64; 2] {
        let turned = match self.orientation {
            2 => [right - x, y],
            3 => [right - x, bottom - y],
            4 => [x, bottom - y],
            5 => [y, x],
            6 => [bottom - y, x],
            7 => [bottom - y, right - x],
            8 => [y, right - x],
            _ => [x, y],
        };
        turned.map(rounded)
    }

    /// Turns a point between pixels, measured from the edge of the image.
    #[must_use]
    pub fn point(self, point: [f64; 2]) -> [f64; 2] {
        self.turned(point, self.size)
    }

    /// Turns the position of a pixel, as in COCO's keypoints.
    #[must_use]
    pub fn pixel(self, point: [f64; 2]) -> [f64; 2] {
        self.turned(point, self.size.map(|side| side - 1.0))
    }

    /// Turns left, top, width and height of a box.
    #[must_use]
    pub fn bbox(self, [left, top, width, height]: [f64; 4]) -> [f64; 4] {
        let [a, b] = self.point([left, top]);
        let [c, d] = self.point([left + width, top + height]);
        [a.min(c), b.min(d), rounded((c - a).abs()), rounded((d - b).abs())]
    }

    /// Turns a mask of the image.
    ///
    /// # Errors
    /// A description of the fault: a mask with another size than the image, or with too many
    /// pixels.
    pub fn run_lengths(self, mask: &RunLengths) -> Result<RunLengths, String> {
        let [height, width] = mask.size();
        if [width, height].map(f64::from) != self.size {
            let [wide, high] = self.size;
            return Err(format!(
                "its mask is of {width}x{height} pixels, and coordinates are of {wide}x{high}"
            ));
        }
        let n_pixels = u64::from(width) * u64::from(height);
        if n_pixels > MAX_MASK_PIXELS {
            return Err(format!("its mask of {width}x{height} pixels is too large to be turned"));
        }
        let mut pixels = Vec::with_capacity(usize::try_from(n_pixels).unwrap_or(0));
        for (at, run) in mask.counts().iter().enumerate() {
            pixels.resize(pixels.len() + *run as usize, at % 2 == 1);
        }
        let [new_width, new_height] =
            if self.orientation >= 5 { [height, width] } else { [width, height] };
        // From a pixel of the result to its origin.
        let back = Self::stored(self.after(), self.orientation);
        let mut runs = vec![0_u32];
        let mut inside = false;
        for x in 0..new_width {
            for y in 0..new_height {
                let [column, row] = back.pixel([f64::from(x), f64::from(y)]);
                let at = column as u64 * u64::from(height) + row as u64;
                let is = usize::try_from(at).ok().and_then(|at| pixels.get(at)).copied();
                if is.unwrap_or_default() != inside {
                    inside = !inside;
                    runs.push(0);
                }
                if let Some(last) = runs.last_mut() {
                    *last += 1;
                }
            }
        }
        Ok(RunLengths::new([new_height, new_width], runs))
    }
}

fn rounded(value: f64) -> f64 {
    (value * PER_PIXEL).round() / PER_PIXEL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoredRunLengths;

    /// Compares each orientation with turning pixels one by one.
    #[test]
    fn points_and_masks_are_turned_alike_and_back() {
        let text = r#"{"size": [2, 3], "counts": [1, 1, 2, 1, 1]}"#;
        let stored: StoredRunLengths = serde_json::from_str(text).unwrap();
        let mask = stored.decode().unwrap();
        // The pixels (0, 1) and (2, 0) of 3x2 are inside.
        for (orientation, inside) in [
            (1, [(0.0, 1.0), (2.0, 0.0)]),
            (2, [(2.0, 1.0), (0.0, 0.0)]),
            (3, [(2.0, 0.0), (0.0, 1.0)]),
            (4, [(0.0, 0.0), (2.0, 1.0)]),
            (5, [(1.0, 0.0), (0.0, 2.0)]),
            (6, [(0.0, 0.0), (1.0, 2.0)]),
            (7, [(0.0, 2.0), (1.0, 0.0)]),
            (8, [(1.0, 2.0), (0.0, 0.0)]),
        ] {
            let turn = Turn::upright([3.0, 2.0], orientation);
            let found = [[0.0, 1.0], [2.0, 0.0]].map(|it| turn.pixel(it)).map(|[x, y]| (x, y));
            assert_eq!(found, inside, "{orientation}");
            let turned = turn.run_lengths(&mask).unwrap();
            let height = turned.size()[0];
            let mut at = 0;
            let mut pixels = Vec::new();
            for (number, run) in turned.counts().iter().enumerate() {
                for _ in 0..*run {
                    if number % 2 == 1 {
                        pixels.push((f64::from(at / height), f64::from(at % height)));
                    }
                    at += 1;
                }
            }
            let mut expected = inside.to_vec();
            expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
            assert_eq!((at, pixels), (6, expected), "{orientation}");
            let back = Turn::stored(turn.after(), orientation);
            assert_eq!(back.run_lengths(&turned).unwrap(), mask, "{orientation}");
            assert_eq!(back.bbox(turn.bbox([0.0, 0.5, 1.25, 1.0])), [0.0, 0.5, 1.25, 1.0]);
        }
    }
}

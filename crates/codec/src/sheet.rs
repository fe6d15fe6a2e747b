//! Contact sheets: one picture of many small images in rows.
use crate::convert::{blend_alpha, gray_to_rgb};
use fdconvert_core::Pixels;

/// Width of the gap between images and around all of them.
const GAP: u64 = 4;
/// Colour of the gap, which few images have at their edges.
const GAP_COLOR: [u8; 3] = [48, 64, 96];
/// Colour of the cross in place of an image that cannot be shown.
const CROSS: [u8; 3] = [200, 48, 48];

/// Rows and columns of square places, with gaps between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactSheet {
    rows: u64,
    columns: u64,
    side: u64,
}

impl ContactSheet {
    /// Largest number of pixels of a sheet: its encoder needs all of them at once.
    pub const MAX_PIXELS: u64 = 100_000_000;

    /// Lays out places for `n_images` of `side` pixels, in rows of `columns`, or in about as many
    /// rows as columns.
    #[must_use]
    pub fn new(n_images: u64, columns: Option<u32>, side: u32) -> Self {
        let columns =
            columns.map_or_else(|| ceil_sqrt(n_images), u64::from).clamp(1, n_images.max(1));
        Self { rows: n_images.div_ceil(columns), columns, side: side.into() }
    }

    /// Returns the number of rows of images.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of images in a row.
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Returns true if the picture would have more pixels than [`MAX_PIXELS`](Self::MAX_PIXELS).
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        let n_pixels = self.length(self.columns).saturating_mul(self.length(self.rows));
        n_pixels > Self::MAX_PIXELS
    }

    fn length(&self, n: u64) -> u64 {
        n.saturating_mul(self.side + GAP).saturating_add(GAP)
    }

    /// Makes the picture, in three channels: images in the middle of their places, a cross for each
    /// missing one. Images after the last place are left out; a sheet that is too large is empty.
    pub fn lay_out(&self, images: impl IntoIterator<Item = Option<Pixels>>) -> Pixels {
        if self.is_too_large() {
            return Pixels { width: 0, height: 0, channels: 3, data: Vec::new() };
        }
        let (width, height) = (self.length(self.columns), self.length(self.rows));
        let mut data = GAP_COLOR.repeat((width * height) as usize);
        for (number, image) in (0..self.rows * self.columns).zip(images) {
            let left = self.length(number % self.columns);
            let top = self.length(number / self.columns);
            match image.map(Self::flattened) {
                Some(image) => {
                    let left = left + (self.side - u64::from(image.width).min(self.side)) / 2;
                    let top = top + (self.side - u64::from(image.height).min(self.side)) / 2;
                    let rows = image.data.chunks_exact((image.width as usize * 3).max(1));
                    for (y, row) in (top..).zip(rows) {
                        put(&mut data, (y * width + left) as usize, row);
                    }
                }
                None => {
                    for at in 0..self.side {
                        put(&mut data, ((top + at) * width + left + at) as usize, &CROSS);
                        let back = left + self.side - 1 - at;
                        put(&mut data, ((top + at) * width + back) as usize, &CROSS);
                    }
                }
            }
        }
        Pixels { width: width as u32, height: height as u32, channels: 3, data }
    }

    /// Returns an image as shown on a sheet: gray as three equal channels, alpha blended over the
    /// colour of the gaps.
    #[must_use]
    pub fn flattened(image: Pixels) -> Pixels {
        let mut data = Vec::new();
        match image.channels {
            1 => gray_to_rgb(&image.data, &mut data),
            4 => blend_alpha(&image.data, GAP_COLOR, &mut data),
            _ => return image,
        }
        Pixels { channels: 3, data, ..image }
    }
}

/// Writes pixels from position `pixel` on.
fn put(data: &mut [u8], pixel: usize, row: &[u8]) {
    if let Some(place) = data.get_mut(pixel * 3..pixel * 3 + row.len()) {
        place.copy_from_slice(row);
    }
}

fn ceil_sqrt(n: u64) -> u64 {
    let root = n.isqrt();
    if root * root < n { root + 1 } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_rows_of_about_as_many_columns() {
        let grid = |n, columns| {
            let sheet = ContactSheet::new(n, columns, 8);
            (sheet.rows(), sheet.columns())
        };
        assert_eq!([grid(0, None), grid(1, None), grid(5, None)], [(0, 1), (1, 1), (2, 3)]);
        assert_eq!([grid(9, None), grid(7, Some(9)), grid(7, Some(2))], [(3, 3), (1, 7), (4, 2)]);
        assert_eq!(grid(7, Some(0)), (7, 1));
        assert!(!ContactSheet::new(1000, None, 256).is_too_large());
        assert!(ContactSheet::new(1000, None, 512).is_too_large());
        assert!(ContactSheet::new(u64::MAX, None, 1024).is_too_large());
    }

    #[test]
    fn images_of_any_channels_stand_in_the_middle_of_their_places() {
        let image = |width, height, channels, pixel: &[u8]| {
            let data = pixel.repeat((width * height) as usize);
            Some(Pixels { width, height, channels, data })
        };
        let images = [
            image(2, 1, 1, &[5]),
            image(4, 4, 4, &[255, 255, 255, 0]),
            None,
            image(4, 4, 3, &[1, 2, 3]),
            image(1, 1, 3, &[9, 9, 9]),
        ];
        let picture = ContactSheet::new(4, None, 4).lay_out(images);
        assert_eq!((picture.width, picture.height, picture.channels), (20, 20, 3));
        let at = |x: usize, y: usize| &picture.data[(y * 20 + x) * 3..][..3];
        // Two gray pixels, with gaps around them.
        assert_eq!([at(5, 5), at(6, 5)], [[5; 3]; 2]);
        assert_eq!([at(4, 5), at(7, 5), at(5, 4), at(5, 6)], [GAP_COLOR; 4]);
        // Transparent pixels show the gap's colour, and a missing image is a cross.
        assert_eq!(at(13, 5), GAP_COLOR);
        assert_eq!([at(4, 12), at(7, 12), at(5, 13), at(4, 15)], [CROSS; 4]);
        assert_eq!([at(12, 12), at(15, 15)], [[1, 2, 3]; 2]);
        assert!(!picture.data.chunks_exact(3).any(|pixel| pixel == [9; 3]));
    }
}

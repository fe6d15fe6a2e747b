//! Sizes of the images of a batch: one, that of a bucket, as many patches as fit, or their own.
use crate::transform::{Transform, TransformList};
use fdconvert_core::{Error, Result};

/// Sizes of the images of batches.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Sizes {
    /// All images have the size that the list of transforms leaves.
    #[default]
    One,
    /// The images of a batch have the size of a bucket.
    Buckets(SizeBuckets),
    /// Images keep their shape and become patches, as many as fit.
    Patches(Patches),
    /// Each image has the size that the list of transforms leaves of it.
    Own,
}

/// Sizes for batches, each for the images of nearest shape (Podell et al., "SDXL", 2023, and
/// NovelAI's aspect ratio bucketing, 2022).
///
/// An image goes to the bucket with the nearest ratio of width to height: the quotient of the two
/// ratios is closest to 1. Of equally near ones it is the first in the list. The image is resized to
/// cover the size, and cut, before the list of transforms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeBuckets {
    sizes: Vec<[u32; 2]>,
    random: bool,
}

/// Images as sequences of square patches (Dehghani et al., "Patch n' Pack: NaViT, a Vision
/// Transformer for any Aspect Ratio and Resolution", 2023; NaFlex in big_vision and timm).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patches {
    /// Patches of a row, at most those of its image.
    pub most: u32,
    /// Side of a patch in pixels.
    pub side: u32,
}

/// More buckets are a mistake.
const MAX_BUCKETS: usize = 1024;
/// Most patches of a row, and the longest side of one.
const MAX_PATCHES: u32 = 1 << 16;
const MAX_SIDE: u32 = 256;

fn refuse<T>(what: String) -> Result<T> {
    Err(Error::usage("sizes", what))
}

impl SizeBuckets {
    /// Creates buckets of these heights and widths, in pixels.
    ///
    /// # Errors
    /// `Usage` for no sizes, too many, equal ones, and sides of 0.
    pub fn new(sizes: Vec<[u32; 2]>) -> Result<Self> {
        if !(1..=MAX_BUCKETS).contains(&sizes.len()) {
            return refuse(format!("{} buckets are not 1 to {MAX_BUCKETS}", sizes.len()));
        }
        for (number, size) in sizes.iter().enumerate() {
            let [height, width] = size;
            if *height == 0 || *width == 0 {
                return refuse(format!("{height}x{width} has a side of 0"));
            }
            if sizes.iter().take(number).any(|earlier| earlier == size) {
                return refuse(format!("{height}x{width} is there twice"));
            }
        }
        Ok(Self { sizes, random: false })
    }

    /// Sets whether images are cut at a random place, and not in the middle.
    #[must_use]
    pub fn random(self, random: bool) -> Self {
        Self { random, ..self }
    }

    /// Returns height and width of each bucket.
    #[must_use]
    pub fn sizes(&self) -> &[[u32; 2]] {
        &self.sizes
    }

    /// Returns the number of the bucket of an image of this width and height.
    #[must_use]
    pub fn nearest(&self, (width, height): (u32, u32)) -> u16 {
        // Quotient of the ratios as a fraction that is at least 1: products of 64 bits, which are
        // compared as products of 128.
        let quotient = |[bucket_height, bucket_width]: [u32; 2]| {
            let a = u64::from(width.max(1)) * u64::from(bucket_height);
            let b = u64::from(height.max(1)) * u64::from(bucket_width);
            (u128::from(a.max(b)), u128::from(a.min(b)))
        };
        let mut best: Option<(u16, (u128, u128))> = None;
        for (number, size) in (0..).zip(&self.sizes) {
            let (more, less) = quotient(*size);
            if best.is_none_or(|(_, (best_more, best_less))| more * best_less < best_more * less) {
                best = Some((number, (more, less)));
            }
        }
        best.map_or(0, |(number, _)| number)
    }

    /// Returns the list for the images of each bucket.
    ///
    /// # Errors
    /// `Usage` if the list changes the size.
    pub(crate) fn lists(&self, list: &TransformList) -> Result<Vec<TransformList>> {
        let of_size = |size: &[u32; 2]| {
            let cover = Transform::Cover { size: *size, random: self.random };
            let list = [&[cover], list.transforms()].concat();
            let list = TransformList::new(list)?;
            let (width, height) = list.output()?.size;
            match [height, width] == *size {
                true => Ok(list),
                false => refuse(format!(
                    "the transforms make {height}x{width} of images of the bucket {}x{}: leave out \
                     what cuts or resizes, which buckets do before",
                    size[0], size[1]
                )),
            }
        };
        self.sizes.iter().map(of_size).collect()
    }
}

impl Patches {
    pub(crate) fn check(&self) -> Result<()> {
        let Self { most, side } = self;
        if !(1..=MAX_PATCHES).contains(most) {
            return refuse(format!("{most} patches are not 1 to {MAX_PATCHES}"));
        }
        if !(1..=MAX_SIDE).contains(side) {
            return refuse(format!("{side} pixels are not 1 to {MAX_SIDE}, the side of a patch"));
        }
        Ok(())
    }

    /// Returns the rows and columns of patches of an image of this width and height: those of the
    /// largest scale at which they are not too many, where incomplete ones count. They are those of
    /// timm 1.0 (`get_image_size_for_seq`), which halves the interval from 1e-6 to 100 until it is
    /// shorter than 1e-5.
    pub(crate) fn grid(&self, (width, height): (u32, u32)) -> (u32, u32) {
        let side = f64::from(self.side);
        let n = |pixels: u32, scale: f64| (f64::from(pixels) * scale / side).ceil().max(1.0);
        let (mut fits, mut exceeds) = (1e-6, 100.0);
        while exceeds - fits >= 1e-5 {
            let middle = (fits + exceeds) / 2.0;
            match n(height, middle) * n(width, middle) <= f64::from(self.most) {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        // Not more than `most`, but for an image that is very long and has none of these scales.
        (n(height, fits) as u32, n(width, fits) as u32)
    }

    /// Copies the patches of an image of whole ones, row by row, from interleaved pixels.
    pub(crate) fn split(&self, image: &[u8], columns: u32, pixel_bytes: usize, to: &mut [u8]) {
        let side = self.side as usize;
        let line = side * pixel_bytes;
        let width = columns as usize * line;
        let (Some(of_patches), patch_bytes) = (width.checked_mul(side), side * line) else {
            return;
        };
        if of_patches == 0 {
            return;
        }
        let mut patches = to.chunks_exact_mut(patch_bytes);
        for band in image.chunks_exact(of_patches) {
            for column in 0..columns as usize {
                let Some(patch) = patches.next() else { return };
                let lines = band.chunks_exact(width).zip(patch.chunks_exact_mut(line));
                for (from, to) in lines {
                    if let Some(from) = from.get(column * line..(column + 1) * line) {
                        to.copy_from_slice(from);
                    }
                }
            }
        }
        patches.for_each(|patch| patch.fill(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_go_to_the_bucket_of_the_nearest_shape() {
        let buckets =
            SizeBuckets::new(vec![[512, 512], [448, 576], [576, 448], [256, 256]]).unwrap();
        assert_eq!(buckets.nearest((100, 100)), 0);
        assert_eq!(buckets.nearest((9000, 7000)), 1);
        assert_eq!(buckets.nearest((7000, 9000)), 2);
        assert_eq!(buckets.nearest((u32::MAX, 1)), 1);
        // 8:7 is as far from 1:1 as from 64:49.
        let tie = SizeBuckets::new(vec![[490, 640], [640, 640]]).unwrap();
        assert_eq!([tie.nearest((8, 7)), tie.nearest((80, 71))], [0, 1]);
        for wrong in [vec![], vec![[0, 1]], vec![[1, 2], [1, 2]]] {
            assert!(SizeBuckets::new(wrong).is_err());
        }
    }

    #[test]
    fn patches_are_read_row_by_row() {
        let patches = Patches { most: 5, side: 2 };
        assert_eq!(patches.grid((300, 300)), (2, 2));
        assert_eq!(patches.grid((100, 10_000)), (5, 1));
        let image: Vec<u8> = (0..16).collect();
        let mut row = vec![9; 20];
        patches.split(&image, 2, 1, &mut row);
        assert_eq!(row, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 0, 0, 0, 0]);
    }
}

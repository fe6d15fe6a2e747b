//! MixUp and CutMix: mixes the rows of a complete batch, which makes labels soft.
//!
//! ```text
//! draw    (seed, epoch, step) -> the blend of a batch, with one share for all its rows
//! blend   each row of images takes from the row before it, in place
//! labels  a number for each class in every row, mixed like the images
//! ```
//!
//! The semantics are those of torchvision's `v2.MixUp` and `v2.CutMix`: for the same share and box,
//! `blend` and `labels` give their images and labels. Mixing comes last, after crop, flip,
//! augmentation and normalisation. A row takes from the row before it, and the first from the last,
//! as torchvision rolls a batch by one; rows that are not valid take no part. A batch with a single
//! valid row is unchanged.
//!
//! The random choices follow from seed, epoch and the number of the step alone, so that they are
//! the same on all ranks, for any number of threads, and after a resume. The thread that makes the
//! last row of a batch mixes it, before the consumer sees it.
//!
//! Deliberately absent: label smoothing, which belongs to the training, and a share per row.

mod blend;
mod draw;
mod labels;

pub(crate) use labels::LabelRow;

pub use crate::transform::Mix;
use crate::{
    column::Column,
    dataset::Datasets,
    transform::{Area, Output},
};
use fdconvert_core::Result;

/// Mixing of the rows of one batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Blend {
    /// Rows are unchanged.
    None,
    /// Each row is `lambda` of itself, and for the rest the row before it.
    MixUp {
        /// Share that a row keeps, from 0 to 1.
        lambda: f64,
    },
    /// Each row has a rectangle of the row before it.
    CutMix {
        /// Rectangle, which may be empty.
        area: Area,
        /// Share of the pixels that a row keeps, from 0 to 1.
        lambda: f64,
    },
}

/// Mixer of a loader's batches.
pub(crate) struct Mixing {
    mix: Mix,
    labels: labels::SoftLabels,
    output: Output,
    seed: u64,
}

impl Mixing {
    /// # Errors
    /// `Usage` for labels that cannot be mixed.
    pub(crate) fn new(
        datasets: &Datasets,
        mix: Mix,
        n_rows: u32,
        output: Output,
        seed: u64,
    ) -> Result<Self> {
        let labels = labels::SoftLabels::new(datasets, &mix, n_rows)?;
        Ok(Self { mix, labels, output, seed })
    }

    /// Draws the blend of a batch.
    pub(crate) fn blend(&self, epoch: u64, step: u64) -> Blend {
        self.mix.draw(self.seed, epoch, step, self.output.size)
    }

    /// Mixes the images of valid rows.
    pub(crate) fn mix_images<R: AsMut<[u8]>>(&self, blend: &Blend, rows: &mut [R]) {
        blend.mix_images(&self.output, rows);
    }

    /// Returns the mixed labels of all rows of a batch.
    ///
    /// # Errors
    /// `Usage`, with sample and label, for a label that is not a class.
    pub(crate) fn labels<'a>(
        &self,
        blend: &Blend,
        rows: impl ExactSizeIterator<Item = LabelRow<'a>>,
    ) -> Result<Column> {
        self.labels.mixed(blend, rows)
    }
}

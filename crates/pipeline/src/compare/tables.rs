//! Compares a pair by the tables of its datasets, without its images.
use super::Comparison;
use fdconvert_core::{Result, Value};

impl Comparison<'_> {
    /// Returns true if two samples are equal; `None` if they have to be read.
    pub(super) fn compare_tables(&self, indices: [u64; 2]) -> Result<Option<bool>> {
        let Some(is_same_image) = self.image_in_tables(indices) else { return Ok(None) };
        if !is_same_image {
            return Ok(Some(false));
        }
        let [a, b] = self.readers;
        let labels = [a.schema().label(), b.schema().label()];
        let Some(pair) = self.pairs.iter().find(|pair| pair.at.map(Some) == labels) else {
            return Ok(Some(true));
        };
        let (one, other) = (a.label(indices[0])?, b.label(indices[1])?);
        Ok(Some(match (one, other) {
            (Some(one), Some(other)) => {
                pair.difference(&Value::Int(one), &Value::Int(other), None).is_none()
            }
            (one, other) => one == other,
        }))
    }

    /// Returns true if the tables have everything that is compared of a pair.
    pub(super) fn is_in_tables(&self, indices: [u64; 2]) -> bool {
        self.image_in_tables(indices).is_some()
    }

    /// Returns true if the images have the same recorded lengths and checksums; `None` if these are
    /// not recorded, or there is more than one image and a label.
    fn image_in_tables(&self, indices: [u64; 2]) -> Option<bool> {
        if !self.trusts_checksums {
            return None;
        }
        let [a, b] = self.readers;
        let images = [a.schema().first_image(), b.schema().first_image()];
        let labels = [a.schema().label(), b.schema().label()];
        let is_told = |at: [usize; 2]| at.map(Some) == images || at.map(Some) == labels;
        let has_images = self.pairs.iter().any(|pair| pair.at.map(Some) == images);
        if !has_images || !self.pairs.iter().all(|pair| is_told(pair.at)) {
            return None;
        }
        let (one, other) = (a.image_extent(indices[0]).ok()??, b.image_extent(indices[1]).ok()??);
        Some((one.len, one.xxh3?) == (other.len, other.xxh3?))
    }
}

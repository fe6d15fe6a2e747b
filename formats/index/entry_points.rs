//! The CHECKPOINTS section: the entry points of JPEGs. This module does not interpret an entry; it
//! only ensures that it is complete and belongs to its image.
use crate::index::{Index, IndexError, Region};
use bytes::Bytes;
use fdconvert_core::{Codec, bytes::u64_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const SEAL_LEN: usize = 8;

/// Makes the entries of a sample, given the entry points of its images in schema order and all its
/// regions, and appends them to `entries`. Returns their lengths, 0 for images without entry
/// points, for [`Builder::push_entry_lens`](crate::index::Builder::push_entry_lens).
pub fn seal_all<'a>(
    mut entry_points: impl Iterator<Item = Option<&'a Bytes>>,
    regions: &[Region],
    entries: &mut Vec<u8>,
) -> Vec<u64> {
    let images = regions.iter().filter(|region| region.image.is_some());
    let entry = |region| match entry_points.next() {
        Some(Some(bytes)) => seal(bytes, region, entries),
        _ => 0,
    };
    images.map(entry).collect()
}

/// Appends the entry of an image's entry points, bound to the image's region.
fn seal(entry_points: &[u8], region: &Region, entries: &mut Vec<u8>) -> u64 {
    entries.extend_from_slice(entry_points);
    entries.extend_from_slice(&xxh3_64_with_seed(entry_points, region.xxh3).to_le_bytes());
    (entry_points.len() + SEAL_LEN) as u64
}

/// Key figures of a CHECKPOINTS section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryPointFacts {
    /// Number of images that have entry points.
    pub n_covered: u64,
    /// Number of JPEGs without entry points, which were refused by the analysis.
    pub n_refused: u64,
    /// Size of the section in bytes.
    pub bytes: u64,
    /// Size of all JPEGs in bytes.
    pub jpeg_bytes: u64,
    /// The first byte of the first entry, which contains version and grid.
    pub first_byte: Option<u8>,
}

impl EntryPointFacts {
    /// Returns the sums over two blocks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            n_covered: self.n_covered + other.n_covered,
            n_refused: self.n_refused + other.n_refused,
            bytes: self.bytes.saturating_add(other.bytes),
            jpeg_bytes: self.jpeg_bytes.saturating_add(other.jpeg_bytes),
            first_byte: self.first_byte.or(other.first_byte),
        }
    }

    /// Returns JSON for people and scripts; `grid_of` returns the grid in an entry's first byte.
    #[must_use]
    pub fn to_json(&self, grid_of: impl FnOnce(u8) -> Option<u32>) -> serde_json::Value {
        let share = match self.jpeg_bytes {
            0 => 0.0,
            n_bytes => self.bytes as f64 / n_bytes as f64,
        };
        serde_json::json!({
            "grid_bits": self.first_byte.and_then(grid_of),
            "covered": self.n_covered,
            "refused": self.n_refused,
            "bytes": self.bytes,
            // Four digits are enough for people, and as precise as the ratio is.
            "share": (share * 1e4).round() / 1e4,
        })
    }
}

impl Index {
    /// Returns true if the block has entry points of its JPEGs.
    #[must_use]
    pub fn has_entry_points(&self) -> bool {
        self.entry_points.is_some()
    }

    /// Returns the entry points of an image: of sample `sample`, in the image field `image_field`,
    /// counting only image fields, in schema order. `None` if the image has none, or the block has
    /// no such section. Checks the bounds and the seal, but not the image.
    ///
    /// # Errors
    /// `Position` for an image that does not exist; `Damaged` when the entry exceeds the section,
    /// or belongs to another image.
    pub fn entry_points(&self, sample: u64, image_field: u32) -> Result<Option<Bytes>, IndexError> {
        let (n_samples, n_fields) = (self.n_samples(), self.image_regions.len() as u64);
        if sample >= n_samples {
            return Err(IndexError::Position { what: "sample", asked: sample, len: n_samples });
        }
        let position = usize::try_from(image_field).ok();
        let region = position.and_then(|at| self.image_regions.get(at)).copied();
        let Some(region) = region else {
            let asked = u64::from(image_field);
            return Err(IndexError::Position { what: "image field", asked, len: n_fields });
        };
        let Some(section) = &self.entry_points else { return Ok(None) };
        // No overflow: the integers' length was checked against the section's.
        let number = sample * n_fields + u64::from(image_field);
        let at = section.offset + number * 8;
        let damaged = |what: &str| IndexError::damaged(at, what);
        let entry =
            self.entry(number).ok_or_else(|| damaged("entry points outside of the block"))?;
        if entry.is_empty() {
            return Ok(None);
        }
        let split = entry.len().checked_sub(SEAL_LEN).filter(|&split| split > 0);
        let split = split.ok_or_else(|| damaged("an entry of entry points is too short"))?;
        let entry_points = entry.slice(..split);
        let sealed = xxh3_64_with_seed(&entry_points, self.region(sample, region)?.xxh3);
        if u64_at(&entry, split) != Some(sealed) {
            return Err(damaged("the entry points are damaged, or of another image"));
        }
        Ok(Some(entry_points))
    }

    /// Counts the contents of the CHECKPOINTS section; `None` without one. Reads every image's
    /// record, but not the entries. Damaged ones count as refused.
    #[must_use]
    pub fn entry_point_facts(&self) -> Option<EntryPointFacts> {
        let section = self.entry_points.as_ref()?;
        let mut facts = EntryPointFacts { bytes: section.len, ..EntryPointFacts::default() };
        let mut number = 0;
        for sample in 0..self.n_samples() {
            for &region in &self.image_regions {
                let entry = self.entry(number).unwrap_or_default();
                number += 1;
                let Ok(region) = self.region(sample, region) else { continue };
                if region.image.is_none_or(|image| image.codec != Codec::Jpeg) {
                    continue;
                }
                facts.jpeg_bytes = facts.jpeg_bytes.saturating_add(region.len);
                facts.n_covered += u64::from(!entry.is_empty());
                facts.n_refused += u64::from(entry.is_empty());
                facts.first_byte = facts.first_byte.or(entry.first().copied());
            }
        }
        Some(facts)
    }

    /// Returns entry `number`, if its integers are valid.
    fn entry(&self, number: u64) -> Option<Bytes> {
        let section = self.entry_points.as_ref()?;
        let bytes = self.section_bytes(section);
        let at = usize::try_from(number.checked_mul(8)?).ok()?;
        let (start, end) = (u64_at(bytes, at)?, u64_at(bytes, at.checked_add(8)?)?);
        let entries = section.offset.checked_add(self.integers_len()?)?;
        let section_end = section.offset + section.len;
        let end = entries.checked_add(end).filter(|&end| end <= section_end)?;
        let start = entries.checked_add(start).filter(|&start| start <= end)?;
        let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        (range.end <= self.block.len()).then(|| self.block.slice(range))
    }

    /// Returns the bytes of the integers before the entries.
    fn integers_len(&self) -> Option<u64> {
        let n_images = self.n_samples().checked_mul(self.image_regions.len() as u64)?;
        n_images.checked_add(1)?.checked_mul(8)
    }

    pub(crate) fn check_entry_points_size(&self) -> Result<(), IndexError> {
        let Some(section) = &self.entry_points else { return Ok(()) };
        if self.integers_len().is_none_or(|len| len > section.len) {
            let (len, n_samples) = (section.len, self.n_samples());
            let what = format!("CHECKPOINTS has {len} bytes for {n_samples} samples");
            return Err(IndexError::damaged(section.offset, what));
        }
        Ok(())
    }

    /// Checks that every entry starts at the end of the previous one, and belongs to its image.
    pub(crate) fn check_entries(&self) -> Result<(), IndexError> {
        let Some(section) = &self.entry_points else { return Ok(()) };
        let bytes = self.section_bytes(section);
        let integers_len = self.integers_len().unwrap_or(section.len);
        if u64_at(bytes, 0) != Some(0) {
            let what = "the first entry points do not start at 0";
            return Err(IndexError::damaged(section.offset, what));
        }
        let last = usize::try_from(integers_len - 8).ok().and_then(|at| u64_at(bytes, at));
        if last != Some(section.len - integers_len) {
            return Err(IndexError::damaged(section.offset, "the last entry points end elsewhere"));
        }
        for sample in 0..self.n_samples() {
            for (image_field, &region) in (0..).zip(&self.image_regions) {
                let image = self.region(sample, region)?.image;
                let has_any = self.entry_points(sample, image_field)?.is_some();
                if has_any && image.is_none_or(|image| image.codec != Codec::Jpeg) {
                    let what =
                        format!("entry points for an image that is not a JPEG, in sample {sample}");
                    return Err(IndexError::damaged(section.offset, what));
                }
            }
        }
        Ok(())
    }
}

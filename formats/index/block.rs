use crate::index::{
    HEADER_LEN, IndexError, Meta, Range, Region, TRAILER_LEN,
    layout::{
        HEADER_MAGIC, Header, MAX_META_LEN, MUST_UNDERSTAND, SECTION_LEN, Section, TRAILER_MAGIC,
        kind, parse_trailer,
    },
    region::{RANGE_LEN, REGION_LEN},
};
use bytes::Bytes;
use fdconvert_core::{FieldSpec, Kind, bytes::u64_at};
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64;

/// A parsed block. Cloning is cheap; only META is copied.
#[derive(Debug, Clone)]
pub struct Index {
    pub(crate) block: Bytes,
    pub(crate) header: Header,
    root: u64,
    meta: Meta,
    regions: Section,
    keys: Option<Section>,
    ranges: Option<Section>,
    rows: Option<Section>,
    pub(crate) entry_points: Option<Section>,
    /// Positions of the image fields among the regions of a sample.
    pub(crate) image_regions: Vec<u32>,
    /// Number of integers and floats per sample: the cells of a row.
    n_cells: u64,
    /// Set once [`check_tables`](Self::check_tables) has found no damage.
    tables: OnceLock<()>,
}

impl Index {
    /// Parses a block that is all of `block`, in constant time for any number of samples.
    ///
    /// # Errors
    /// See [`IndexError`]: the block is damaged, or needs a newer reader.
    pub fn parse(block: Bytes) -> Result<Self, IndexError> {
        let header = Header::parse(&block)?;
        let root = parse_trailer(&block, &header)?;
        let trailer_at = header.block_len - TRAILER_LEN;
        let (mut meta, mut regions, mut keys) = (None, None, None);
        let (mut ranges, mut rows, mut entry_points) = (None, None, None);
        let mut offset = header.table_end();
        for number in 0..header.n_sections {
            let at = HEADER_LEN + SECTION_LEN * u64::from(number);
            let section = Section::parse(&block, number)
                .ok_or_else(|| IndexError::damaged(at, "the section table is cut short"))?;
            if section.offset != offset {
                let what = format!("section at {}, expected at {offset}", section.offset);
                return Err(IndexError::damaged(at + 8, what));
            }
            offset = section
                .padded_end()
                .filter(|&end| end <= trailer_at)
                .ok_or_else(|| IndexError::damaged(at + 16, "a section leaves the block"))?;
            let slot = match section.kind {
                kind::META => &mut meta,
                kind::REGIONS => &mut regions,
                kind::KEYS => &mut keys,
                kind::RANGES => &mut ranges,
                kind::CHECKPOINTS => &mut entry_points,
                kind::ROWS => &mut rows,
                kind if section.flags & MUST_UNDERSTAND != 0 => {
                    return Err(IndexError::Section { kind });
                }
                _ => continue,
            };
            if slot.replace(section).is_some() {
                let what = format!("two sections of kind {}", section.kind);
                return Err(IndexError::damaged(at, what));
            }
        }
        if offset != trailer_at {
            return Err(IndexError::damaged(offset, "bytes that belong to no section"));
        }
        let missing = |what| move || IndexError::damaged(HEADER_LEN, what);
        let meta = parse_meta(&block, &meta.ok_or_else(missing("there is no META section"))?)?;
        let regions: Section = regions.ok_or_else(missing("there is no REGIONS section"))?;
        let is_cell = |field: &&FieldSpec| matches!(field.kind, Kind::Int | Kind::Float);
        let n_cells = meta.schema.fields.iter().filter(is_cell).count() as u64;
        let image_regions = (0..)
            .zip(meta.schema.fields.iter().filter(|field| !is_cell(field)))
            .filter(|(_, field)| field.kind == Kind::Image)
            .map(|(position, _)| position)
            .collect();
        let index = Self {
            block,
            header,
            root,
            meta,
            regions,
            keys,
            ranges,
            rows,
            entry_points,
            image_regions,
            n_cells,
            tables: OnceLock::new(),
        };
        index.check_sizes()?;
        Ok(index)
    }

    /// Finds a block that ends at offset `end` of `file`; `None` without one.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn find_before(file: &Bytes, end: u64) -> Result<Option<Self>, IndexError> {
        let end = match usize::try_from(end) {
            Ok(end) if end >= TRAILER_LEN as usize && end <= file.len() => end,
            _ => return Ok(None),
        };
        let trailer = file.get(end - TRAILER_LEN as usize..end).unwrap_or_default();
        let start = u64_at(trailer, 0)
            .and_then(|len| usize::try_from(len).ok())
            .and_then(|len| end.checked_sub(len))
            .filter(|&start| file.get(start..end).is_some_and(|b| b.starts_with(&HEADER_MAGIC)));
        match (start, trailer.get(24..) == Some(&TRAILER_MAGIC[..])) {
            // `parse` finds a damaged trailer magic, because the header is in its place.
            (Some(start), _) => Self::parse(file.slice(start..end)).map(Some),
            (None, true) => Err(IndexError::damaged(0, "the trailer does not lead to a header")),
            (None, false) => Ok(None),
        }
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.header.n_samples
    }

    /// Returns the number of stored values per sample.
    #[must_use]
    pub fn regions_per_sample(&self) -> u32 {
        self.header.regions_per_sample
    }

    /// Returns the end of the regions' range in the data file.
    #[must_use]
    pub fn data_len(&self) -> u64 {
        self.header.data_len
    }

    /// Returns the length of the block in bytes.
    #[must_use]
    pub fn block_len(&self) -> u64 {
        self.header.block_len
    }

    /// Returns a checksum over all content of the block, and through it over every stored value.
    #[must_use]
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Returns the facts about the dataset as a whole.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns stored value `position` of sample `sample`.
    ///
    /// # Errors
    /// `Position` if it does not exist, `Damaged` when it exceeds the data file.
    // Inlined, like `key`, because it runs for each sample: calls and moves were a tenth of a
    // fetch's instructions.
    #[inline(always)]
    pub fn region(&self, sample: u64, position: u32) -> Result<Region, IndexError> {
        let (n_samples, per_sample) = (self.header.n_samples, self.header.regions_per_sample);
        if sample >= n_samples {
            return Err(IndexError::Position { what: "sample", asked: sample, len: n_samples });
        }
        if position >= per_sample {
            let (asked, len) = (u64::from(position), u64::from(per_sample));
            return Err(IndexError::Position { what: "region", asked, len });
        }
        // No overflow: the last region's end was checked against the block's length.
        let at = self.regions.offset
            + (sample * u64::from(per_sample) + u64::from(position)) * REGION_LEN as u64;
        let record: &[u8; REGION_LEN] = usize::try_from(at)
            .ok()
            .and_then(|at| self.block.get(at..at + REGION_LEN))
            .and_then(|record| record.try_into().ok())
            .ok_or_else(|| IndexError::damaged(at, "the region is outside the block"))?;
        let region = Region::from_bytes(record).map_err(|error| match error {
            IndexError::Damaged { offset, what } => IndexError::damaged(at + offset, what),
            other => other,
        })?;
        match region.offset.checked_add(region.len) {
            Some(end) if end <= self.header.data_len => Ok(region),
            _ => Err(IndexError::damaged(at, "a region reaches beyond the data")),
        }
    }

    /// Returns the key of sample `sample`; `None` when the block has no keys.
    ///
    /// # Errors
    /// `Position` for a sample that does not exist, `Damaged` when the key is not text in bounds.
    #[inline(always)]
    pub fn key(&self, sample: u64) -> Result<Option<&str>, IndexError> {
        let n_samples = self.header.n_samples;
        if sample >= n_samples {
            return Err(IndexError::Position { what: "sample", asked: sample, len: n_samples });
        }
        let Some(section) = &self.keys else { return Ok(None) };
        let bytes = self.section_bytes(section);
        // No overflow: the integers' length was checked against the section's.
        let key = usize::try_from(sample * 8).ok().and_then(|at| {
            let ends: &[u8; 16] = bytes.get(at..)?.first_chunk()?;
            let start = usize::try_from(u64_at(ends, 0)?).ok()?;
            let end = usize::try_from(u64_at(ends, 8)?).ok()?;
            let text = bytes.get(usize::try_from((n_samples + 1) * 8).ok()?..)?;
            std::str::from_utf8(text.get(start..end)?).ok()
        });
        let damaged = || IndexError::damaged(section.offset + sample * 8, "the key is damaged");
        key.map(Some).ok_or_else(damaged)
    }

    /// Returns the integers and floats of sample `sample` in schema order, eight bytes each; `None`
    /// when the block has no rows.
    ///
    /// # Errors
    /// `Position` for a sample that does not exist.
    pub fn row(&self, sample: u64) -> Result<Option<&[u8]>, IndexError> {
        let n_samples = self.header.n_samples;
        if sample >= n_samples {
            return Err(IndexError::Position { what: "sample", asked: sample, len: n_samples });
        }
        let Some(section) = &self.rows else { return Ok(None) };
        // No overflow: the length of all rows was checked against the section's.
        let (at, len) = (section.offset + sample * self.n_cells * 8, self.n_cells * 8);
        Ok(Some(self.slice(at, at + len)))
    }

    /// Yields the checksummed parts of the data file other than regions.
    pub fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        let bytes = self.ranges.as_ref().map_or(&[][..], |section| self.section_bytes(section));
        bytes.chunks_exact(RANGE_LEN).filter_map(Range::decode)
    }

    /// Checks every byte of the block: all checksums, padding, the order of the keys, and the seals
    /// of all entry points. The result is empty for a sound block.
    #[must_use]
    pub fn verify(&self) -> Vec<IndexError> {
        let mut errors = Vec::new();
        for number in 0..self.header.n_sections {
            let Some(section) = Section::parse(&self.block, number) else { continue };
            if let Err(error) = self.check_section(&section) {
                errors.push(error);
            }
            let end = section.offset + section.len;
            let padding = section.padded_end().map_or(&[][..], |next| self.slice(end, next));
            if padding.iter().any(|&byte| byte != 0) {
                errors.push(IndexError::damaged(end, "padding is not zero"));
            }
        }
        if let Some(keys) = &self.keys
            && let Err(error) = self.check_keys(keys)
        {
            errors.push(error);
        }
        if let Err(error) = self.check_entries() {
            errors.push(error);
        }
        errors
    }

    /// Checks the checksums of all facts about samples: regions, keys, rows and ranges. The first
    /// call reads them all, about 100 bytes per sample; once they were found sound, later calls
    /// rely on that. Damage is checked again each time, because a page that could not be read for a
    /// while must not condemn the dataset forever. Entry points have separate seals.
    ///
    /// # Errors
    /// `Damaged`, for the first damaged section.
    pub fn check_tables(&self) -> Result<(), IndexError> {
        if self.tables.get().is_some() {
            return Ok(());
        }
        let tables = [Some(&self.regions), self.keys.as_ref(), self.rows.as_ref()];
        for section in tables.into_iter().chain([self.ranges.as_ref()]).flatten() {
            self.check_section(section)?;
        }
        self.keys.as_ref().map_or(Ok(()), |keys| self.check_keys(keys))?;
        self.tables.get_or_init(|| ());
        Ok(())
    }

    fn check_section(&self, section: &Section) -> Result<(), IndexError> {
        if xxh3_64(self.section_bytes(section)) == section.xxh3 {
            return Ok(());
        }
        let what = format!("the checksum of section kind {} does not match", section.kind);
        Err(IndexError::damaged(section.offset, what))
    }

    fn check_sizes(&self) -> Result<(), IndexError> {
        let Header { n_samples, regions_per_sample, .. } = self.header;
        let expected = n_samples
            .checked_mul(u64::from(regions_per_sample))
            .and_then(|n_regions| n_regions.checked_mul(REGION_LEN as u64));
        if expected != Some(self.regions.len) {
            let what = format!(
                "REGIONS has {} bytes, not {REGION_LEN} for each of {n_samples} x \
                 {regions_per_sample}",
                self.regions.len
            );
            return Err(IndexError::damaged(self.regions.offset, what));
        }
        let integers = n_samples.checked_add(1).and_then(|n| n.checked_mul(8));
        if let Some(keys) = &self.keys
            && integers.is_none_or(|len| len > keys.len)
        {
            let what = format!("KEYS has {} bytes for {n_samples} samples", keys.len);
            return Err(IndexError::damaged(keys.offset, what));
        }
        self.check_entry_points_size()?;
        let cells = n_samples.checked_mul(self.n_cells).and_then(|n| n.checked_mul(8));
        if let Some(rows) = &self.rows
            && cells != Some(rows.len)
        {
            let what = format!(
                "ROWS has {} bytes, not 8 for each of {n_samples} x {}",
                rows.len, self.n_cells
            );
            return Err(IndexError::damaged(rows.offset, what));
        }
        if let Some(ranges) = &self.ranges
            && !ranges.len.is_multiple_of(RANGE_LEN as u64)
        {
            return Err(IndexError::damaged(ranges.offset, "RANGES ends inside a record"));
        }
        Ok(())
    }

    fn check_keys(&self, section: &Section) -> Result<(), IndexError> {
        let bytes = self.section_bytes(section);
        let n_samples = self.header.n_samples;
        let text_len = section.len - (n_samples + 1) * 8;
        if u64_at(bytes, 0) != Some(0) {
            return Err(IndexError::damaged(section.offset, "the first key does not start at 0"));
        }
        let last = usize::try_from(n_samples * 8).ok().and_then(|at| u64_at(bytes, at));
        if last != Some(text_len) {
            return Err(IndexError::damaged(section.offset, "the last key ends elsewhere"));
        }
        (0..n_samples).try_for_each(|sample| self.key(sample).map(|_| ()))
    }

    pub(crate) fn section_bytes(&self, section: &Section) -> &[u8] {
        self.slice(section.offset, section.offset + section.len)
    }

    /// Returns bytes of the block; empty if they do not exist, which cannot happen in a parsed
    /// section.
    pub(crate) fn slice(&self, from: u64, to: u64) -> &[u8] {
        match (usize::try_from(from), usize::try_from(to)) {
            (Ok(from), Ok(to)) => self.block.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }
}

fn parse_meta(block: &Bytes, section: &Section) -> Result<Meta, IndexError> {
    let damaged = |what: String| IndexError::damaged(section.offset, what);
    if section.len > MAX_META_LEN {
        return Err(damaged(format!("META of {} bytes is over the limit", section.len)));
    }
    let (from, to) = (section.offset, section.offset + section.len);
    let bytes = match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) => block.get(from..to).unwrap_or_default(),
        _ => &[],
    };
    if xxh3_64(bytes) != section.xxh3 {
        return Err(damaged("the checksum of META does not match".into()));
    }
    Meta::from_json(bytes).map_err(|error| damaged(format!("META: {error}")))
}

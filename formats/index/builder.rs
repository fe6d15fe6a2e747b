use crate::index::{
    Range, Region,
    layout::{
        HEADER_LEN, Header, MUST_UNDERSTAND, SECTION_LEN, Section, TRAILER_LEN, encode_trailer,
        kind,
    },
    region::{RANGE_LEN, REGION_LEN},
};
use xxhash_rust::xxh3::xxh3_64;

/// META, REGIONS, KEYS, RANGES; CHECKPOINTS and ROWS are added if needed.
const N_SECTIONS: usize = 4;

/// Collects the facts about each sample. Takes 40 bytes per region, 8 per sample, 8 per image with
/// entry points, and the key itself, in their written form, so that emitting them copies nothing.
/// The entry points themselves, some hundred bytes per image, are not included: see
/// [`with_entry_points`](Self::with_entry_points).
#[derive(Debug, Clone)]
pub struct Builder {
    regions_per_sample: u32,
    n_samples: u64,
    regions: Vec<u8>,
    key_offsets: Vec<u8>,
    keys: Vec<u8>,
    rows: Vec<u8>,
    /// Ends of the entries of CHECKPOINTS, if there is such a section.
    entries: Option<Entries>,
}

#[derive(Debug, Clone)]
struct Entries {
    offsets: Vec<u8>,
    len: u64,
}

impl Builder {
    /// Creates an empty block for samples of `regions_per_sample` regions each.
    #[must_use]
    pub fn new(regions_per_sample: u32) -> Self {
        Self {
            regions_per_sample,
            n_samples: 0,
            regions: Vec::new(),
            key_offsets: 0_u64.to_le_bytes().to_vec(),
            keys: Vec::new(),
            rows: Vec::new(),
            entries: None,
        }
    }

    /// Adds a CHECKPOINTS section. The builder keeps only the end of each entry; the writer of the
    /// file keeps the bytes of the entries from [`seal_all`](crate::index::seal_all), one after the
    /// other, and passes them to [`emit_with`](Self::emit_with): for a million images they are most
    /// of a gigabyte, which a format may prefer to have in a file.
    #[must_use]
    pub fn with_entry_points(self) -> Self {
        let entries = Entries { offsets: 0_u64.to_le_bytes().to_vec(), len: 0 };
        Self { entries: Some(entries), ..self }
    }

    /// Adds the lengths of a sample's entries, one for each image field in schema order, 0 without
    /// entry points. If there is such a section, every sample needs them.
    pub fn push_entry_lens(&mut self, lens: &[u64]) {
        let Some(entries) = &mut self.entries else { return };
        for len in lens {
            entries.len += len;
            entries.offsets.extend_from_slice(&entries.len.to_le_bytes());
        }
    }

    /// Returns the bytes of all entries so far.
    #[must_use]
    pub fn entries_len(&self) -> u64 {
        self.entries.as_ref().map_or(0, |entries| entries.len)
    }

    /// Adds the next sample. Missing regions are stored as empty, superfluous ones dropped: the
    /// caller ensures their number.
    pub fn push(&mut self, key: &str, regions: &[Region]) {
        debug_assert_eq!(regions.len(), self.regions_per_sample as usize);
        let none = Region { offset: 0, len: 0, xxh3: xxh3_64(&[]), image: None };
        for position in 0..self.regions_per_sample as usize {
            let region = regions.get(position).unwrap_or(&none);
            self.regions.extend_from_slice(&region.to_bytes());
        }
        self.keys.extend_from_slice(key.as_bytes());
        self.key_offsets.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        self.n_samples += 1;
    }

    /// Adds the row of a sample: the eight bytes of each of its integers and floats, in schema
    /// order. For formats without rows; then every sample needs one.
    pub fn push_row(&mut self, row: &[[u8; 8]]) {
        row.iter().for_each(|cell| self.rows.extend_from_slice(cell));
    }

    /// Moves all regions so far towards the start of the data file by `by` bytes: for formats that
    /// learn the length of the part before them only at the end.
    pub fn move_regions(&mut self, by: u64) {
        if by == 0 {
            return;
        }
        for record in self.regions.chunks_exact_mut(REGION_LEN) {
            if let Some(offset) = record.first_chunk_mut::<8>() {
                *offset = u64::from_le_bytes(*offset).saturating_sub(by).to_le_bytes();
            }
        }
    }

    /// Returns the number of samples so far.
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.n_samples
    }

    /// Returns the records of all regions so far, [`REGION_LEN`] bytes each, in sample order.
    #[must_use]
    pub fn regions(&self) -> &[u8] {
        &self.regions
    }

    /// Returns the length of the block with this META section and `n_ranges` ranges. A file that
    /// contains the block needs it before the checksums of its own header are known.
    #[must_use]
    pub fn block_len(&self, meta: &[u8], n_ranges: usize) -> u64 {
        let padded = |len: usize| (len as u64).next_multiple_of(8);
        HEADER_LEN
            + SECTION_LEN * self.n_sections() as u64
            + padded(meta.len())
            + padded(self.regions.len())
            + padded(self.key_offsets.len() + self.keys.len())
            + padded(n_ranges * RANGE_LEN)
            + self.entries.as_ref().map_or(0, |entries| {
                (entries.offsets.len() as u64 + entries.len).next_multiple_of(8)
            })
            + padded(self.rows.len())
            + TRAILER_LEN
    }

    fn n_sections(&self) -> usize {
        N_SECTIONS + usize::from(self.entries.is_some()) + usize::from(!self.rows.is_empty())
    }

    /// Passes the block to `write` piece by piece, from its first byte to its last. `meta` is
    /// [`Meta::to_json`](crate::index::Meta::to_json); no region may exceed `data_len`.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn emit<E>(
        &self,
        meta: &[u8],
        data_len: u64,
        ranges: &[Range],
        write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.emit_with(meta, data_len, ranges, &[], write)
    }

    /// As [`emit`](Self::emit), for a block with a CHECKPOINTS section of these entries, which have
    /// [`entries_len`](Self::entries_len) bytes. They are read twice.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn emit_with<E>(
        &self,
        meta: &[u8],
        data_len: u64,
        ranges: &[Range],
        entries: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert_eq!(entries.len() as u64, self.entries_len(), "entries are missing");
        let mut range_records = Vec::with_capacity(ranges.len() * RANGE_LEN);
        ranges.iter().for_each(|range| range.encode(&mut range_records));
        let mut contents: Vec<(u32, u32, [&[u8]; 2])> = vec![
            (kind::META, MUST_UNDERSTAND, [meta, &[]]),
            (kind::REGIONS, MUST_UNDERSTAND, [&self.regions, &[]]),
            (kind::KEYS, 0, [&self.key_offsets, &self.keys]),
            (kind::RANGES, 0, [&range_records, &[]]),
        ];
        if let Some(Entries { offsets, .. }) = &self.entries {
            contents.push((kind::CHECKPOINTS, 0, [offsets, entries]));
        }
        if !self.rows.is_empty() {
            contents.push((kind::ROWS, 0, [&self.rows, &[]]));
        }
        let header = Header {
            n_sections: contents.len() as u32,
            n_samples: self.n_samples,
            regions_per_sample: self.regions_per_sample,
            data_len,
            block_len: self.block_len(meta, ranges.len()),
        };
        let mut head = Vec::new();
        header.encode(&mut head);
        let mut offset = header.table_end();
        for &(kind, flags, parts) in &contents {
            let len = parts.iter().map(|part| part.len() as u64).sum::<u64>();
            let mut hash = xxhash_rust::xxh3::Xxh3::new();
            parts.iter().for_each(|part| hash.update(part));
            Section { kind, flags, offset, len, xxh3: hash.digest() }.encode(&mut head);
            offset += len.next_multiple_of(8);
        }
        write(&head)?;
        for (_, _, parts) in contents {
            let len: usize = parts.iter().map(|part| part.len()).sum();
            for part in parts {
                write(part)?;
            }
            write(&[0; 8][..len.next_multiple_of(8) - len])?;
        }
        write(&encode_trailer(&head, header.block_len))
    }
}

const _: () = assert!(REGION_LEN.is_multiple_of(8) && RANGE_LEN.is_multiple_of(8));

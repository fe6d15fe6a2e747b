use crate::beton::{
    Beton,
    journal::{Journal, Record, RunPlan, Unfinished, open_files},
    layout::{HEADER_LEN, Header, RowLayout, Storage, VERSION, encode_descriptor},
    pages::{Page, store_zeros},
    spool::Spool,
    stage::{check_arrays, image_cell, stage},
};
use crate::index::{Builder, Region, seal_all};
use crate::shards::existing::refuse_existing;
use fdconvert_core::{
    Create, Encoded, Error, FieldSpec, Kind, Provenance, Result, Sample, Schema, ShardSummary,
    ShardWriter, Skipped, Value, option,
};
use fdconvert_storage::{
    Claim, Scratch, hash_file,
    os::identity_at,
    place::{is_url, read_start},
};
use std::{
    mem,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::{Xxh3, Xxh3Default};

/// Fills pages in sample order. Keeps one page and the index entries of all samples in memory; of
/// the entry points it keeps those of the page, and spools the others to a file.
pub(crate) struct BetonWriter {
    out: PathBuf,
    overwrite: bool,
    /// A finished file of the same fields exists. FFCV's layout cannot identify a run, so the file
    /// is written again and compared.
    is_compared: bool,
    /// Identity of the run, stored in the finished file.
    pub(crate) fingerprint: [u8; 16],
    pub(crate) compact: bool,
    /// In a store: an unnamed file that is uploaded at the end.
    pub(crate) target: Scratch,
    // Declared before the journal, so that it never outlives it.
    pub(crate) spool: Option<Spool>,
    journal: Journal,
    pub(crate) plan: RunPlan,
    pub(crate) schema: Schema,
    pub(crate) provenance: Provenance,
    pub(crate) layout: RowLayout,
    pub(crate) header: Header,
    descriptors: Vec<u8>,
    pub(crate) page: Page,
    /// FFCV, and so compat mode, opens no page before the first value that takes space.
    pub(crate) page_is_open: bool,
    pub(crate) index: Builder,
    pub(crate) rows_hash: Xxh3,
    /// The samples since the last completed page.
    pub(crate) pending: Record,
    resumed: u64,
    /// Claim of an object in a store.
    claim: Option<Claim>,
}

impl BetonWriter {
    pub(crate) fn create(format: &Beton, request: &Create<'_>) -> Result<Self> {
        let usage = |what: String| Error::usage("schema", what);
        let schema = request.schema;
        let n_fields = u16::try_from(schema.fields.len())
            .map_err(|_| usage(format!("{} fields, over 65535", schema.fields.len())))?;
        let mut descriptors = Vec::new();
        let mut storages = Vec::new();
        for (number, field) in schema.fields.iter().enumerate() {
            if format.compat && field.kind == Kind::Images {
                let what = format!(
                    "FFCV's files do not say that `{}` is a list of images, so that it would be \
                     bytes from then on: leave `compat` out",
                    field.name
                );
                return Err(Error::usage(option::COMPAT, what));
            }
            // An image file is stored as bytes; the index has its codec and size.
            let is_whole = request.common.whole_images.contains(&number);
            let kind = if is_whole { Kind::Bytes } else { field.kind.clone() };
            let stored = FieldSpec::new(field.name.clone(), kind);
            descriptors.extend(encode_descriptor(&stored).map_err(usage)?);
            let unsupported = || usage(format!("field `{}` is too large", field.name));
            storages.push(Storage::of(&stored.kind).ok_or_else(unsupported)?);
        }
        check_arrays(&storages, format.page_bytes)?;
        if request.shard.of != 1 {
            return Err(Error::usage("shards", "a beton is one file"));
        }
        let layout = RowLayout::new(storages);
        let n_planned = request.shard.samples.end.saturating_sub(request.shard.samples.start);
        // The page size is below 2^32: see `Beton::with_options`.
        let page_bytes = u32::try_from(format.page_bytes)
            .map_err(|_| Error::usage(option::PAGE_SIZE, "is too large"))?;
        let header =
            Header { version: VERSION, n_fields, page_bytes, n_samples: 0, table_offset: 0 };
        let row_bytes = layout.row_bytes as u64;
        let rows_end = n_planned.checked_mul(row_bytes);
        let rows_end = rows_end.and_then(|rows| rows.checked_add(header.rows_offset()));
        let rows_end = rows_end
            .filter(|&end| end < 1 << 62)
            .ok_or_else(|| usage(format!("{n_planned} samples are too many")))?;
        // A compact file has no gap in front of the data.
        let multiple_of = if format.compact { 1 } else { format.page_bytes };
        let data_start = rows_end.next_multiple_of(multiple_of);
        let images = schema.fields.iter().filter(|field| field.kind == Kind::Image);
        let n_images = u32::try_from(images.count()).unwrap_or(u32::MAX);
        let plan = RunPlan {
            // In unfinished files only: the stamp may depend on file times.
            fingerprint: request.stamp,
            page_bytes: format.page_bytes,
            reserved_samples: n_planned,
            data_start,
            row_bytes,
            n_regions: layout.n_regions,
            compat: format.compat,
            n_entries: (request.entry_points && !format.compat).then_some(n_images),
        };
        let is_compared = format.compat && !request.overwrite && !is_url(request.out) && {
            let start = read_start(request.out, header.rows_offset() as usize);
            start.is_ok_and(|start| start.get(HEADER_LEN as usize..) == Some(&descriptors))
        };
        if !is_compared {
            refuse_existing(request.out, request.overwrite, request.stamp)?;
        }
        let claim = claim_object(request)?;
        let Unfinished { file, journal, spool } =
            open_files(request.out, &plan, request.overwrite)?;
        let target = file.marked(plan.fingerprint);
        let index = Builder::new(layout.n_regions);
        let index = if spool.is_some() { index.with_entry_points() } else { index };
        let mut writer = Self {
            out: request.out.to_path_buf(),
            overwrite: request.overwrite,
            is_compared,
            fingerprint: request.fingerprint,
            compact: format.compact,
            target,
            spool,
            journal,
            plan,
            schema: schema.clone(),
            provenance: request.provenance.clone(),
            index,
            layout,
            header,
            descriptors,
            page: Page::first(data_start, format.page_bytes),
            page_is_open: !format.compat,
            rows_hash: Xxh3::new(),
            pending: Record::default(),
            resumed: 0,
            claim,
        };
        match writer.replay() {
            Ok(()) => Ok(writer),
            Err(error) if writer.journal.has_records() => {
                // Keep the work of the interrupted run when the disk is full.
                writer.target.leave();
                writer.spool.into_iter().for_each(Spool::leave);
                writer.journal.leave();
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes over the pages of an interrupted run, and restores the state that this run would have
    /// had after them. Trusts only the parts of the old file with a checksum.
    fn replay(&mut self) -> Result<()> {
        let Self {
            journal, plan, target, spool, page, index, rows_hash, provenance, resumed, ..
        } = self;
        let rows_offset = self.header.rows_offset();
        let (n_regions, row_bytes) = (plan.n_regions as usize, plan.row_bytes);
        journal.replay(plan, |record| {
            let first = index.n_samples();
            let is_planned = first + record.keys.len() as u64 <= plan.reserved_samples;
            let known = is_planned
                && record.page == page.number
                && page.stored_xxh3(target) == Some(record.page_xxh3);
            let spool = spool.as_mut();
            if !known || !spool.is_none_or(|spool| spool.accept(&record)) {
                return Ok(false);
            }
            index.push_entry_lens(&record.entry_lens);
            page.advance()?;
            target.write_all_at(&record.rows, rows_offset + first * row_bytes)?;
            rows_hash.update(&record.rows);
            for (i, key) in record.keys.iter().enumerate() {
                let regions = record.regions.get(i * n_regions..(i + 1) * n_regions);
                index.push(key, regions.unwrap_or_default());
            }
            *resumed += (record.keys.len() + record.skipped.len()) as u64;
            provenance.skipped.extend(record.skipped);
            Ok(true)
        })?;
        if let Some(spool) = spool {
            spool.cut()?;
        }
        if page.number == 0 {
            target.set_len(0)?;
        } else {
            target.set_len(page.start)?;
            self.page_is_open = true;
            let rows_end = rows_offset + index.n_samples() * row_bytes;
            store_zeros(target, rows_end, plan.data_start)?;
        }
        self.store_header(0)
    }

    pub(crate) fn store_header(&mut self, table_offset: u64) -> Result<()> {
        // An unfinished file has the planned number of samples, as FFCV's files do.
        self.header.n_samples = match table_offset {
            0 => self.plan.reserved_samples,
            _ => self.index.n_samples(),
        };
        self.header.table_offset = table_offset;
        self.target.write_all_at(&self.prefix(), 0)
    }

    pub(crate) fn prefix(&self) -> Vec<u8> {
        [&self.header.encode()[..], &self.descriptors].concat()
    }

    /// Writes the page, then the rows of the samples that ended in it, then the journal's record of
    /// both.
    pub(crate) fn complete_page(&mut self) -> Result<()> {
        self.page.store(&self.target)?;
        self.target.set_len(self.page.end)?;
        let record = Record {
            page: self.page.number,
            page_xxh3: self.page.xxh3(),
            ..mem::take(&mut self.pending)
        };
        self.store_rows(&record)?;
        self.store_entries(&record)?;
        self.journal.push(&record)?;
        self.page.advance()
    }

    pub(crate) fn store_rows(&mut self, record: &Record) -> Result<()> {
        let first = self.index.n_samples() - record.keys.len() as u64;
        let at = self.header.rows_offset() + first * self.plan.row_bytes;
        self.target.write_all_at(&record.rows, at)
    }

    /// Seals the entry points of a sample's images.
    fn note_entry_points(&mut self, sample: &Sample<Encoded>, regions: &[Region]) {
        if self.spool.is_none() {
            return;
        }
        let lens = seal_all(sample.entry_points(), regions, &mut self.pending.entries);
        self.index.push_entry_lens(&lens);
        self.pending.entry_lens.extend(lens);
    }

    /// Spools entries; comes before the journal records them.
    pub(crate) fn store_entries(&mut self, record: &Record) -> Result<()> {
        match &mut self.spool {
            Some(spool) => spool.append(&record.entries),
            None => Ok(()),
        }
    }

    fn row(&self, sample: &Sample<Encoded>, regions: &[Region]) -> Vec<u8> {
        let mut row = vec![0; self.layout.row_bytes];
        let mut put = |at: usize, bytes: &[u8]| row[at..at + bytes.len()].copy_from_slice(bytes);
        let mut regions = regions.iter();
        for (column, value) in self.layout.columns.iter().zip(&sample.values) {
            let at = column.offset;
            match value {
                Value::Int(int) => put(at, &int.to_le_bytes()),
                Value::Float(float) => put(at, &float.to_le_bytes()),
                _ => {
                    let Some(region) = regions.next() else { continue };
                    let pointer = region.offset.to_le_bytes();
                    match (&column.storage, region.image) {
                        (Storage::Image, Some(image)) => {
                            put(at, &image_cell(&image, region.offset).encode());
                        }
                        (Storage::Bytes | Storage::Json, _) => {
                            put(at, &pointer);
                            put(at + 8, &region.len.to_le_bytes());
                        }
                        (_, _) => put(at, &pointer),
                    }
                }
            }
        }
        row
    }
}

impl ShardWriter for BetonWriter {
    fn resumed(&self) -> u64 {
        self.resumed
    }

    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()> {
        if self.index.n_samples() >= self.plan.reserved_samples {
            let what = format!("more than the {} planned", self.plan.reserved_samples);
            return Err(Error::usage("samples", what));
        }
        let staged = stage(&self.schema, &self.layout, sample, &self.plan)?;
        // From here on only the system can fail: the sample is in the file or the file is lost.
        let regions = self.place(&staged)?;
        let row = self.row(sample, &regions);
        self.rows_hash.update(&row);
        self.index.push(&sample.key, &regions);
        self.pending.rows.extend_from_slice(&row);
        self.pending.regions.extend_from_slice(&regions);
        self.pending.keys.push(sample.key.clone());
        self.note_entry_points(sample, &regions);
        Ok(())
    }

    fn skip(&mut self, skipped: Skipped) -> Result<()> {
        self.pending.skipped.push(skipped.clone());
        self.provenance.skipped.push(skipped);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<ShardSummary> {
        if self.index.n_samples() == 0 {
            return Err(Error::usage("samples", "there is none to write"));
        }
        let skipped = self.provenance.skipped.clone();
        let data_end = self.store_last_page()?;
        let bytes = self.store_tables(data_end)?;
        if self.is_compared && is_same(&self.target, &self.out, bytes)? {
            let (samples, path) = (self.index.n_samples(), self.out);
            return Ok(ShardSummary { path, samples, bytes, skipped });
        }
        // Check again: hours may have passed.
        refuse_existing(&self.out, self.overwrite, self.plan.fingerprint)?;
        let Self { out, target, spool, journal, index, overwrite, claim, .. } = *self;
        let summary = ShardSummary { path: out, samples: index.n_samples(), bytes, skipped };
        commit(target, journal, spool, &summary, overwrite)?;
        claim.into_iter().for_each(Claim::remove);
        Ok(summary)
    }
}

/// Returns true if the file at `path` has exactly these bytes.
fn is_same(file: &Scratch, path: &Path, len: u64) -> Result<bool> {
    let mut hash = Xxh3Default::new();
    file.each_block(|block| {
        hash.update(block);
        Ok(())
    })?;
    Ok(hash_file(path)? == (len, hash.digest()))
}

/// Renames the file to its final name.
fn commit(
    file: Scratch,
    mut journal: Journal,
    spool: Option<Spool>,
    summary: &ShardSummary,
    overwrite: bool,
) -> Result<()> {
    let ShardSummary { path: out, samples, bytes, skipped, .. } = summary;
    journal.push_end(&file, *bytes, *samples, skipped)?;
    let identity = file.identity();
    if let Err(error) = file.commit(out, overwrite) {
        if identity_at(out).is_ok_and(|named| named == identity) {
            // Only the sync of the folder failed: the same command finds the file complete.
            spool.into_iter().for_each(Spool::leave);
            journal.leave();
        }
        return Err(error);
    }
    // After the rename: a journal alone does no harm and is replaced, while a spool without its
    // journal would be in the way.
    drop(spool);
    drop(journal);
    Ok(())
}

/// Claims the object in a store. A store has no journal that could be locked, so a separate object
/// tells other runs that the beton is being written; another process of the same run may write the
/// same one.
fn claim_object(request: &Create<'_>) -> Result<Option<Claim>> {
    if !is_url(request.out) {
        return Ok(None);
    }
    let claim = Claim::open(request.out, request.stamp, request.overwrite)?;
    claim.hold()?;
    Ok(Some(claim))
}

//! Derives the members of fdconvert's shards from their indexes, for shards in a store: reading a
//! whole tar for its headers would download the dataset.
use crate::tar::{Entry, Group, groups};
use crate::wds::{
    Wds, fields,
    format::FORMAT,
    keys::KeyCodec,
    layout::{self, BLOCK, END},
    names::Name,
};
use crate::{index::Index, members::npy};
use fdconvert_core::{Common, Error, Kind, Result, Schema, Value};
use fdconvert_storage::{
    Blob,
    place::{is_url, whole},
};
use std::{borrow::Cow, path::Path};

/// Calls `visit` with every sample of the shard at `path`; returns the number of samples and of
/// bytes of the shard. Walks a shard in a store by its index if there is an outline.
///
/// # Errors
/// `Io`; `Corrupt` if the index does not fit the shard, or the shard is damaged; those of `visit`.
pub(crate) fn each_sample(
    path: &Path,
    outline: Option<&Outline>,
    mut visit: impl FnMut(&Group<'_>) -> Result<()>,
) -> Result<(u64, u64)> {
    match outline {
        Some(outline) if is_url(path) => return outline.walk(path, visit),
        _ => {}
    }
    let archive = Blob::open(path)?.whole()?;
    let mut n_samples = 0;
    for group in groups(&archive) {
        visit(&group.map_err(|error| error.at(path))?)?;
        n_samples += 1;
    }
    Ok((n_samples, archive.len() as u64))
}

/// Maps samples to members, as the writer does. The result is compared with the places in the
/// index.
#[derive(Debug)]
pub(crate) struct Outline {
    schema: Schema,
    names: Vec<Name>,
    order: Vec<usize>,
    keys: KeyCodec,
}

impl Outline {
    /// The outline for the shards of a dataset; `None` if they have no indexes, or
    /// lists of images.
    ///
    /// # Errors
    /// Those of [`fields::names`].
    pub(crate) fn new(format: &Wds, schema: &Schema, common: &Common) -> Result<Option<Self>> {
        // The index does not say how long the images of a list are.
        let has_lists = schema.fields.iter().any(|field| field.kind == Kind::Images);
        if has_lists || !format.sidecars.contains(&"fdx") {
            return Ok(None);
        }
        let names = fields::names(schema, format, common)?;
        let keys = fields::key_codec(schema, &names, common);
        let order = fields::order(schema);
        Ok(Some(Self { schema: schema.clone(), names, order, keys }))
    }

    fn walk(
        &self,
        path: &Path,
        mut visit: impl FnMut(&Group<'_>) -> Result<()>,
    ) -> Result<(u64, u64)> {
        let at = layout::index_path(path);
        let corrupt = |what: String| Error::corrupt(FORMAT, &at, 0, what);
        let index = Index::parse(whole(&at)?).map_err(|error| corrupt(error.to_string()))?;
        let mut end = 0;
        for sample in 0..index.n_samples() {
            let group = self.group(&index, sample, &mut end);
            visit(&group.map_err(corrupt)?)?;
        }
        let bytes = index.data_len();
        if end + END.len() as u64 != bytes {
            return Err(corrupt(format!("its samples end at {end} of {bytes} bytes")));
        }
        Ok((index.n_samples(), bytes))
    }

    /// The members of a sample that begins at `end`. Sets `end` to the start of the next one.
    fn group(&self, index: &Index, sample: u64, end: &mut u64) -> Result<Group<'static>, String> {
        let key = index.key(sample).map_err(|error| error.to_string())?;
        let key = self.keys.encode(key.ok_or("it has no keys")?);
        let row = index.row(sample).map_err(|error| error.to_string())?;
        let mut cells = row.unwrap_or_default().chunks_exact(8);
        let mut position = 0;
        let mut members = Vec::with_capacity(self.names.len());
        for (field, name) in self.schema.fields.iter().zip(&self.names) {
            if fields::is_cell(field) {
                let cell = cells.next().and_then(|cell| cell.try_into().ok());
                let cell: [u8; 8] = cell.ok_or("it has no rows")?;
                let value = match field.kind {
                    Kind::Float => Value::Float(f64::from_le_bytes(cell)),
                    _ => Value::Int(i64::from_le_bytes(cell)),
                };
                let len = fields::encode(&field.kind, &value)?.len();
                members.push((name.of(&value).into_owned(), len, None));
                continue;
            }
            let region = index.region(sample, position).map_err(|error| error.to_string())?;
            position += 1;
            let before = match &field.kind {
                Kind::Array(spec) => npy::header(spec).len() as u64,
                _ => 0,
            };
            let name = name.of_codec(region.image.map(|image| image.codec)).into_owned();
            members.push((name, before + region.len, Some(region.offset.wrapping_sub(before))));
        }
        let mut entries = Vec::with_capacity(members.len());
        for &at in &self.order {
            let Some((name, len, place)) = members.get(at) else { continue };
            let (header, data) = (*end, *end + BLOCK);
            if place.is_some_and(|place| place != data) {
                return Err(format!("sample {sample} is not where it belongs"));
            }
            let name = Cow::Owned(format!("{key}.{name}").into_bytes());
            entries.push(Entry { name, header, data, len: *len });
            *end = data.saturating_add(len.next_multiple_of(BLOCK));
        }
        Ok(Group { key: key.into_bytes(), entries })
    }
}

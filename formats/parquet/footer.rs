//! Reads the end of a file, and checks its schema and row groups before they are trusted.
use super::{
    file::{Chunk, Group},
    layout::{ENCRYPTED, FORMAT, MAGIC, Note, TAIL_LEN, VERSION, footer_len},
    leaf::{Leaf, LeafKind, MAX_DECIMALS},
    thrift::encrypted_columns,
};
use ::parquet::{
    basic::Compression,
    file::metadata::{
        ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
        ParquetStatisticsPolicy, RowGroupMetaData,
    },
};
use bytes::Bytes;
use fdconvert_core::{Error, Result, caught, option};
use fdconvert_storage::Blob;
use std::path::Path;

/// Bytes at the end of a file to read at once: most footers are shorter.
const TAIL_BYTES: u64 = 64 << 10;

pub(super) fn read(data: &Blob, path: &Path) -> Result<Bytes> {
    let corrupt = |offset: u64, what: String| Error::corrupt(FORMAT, path, offset, what);
    let len = data.len();
    let tail_at = len.saturating_sub(TAIL_BYTES);
    let tail = data.read(tail_at, len - tail_at)?.unwrap_or_default();
    let start = data.read(0, MAGIC.len() as u64)?.unwrap_or_default();
    if start[..] == ENCRYPTED || tail.ends_with(&ENCRYPTED) {
        let what = "it is encrypted, and encrypted files are not read".into();
        return Err(Error::Unsupported { format: FORMAT, path: path.into(), what });
    }
    let footer_len = (tail.len() as u64)
        .checked_sub(TAIL_LEN)
        .and_then(|at| usize::try_from(at).ok())
        .and_then(|at| footer_len(tail.get(at..)?));
    let Some(footer_len) = footer_len.filter(|_| start[..] == MAGIC) else {
        let what = "it does not begin and end as such a file does: it is unfinished or cut short";
        return Err(corrupt(len.saturating_sub(TAIL_LEN), what.into()));
    };
    let from = len.checked_sub(TAIL_LEN).and_then(|end| end.checked_sub(footer_len));
    let Some(from) = from.filter(|&from| from >= MAGIC.len() as u64) else {
        return Err(corrupt(len - TAIL_LEN, format!("a footer of {footer_len} bytes")));
    };
    if let Some(at) = from.checked_sub(tail_at) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let end = tail.len().saturating_sub(TAIL_LEN as usize);
        return Ok(if at <= end { tail.slice(at..end) } else { Bytes::new() });
    }
    Ok(data.read(from, footer_len)?.unwrap_or_default())
}

pub(super) fn parse(footer: &Bytes) -> Result<ParquetMetaData, String> {
    let mut options = ParquetMetaDataOptions::new();
    options.set_column_stats_policy(ParquetStatisticsPolicy::SkipAll);
    options.set_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
    options.set_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let decode = || ParquetMetaDataReader::decode_metadata_with_options(footer, Some(&options));
    match caught(decode) {
        Ok(Ok(metadata)) => Ok(metadata),
        Ok(Err(error)) => Err(format!("its footer: {error}")),
        Err(_) => Err("its footer cannot be decoded".to_owned()),
    }
}

/// fdconvert's note about the file, if it wrote the file.
pub(super) fn note(text: Option<&str>, path: &Path) -> Result<Option<Note>> {
    let Some(text) = text else { return Ok(None) };
    let version = serde_json::from_str::<serde_json::Value>(text).ok();
    let version = version.and_then(|note| note.get("version")?.as_u64());
    if let Some(found) = version.filter(|&version| version > VERSION) {
        let (format, path) = (FORMAT, path.to_path_buf());
        return Err(Error::Version { format, path, found, supported: "1" });
    }
    // Another program may have used the key for something else.
    Ok(serde_json::from_str(text).ok())
}

/// Refuses the summary of a folder, which some programs write: its rows are in other files.
pub(super) fn refuse_summary(metadata: &ParquetMetaData, path: &Path) -> Result<()> {
    let mut chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    if chunks.all(|chunk| chunk.file_path().is_none_or(str::is_empty)) {
        return Ok(());
    }
    let what = "it is the summary of other Parquet files, which hold its rows: give the folder that \
                they are in";
    Err(Error::Unsupported { format: FORMAT, path: path.into(), what: what.into() })
}

/// A row group; `None` for one without rows, for which writers leave the places of columns
/// undefined.
pub(super) fn group_of(
    group: &RowGroupMetaData,
    first_row: u64,
    footer_at: u64,
    leaves: &[Leaf],
) -> Result<Option<Group>, String> {
    let n_rows = u64::try_from(group.num_rows()).map_err(|_| "a negative number of rows")?;
    if group.columns().len() != leaves.len() {
        return Err(format!("{} columns, not {}", group.columns().len(), leaves.len()));
    }
    if n_rows == 0 && group.columns().iter().all(|chunk| chunk.num_values() == 0) {
        return Ok(None);
    }
    let chunk = |(chunk, leaf): (&ColumnChunkMetaData, &Leaf)| {
        let what = |what: &str| format!("column `{}`: {what}", chunk.column_path().string());
        // Outside lists each row has one value; in lists it has one or more.
        let n_values = u64::try_from(chunk.num_values()).unwrap_or(0);
        let is_flat = leaf.descr.max_rep_level() == 0;
        if n_values < n_rows || (is_flat && n_values > n_rows) {
            return Err(what(&format!("{n_values} values for {n_rows} rows")));
        }
        let number = |number: i64| u64::try_from(number).map_err(|_| what("a negative place"));
        let data = number(chunk.data_page_offset())?;
        // Some writers write 0 if there is no dictionary.
        let dictionary = chunk.dictionary_page_offset().map(number).transpose()?;
        let start = dictionary.filter(|&at| at > 0 && at < data).unwrap_or(data);
        let len = number(chunk.compressed_size())?;
        let end = start.checked_add(len).filter(|&end| end <= footer_at);
        if end.is_none() || start < MAGIC.len() as u64 {
            return Err(what("it is outside the file"));
        }
        let index = chunk.offset_index_offset().zip(chunk.offset_index_length());
        let index = index.and_then(|(offset, len)| {
            Some((u64::try_from(offset).ok()?, u64::try_from(len).ok()?))
        });
        Ok(Chunk { start, len, n_values, compression: chunk.compression(), offset_index: index })
    };
    let chunks = group.columns().iter().zip(leaves).map(chunk).collect::<Result<_, _>>()?;
    Ok(Some(Group { first_row, n_rows, chunks }))
}

/// Refuses unreadable columns, except those of the fields in `dropped`.
pub(super) fn refuse_unread(
    footer: &Bytes,
    groups: &[Group],
    leaves: &[Leaf],
    dropped: &[String],
    path: &Path,
) -> Result<()> {
    let encrypted = encrypted_columns(footer).unwrap_or_default();
    for (at, leaf) in leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_in(dropped)) {
        let mut chunks = groups.iter().filter_map(|group| group.chunks.get(at));
        let codec = chunks.find_map(|chunk| match chunk.compression {
            Compression::BROTLI(_) => Some("brotli"),
            Compression::LZO => Some("lzo"),
            _ => None,
        });
        let what = match (codec, leaf.kind) {
            _ if encrypted.contains(&at) => "is encrypted, which is not supported".into(),
            (Some(codec), _) => format!(
                "is compressed with {codec}, which is not read; write the file again with zstd, \
                 snappy, gzip or lz4"
            ),
            (None, LeafKind::Decimal(scale)) if scale > MAX_DECIMALS => {
                format!("has {scale} decimals, and at most {MAX_DECIMALS} are read")
            }
            _ => continue,
        };
        let what = format!("column `{}` {what}", leaf.descr.path().string()).into();
        return Err(Error::Unsupported { format: FORMAT, path: path.into(), what }
            .cure("to leave it out", option::DROP_FIELDS.with(leaf.field())));
    }
    Ok(())
}

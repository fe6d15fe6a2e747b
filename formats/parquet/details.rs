//! Facts about the files, for `inspect`.
use super::ParquetReader;
use crate::{index::VERSION, shards::versions};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(crate) fn of(reader: &ParquetReader) -> Map<String, Value> {
    let files = || reader.parts.iter().map(|part| &part.file);
    let groups = || files().flat_map(|file| &file.groups);
    let codecs: BTreeSet<String> = groups()
        .flat_map(|group| &group.chunks)
        .map(|chunk| {
            let name = format!("{:?}", chunk.compression).to_lowercase();
            name.split('(').next().unwrap_or_default().to_owned()
        })
        .collect();
    let has_pages = groups().flat_map(|group| &group.chunks).all(|it| it.offset_index.is_some());
    let created_by: BTreeSet<&str> =
        files().filter_map(|file| file.created_by.as_deref()).collect();
    let n_indexed = reader.parts.iter().filter(|part| part.index.is_some()).count();
    let problem = reader.parts.iter().find_map(|part| part.problem.as_ref());
    let index = match (reader.parts.first().and_then(|part| part.index.as_ref()), problem) {
        (_, Some(problem)) => json!({ "unusable": problem }),
        (Some(index), None) => json!({
            "version": VERSION,
            "files": n_indexed,
            "root": format!("{:016x}", index.root()),
        }),
        (None, None) => Value::Null,
    };
    let facts = [
        ("files", json!(reader.parts.len())),
        ("row_groups", json!(groups().count())),
        ("compression", json!(codecs)),
        ("page_index", json!(has_pages)),
        ("file_bytes", json!(files().map(|file| file.data.len()).sum::<u64>())),
        ("created_by", json!(created_by)),
        ("index", index),
    ];
    let edit = reader.manifest.as_ref().and_then(|manifest| manifest.edit.as_ref());
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
    facts.chain(versions::detail(edit)).collect()
}

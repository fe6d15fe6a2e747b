//! Infers the schema of shards without an index or manifest from all member names, with the rules
//! of WebDataset's decoders.
use crate::{
    members::{self, npy},
    wds::{
        format::FORMAT,
        list,
        names::{Column, places},
        scan::Scanned,
        shard::{Contents, Shard},
    },
};
use fdconvert_core::{Error, FieldSpec, Kind, Result, Schema};
use std::path::Path;

/// No dataset has more fields per sample; above this, parts of keys are mistaken for field names.
const MAX_FIELDS: usize = 1000;
/// Arrays to read until one gives type and shape.
const N_ARRAYS: usize = 16;
/// Suffixes of archives, which are not valid as members of a shard.
const ARCHIVES: [&str; 5] = ["tar", "tgz", "tar.gz", "tar.zst", "zip"];

/// Infers the fields, and their member names in the same order, of shards without an index.
pub(crate) fn infer(shards: &[Shard]) -> Result<(Schema, Vec<Column>)> {
    let scanned = || {
        shards.iter().filter_map(|shard| match &shard.contents {
            Contents::Scanned(scanned) => Some((shard, &**scanned)),
            Contents::Indexed(_) => None,
        })
    };
    let path = shards.first().map_or(Path::new(""), |shard| &*shard.path);
    let mut columns = Vec::new();
    let mut members: Vec<(&[u8], Kind)> = Vec::new();
    for (_, of_shard) in scanned() {
        for shape in of_shard.shapes() {
            let found = places(&shape.names, &columns);
            for (at, name) in shape.names.iter().enumerate() {
                if found.contains(&Some(at)) {
                    continue;
                }
                let kind = kind_of(name, scanned());
                columns.push(Column::seen(name, &kind));
                members.push((name, kind));
            }
            if columns.len() > MAX_FIELDS {
                return Err(too_many(path, &members));
            }
        }
    }
    if members.is_empty() {
        let what = "no sample: no file whose name has a dot";
        return Err(Error::corrupt(FORMAT, path, 0, what));
    }
    refuse_archives(path, &members)?;
    let members = members.into_iter().map(|(name, kind)| (name.to_vec(), kind));
    Ok((Schema::new(fields(members))?, columns))
}

/// Infers the kind of the members of that name. Type and shape of an array come from the first
/// readable members.
fn kind_of<'a>(
    name: &'a [u8],
    mut scanned: impl Iterator<Item = (&'a Shard, &'a Scanned)>,
) -> Kind {
    if list::is_list(name) {
        return Kind::Images;
    }
    let full = String::from_utf8_lossy(name).to_lowercase();
    let suffix = full.rsplit('.').next().unwrap_or(&full);
    if suffix != "npy" {
        return members::kind(suffix, &[]);
    }
    let bytes = |shard: &Shard, place: std::ops::Range<usize>| {
        let bytes = shard.archive.read(place.start as u64, place.len() as u64);
        bytes.ok().flatten().unwrap_or_default()
    };
    let arrays = scanned
        .by_ref()
        .flat_map(|(shard, scanned)| scanned.places_of(name).map(move |place| bytes(shard, place)));
    let spec = arrays.take(N_ARRAYS).find_map(|bytes| npy::parse(&bytes).map(|(spec, _)| spec));
    spec.map_or(Kind::Bytes, Kind::Array)
}

/// Names the fields for members of these names and kinds.
fn fields(members: impl Iterator<Item = (Vec<u8>, Kind)>) -> Vec<FieldSpec> {
    let mut fields: Vec<FieldSpec> = Vec::new();
    let (mut has_image, mut has_images, mut has_label) = (false, false, false);
    for (name, kind) in members {
        let full = String::from_utf8_lossy(&name).into_owned();
        let stem = full.rsplit_once('.').map_or("", |(stem, _)| stem);
        let first_of =
            |seen: &mut bool, name: &str| (!std::mem::replace(seen, true)).then(|| name.to_owned());
        let preferred = match kind {
            Kind::Image => first_of(&mut has_image, "image"),
            Kind::Images if stem.is_empty() => first_of(&mut has_images, "images"),
            Kind::Int if stem.is_empty() => first_of(&mut has_label, "label"),
            _ => None,
        };
        let preferred = preferred.unwrap_or_else(|| match (&kind, stem) {
            (Kind::Bytes, _) | (_, "") => full.clone(),
            (_, stem) => stem.to_owned(),
        });
        let is_free = |name: &str| !name.is_empty() && fields.iter().all(|f| f.name != name);
        let name = [preferred, full.clone()].into_iter().find(|name| is_free(name));
        let number = fields.len();
        fields.push(FieldSpec::new(name.unwrap_or_else(|| format!("field {number}")), kind));
    }
    fields
}

/// A tar of tars, as ImageNet is distributed, has no image that a reader of shards would find.
fn refuse_archives(path: &Path, members: &[(&[u8], Kind)]) -> Result<()> {
    let is_archive = |name: &[u8]| {
        let name = String::from_utf8_lossy(name).to_lowercase();
        ARCHIVES
            .iter()
            .any(|end| name.strip_suffix(end).is_some_and(|it| it.is_empty() || it.ends_with('.')))
    };
    let archive = members.iter().find(|(name, _)| is_archive(name));
    if members.iter().any(|(_, kind)| matches!(kind, Kind::Image | Kind::Images)) {
        return Ok(());
    }
    let Some((name, _)) = archive else { return Ok(()) };
    let what = format!(
        "{} holds archives (.{}) and no image: unpack it, and each archive in it into its own \
         folder, which is then a class, and give the folder above them",
        path.display(),
        String::from_utf8_lossy(name)
    );
    Err(Error::usage("source", what))
}

fn too_many(path: &Path, members: &[(&[u8], Kind)]) -> Error {
    let names = members.iter().take(3).map(|(name, _)| String::from_utf8_lossy(name));
    let what = format!(
        "its samples have over {MAX_FIELDS} different members (`{}`, ...): a key ends at the first \
         dot of a name; rename the files so that their keys have no dots",
        names.collect::<Vec<_>>().join("`, `")
    );
    Error::Unsupported { format: FORMAT, path: path.to_path_buf(), what: what.into() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Fields and columns of one sample with members of these names.
    pub(crate) fn of_names(names: &[&str]) -> (Schema, Vec<Column>) {
        let kind = |name: &&str| kind_of(name.as_bytes(), std::iter::empty());
        let members: Vec<_> =
            names.iter().map(|name| (name.as_bytes().to_vec(), kind(name))).collect();
        let columns = members.iter().map(|(name, kind)| Column::seen(name, kind)).collect();
        (Schema::new(fields(members.into_iter())).unwrap(), columns)
    }

    #[test]
    fn names_tell_the_kinds() {
        let members =
            ["mask.png", "JPG", "cls", "x.cls", "json", "a.txt", "a.json", "pickle", "npy"];
        let (schema, columns) = of_names(&members);
        let found: Vec<_> =
            schema.fields.iter().map(|field| (field.name.as_str(), field.kind.name())).collect();
        assert_eq!(
            found,
            [
                ("image", "image"),
                ("JPG", "image"),
                ("label", "int"),
                ("x", "int"),
                ("json", "json"),
                ("a", "text"),
                ("a.json", "json"),
                ("pickle", "bytes"),
                ("npy", "bytes"),
            ]
        );
        assert_eq!(columns[1].first(), b"JPG");
    }
}

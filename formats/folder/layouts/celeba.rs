//! CelebA: a list of forty attributes for each face, and one of the splits.
use super::{
    Opened, Recognised,
    files::{division, lines, refuse, text_of},
    names::Names,
};
use crate::folder::{
    Folder, FolderReader,
    annotations::Annotated,
    names::listed,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{ArraySpec, DType, FieldSpec, Ignored, Kind, Result, Schema};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_128;

/// The list as it is published, and as a table of Kaggle.
const ATTRIBUTES: [&str; 2] = ["list_attr_celeba.txt", "list_attr_celeba.csv"];
const PARTITION: [&str; 2] = ["list_eval_partition.txt", "list_eval_partition.csv"];
/// Kaggle's archive has the folder twice.
const IMAGES: [&str; 2] = ["img_align_celeba/img_align_celeba", "img_align_celeba"];
const SPLITS: [&str; 3] = ["train", "val", "test"];
/// Limit of attributes.
const MAX_ATTRIBUTES: usize = 1000;

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let list = names.first_file(&ATTRIBUTES).filter(|_| names.has_folder("img_align_celeba"));
    Ok(list.map(|list| Recognised::new(list, names.root(), vec![names.root().join(list)])))
}

/// The list of attributes: their names, and each image with its flags.
struct Attributes {
    names: Vec<String>,
    images: Vec<(String, Bytes)>,
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let Some(file) = files.first() else { return Ok(Opened::Folders(Vec::new())) };
    let text = text_of(file, how)?;
    let Attributes { names, images } = read(&text).map_err(|what| refuse(file, what))?;
    let folder =
        IMAGES.into_iter().find(|folder| root.join(folder).is_dir()).unwrap_or("img_align_celeba");
    let partition = PARTITION.into_iter().map(|name| root.join(name)).find(|file| file.is_file());
    let splits = partition.as_ref().map(|file| {
        let text = text_of(file, how)?;
        Ok((partitioned(&text).map_err(|what| refuse(file, what))?, text))
    });
    let splits = splits.transpose()?;
    let mut groups: Vec<Vec<(Box<[u8]>, Bytes)>> = vec![Vec::new(); SPLITS.len()];
    for (name, flags) in images {
        let path = format!("{folder}/{name}");
        let path = listed(&path).map_err(|why| refuse(file, format!("`{name}` {why}")))?;
        let number = match &splits {
            Some((splits, _)) => *splits.get(&name).ok_or_else(|| {
                refuse(file, format!("`{name}` has no split in {}", PARTITION[0]))
            })?,
            None => 0,
        };
        if let Some(group) = groups.get_mut(number) {
            group.push((path, flags));
        }
    }
    let runs = SPLITS.iter().zip(&groups).filter(|_| splits.is_some());
    let division = division(runs.map(|(split, group)| (*split, group.len() as u64)), how);
    let (paths, flags): (Vec<_>, Vec<_>) = groups.into_iter().flatten().unzip();
    let shape = vec![names.len() as u64];
    let spec = ArraySpec { dtype: DType::F32, shape, torch: false };
    let fields =
        vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Array(spec))];
    let identity = [text.as_str(), splits.as_ref().map_or("", |(_, text)| text.as_str())].concat();
    let remark = format!("`label` has 0 or 1 for each of {}", names.join(", "));
    let annotated = Annotated {
        schema: Schema::new(fields)?,
        table: Table { paths, columns: vec![Column::FirstImage, Column::Array(flags)] },
        identity: Bytes::copy_from_slice(&xxh3_128(identity.as_bytes()).to_le_bytes()),
        division: Some(division),
        remarks: vec![remark],
        ignored: Ignored::default(),
        lists: false,
    };
    let mut reader = FolderReader::open_annotated(root, annotated, how.clone())?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    reader.facts.label_origin = Some(format!("{} flags from {name}", names.len()));
    Ok(Opened::Folders(vec![reader]))
}

/// Words of a line: the published list has blanks between them, the table commas.
fn words(text: &str) -> Vec<&str> {
    text.split(|char: char| char == ',' || char.is_whitespace())
        .filter(|it| !it.is_empty())
        .collect()
}

fn read(text: &str) -> Result<Attributes, String> {
    let mut lines = lines(text).peekable();
    // The published list begins with the number of its images.
    if lines.peek().is_some_and(|(_, text)| text.parse::<u64>().is_ok()) {
        lines.next();
    }
    let (_, head) = lines.next().ok_or("it is empty")?;
    let mut names: Vec<String> = words(head).into_iter().map(str::to_owned).collect();
    if names.first().is_some_and(|name| name == "image_id") {
        names.remove(0);
    }
    if names.is_empty() || names.len() > MAX_ATTRIBUTES {
        return Err(format!(
            "it names {} attributes, and may have 1 to {MAX_ATTRIBUTES}",
            names.len()
        ));
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut images = Vec::new();
    for (line, text) in lines {
        let words = words(text);
        let Some((name, values)) = words.split_first() else { continue };
        if values.len() != names.len() {
            let (n, of) = (values.len(), names.len());
            return Err(format!("line {line} has {n} attributes, and there are {of} names"));
        }
        let mut flags = Vec::with_capacity(values.len() * 4);
        for (value, name) in values.iter().zip(&names) {
            let flag = match *value {
                "1" => 1.0_f32,
                "-1" | "0" => 0.0,
                other => {
                    return Err(format!("line {line}: `{name}` is neither 1 nor -1: `{other}`"));
                }
            };
            flags.extend_from_slice(&flag.to_le_bytes());
        }
        if let Some(other) = seen.insert((*name).to_owned(), line) {
            return Err(format!("lines {other} and {line} both list `{name}`"));
        }
        images.push(((*name).to_owned(), Bytes::from(flags)));
    }
    if images.is_empty() {
        return Err("it lists no image".to_owned());
    }
    Ok(Attributes { names, images })
}

/// The number of the split of each image.
fn partitioned(text: &str) -> Result<BTreeMap<String, usize>, String> {
    let pairs = lines(text).filter(|(_, text)| !text.starts_with("image_id"));
    let pairs = pairs.map(|(line, text)| match words(text)[..] {
        [name, number] => {
            let number = number.parse::<usize>().ok().filter(|it| *it < SPLITS.len());
            let number =
                number.ok_or_else(|| format!("line {line}: the split is not 0, 1 or 2"))?;
            Ok((name.to_owned(), number))
        }
        _ => Err(format!("line {line} is not the name of an image and a split")),
    });
    pairs.collect()
}

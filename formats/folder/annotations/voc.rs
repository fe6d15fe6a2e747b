//! Pascal VOC: an XML file for each image.
use super::{
    Annotated, files,
    lists::{List, check_name, document, number},
};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Kind, Result, Schema, named};
use fdconvert_storage::read_file;
use quick_xml::de::Deserializer;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3Default;

/// Parts of a file that may lie between its objects.
const MAX_BETWEEN: usize = 1 << 20;

/// The annotations of one image.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Annotation {
    size: Option<[u64; 2]>,
    objects: Vec<Object>,
}

#[derive(Debug, PartialEq)]
struct Object {
    name: String,
    /// Left, top, width and height in pixels from 0.
    bbox: [f64; 4],
    difficult: Option<u8>,
    truncated: Option<u8>,
    occluded: Option<u8>,
    pose: Option<String>,
}

/// Lists that some object has an entry for; then all documents have the list.
#[derive(Debug, Clone, Copy, Default)]
struct Has {
    difficult: bool,
    truncated: bool,
    occluded: bool,
    pose: bool,
}

/// As it stands in the file. What is not named here, such as the parts of persons, is passed over.
#[derive(Deserialize)]
#[serde(rename = "annotation")]
struct Written {
    size: Option<WrittenSize>,
    #[serde(default, rename = "object")]
    objects: Vec<WrittenObject>,
}

#[derive(Deserialize)]
struct WrittenSize {
    width: Option<String>,
    height: Option<String>,
}

#[derive(Deserialize)]
struct WrittenObject {
    name: Option<String>,
    bndbox: Option<WrittenBox>,
    difficult: Option<String>,
    truncated: Option<String>,
    occluded: Option<String>,
    pose: Option<String>,
}

#[derive(Deserialize)]
struct WrittenBox {
    xmin: Option<String>,
    ymin: Option<String>,
    xmax: Option<String>,
    ymax: Option<String>,
}

/// Reads a folder of XML files, for all images below `root`.
pub(super) fn read(
    root: &Path,
    found: &BTreeMap<Vec<u8>, PathBuf>,
    how: &Folder,
) -> Result<Annotated> {
    let (paths, ignored) = files::images(root, how)?;
    let pairs = files::pair(&paths, found)?;
    let mut hash = Xxh3Default::new();
    let mut annotations = Vec::with_capacity(paths.len());
    for file in &pairs {
        let Some(file) = file else {
            hash.update(&u64::MAX.to_le_bytes());
            annotations.push(Annotation::default());
            continue;
        };
        let text = read_file(file, how.limits.max_file_bytes)?;
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(&text);
        annotations.push(
            parse(&text).map_err(|what| {
                Error::usage(named::LABELS, format!("{}: {what}", file.display()))
            })?,
        );
    }
    let n_found = pairs.iter().flatten().count();
    let mut remarks = Vec::new();
    files::tell_alone(paths.len() - n_found, found.len() - n_found, &mut remarks);
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("objects", Kind::Json)];
    let columns = vec![Column::FirstImage, Column::Json(documents(&annotations))];
    Ok(Annotated {
        schema: Schema::new(fields)?,
        table: Table { paths, columns },
        identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
        division: None,
        remarks,
        ignored,
    })
}

/// The documents of all images; categories are the distinct names in the order of their bytes.
pub(super) fn documents(annotations: &[Annotation]) -> Vec<Bytes> {
    let objects = || annotations.iter().flat_map(|annotation| &annotation.objects);
    let names: BTreeSet<&str> = objects().map(|object| object.name.as_str()).collect();
    let numbers: BTreeMap<&str, u64> = names.into_iter().zip(0..).collect();
    let mut has = Has::default();
    for object in objects() {
        has.difficult |= object.difficult.is_some();
        has.truncated |= object.truncated.is_some();
        has.occluded |= object.occluded.is_some();
        has.pose |= object.pose.is_some();
    }
    annotations.iter().map(|annotation| document_of(annotation, &numbers, has)).collect()
}

fn document_of(annotation: &Annotation, numbers: &BTreeMap<&str, u64>, has: Has) -> Bytes {
    let [mut bbox, mut category, mut category_name] =
        ["bbox", "category", "category_name"].map(List::new);
    let [mut difficult, mut truncated, mut occluded, mut pose] =
        ["difficult", "truncated", "occluded", "pose"].map(List::new);
    for object in &annotation.objects {
        bbox.push(&object.bbox.map(number));
        category.push(&numbers.get(object.name.as_str()).copied().unwrap_or_default());
        category_name.push(&object.name);
        difficult.push(&object.difficult.unwrap_or_default());
        truncated.push(&object.truncated.unwrap_or_default());
        occluded.push(&object.occluded.unwrap_or_default());
        pose.push(&object.pose.as_deref().unwrap_or_default());
    }
    let lists = [
        (true, bbox),
        (true, category),
        (true, category_name),
        (has.difficult, difficult),
        (has.truncated, truncated),
        (has.occluded, occluded),
        (has.pose, pose),
    ];
    let lists: Vec<List> =
        lists.into_iter().filter_map(|(is_there, list)| is_there.then_some(list)).collect();
    document(annotation.size, &lists)
}

/// Reads one file; the error is a text that follows its name. Entities that a file defines itself
/// are not expanded, they are errors.
pub(super) fn parse(text: &[u8]) -> Result<Annotation, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut deserializer = Deserializer::from_str(text);
    deserializer.event_buffer_size(NonZero::new(MAX_BETWEEN));
    let written = Written::deserialize(&mut deserializer)
        .map_err(|error| format!("not a Pascal VOC annotation: {error}"))?;
    let size = written.size.and_then(|size| {
        let side = |text: Option<String>| text?.trim().parse().ok().filter(|side: &u64| *side > 0);
        Some([side(size.width)?, side(size.height)?])
    });
    let objects = written.objects.into_iter().enumerate().map(|(at, object)| {
        Object::new(object).map_err(|what| format!("object {}: {what}", at + 1))
    });
    Ok(Annotation { size, objects: objects.collect::<Result<_, String>>()? })
}

impl Object {
    fn new(written: WrittenObject) -> Result<Self, String> {
        let name = written.name.unwrap_or_default().trim().to_owned();
        if name.is_empty() {
            return Err("it has no `name`".to_owned());
        }
        check_name(&name)?;
        let bndbox = written.bndbox.ok_or("it has no `bndbox`")?;
        let side = |name: &str, text: Option<String>| {
            let text = text.ok_or_else(|| format!("its `bndbox` has no `{name}`"))?;
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                let shown: String = text.chars().take(20).collect();
                format!("its `{name}` is not a number: `{shown}`")
            })
        };
        let (left, top) = (side("xmin", bndbox.xmin)?, side("ymin", bndbox.ymin)?);
        let (right, bottom) = (side("xmax", bndbox.xmax)?, side("ymax", bndbox.ymax)?);
        // Pixels are counted from 1, and both the first and the last belong to the box.
        let bbox = [left - 1.0, top - 1.0, right - left + 1.0, bottom - top + 1.0];
        if bbox.iter().skip(2).any(|side| *side < 0.0 || !side.is_finite()) {
            return Err(format!(
                "its box goes from {left},{top} to {right},{bottom}, which is backwards"
            ));
        }
        Ok(Self {
            name,
            bbox,
            difficult: flag("difficult", written.difficult)?,
            truncated: flag("truncated", written.truncated)?,
            occluded: flag("occluded", written.occluded)?,
            pose: written.pose.map(|pose| pose.trim().to_owned()),
        })
    }
}

fn flag(name: &str, text: Option<String>) -> Result<Option<u8>, String> {
    match text.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some("0" | "false" | "False") => Ok(Some(0)),
        Some("1" | "true" | "True") => Ok(Some(1)),
        Some(_) => Err(format!("its `{name}` is neither 0 nor 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_count_from_zero_and_parts_are_passed_over() {
        let text = "<?xml version=\"1.0\"?><annotation><folder>V</folder><filename>a.jpg</filename>\
                    <object><name>person</name><pose>Left</pose><part><name>head</name><bndbox>\
                    <xmin>9</xmin><ymin>9</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></part>\
                    <bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>10</xmax><ymax>20</ymax></bndbox>\
                    <difficult>1</difficult></object><size><width>500</width><height>375</height>\
                    <depth>3</depth></size><object><name>a&amp;b</name><bndbox><xmax>2</xmax>\
                    <xmin>1</xmin><ymin>1</ymin><ymax>1</ymax></bndbox></object></annotation>";
        let documents = documents(&[parse(text.as_bytes()).unwrap(), Annotation::default()]);
        let expected = r#"{"size":[500,375],"bbox":[[0,1.5,10,18.5],[0,0,2,1]],"category":[1,0],"category_name":["person","a&b"],"difficult":[1,0],"pose":["Left",""]}"#;
        assert_eq!(documents[0], expected);
        let expected = r#"{"bbox":[],"category":[],"category_name":[],"difficult":[],"pose":[]}"#;
        assert_eq!(documents[1], expected);
    }

    #[test]
    fn what_is_no_annotation_is_refused() {
        let check = |text: &str, part: &str| {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        let object = |inner: &str| format!("<annotation><object>{inner}</object></annotation>");
        let corners = |right: &str| {
            format!(
                "<name>a</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>{right}</xmax>\
                 <ymax>9</ymax></bndbox>"
            )
        };
        check("", "Pascal VOC");
        check("<annotation><object>", "Pascal VOC");
        check(&object("<name>a</name>"), "object 1: it has no `bndbox`");
        check(&object("<bndbox/>"), "`name`");
        check(&object("<name>a</name><bndbox><xmin>1</xmin></bndbox>"), "`ymin`");
        check(&object(&corners("NaN")), "`NaN`");
        check(&object(&corners("3")), "backwards");
        check(&object(&format!("{}<difficult>2</difficult>", corners("7"))), "`difficult`");
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><annotation><object>\
                    <name>&c;</name></object></annotation>";
        check(bomb, "Pascal VOC");
    }

    #[test]
    fn depth_and_what_lies_between_objects_are_bounded() {
        let deep = format!("<annotation>{}", "<a>".repeat(200_000));
        assert!(parse(deep.as_bytes()).is_err());
    }
}

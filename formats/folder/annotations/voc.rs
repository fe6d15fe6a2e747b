//! Pascal VOC: an XML file for each image.
use super::{
    Annotated, Made, Notice, Photo, files,
    lists::{List, around, check_name, document, number},
};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{FieldSpec, Kind, Message, Result, Schema};
use fdconvert_storage::read_file;
use quick_xml::{Reader, de::Deserializer, events::Event};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3Default;

/// Parts of a file that may lie between its objects.
const MAX_BETWEEN: usize = 1 << 20;

/// The annotations of all images, or what is wrong with those of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Voc {
    annotations: Vec<Result<Annotation, String>>,
    /// Numbers of categories: distinct names in the order of their bytes.
    numbers: BTreeMap<String, u64>,
    has: Has,
    /// Corners lie between pixels: left and upper edge of the image are 0, the others its size.
    are_edges: bool,
}

/// The annotations of one image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Annotation {
    pub(crate) size: Option<[u64; 2]>,
    pub(crate) objects: Vec<Object>,
    /// Coordinates are shares of the image's width and height.
    pub(crate) are_shares: bool,
}

/// An object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) name: String,
    /// Left, top, right and bottom as they are written.
    pub(crate) corners: [f64; 4],
    difficult: Option<u8>,
    truncated: Option<u8>,
    occluded: Option<u8>,
    pose: Option<String>,
}

/// Lists that some object has an entry for; then all documents have the list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
    folder: &Path,
    found: &BTreeMap<Vec<u8>, PathBuf>,
    how: &Folder,
) -> Result<Annotated> {
    let (paths, mut ignored) = files::images(root, how)?;
    let pairs = files::pair(&paths, found)?;
    pairs.check(folder, &paths, found, |first| {
        let text = read_file(first, how.limits.max_file_bytes).ok()?;
        let name = root_of(str::from_utf8(&text).ok()?).filter(|name| name != "annotation")?;
        Some(format!(
            ", whose first element is `{name}` and not `annotation`, as Pascal VOC has it; export \
             them as Pascal VOC, COCO or YOLO"
        ))
    })?;
    let mut hash = Xxh3Default::new();
    let mut annotations = Vec::with_capacity(paths.len());
    for file in &pairs.files {
        let Some(file) = file else {
            hash.update(&u64::MAX.to_le_bytes());
            annotations.push(Ok(Annotation::default()));
            continue;
        };
        let text = read_file(file, how.limits.max_file_bytes)?;
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(&text);
        annotations.push(parse(&text).map_err(|what| format!("{}: {what}", file.display())));
    }
    let mut remarks = Vec::new();
    pairs.tell(&mut remarks);
    files::count_as_read(folder, root, ".xml", pairs.n_read(), &mut ignored);
    let mut voc = Voc::new(annotations, false);
    voc.are_edges = voc.counts_from_zero();
    if voc.are_edges {
        remarks.push(
            "a box begins at 0, so these annotations count pixels from 0, and not from 1 as VOC does"
                .to_owned(),
        );
    }
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("objects", Kind::Json)];
    let columns = vec![Column::FirstImage, Column::Made(Made::Voc(voc))];
    Ok(Annotated {
        schema: Schema::new(fields)?,
        table: Table { paths, columns },
        identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
        division: None,
        remarks,
        ignored,
        lists: false,
    })
}

impl Voc {
    /// All annotations, whose corners are edges between pixels, or pixels counted from 1.
    pub(crate) fn new(annotations: Vec<Result<Annotation, String>>, are_edges: bool) -> Self {
        let mut voc =
            Self { annotations, numbers: BTreeMap::new(), has: Has::default(), are_edges };
        let names: BTreeSet<&str> = voc.objects().map(|object| object.name.as_str()).collect();
        let numbers = names.into_iter().map(str::to_owned).zip(0..).collect();
        let mut has = Has::default();
        for object in voc.objects() {
            has.difficult |= object.difficult.is_some();
            has.truncated |= object.truncated.is_some();
            has.occluded |= object.occluded.is_some();
            has.pose |= object.pose.is_some();
        }
        (voc.numbers, voc.has) = (numbers, has);
        voc
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.annotations.iter().flatten().flat_map(|annotation| &annotation.objects)
    }

    /// No pixel is before the first one: where one is, that is number 0.
    fn counts_from_zero(&self) -> bool {
        self.objects().any(|object| {
            let [left, top, right, bottom] = object.corners;
            // A box of nothing but zeros stands for none.
            right > left && bottom > top && [left, top].iter().any(|it| (0.0..1.0).contains(it))
        })
    }

    /// Makes the document of an image.
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Option<Notice>), Message> {
        let annotation =
            self.annotations.get(row).ok_or("its annotations cannot be found again")?;
        let annotation = annotation.as_ref().map_err(|what| Message::from(what.as_str()))?;
        let upright = photo.map(|photo| photo.upright().map(u64::from));
        let (mut size, mut found, mut corners) = (upright.or(annotation.size), None, Vec::new());
        if let Some(photo) = photo.filter(|_| !annotation.objects.is_empty()) {
            let frame = photo.frame(annotation.size).map_err(|what| {
                format!("the size in its annotations is {what}; correct it there, or leave it out")
            })?;
            (size, found) = (Some(frame.size), Some((frame, photo)));
        }
        let turn = found.and_then(|(frame, _)| frame.turn);
        let [mut bbox, mut category, mut category_name] =
            ["bbox", "category", "category_name"].map(List::new);
        let [mut difficult, mut truncated, mut occluded, mut pose] =
            ["difficult", "truncated", "occluded", "pose"].map(List::new);
        for (at, object) in annotation.objects.iter().enumerate() {
            let sides = match (annotation.are_shares, size, turn) {
                (false, ..) | (_, None, _) => [1.0; 2],
                (true, Some(size), None) => size.map(|side| side as f64),
                (true, _, Some(turn)) => turn.before(),
            };
            let of_file = object.bbox(self.are_edges, sides);
            let of_file = of_file.map_err(|what| format!("object {}: {what}", at + 1))?;
            let [left, top, width, height] = of_file;
            corners.extend([[left, top], [left + width, top + height]]);
            let upright = turn.map_or(of_file, |turn| turn.bbox(of_file));
            bbox.push(&upright.map(number));
            category.push(&self.numbers.get(&object.name).copied().unwrap_or_default());
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
            (self.has.difficult, difficult),
            (self.has.truncated, truncated),
            (self.has.occluded, occluded),
            (self.has.pose, pose),
        ];
        let lists: Vec<List> =
            lists.into_iter().filter_map(|(is_there, list)| is_there.then_some(list)).collect();
        if let Some((frame, photo)) = found {
            frame.check(around(corners.into_iter()), photo)?;
        }
        Ok((document(size, &lists), found.and_then(|(frame, _)| frame.notice)))
    }
}

/// Reads one file; the error is a text that follows its name. Entities that a file defines itself
/// are not expanded, they are errors.
pub(super) fn parse(text: &[u8]) -> Result<Annotation, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(name) = root_of(text).filter(|name| name != "annotation") {
        return Err(format!(
            "not a Pascal VOC annotation: its first element is `{name}`, and not `annotation`"
        ));
    }
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
    Ok(Annotation { size, objects: objects.collect::<Result<_, String>>()?, are_shares: false })
}

/// Name of the first element.
fn root_of(text: &str) -> Option<String> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) | Event::Empty(tag) => {
                return Some(String::from_utf8_lossy(tag.name().as_ref()).into_owned());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
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
        let object = Self {
            name,
            corners: [left, top, right, bottom],
            difficult: flag("difficult", written.difficult)?,
            truncated: flag("truncated", written.truncated)?,
            occluded: flag("occluded", written.occluded)?,
            pose: written.pose.map(|pose| pose.trim().to_owned()),
        };
        object.bbox(false, [1.0; 2])?;
        Ok(object)
    }

    /// An object of which no more is known.
    pub(crate) fn plain(name: String, corners: [f64; 4]) -> Self {
        Self { name, corners, ..Self::default() }
    }

    /// Left, top, width and height in pixels, of which these coordinates are multiples.
    fn bbox(&self, are_edges: bool, [x, y]: [f64; 2]) -> Result<[f64; 4], String> {
        let [left, top, right, bottom] = self.corners;
        let bbox = match are_edges {
            true => [left * x, top * y, (right - left) * x, (bottom - top) * y],
            // Pixels are counted from 1, and both the first and the last belong to the box.
            false => [left - 1.0, top - 1.0, right - left + 1.0, bottom - top + 1.0],
        };
        if bbox.iter().skip(2).any(|side| *side < 0.0 || !side.is_finite()) {
            return Err(format!(
                "its box goes from {left},{top} to {right},{bottom}, which is backwards"
            ));
        }
        Ok(bbox)
    }
}

fn flag(name: &str, text: Option<String>) -> Result<Option<u8>, String> {
    match text.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some("0" | "0.0" | "false" | "False") => Ok(Some(0)),
        Some("1" | "1.0" | "true" | "True") => Ok(Some(1)),
        Some(text) => {
            let shown: String = text.chars().take(20).collect();
            Err(format!("its `{name}` is neither 0 nor 1: `{shown}`"))
        }
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
        let voc = Voc::new(vec![parse(text.as_bytes()), Ok(Annotation::default())], false);
        assert!(!voc.counts_from_zero());
        let documents = [0, 1].map(|row| voc.document(row, None).unwrap().0);
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

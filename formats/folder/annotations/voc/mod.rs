//! Pascal VOC: an XML file for each image.
#[cfg(feature = "write")]
mod writer;
mod xml;

#[cfg(feature = "write")]
pub(in crate::folder) use writer::VocWriter;
pub(super) use xml::parse;

use super::{
    Annotated, Made, NO_SIZE, Notice, Photo, files,
    lists::keys,
    xml::{decode, root_of},
};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{
    Error, FieldSpec, Ignored, Kind, Remark, Result, Schema,
    objects::{Category, FIELD, List, number, written},
};
use fdconvert_storage::{on_threads, read_file};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};
use xxhash_rust::xxh3::Xxh3Default;

/// Number of files that are read before the next ones are.
const CHUNK: usize = 1024;

/// The annotations of all images; an error for each faulty one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Voc {
    annotations: Vec<Result<Annotation, String>>,
    /// Numbers of categories: distinct names, sorted by bytes.
    numbers: BTreeMap<String, u64>,
    has: Has,
    /// True if corners are between pixels: the left and upper edges of the image are 0, the others
    /// its size.
    are_edges: bool,
}

/// The annotations of one image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Annotation {
    pub(crate) size: Option<[u64; 2]>,
    pub(crate) objects: Vec<Object>,
    /// True if coordinates are shares of the image's width and height.
    pub(crate) are_shares: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) name: Arc<str>,
    /// Left, top, right and bottom as written.
    pub(crate) corners: [f64; 4],
    difficult: Option<u8>,
    truncated: Option<u8>,
    occluded: Option<u8>,
    pose: Option<Arc<str>>,
}

/// Lists with an entry in some object; then all documents have the list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Has {
    difficult: bool,
    truncated: bool,
    occluded: bool,
    pose: bool,
}

/// Reads a folder of XML files, for all images below `root`.
pub(super) fn read(
    root: &Path,
    folder: &Path,
    found: &BTreeMap<Vec<u8>, PathBuf>,
    how: &Folder,
) -> Result<Annotated> {
    let mut remarks = Vec::new();
    let (listed, files, mut ignored) = match files::images(root, how) {
        // Images that are not read may be missing.
        Err(Error::Usage { .. }) if !how.reads_files() => {
            let files = found.values().map(|file| Some(file.as_path()));
            (None, files.collect(), Ignored::default())
        }
        images => {
            let (paths, ignored) = images?;
            let pairs = files::pair(&paths, found)?;
            pairs.check(folder, &paths, found, |first| {
                let text = read_file(first, how.limits.max_file_bytes).ok()?;
                let name = root_of(&decode(&text).ok()?).filter(|name| name != "annotation")?;
                Some(format!(
                    ", whose first element is `{name}` and not `annotation`, as Pascal VOC has it; \
                     export them as Pascal VOC, COCO or YOLO"
                ))
            })?;
            pairs.tell(&mut remarks);
            (Some(paths), pairs.files, ignored)
        }
    };
    let AllFiles { annotations, extensions, unpacked, hash, .. } = AllFiles::read(&files, how)?;
    let n_read = files.iter().flatten().count();
    let paths = listed.unwrap_or_else(|| {
        let parts = found.keys().zip(&extensions);
        parts
            .map(|(stem, extension)| [stem, &b"."[..], extension.as_bytes()].concat().into())
            .collect()
    });
    if !unpacked.is_empty() {
        let keys = keys(unpacked.iter().map(String::as_str));
        remarks.push(format!("{keys} of the objects are not packed"));
    }
    files::count_as_read(folder, root, ".xml", n_read, &mut ignored);
    let mut voc = Voc::new(annotations, false);
    voc.are_edges = voc.counts_from_zero();
    if voc.are_edges {
        remarks.push(
            "a box begins at 0, so these annotations count pixels from 0, and not from 1 as VOC does"
                .to_owned(),
        );
    }
    let objects = FieldSpec::objects(FIELD, voc.categories());
    let fields = vec![FieldSpec::new("image", Kind::Image), objects];
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

/// What the files of a folder say.
#[derive(Default)]
struct AllFiles {
    annotations: Vec<Result<Annotation, String>>,
    /// The extension of each file's image.
    extensions: Vec<Arc<str>>,
    /// Elements of objects that are not packed.
    unpacked: BTreeSet<String>,
    hash: Xxh3Default,
    /// Names and poses; a few occur in all objects.
    texts: BTreeSet<Arc<str>>,
}

impl AllFiles {
    fn read(files: &[Option<&Path>], how: &Folder) -> Result<Self> {
        let mut all = Self::default();
        let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
        for chunk in files.chunks(CHUNK) {
            let read = on_threads(n_threads, chunk, |file| {
                let Some(file) = file else { return Ok(None) };
                let (text, mut unpacked) =
                    (read_file(file, how.limits.max_file_bytes)?, BTreeSet::new());
                let parsed = parse(&text, &mut unpacked);
                let parsed = parsed.map_err(|what| format!("{}: {what}", file.display()));
                Ok::<_, Error>(Some((text, parsed, unpacked)))
            });
            for read in read {
                match read? {
                    Some((text, parsed, mut unpacked)) => {
                        all.hash.update(&(text.len() as u64).to_le_bytes());
                        all.hash.update(&text);
                        all.unpacked.append(&mut unpacked);
                        let extension = all.shared(extension(&text).into());
                        all.extensions.push(extension);
                        let parsed = parsed.map(|it| all.with_shared_texts(it));
                        all.annotations.push(parsed);
                    }
                    None => {
                        all.hash.update(&u64::MAX.to_le_bytes());
                        all.annotations.push(Ok(Annotation::default()));
                    }
                }
            }
        }
        Ok(all)
    }

    fn with_shared_texts(&mut self, mut annotation: Annotation) -> Annotation {
        for object in &mut annotation.objects {
            object.name = self.shared(Arc::clone(&object.name));
            object.pose = object.pose.take().map(|pose| self.shared(pose));
        }
        annotation.objects.shrink_to_fit();
        annotation
    }

    fn shared(&mut self, text: Arc<str>) -> Arc<str> {
        if let Some(text) = self.texts.get(&text) {
            return Arc::clone(text);
        }
        self.texts.insert(Arc::clone(&text));
        text
    }
}

/// The extension of the image, as the file names it.
fn extension(text: &[u8]) -> String {
    let text = decode(text).unwrap_or_default();
    let name = text.split_once("<filename>").and_then(|(_, rest)| rest.split_once('<'));
    let extension = name.and_then(|(name, _)| name.trim().rsplit_once('.'));
    extension.map_or("jpg", |(_, extension)| extension).to_owned()
}

impl Voc {
    /// All annotations, with corners that are edges between pixels, or pixels counted from 1.
    pub(crate) fn new(annotations: Vec<Result<Annotation, String>>, are_edges: bool) -> Self {
        let mut voc =
            Self { annotations, numbers: BTreeMap::new(), has: Has::default(), are_edges };
        let names: BTreeSet<&str> = voc.objects().map(|object| &*object.name).collect();
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

    /// The categories, of which VOC has no list: those that occur.
    pub(crate) fn categories(&self) -> Vec<Category> {
        self.numbers.keys().map(Category::new).collect()
    }

    /// Keeps the annotations of these images, in this order; `None` stands for an image without.
    pub(crate) fn select(&mut self, order: &[Option<usize>]) {
        let all = std::mem::take(&mut self.annotations);
        let pick = |at: &Option<usize>| at.and_then(|at| all.get(at)).cloned();
        let picked = order.iter().map(|at| pick(at).unwrap_or_else(|| Ok(Annotation::default())));
        self.annotations = picked.collect();
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.annotations.iter().flatten().flat_map(|annotation| &annotation.objects)
    }

    /// No pixel precedes the first one: if one seems to, counting started from 0.
    fn counts_from_zero(&self) -> bool {
        self.objects().any(|object| {
            let [left, top, right, bottom] = object.corners;
            // A box of zeros means no box.
            right > left && bottom > top && [left, top].iter().any(|it| (0.0..1.0).contains(it))
        })
    }

    pub(crate) fn states_size(&self, row: usize) -> bool {
        self.annotations.get(row).is_some_and(|it| it.as_ref().is_ok_and(|it| it.size.is_some()))
    }

    /// Makes the document of an image.
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Vec<Notice>), Remark> {
        let annotation =
            self.annotations.get(row).ok_or("its annotations cannot be found again")?;
        let annotation = annotation.as_ref().map_err(|what| Remark::from(what.as_str()))?;
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
                (false, ..) => [1.0; 2],
                (_, None, _) => return Err(Remark::from(NO_SIZE)),
                (true, Some(size), None) => size.map(|side| side as f64),
                (true, _, Some(turn)) => turn.before(),
            };
            let of_file = object.bbox(self.are_edges, sides);
            let of_file = of_file.map_err(|what| format!("object {}: {what}", at + 1))?;
            let [left, top, width, height] = of_file;
            corners.extend([[left, top], [left + width, top + height]]);
            let upright = turn.map_or(of_file, |turn| turn.bbox(of_file));
            bbox.push(&upright.map(number));
            category.push(&self.numbers.get(&*object.name).copied().unwrap_or_default());
            category_name.push(&&*object.name);
            difficult.push(&object.difficult.unwrap_or_default());
            truncated.push(&object.truncated.unwrap_or_default());
            occluded.push(&object.occluded.unwrap_or_default());
            pose.push(&object.pose.as_deref().unwrap_or_default());
        }
        let lists = [
            Some(bbox),
            Some(category),
            Some(category_name),
            self.has.difficult.then_some(difficult),
            self.has.truncated.then_some(truncated),
            self.has.occluded.then_some(occluded),
            self.has.pose.then_some(pose),
        ];
        let notices =
            found.map_or(Ok(Vec::new()), |(frame, photo)| frame.check(&corners, photo))?;
        Ok((written(size, lists), notices))
    }
}

impl Object {
    /// An object without further attributes.
    pub(crate) fn plain(name: &str, corners: [f64; 4]) -> Self {
        Self { name: name.into(), corners, ..Self::default() }
    }

    /// Left, top, width and height in pixels; `x` and `y` are the pixels per unit of coordinates.
    fn bbox(&self, are_edges: bool, [x, y]: [f64; 2]) -> Result<[f64; 4], String> {
        let [left, top, right, bottom] = self.corners;
        let bbox = match are_edges {
            true => [left * x, top * y, (right - left) * x, (bottom - top) * y],
            // Pixels are counted from 1, and the box includes the first and the last.
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
        let voc = Voc::new(
            vec![parse(text.as_bytes(), &mut BTreeSet::new()), Ok(Annotation::default())],
            false,
        );
        assert!(!voc.counts_from_zero());
        let documents = [0, 1].map(|row| voc.document(row, None).unwrap().0);
        let expected = r#"{"size":[500,375],"bbox":[[0,1.5,10,18.5],[0,0,2,1]],"category":[1,0],"category_name":["person","a&b"],"difficult":[1,0],"pose":["Left",""]}"#;
        assert_eq!(documents[0], expected);
        let expected = r#"{"bbox":[],"category":[],"category_name":[],"difficult":[],"pose":[]}"#;
        assert_eq!(documents[1], expected);
    }
}

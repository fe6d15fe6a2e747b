//! CVAT: one XML file for all images (`CVAT for images 1.1`).
mod values;

use super::{
    LeftOut, Shape, ShapedImage, frame::side, lists::check_name, shapes::Outline, xml::decode,
};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::collections::{BTreeMap, BTreeSet};
use values::{attributes, number, points, resolved, turned};

/// Limit of nested elements.
const MAX_DEPTH: usize = 32;

/// The contents of a file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Cvat {
    pub(crate) images: Vec<CvatImage>,
    /// Names of categories, by number: in the order of the file's own list.
    pub(crate) names: Vec<String>,
    pub(crate) left_out: LeftOut,
    /// Turned boxes, of which the box around them is taken.
    pub(crate) n_turned: u64,
    /// Elements of objects and images that are not packed.
    pub(crate) unpacked: BTreeSet<String>,
    numbers: BTreeMap<String, u32>,
}

/// An image, and its annotations.
#[derive(Debug, PartialEq)]
pub(crate) struct CvatImage {
    pub(crate) name: String,
    pub(crate) subset: Option<String>,
    pub(crate) annotations: Result<ShapedImage, String>,
}

/// Parses a file; the error is a text that follows its name.
pub(crate) fn parse(bytes: &[u8]) -> Result<Cvat, String> {
    let text = decode(bytes)?;
    let mut reader = Reader::from_str(&text);
    let mut read = Cvat::default();
    // The names of the elements around the next event.
    let mut open: Vec<Vec<u8>> = Vec::new();
    let mut label = Label::default();
    loop {
        let at = reader.buffer_position();
        let event = reader.read_event().map_err(|error| {
            format!("not XML of CVAT, at byte {}: {error}", reader.error_position())
        })?;
        let in_file = |what: String| format!("at byte {at}: {what}");
        match event {
            Event::Start(tag) => {
                read.enter(&tag, &open, &mut label).map_err(in_file)?;
                open.push(tag.name().as_ref().to_vec());
                if open.len() > MAX_DEPTH {
                    return Err(format!("at byte {at}: it is more than {MAX_DEPTH} elements deep"));
                }
            }
            Event::Empty(tag) => read.enter(&tag, &open, &mut label).map_err(in_file)?,
            Event::End(_) => {
                let closed = open.pop().unwrap_or_default();
                if closed == b"label" && is_in(&open, b"meta") {
                    read.list(std::mem::take(&mut label)).map_err(in_file)?;
                }
            }
            Event::Text(text)
                if open.last().is_some_and(|it| {
                    is_in(&open, b"label") && matches!(&**it, b"name" | b"parent")
                }) =>
            {
                let text = text.decode().map_err(|error| in_file(error.to_string()))?;
                label.add(open.last(), &text);
            }
            Event::GeneralRef(reference) if is_in(&open, b"label") => {
                let text = resolved(&reference).map_err(in_file)?;
                label.add(open.last(), &text);
            }
            Event::DocType(_) => {
                return Err(
                    "it has a DOCTYPE, which CVAT does not write: entities are not expanded"
                        .to_owned(),
                );
            }
            Event::Eof if !open.is_empty() => {
                return Err("not XML of CVAT: it ends inside an element".to_owned());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if read.images.is_empty() {
        return Err("it has no `image`; is it an export as `CVAT for images 1.1`?".to_owned());
    }
    read.keep_equal_keypoints();
    Ok(read)
}

fn is_in(open: &[Vec<u8>], name: &[u8]) -> bool {
    open.iter().any(|it| it == name)
}

/// An entry of the list of categories.
#[derive(Default)]
struct Label {
    name: String,
    /// Those of a skeleton's points belong to it.
    has_parent: bool,
}

impl Label {
    fn add(&mut self, element: Option<&Vec<u8>>, text: &str) {
        match element.map(Vec::as_slice) {
            Some(b"name") => self.name.push_str(text),
            Some(b"parent") => self.has_parent = true,
            _ => {}
        }
    }
}

impl Cvat {
    /// Adds what an element says, inside the `open` ones.
    fn enter(
        &mut self,
        tag: &BytesStart<'_>,
        open: &[Vec<u8>],
        label: &mut Label,
    ) -> Result<(), String> {
        let name = tag.name();
        let name = name.as_ref();
        match open {
            [] if name != b"annotations" => {
                let name = String::from_utf8_lossy(name);
                Err(format!("not XML of CVAT: its first element is `{name}`, and not `annotations`"))
            }
            [_] if name == b"track" => Err(
                "it has tracks of a video (`CVAT for video`), which are not read: export it as `CVAT \
                 for images 1.1`"
                    .to_owned(),
            ),
            [_] if name == b"image" => self.add_image(tag),
            [_, image] if image == b"image" => {
                self.add_shape(tag, name);
                Ok(())
            }
            [_, image, _, ..] if image == b"image" => {
                if name == b"attribute" {
                    self.unpacked.insert("attribute".to_owned());
                }
                Ok(())
            }
            _ => {
                if name == b"label" {
                    *label = Label::default();
                }
                Ok(())
            }
        }
    }

    /// Adds a category of the file's own list, unless it is a point of a skeleton.
    fn list(&mut self, label: Label) -> Result<(), String> {
        let name = label.name.trim();
        if label.has_parent || name.is_empty() {
            return Ok(());
        }
        self.number(name).map(|_| ())
    }

    /// The number of a category; a new one comes last.
    fn number(&mut self, name: &str) -> Result<u32, String> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        check_name(name)?;
        let number =
            u32::try_from(self.names.len()).map_err(|_| "it has 2^32 labels".to_owned())?;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    fn add_image(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        let n = self.images.len() + 1;
        let attributes = attributes(tag).map_err(|what| format!("image {n}: {what}"))?;
        let get = |name: &str| attributes.get(name).map(String::as_str);
        let name = get("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("image {n} has no `name`"))?.to_owned();
        let sides = side("width", get("width").unwrap_or_default())
            .and_then(|width| Ok((width, side("height", get("height").unwrap_or_default())?)));
        let annotations = sides.map(|(width, height)| ShapedImage {
            size: width.zip(height).map(|(width, height)| [width, height]),
            ..ShapedImage::default()
        });
        let subset = get("subset").filter(|it| !it.is_empty()).map(str::to_owned);
        self.images.push(CvatImage { name, subset, annotations });
        Ok(())
    }

    /// Adds an object to the last image, or what is wrong with it.
    fn add_shape(&mut self, tag: &BytesStart<'_>, kind: &[u8]) {
        let shape = self.shape(tag, kind);
        let Some(image) = self.images.last_mut() else { return };
        let Ok(own) = &mut image.annotations else { return };
        match shape {
            Ok(shape) => own.shapes.extend(shape),
            Err(what) => {
                let (n, kind) = (own.shapes.len() + 1, String::from_utf8_lossy(kind));
                image.annotations = Err(format!("object {n} ({kind}): {what}"));
            }
        }
    }

    /// The object of an element; `None` for one that is left out.
    fn shape(&mut self, tag: &BytesStart<'_>, kind: &[u8]) -> Result<Option<Shape>, String> {
        let attributes = match kind {
            b"box" | b"polygon" | b"points" => attributes(tag)?,
            other => {
                let other: String = String::from_utf8_lossy(other).chars().take(40).collect();
                self.left_out.count(&other);
                return Ok(None);
            }
        };
        let get = |name: &str| attributes.get(name).map(String::as_str);
        let label = get("label").filter(|label| !label.is_empty()).ok_or("it has no `label`")?;
        let category = self.number(label)?;
        if get("group_id").is_some() {
            self.unpacked.insert("group_id".to_owned());
        }
        let shape = match kind {
            b"box" => {
                let edge =
                    |name: &str| number(get(name).ok_or_else(|| format!("it has no `{name}`"))?);
                let corners = [[edge("xtl")?, edge("ytl")?], [edge("xbr")?, edge("ybr")?]];
                let turn = get("rotation").map_or(Ok(0.0), number)?;
                if turn % 360.0 == 0.0 {
                    Shape::of_corners(category, corners)
                } else {
                    self.n_turned += 1;
                    Shape::around(category, &turned(corners, turn))
                }
            }
            kind => {
                let points = points(get("points").ok_or("it has no `points`")?)?;
                match (kind, points.len()) {
                    (b"points", _) => Shape::outlined(category, Outline::Keypoints(points)),
                    (_, 0..3) => {
                        self.left_out.count("polygon with fewer than 3 points");
                        return Ok(None);
                    }
                    _ => Shape::outlined(category, Outline::Polygon(points)),
                }
            }
        };
        let shape = shape.filter(|shape| shape.bbox.iter().all(|it| it.is_finite()));
        let occluded = get("occluded").map(|text| matches!(text, "1" | "true" | "True"));
        shape
            .map(|shape| Some(Shape { occluded, ..shape }))
            .ok_or_else(|| "it has no points".to_owned())
    }

    /// Leaves out the points of categories whose objects have different numbers of them: keypoints
    /// are the same ones in all objects.
    fn keep_equal_keypoints(&mut self) {
        let n_points = |shape: &Shape| match shape.outline.as_deref() {
            Some(Outline::Keypoints(points)) => Some(points.len()),
            _ => None,
        };
        let images = || self.images.iter().flat_map(|image| &image.annotations);
        let counts = images().flat_map(|image| &image.shapes);
        let counts = counts.filter_map(|shape| Some((shape.category, n_points(shape)?)));
        let mut known: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        counts.for_each(|(category, n)| _ = known.entry(category).or_default().insert(n));
        // A document has one number of keypoints for all objects.
        let most = known.values().filter(|it| it.len() == 1).flatten().max().copied();
        let is_kept = |category: u32| {
            known.get(&category).is_some_and(|it| it.len() == 1 && it.first() == most.as_ref())
        };
        let left_out = &mut self.left_out;
        for image in self.images.iter_mut().flat_map(|image| &mut image.annotations) {
            image.shapes.retain(|shape| {
                let goes = n_points(shape).is_some() && !is_kept(shape.category);
                if goes {
                    left_out.count("points whose number differs");
                }
                !goes
            });
        }
    }
}

//! The objects in a sample's image, from a JSON document.
//!
//! ```json
//! {"size": [640, 480], "bbox": [[10, 20, 300, 200]], "category": [17], "area": [38000.5],
//!  "iscrowd": [0], "id": [42], "segmentation": [[[10, 20, 310, 20, 310, 220]]],
//!  "keypoints": [[100, 80, 2, 0, 0, 0]]}
//! ```
//!
//! The lists have equal length, and all except `bbox` may be missing; a list of objects with these
//! keys is equivalent. The bytes come from outside, so that everything is checked.
use super::{
    BOXES, ObjectClasses,
    document::{Depth, Document, Flag, Segmentation},
};
use crate::{RunLengths, Turn};

/// Annotations of the objects in an image, in pixels of an image of `size`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Annotations {
    /// Width and height of the image that the coordinates refer to; `None` for the stored image.
    pub size: Option<[f64; 2]>,
    /// Left, top, width and height.
    pub boxes: Vec<[f64; 4]>,
    /// Numbers and names of the classes.
    pub classes: ObjectClasses,
    /// Areas of the objects in pixels, as stored.
    pub area: Option<Vec<f64>>,
    /// 1 for a group of objects that are not annotated separately.
    pub iscrowd: Option<Vec<i64>>,
    /// How difficult, truncated and occluded the objects are, mostly 0 or 1; NaN for an entry that
    /// is not a number.
    pub difficult: Option<Vec<f64>>,
    /// As `difficult`.
    pub truncated: Option<Vec<f64>>,
    /// As `difficult`.
    pub occluded: Option<Vec<f64>>,
    /// Annotation numbers.
    pub id: Option<Vec<i64>>,
    /// x, y and visibility of each object's keypoints; all objects have the same number, or none.
    pub keypoints: Option<Vec<Vec<[f64; 3]>>>,
    /// Polygons of each object.
    pub polygons: Option<Vec<Vec<Vec<[f64; 2]>>>>,
    /// Mask of each object that is stored as run lengths and not as polygons. All have one size:
    /// that of the document, if it has one.
    pub run_lengths: Option<Vec<Option<RunLengths>>>,
}

/// Larger documents are refused: parsed, one takes several times as much memory.
const MAX_BYTES: usize = 64 << 20;

/// The largest coordinate: far beyond any image, and small enough to stay exact when scaled.
const MAX_COORDINATE: f64 = 1e9;

impl Annotations {
    /// Parses a document, with segmentations only if `segmentations`. `null`, and a document with
    /// only empty lists, mean an image without objects.
    ///
    /// # Errors
    /// A description of the error: text that is not such a document, lists of different lengths,
    /// several lists that could be the classes, numbers that are not finite or not coordinates, and
    /// run lengths that do not add up or have another size.
    pub fn parse(json: &[u8], segmentations: bool) -> Result<Self, String> {
        if json.len() > MAX_BYTES {
            return Err(format!("{} bytes of JSON, more than {MAX_BYTES}", json.len()));
        }
        let depth = if segmentations { Depth::Shapes } else { Depth::Boxes };
        let document = Document::parse(json, depth)
            .map_err(|error| format!("its JSON cannot be read: {error}"))?;
        let n_objects = document.n_boxes.unwrap_or_default();
        if document.n_boxes.is_none() {
            let mut lens: Vec<(&str, usize)> = document.lens().collect();
            lens.extend(document.marks.iter().map(|(name, list)| (&**name, list.len())));
            lens.extend(document.others.iter().map(|(name, list)| (&**name, list.n_entries())));
            lens.retain(|(_, len)| *len > 0);
            let keys: Vec<&str> = lens.into_iter().map(|(name, _)| name).collect();
            if !keys.is_empty() {
                return Err(format!("it has no `{BOXES}`, only `{}`", keys.join("`, `")));
            }
        }
        let other_len = document.lens().find(|(_, len)| *len != n_objects);
        if let Some((name, len)) = other_len {
            return Err(format!("`{name}` has {len} entries for {n_objects} of `{BOXES}`"));
        }
        let or_unknown =
            |ids: Vec<Option<i64>>| ids.into_iter().map(|id| id.unwrap_or(-1)).collect();
        let or_nan = |areas: Vec<Option<f64>>| {
            areas.into_iter().map(|area| area.unwrap_or(f64::NAN)).collect()
        };
        let flag = |flag: &Flag| match *flag {
            Flag::Bool(is) => i64::from(is),
            Flag::Int(flag) => flag,
            Flag::None => 0,
        };
        let mut marks = document.marks;
        let mut marks = |key: &str| {
            let at = marks.iter().position(|(name, _)| *name == key)?;
            Some(marks.swap_remove(at).1)
        };
        let (polygons, run_lengths) = document.segmentation.map(shapes).transpose()?.unzip();
        let found = Self {
            size: document.size,
            classes: ObjectClasses::find(document.others, n_objects)?,
            boxes: document.bbox.unwrap_or_default(),
            area: document.area.map(or_nan),
            iscrowd: document.iscrowd.map(|flags| flags.iter().map(flag).collect()),
            difficult: marks("difficult"),
            truncated: marks("truncated"),
            occluded: marks("occluded"),
            id: document.id.map(or_unknown),
            keypoints: document.keypoints.map(keypoints).transpose()?,
            polygons,
            run_lengths: run_lengths.filter(|masks| masks.iter().any(Option::is_some)),
        };
        found.checked()
    }

    /// Transforms the objects to the coordinates of the turned image.
    ///
    /// # Errors
    /// The errors of [`Turn::run_lengths`].
    pub fn turned(mut self, turn: Turn) -> Result<Self, String> {
        self.size = Some(turn.after());
        self.boxes.iter_mut().for_each(|bbox| *bbox = turn.bbox(*bbox));
        for point in self.keypoints.iter_mut().flatten().flatten().filter(|it| **it != [0.0; 3]) {
            let [x, y, visibility] = *point;
            let [x, y] = turn.pixel([x, y]);
            *point = [x, y, visibility];
        }
        for point in self.polygons.iter_mut().flatten().flatten().flatten() {
            *point = turn.point(*point);
        }
        for mask in self.run_lengths.iter_mut().flatten().flatten() {
            *mask = turn.run_lengths(mask)?;
        }
        Ok(self)
    }

    /// Refuses numbers that are not coordinates, and masks of different sizes.
    fn checked(self) -> Result<Self, String> {
        let is_size = |side: &f64| (1.0..=MAX_COORDINATE).contains(side);
        if let Some(size) = self.size.filter(|size| !size.iter().all(is_size)) {
            return Err(format!("`size` {size:?} is not one of an image"));
        }
        let masks = self.run_lengths.iter().flatten().zip(0..);
        let mut masks = masks.filter_map(|(mask, object)| Some((mask.as_ref()?.size(), object)));
        if let Some(first) = masks.clone().map(|(size, _)| size).next() {
            let [width, height] = self.size.unwrap_or([first[1].into(), first[0].into()]);
            let differs = |size: [u32; 2]| size.map(f64::from) != [height, width];
            if let Some(([high, wide], object)) = masks.find(|(size, _)| differs(*size)) {
                return Err(format!(
                    "object {object:?} has run lengths of {wide}x{high} pixels, and coordinates are of \
                     {width}x{height}: write all of them for one image"
                ));
            }
        }
        let boxes = self.boxes.iter().flatten();
        let points = self.keypoints.iter().flatten().flatten().flatten();
        let polygons = self.polygons.iter().flatten().flatten().flatten().flatten();
        // Comparisons with NaN are false.
        let is_sound = |value: &&f64| value.abs() <= MAX_COORDINATE;
        match boxes.chain(points).chain(polygons).find(|value| !is_sound(value)) {
            Some(value) => Err(format!("{value} is not a coordinate: they are within 1e9")),
            None => Ok(self),
        }
    }
}

fn keypoints(lists: Vec<Option<Vec<f64>>>) -> Result<Vec<Vec<[f64; 3]>>, String> {
    let lists: Vec<Vec<f64>> = lists.into_iter().map(Option::unwrap_or_default).collect();
    let most = lists.iter().map(Vec::len).max().unwrap_or_default();
    let each = lists.iter().enumerate().map(|(object, list)| match list.as_chunks::<3>() {
        (points, []) if points.is_empty() || list.len() == most => Ok(points.to_vec()),
        (_, []) => {
            let len = list.len();
            Err(format!("object {object} has {len} numbers in `keypoints`, another one {most}"))
        }
        _ => {
            let len = list.len();
            Err(format!("object {object} has {len} numbers in `keypoints`: no multiple of three"))
        }
    });
    each.collect()
}

type Shapes = (Vec<Vec<Vec<[f64; 2]>>>, Vec<Option<RunLengths>>);

/// Separates the polygons and the run lengths of the objects.
fn shapes(segmentations: Vec<Segmentation>) -> Result<Shapes, String> {
    let points = |object: usize, list: &Vec<f64>| match list.as_chunks::<2>() {
        (points, []) => Ok(points.to_vec()),
        _ => Err(format!("object {object} has a polygon of {} numbers: no pairs", list.len())),
    };
    let each = segmentations.into_iter().enumerate().map(|(object, segmentation)| {
        Ok(match segmentation {
            Segmentation::Polygons(lists) => {
                let polygons = lists.iter().map(|list| points(object, list));
                (polygons.collect::<Result<_, String>>()?, None)
            }
            Segmentation::RunLengths(stored) => {
                let mask = stored.decode().map_err(|what| format!("object {object}: {what}"))?;
                (Vec::new(), Some(mask))
            }
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::Annotations;

    fn refused(json: &str) -> String {
        Annotations::parse(json.as_bytes(), true).unwrap_err()
    }

    #[test]
    fn a_document_is_read_with_all_that_it_has() {
        let json = br#"{"size":[640,480],"bbox":[[1,2,3,4],[5.5,6,7,8]],"category":[3,-1],
            "category_name":["a",null],"area":[12,1.5],"iscrowd":[0,true],"id":[9,10],
            "difficult":[true,null],"truncated":[0.25,"a"],"occluded":3,
            "keypoints":[[1,2,2,3,4,0],[]],"segmentation":[[[1,2,3,2,3,4],[]],null],"more":{"a":[]}}"#;
        let found = Annotations::parse(json, true).unwrap();
        assert_eq!(found.size, Some([640.0, 480.0]));
        assert_eq!(found.boxes, [[1.0, 2.0, 3.0, 4.0], [5.5, 6.0, 7.0, 8.0]]);
        assert_eq!((found.classes.numbers, found.id), (Some(vec![3, -1]), Some(vec![9, 10])));
        assert_eq!(found.classes.names, Some(vec![Some("a".into()), None]));
        assert_eq!((found.difficult, found.occluded), (Some(vec![1.0, 0.0]), None));
        assert!(matches!(found.truncated.as_deref(), Some([0.25, other]) if other.is_nan()));
        assert_eq!((found.area, found.iscrowd), (Some(vec![12.0, 1.5]), Some(vec![0, 1])));
        assert_eq!(found.keypoints, Some(vec![vec![[1.0, 2.0, 2.0], [3.0, 4.0, 0.0]], vec![]]));
        let triangle = vec![[1.0, 2.0], [3.0, 2.0], [3.0, 4.0]];
        assert_eq!(found.polygons, Some(vec![vec![triangle, vec![]], vec![]]));
        assert!(Annotations::parse(json, false).unwrap().polygons.is_none());
        let bare = Annotations::parse(b"{\"bbox\":[]}", true).unwrap();
        assert_eq!(bare, Annotations::default());
        assert_eq!(Annotations::parse(b"null", true).unwrap(), Annotations::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, part) in [
            ("", "cannot be read"),
            ("{\"area\":[1]}", "it has no `bbox`, only `area`"),
            ("{\"bbox\":null,\"kind\":[1]}", "it has no `bbox`, only `kind`"),
            ("[{\"category\":1}]", "it has no `bbox`, only `category`"),
            ("[1]", "cannot be read"),
            ("{\"bbox\":[[1,2,3]]}", "cannot be read"),
            ("{\"bbox\":[[1,2,3,NaN]]}", "cannot be read"),
            ("{\"bbox\":[[1,2,3,1e999]]}", "out of range"),
            ("{\"bbox\":[[1,2,3,1e300]]}", "is not a coordinate"),
            ("{\"bbox\":[[1,2,3,4]],\"category\":[]}", "`category` has 0 entries for 1 of `bbox`"),
            ("{\"bbox\":[],\"category_name\":[1]}", "`category_name` has 1 entries"),
            ("{\"bbox\":[],\"label\":[1]}", "`label` has 1 entries for 0 of `bbox`"),
            ("{\"bbox\":[[1,2,3,4]],\"category\":[true]}", "neither whole numbers nor texts"),
            ("{\"bbox\":[],\"size\":[0,5]}", "`size` [0.0, 5.0]"),
            ("{\"bbox\":[[1,2,3,4]],\"keypoints\":[[1,2]]}", "no multiple of three"),
            ("{\"bbox\":[[1,2,3,4]],\"segmentation\":[[[1,2,3]]]}", "no pairs"),
            (
                "{\"bbox\":[[1,2,3,4]],\"segmentation\":[{\"counts\":\"a\"}]}",
                "missing field `size`",
            ),
        ] {
            let found = refused(json);
            assert!(found.contains(part), "{json}: {found}");
        }
        let uneven = "{\"bbox\":[[1,2,3,4],[1,2,3,4]],\"keypoints\":[[1,2,0],[1,2,0,3,4,0]]}";
        assert!(refused(uneven).contains("object 0 has 3 numbers in `keypoints`, another one 6"));
        let masks = |size: &str, masks: &str| {
            let json = "{\"bbox\":[[1,2,3,4],[1,2,3,4]]".to_owned();
            refused(&(json + size + ",\"segmentation\":[" + masks + "]}"))
        };
        let (small, lying) =
            ("{\"size\":[3,4],\"counts\":[12]}", "{\"size\":[3,4],\"counts\":[1,2]}");
        let said = masks("", &format!("null,{lying}"));
        assert!(
            said.contains("object 1: the run lengths of its mask do not add up to 4x3"),
            "{said}"
        );
        let said = masks("", &format!("{small},{{\"counts\":\"<\",\"size\":[4,3]}}"));
        assert!(said.contains("object 1 has run lengths of 3x4 pixels"), "{said}");
        let said = masks(",\"size\":[8,6]", &format!("{small},null"));
        assert!(said.contains("object 0 has run lengths of 4x3 pixels") && said.contains("8x6"));
        let said = masks("", "null,{\"size\":[1e9,1e9],\"counts\":[1]}");
        assert!(said.contains("cannot be read"), "{said}");
        let deep = "[".repeat(100_000);
        assert!(refused(&format!("{{\"bbox\":{deep}")).contains("cannot be read"));
        let crowd = b"{\"bbox\":[[1,2,3,4]],\"segmentation\":[{\"counts\":[1,2],\"size\":[3,4]}]}";
        assert_eq!(Annotations::parse(crowd, false).unwrap().boxes.len(), 1);
    }
}

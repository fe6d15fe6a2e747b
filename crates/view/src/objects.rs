//! The objects in an image, in pixels of the shown image, and those in the rows of a batch.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    request::Asked,
};
use bytes::Bytes;
use fdconvert_core::{
    Encoded, Kind, RunLengths, Sample, Value,
    objects::{Annotations, FIELD, ObjectClasses},
};
use fdconvert_loader::Objects;
use fdconvert_pipeline::field_of_objects;
use fdconvert_storage::sigbus;
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, ops::Range};

/// `api/boxes/I`: what a tile of the grid draws. The image is not read once the catalog has its
/// size.
pub(crate) fn boxes(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let index = dataset.sample(asked)?;
    let Some(json) = stored(dataset, index)? else {
        return Err(Failure::missing("this dataset has no field of objects"));
    };
    let facts = dataset.facts(index).ok().filter(|facts| facts.width > 0);
    let shown = facts.map(|facts| [facts.width, facts.height].map(f64::from));
    Ok(Answer::json(&document(&json, shown, None).map_err(Failure::unreadable)?))
}

/// Returns the first document of objects among the values, or why it cannot be shown.
pub(crate) fn of_sample(
    dataset: &Dataset,
    index: u64,
    sample: &Sample<Encoded>,
    query: &str,
) -> Option<Result<Json, String>> {
    let fields = dataset.schema().fields.iter().zip(&sample.values).enumerate();
    let mut documents = fields.filter_map(|(at, (field, value))| match (&field.kind, value) {
        (Kind::Json, Value::Json(json)) => Some((at, field.name.as_str(), json)),
        _ => None,
    });
    let is_it = |(_, name, json): &(usize, &str, &Bytes)| {
        *name == FIELD || ObjectClasses::of(json).is_some()
    };
    let (field, _, json) = documents.find(is_it)?;
    let image = dataset.schema().first_image().and_then(|at| sample.values.get(at));
    let shown = match image {
        Some(Value::Image(image)) => Some([image.width, image.height].map(f64::from)),
        _ => None,
    };
    let mask = |object: usize| format!("mask/{index}/{field}?object={object}{query}");
    Some(document(json, shown, Some(&mask)))
}

/// Describes objects. `mask` makes the address of the mask of an object; without it, polygons and
/// masks are left out.
fn document(
    json: &[u8],
    shown: Option<[f64; 2]>,
    mask: Option<&dyn Fn(usize) -> String>,
) -> Result<Json, String> {
    let found = Annotations::parse(json, mask.is_some())?;
    let Some(size) = shown.or(found.size) else {
        return Err("missing `size`, and the sample has no image to take it from".into());
    };
    let of = found.size.unwrap_or(size);
    // EXIF turns some images on their side: coordinates then refer to the upright one.
    let is_turned = of[0] != of[1] && of == [size[1], size[0]];
    let size = if is_turned { of } else { size };
    let [x_scale, y_scale] = [size[0] / of[0], size[1] / of[1]];
    let item = |(object, [x, y, width, height]): (usize, &[f64; 4])| {
        let flat = |polygon: &Vec<[f64; 2]>| -> Vec<f64> {
            polygon.iter().flat_map(|[x, y]| [x * x_scale, y * y_scale]).collect()
        };
        let polygons = found.polygons.as_ref().and_then(|all| all.get(object));
        let polygons: Vec<_> = polygons.into_iter().flatten().map(flat).collect();
        let keypoints = found.keypoints.as_ref().and_then(|all| all.get(object));
        let keypoints = keypoints.into_iter().flatten();
        let keypoints: Vec<_> =
            keypoints.map(|[x, y, visible]| [x * x_scale, y * y_scale, *visible]).collect();
        let runs = found.run_lengths.as_ref().and_then(|all| all.get(object)?.as_ref());
        json!({
            "class": found.classes.numbers.as_ref().and_then(|all| all.get(object)),
            "name": found.classes.names.as_ref().and_then(|all| all.get(object)?.as_ref()),
            "box": [x * x_scale, y * y_scale, (x + width) * x_scale, (y + height) * y_scale],
            "polygons": polygons,
            "keypoints": keypoints,
            "mask": runs.and(mask).map(|mask| mask(object)),
        })
    };
    let items: Vec<Json> = found.boxes.iter().enumerate().map(item).collect();
    Ok(json!({"size": size, "items": items}))
}

/// Returns the mask of an object given as run lengths.
pub(crate) fn mask(
    dataset: &Dataset,
    index: u64,
    field: usize,
    object: usize,
) -> Result<RunLengths, Failure> {
    let unreadable = |what: String| Failure::unreadable(what);
    let sample = dataset.checked_sample(index).map_err(|error| unreadable(error.chain()))?;
    let Some(Value::Json(json)) = sample.values.get(field) else {
        return Err(Failure::missing("this field holds no objects"));
    };
    let found = Annotations::parse(json, true).map_err(unreadable)?;
    let mask = found.run_lengths.and_then(|all| all.into_iter().nth(object)).flatten();
    mask.ok_or_else(|| Failure::missing(format!("object {object} has no mask of run lengths")))
}

/// Reads the document of a sample's objects; `None` without a field of objects.
fn stored(dataset: &Dataset, index: u64) -> fdconvert_core::Result<Option<Bytes>> {
    let Some(field) = field_of_objects(dataset.schema()) else { return Ok(None) };
    let value = sigbus::caught(|| dataset.reader().value(index, field))?;
    Ok(if let Some(Value::Json(json)) = value { Some(json) } else { None })
}

/// Returns the names of the classes in a sample's document, by their numbers.
pub(crate) fn names(dataset: &Dataset, index: u64) -> BTreeMap<i64, String> {
    let Ok(Some(json)) = stored(dataset, index) else { return BTreeMap::new() };
    let Some(Ok(classes)) = ObjectClasses::of(&json) else { return BTreeMap::new() };
    let names = classes.names.unwrap_or_default();
    let pairs = classes.numbers.unwrap_or_default().into_iter().zip(names);
    pairs.filter_map(|(number, name)| Some((number, name?))).collect()
}

/// Returns the objects of a row of a batch as a list of items, without the masks of run
/// lengths, which [`masks_in_row`] yields.
pub(crate) fn in_row(objects: &Objects, row: usize, names: &BTreeMap<i64, String>) -> Json {
    let item = |object: usize| {
        let class = objects.category.get(object).filter(|class| **class != -1);
        let polygons = objects.polygons.iter().flat_map(|all| {
            let of = all.objects.iter().enumerate().filter(|(_, its)| **its == object as i64);
            of.filter_map(|(at, _)| all.points.get(range(&all.offsets, at)?))
        });
        let keypoints = objects
            .keypoints
            .as_ref()
            .and_then(|all| all.points.get(object * all.per_object..(object + 1) * all.per_object));
        json!({
            "class": class,
            "name": class.and_then(|class| names.get(class)),
            "box": objects.boxes.get(object),
            "polygons": polygons.map(<[_]>::as_flattened).collect::<Vec<_>>(),
            "keypoints": keypoints.unwrap_or_default(),
            "mask": null,
        })
    };
    range(&objects.offsets, row).unwrap_or_default().map(item).collect()
}

/// Yields the runs of the masks in a row of a batch, each with the number of its object there.
pub(crate) fn masks_in_row(objects: &Objects, row: usize) -> impl Iterator<Item = (usize, &[u32])> {
    let of_row = range(&objects.offsets, row).unwrap_or_default();
    objects.run_lengths.iter().flat_map(move |all| {
        let of_row = of_row.clone();
        all.objects.iter().enumerate().filter_map(move |(at, object)| {
            let object = usize::try_from(*object).ok().filter(|object| of_row.contains(object))?;
            Some((object - of_row.start, all.counts.get(range(&all.offsets, at)?)?))
        })
    })
}

/// Returns the entries of a part, by the offsets of all parts.
fn range(offsets: &[i64], part: usize) -> Option<Range<usize>> {
    let at = |part: usize| usize::try_from(*offsets.get(part)?).ok();
    Some(at(part)?..at(part + 1)?)
}

#[cfg(test)]
mod tests {
    use super::document;
    use serde_json::json;

    #[test]
    fn coordinates_are_those_of_the_image_that_is_shown() {
        let json = br#"{"size":[640,480],"bbox":[[64,48,320,240]],"category":[3],
            "category_name":["cat"],"keypoints":[[0,0,0,640,480,2]],
            "segmentation":[{"size":[480,640],"counts":[307200]}]}"#;
        let found = document(json, Some([320.0, 240.0]), Some(&|object| format!("m{object}")));
        let found = found.unwrap();
        assert_eq!(found["size"], json!([320.0, 240.0]));
        let item = &found["items"][0];
        assert_eq!(item["box"], json!([32.0, 24.0, 192.0, 144.0]));
        assert_eq!((&item["class"], &item["name"]), (&json!(3), &json!("cat")));
        assert_eq!(item["keypoints"], json!([[0.0, 0.0, 0.0], [320.0, 240.0, 2.0]]));
        assert_eq!((&item["mask"], &item["polygons"]), (&json!("m0"), &json!([])));
    }

    #[test]
    fn a_turned_image_and_a_damaged_document() {
        let json = br#"{"size":[480,640],"bbox":[[0,0,480,640]],"segmentation":[[[0,0,1,1,2,2]]]}"#;
        let found = document(json, Some([640.0, 480.0]), Some(&|_| String::new())).unwrap();
        assert_eq!(found["size"], json!([480.0, 640.0]));
        assert_eq!(found["items"][0]["box"], json!([0.0, 0.0, 480.0, 640.0]));
        assert_eq!(found["items"][0]["polygons"], json!([[0.0, 0.0, 1.0, 1.0, 2.0, 2.0]]));
        assert!(document(b"{\"bbox\":[[1]]}", None, None).is_err());
        assert!(document(b"{\"bbox\":[]}", None, None).is_err());
    }
}

use super::{BOXES, number};
use bytes::Bytes;
use serde_json::{Map, Value as Json, json};

/// Moves a document to an image of another size. Run lengths cannot be scaled: they are left out,
/// and their number is returned.
///
/// # Errors
/// A description of the fault, for text that is not a document of objects.
pub fn scaled(document: &[u8], from: [f64; 2], to: [f64; 2]) -> Result<(Bytes, u64), String> {
    let scale = Scale([to[0] / from[0], to[1] / from[1]]);
    let mut document: Json = serde_json::from_slice(document)
        .map_err(|error| format!("its JSON cannot be read: {error}"))?;
    let mut n_masks = 0;
    match &mut document {
        Json::Object(lists) => {
            for (key, list) in lists.iter_mut() {
                if let Json::Array(entries) = list {
                    entries.iter_mut().for_each(|entry| n_masks += scale.entry(key, entry));
                }
            }
            lists.insert("size".to_owned(), json!(to.map(number)));
        }
        Json::Array(objects) => {
            for (key, entry) in objects.iter_mut().filter_map(Json::as_object_mut).flat_map(entries)
            {
                n_masks += scale.entry(key, entry);
            }
        }
        _ => {}
    }
    Ok((document.to_string().into(), n_masks))
}

fn entries(object: &mut Map<String, Json>) -> impl Iterator<Item = (&String, &mut Json)> {
    object.iter_mut()
}

struct Scale([f64; 2]);

impl Scale {
    /// Scales an entry of the list of that key; returns the number of run lengths left out.
    fn entry(&self, key: &str, entry: &mut Json) -> u64 {
        let Self([x, y]) = *self;
        match key {
            BOXES => multiply(entry, &[x, y]),
            "area" => {
                if let Some(area) = entry.as_f64() {
                    *entry = Json::Number(number(area * x * y));
                }
            }
            "keypoints" => multiply(entry, &[x, y, 1.0]),
            "segmentation" if entry.is_object() => {
                *entry = Json::Array(Vec::new());
                return 1;
            }
            "segmentation" => {
                let polygons = entry.as_array_mut().into_iter().flatten();
                polygons.for_each(|polygon| multiply(polygon, &[x, y]));
            }
            _ => {}
        }
        0
    }
}

/// Multiplies the numbers of a list by factors in turn.
fn multiply(list: &mut Json, factors: &[f64]) {
    let numbers = list.as_array_mut().into_iter().flatten();
    for (value, factor) in numbers.zip(factors.iter().cycle()) {
        if let Some(old) = value.as_f64() {
            *value = Json::Number(number(old * factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn coordinates_are_scaled_and_run_lengths_left_out() {
        let document = br#"{"size":[10,20],"bbox":[[1,2,3,4]],"area":[12],"keypoints":[[1,2,2]],
            "segmentation":[[[1,2,3,4]]],"category":[3]}"#;
        let (half, n_masks) = scaled(document, [10.0, 20.0], [5.0, 5.0]).unwrap();
        let expected: serde_json::Value = serde_json::from_str(
            r#"{"size":[5,5],"bbox":[[0.5,0.5,1.5,1]],"area":[1.5],"keypoints":[[0.5,0.5,2]],
            "segmentation":[[[0.5,0.5,1.5,1]]],"category":[3]}"#,
        )
        .unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&half).unwrap(), expected);
        assert_eq!(n_masks, 0);
        let list = br#"[{"bbox":[1,2,3,4],"segmentation":{"size":[20,10],"counts":[200]}}]"#;
        let (half, n_masks) = scaled(list, [10.0, 20.0], [5.0, 5.0]).unwrap();
        assert_eq!(
            (&half[..], n_masks),
            (&br#"[{"bbox":[0.5,0.5,1.5,1],"segmentation":[]}]"#[..], 1)
        );
        assert!(scaled(b"{", [1.0; 2], [1.0; 2]).is_err());
    }
}

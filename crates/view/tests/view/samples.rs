//! Descriptions of a dataset and of one sample.
use crate::common::{Memory, Viewer, packed, sample};
use fdconvert::{Codec, Encoded, Kind, Value};
use fdconvert_core::{ArraySpec, DType};
use fdconvert_testkit::fixtures;
use serde_json::json;

#[test]
fn a_dataset_tells_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "wds");
    let viewer = Viewer::of(&path);
    let found = viewer.json("api/dataset");
    assert_eq!((&found["samples"], &found["format"]), (&json!(12), &json!("tested")));
    assert_eq!(found["path"], path.display().to_string());
    assert_eq!((&found["checksums"], &found["second"]), (&json!(true), &json!(null)));
    let fields = found["schema"].as_array().unwrap();
    let image = found["image"].as_u64().unwrap() as usize;
    let label = found["label"].as_u64().unwrap() as usize;
    assert_eq!(
        (&fields[image]["kind"], &fields[image]["classes"]),
        (&json!("image"), &json!(null))
    );
    assert_eq!(fields[label]["classes"], json!(["cat", "dog", "fox"]));
    assert!(found["provenance"]["tool"].as_str().unwrap().starts_with("fdconvert"));
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert!(found["details"].is_object() && found["splits"] == json!([]));
}

#[test]
fn a_sample_tells_all_its_values_and_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "beton"));
    let found = viewer.json("api/sample/4");
    assert_eq!((&found["sample"], &found["verified"]), (&json!(4), &json!(true)));
    assert!(found["cause"].is_null() && found["objects"].is_null() && found["split"].is_null());
    let key = found["key"].as_str().unwrap();
    let python = found["python"].as_str().unwrap();
    assert!(python.contains("fdconvert.Dataset(\"") && python.contains("dataset[4]"), "{python}");
    assert!(python.contains(key));
    let values = found["values"].as_array().unwrap();
    let image = values.iter().find(|value| value["kind"] == "image").unwrap();
    assert_eq!(
        (&image["codec"], &image["height"], &image["mask"]),
        (&json!("raw"), &json!(30), &json!(false))
    );
    let label = values.iter().find(|value| value["kind"] == "int").unwrap();
    assert_eq!((&label["value"], &label["class"]), (&json!(1), &json!("dog")));
    let place = &found["place"];
    assert!(place["path"].as_str().unwrap().ends_with("photos.beton"));
    assert_eq!(place["bytes"], image["bytes"]);
    assert_eq!(place["xxh3"].as_str().unwrap().len(), 16);
    assert!(viewer.fails(404, "api/sample/12").contains("only 12"));
    assert!(viewer.fails(404, "api/sample/-1").contains("named by their number"));
}

#[test]
fn values_of_every_kind_are_told() {
    let spec = |dtype, shape: &[u64]| ArraySpec { dtype, shape: shape.to_vec(), torch: false };
    let fields = vec![
        ("float", Kind::Float),
        ("none", Kind::Float),
        ("text", Kind::Text),
        ("json", Kind::Json),
        ("broken", Kind::Json),
        ("bytes", Kind::Bytes),
        ("array", Kind::Array(spec(DType::F32, &[2, 2]))),
        ("large", Kind::Array(spec(DType::U8, &[5000]))),
    ];
    let array: Vec<u8> = [1.0_f32, 0.5, -2.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let values = vec![
        Value::Float(0.25),
        Value::Float(f64::NAN),
        Value::Text("x".repeat(100_000)),
        Value::Json(br#"{"a":[1,2]}"#.to_vec().into()),
        Value::Json(b"{".to_vec().into()),
        Value::Bytes(vec![0xab; 1000].into()),
        Value::Array(array.into()),
        Value::Array(vec![1; 5000].into()),
    ];
    let viewer = Viewer::of_samples(Memory::new(fields, vec![sample("a", values)]));
    let found = viewer.json("api/sample/0")["values"].clone();
    assert_eq!((&found[0]["value"], &found[1]["value"]), (&json!(0.25), &json!("NaN")));
    assert_eq!(found[2]["value"].as_str().unwrap().len(), 64 << 10);
    assert_eq!((&found[2]["cut"], &found[3]["cut"]), (&json!(true), &json!(null)));
    assert_eq!((&found[3]["value"], &found[4]["value"]), (&json!({"a": [1, 2]}), &json!("{")));
    assert_eq!(
        (&found[5]["bytes"], found[5]["hex"].as_str().unwrap()),
        (&json!(1000), "ab".repeat(256).as_str())
    );
    assert_eq!((&found[6]["dtype"], &found[6]["shape"]), (&json!("float32"), &json!([2, 2])));
    assert_eq!(found[6]["numbers"], json!([1.0, 0.5, -2.0, 4.0]));
    assert!(found[7]["numbers"].is_null() && found[7]["bytes"] == json!(5000));
    assert_eq!(viewer.ok("field/0/bytes").body, vec![0xab; 1000]);
    assert_eq!(viewer.ok("field/0/json").text(), r#"{"a":[1,2]}"#);
    assert_eq!(viewer.ok("field/0/0").text(), "0.25");
}

#[test]
fn a_camera_s_notes_are_told() {
    // An orientation of 6, in a separate EXIF.
    let tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let jpeg = fixtures::JPEG_420;
    let mut bytes = jpeg[..2].to_vec();
    bytes.extend([0xff, 0xe1]);
    bytes.extend((2 + 6 + tiff.len() as u16).to_be_bytes());
    bytes.extend(b"Exif\0\0");
    bytes.extend(tiff);
    bytes.extend(&jpeg[2..]);
    let header = fdconvert_core::probe::probe(&bytes).unwrap();
    let image = Encoded::new(Codec::Jpeg, header.width, header.height, bytes.into());
    let samples = vec![sample("a.jpg", vec![Value::Image(image)])];
    let viewer = Viewer::of_samples(Memory::new(vec![("image", Kind::Image)], samples));
    let exif = viewer.json("api/sample/0")["exif"].clone();
    assert_eq!(exif[0]["name"], "Orientation");
    assert!(exif[0]["value"].as_str().unwrap().contains("right"), "{exif}");
}

//! Files that pyarrow and Hugging Face `datasets` wrote.
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::parquet::{Parquet, ParquetReader};
use fdconvert_core::{
    ArraySpec, DType, Encoded, Error, Format as _, Kind, MaxDecompressed, OpenOptions, Reader as _,
    Sample, Source as _, Value,
};
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("parquet/golden").join(name)
}

fn open(name: &str) -> ParquetReader {
    let path = golden(name);
    assert!(Parquet::default().detect(&path), "{name} is not recognised");
    let reader = ParquetReader::open(&path).unwrap();
    assert!(reader.verify_layout().is_empty(), "{name}: {:?}", reader.verify_layout());
    reader
}

fn picture(number: usize) -> Vec<u8> {
    std::fs::read(golden("images").join(number.to_string())).unwrap()
}

fn names(reader: &ParquetReader) -> Vec<(&str, Kind)> {
    let fields = &reader.schema().fields;
    fields.iter().map(|field| (field.name.as_str(), field.kind.clone())).collect()
}

fn value(reader: &ParquetReader, index: u64, field: &str) -> Value<Encoded> {
    of(reader, &reader.get(index).unwrap(), field)
}

fn of(reader: &ParquetReader, sample: &Sample<Encoded>, field: &str) -> Value<Encoded> {
    reader.schema().check(sample).unwrap();
    sample.values[reader.schema().position(field).unwrap()].clone()
}

fn assert_picture(value: &Value<Encoded>, number: usize) {
    let Value::Image(image) = value else { panic!("{value:?}") };
    assert!(image.bytes[..] == picture(number), "image {number}");
    assert_eq!((image.width, image.height), (8 + number as u32, 6));
}

fn json(value: &Value<Encoded>) -> String {
    let Value::Json(json) = value else { panic!("{value:?}") };
    String::from_utf8(json.to_vec()).unwrap()
}

#[test]
fn features_of_datasets_become_fields() {
    let reader = open("struct.parquet");
    let (int, float) = (Kind::Int, Kind::Float);
    let fields = [
        ("image", Kind::Image),
        ("label", int.clone()),
        ("caption", Kind::Text),
        ("score", float),
        ("seen", int),
    ];
    assert_eq!(names(&reader), fields);
    let classes = reader.schema().fields[1].class_names.clone().unwrap();
    assert_eq!(&classes[..], ["cat", "dog", "eel"]);
    assert_eq!((reader.len(), reader.schema().label()), (6, Some(1)));
    // A duplicate path, one that leads out of the folder, and none.
    let keys = ["cat/a.jpg", "b.png", "cat/a-1.jpg", "c.png", "00000004", "d.png"];
    let captions = ["first", "zwei", "", "vier ü", "five", "six"];
    for index in 0..6 {
        let sample = reader.get(index).unwrap();
        let at = index as usize;
        assert_eq!((&*sample.key, &*reader.key(index)), (keys[at], keys[at]));
        assert_picture(&sample.values[0], at);
        assert_eq!(sample.values[1], Value::Int(index as i64 % 3));
        assert_eq!(sample.values[2], Value::Text(captions[at].to_owned()));
        assert_eq!(reader.label(index).unwrap(), Some(index as i64 % 3));
        reader.verify_sample(index).unwrap();
    }
    assert_eq!(value(&reader, 3, "score"), Value::Float(3.25));
    assert_eq!(value(&reader, 4, "score"), Value::Float(0.1_f32.into()));
    assert_eq!(
        (value(&reader, 0, "seen"), value(&reader, 1, "seen")),
        (Value::Int(1), Value::Int(0))
    );
}

#[test]
fn annotations_of_objects_are_an_object_of_lists() {
    let lists = open("objects.parquet");
    let wanted = r#"{"bbox":[[0.5,1.0,2.0,3.0],[4.0,5.0,6.0,7.0]],"category":[1,0],"category_name":["kite","person"]}"#;
    assert_eq!(json(&value(&lists, 0, "objects")), wanted);
    assert_eq!(
        json(&value(&lists, 1, "objects")),
        r#"{"bbox":[],"category":[],"category_name":[]}"#
    );
    let list = open("list.parquet");
    let wanted =
        r#"{"bbox":[[0,1,2,3],[4,5,6,7]],"category":[1,0],"category_name":["kite","person"]}"#;
    assert_eq!(json(&value(&list, 0, "objects")), wanted);
    assert_eq!(
        json(&value(&list, 1, "objects")),
        r#"{"bbox":[],"category":[],"category_name":[]}"#
    );
    assert_eq!(
        json(&value(&list, 2, "objects")),
        r#"{"bbox":[[1,1,1,1]],"category":[0],"category_name":["person"]}"#
    );
}

#[test]
fn lists_of_one_shape_are_arrays_and_others_documents() {
    let reader = open("arrays.parquet");
    let array = |dtype, shape: &[u64]| {
        Kind::Array(ArraySpec { dtype, shape: shape.to_vec(), torch: false })
    };
    let fields = [
        ("image", Kind::Image),
        ("grid", array(DType::F32, &[2, 3])),
        ("vector", array(DType::I16, &[2])),
        ("loose", Kind::Json),
    ];
    assert_eq!(names(&reader), fields);
    let grid: Vec<u8> =
        [-1.0_f32, 0.0, 0.5, 7.0, 8.0, 9.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    assert_eq!(value(&reader, 1, "grid"), Value::Array(grid.into()));
    let vector: Vec<u8> = [300_i16, 4].iter().flat_map(|it| it.to_le_bytes()).collect();
    assert_eq!(value(&reader, 1, "vector"), Value::Array(vector.into()));
    assert_eq!(json(&value(&reader, 1, "loose")), "[2,3]");
}

#[test]
fn lists_of_a_fixed_length_are_arrays_without_features() {
    let reader = open("fixed.parquet");
    let array = |dtype, shape: &[u64]| {
        Kind::Array(ArraySpec { dtype, shape: shape.to_vec(), torch: false })
    };
    let fields = [
        ("image", Kind::Image),
        ("vector", array(DType::I16, &[3])),
        ("grid", array(DType::F64, &[2, 2])),
        ("loose", Kind::Json),
    ];
    assert_eq!(names(&reader), fields);
    let grid: Vec<u8> = [5.0_f64, 6.0, 7.0, 8.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    assert_eq!(value(&reader, 1, "grid"), Value::Array(grid.into()));
}

#[test]
fn every_compression_holds_the_same_table() {
    for name in ["none", "snappy", "gzip", "lz4", "zstd"] {
        plain(&open(&format!("plain-{name}.parquet")));
    }
    // Several row groups, a page per row, a page index, version 2 pages.
    plain(&open("pages.parquet"));
    let error = ParquetReader::open(&golden("plain-brotli.parquet")).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("`picture` is compressed with brotli"), "{error}");
}

/// Large byte strings that are images, byte strings that are not, a dictionary of texts.
fn plain(reader: &ParquetReader) {
    let fields = [
        ("picture", Kind::Image),
        ("blob", Kind::Bytes),
        ("name", Kind::Text),
        ("number", Kind::Int),
    ];
    assert_eq!(names(reader), fields);
    let letters = ["x", "y", "x", "x", "y", "z"];
    for index in [5, 0, 3, 1, 2, 4] {
        let sample = reader.get(index).unwrap();
        assert_eq!(sample.key, format!("{index:08}"));
        assert_picture(&sample.values[0], index as usize);
        assert_eq!(sample.values[2], Value::Text(letters[index as usize].to_owned()));
    }
    assert_eq!(value(reader, 2, "blob"), Value::Bytes(vec![b'x'; 9].into()));
    assert_eq!(value(reader, 1, "blob"), Value::Bytes(vec![].into()));
    assert_eq!(value(reader, 5, "number"), Value::Int(i64::MAX));
}

#[test]
fn nulls_are_named_or_stand_for_something() {
    let reader = open("nulls.parquet");
    let what = |index| reader.get(index).unwrap_err().to_string();
    assert!(matches!(reader.get(1), Err(Error::Sample { .. })));
    assert!(what(1).contains("`image`: its image is null"), "{}", what(1));
    assert!(what(2).contains("only the path `lost.jpg` is stored"), "{}", what(2));
    assert!(what(3).contains("`caption`: its value is null"), "{}", what(3));
    let last = reader.get(4).unwrap();
    let Value::Float(score) = of(&reader, &last, "score") else { panic!("{last:?}") };
    assert!(score.is_nan());
    assert_eq!(json(&of(&reader, &last, "extra")), "[1,null]");
    assert_eq!(json(&of(&reader, &last, "nothing")), "null");
    assert_eq!(json(&value(&reader, 0, "extra")), "null");
}

#[test]
fn what_nests_becomes_a_document() {
    let reader = open("nested.parquet");
    let document = |index, field| json(&value(&reader, index, field));
    assert_eq!(
        document(0, "people"),
        r#"[{"name":"Eve","tags":["a","b"]},null,{"name":null,"tags":[]}]"#
    );
    assert_eq!((&*document(1, "people"), &*document(1, "counts")), ("[]", "null"));
    assert_eq!(document(0, "counts"), r#"{"k":1,"l":null}"#);
    assert_eq!((&*document(0, "price"), &*document(1, "price")), ("\"-12.05\"", "\"0.30\""));
    assert_eq!(value(&reader, 1, "half"), Value::Float(-2.0));
    assert_eq!(value(&reader, 1, "day"), Value::Int(20000));
    let error = reader.get(2).unwrap_err().to_string();
    assert!(error.contains("18446744073709551615 is over"), "{error}");
}

#[test]
fn folders_have_the_splits_of_their_files() {
    for name in ["splits", "splits/data"] {
        let reader = open(name);
        assert_eq!(reader.len(), 6);
        let splits = [("test".to_owned(), 0..3), ("train".to_owned(), 3..6)];
        assert_eq!(reader.splits(), splits);
        for (index, number) in [3, 4, 5, 0, 1, 2].into_iter().enumerate() {
            assert_picture(&reader.get(index as u64).unwrap().values[0], number);
        }
        let keys: Vec<String> = (0..6).map(|index| reader.key(index)).collect();
        assert_eq!(keys, ["c.png", "00000001", "d.png", "cat/a.jpg", "b.png", "cat/a-1.jpg"]);
    }
}

#[test]
fn other_columns_in_another_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("struct", "a"), ("arrays", "b")] {
        let from = golden(&format!("{from}.parquet"));
        std::fs::copy(from, folder.path().join(format!("{to}.parquet"))).unwrap();
    }
    let error = ParquetReader::open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    let what = "b.parquet: it has no column `label`, which ";
    assert!(error.to_string().contains(what), "{error}");
}

#[test]
fn pages_stay_below_the_limit() {
    let path = golden("plain-gzip.parquet");
    let reader =
        ParquetReader::open_with(&path, &OpenOptions::default().max_decompressed(Some(100)))
            .unwrap();
    let error = reader.get(0).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
}

/// Whatever byte of another tool's file changes, reading it is an error or gives well-formed
/// samples.
#[test]
fn damage_is_survived() {
    for name in ["struct.parquet", "nested.parquet", "pages.parquet"] {
        let whole = std::fs::read(golden(name)).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            let limit = MaxDecompressed(Some(16 << 20));
            let path = Path::new(name);
            let Ok(reader) = ParquetReader::from_bytes(damaged.into(), path, limit) else {
                continue;
            };
            let _ = reader.verify_layout();
            for index in 0..reader.len().min(6) {
                if let Ok(sample) = reader.get(index) {
                    reader.schema().check(&sample).unwrap();
                }
            }
        }
    }
}

/// A sample with an unreadable path must not pass for one without a path, which gets its number as
/// name: otherwise `verify` would accept the file, and packing it would change names.
#[test]
fn samples_whose_paths_are_damaged_are_errors() {
    let whole = std::fs::read(golden("struct.parquet")).unwrap();
    let path = Path::new("struct.parquet");
    let open = |bytes: Vec<u8>| ParquetReader::from_bytes(bytes.into(), path, Default::default());
    let mut n_unread = 0;
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let Ok(reader) = open(damaged) else { continue };
        for index in reader.keys().unread.iter().cloned().flatten() {
            n_unread += 1;
            assert!(reader.get(index).is_err() && reader.verify_sample(index).is_err(), "{at}");
        }
    }
    assert!(n_unread > 0);
}

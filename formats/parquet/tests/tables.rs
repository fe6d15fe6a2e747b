//! Other tools' tables, written by the library: claims in footers, and several files as one
//! dataset.
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::parquet::{Parquet, ParquetReader};
use ::parquet::{
    data_type::{ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type},
    file::{
        metadata::{
            ColumnChunkMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader,
            ParquetMetaDataWriter, RowGroupMetaData,
        },
        properties::WriterProperties,
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use fdconvert_core::{Encoded, Error, Format as _, Kind, Reader as _, Source as _, Value};
use fdconvert_testkit::fixtures::png;
use std::{fs, path::Path, sync::Arc};

/// The values of a column, with its levels if it has any.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Bytes(Vec<Vec<u8>>),
    Ints(Vec<i64>),
    Int32s(Vec<i32>),
    Floats(Vec<f32>),
    Times(Vec<[u32; 3]>),
}

pub(super) type Column = (Values, Vec<i16>, Vec<i16>);

pub(super) fn flat(values: Values) -> Column {
    (values, Vec::new(), Vec::new())
}

pub(super) fn texts(texts: &[&str]) -> Column {
    flat(Values::Bytes(texts.iter().map(|text| text.as_bytes().to_vec()).collect()))
}

pub(super) fn ints(ints: &[i64]) -> Column {
    flat(Values::Ints(ints.to_vec()))
}

pub(super) fn images(numbers: &[u64]) -> Column {
    flat(Values::Bytes(numbers.iter().map(|&at| png(8, 6, at).bytes.to_vec()).collect()))
}

/// A file with these row groups; `features` is Hugging Face's description.
pub(super) fn table(columns: &str, features: &str, groups: &[Vec<Column>]) -> Vec<u8> {
    let message = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
    let pairs = (!features.is_empty()).then(|| {
        let value = format!("{{\"info\":{{\"features\":{{{features}}}}}}}");
        vec![KeyValue::new("huggingface".to_owned(), value)]
    });
    let properties = WriterProperties::builder().set_key_value_metadata(pairs).build();
    let mut file =
        SerializedFileWriter::new(Vec::new(), Arc::new(message), Arc::new(properties)).unwrap();
    for columns in groups {
        let mut group = file.next_row_group().unwrap();
        for (values, defs, reps) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let [defs, reps] = [defs, reps].map(|it| (!it.is_empty()).then_some(&it[..]));
            match values {
                Values::Bytes(all) => {
                    let all: Vec<_> = all.iter().map(|it| ByteArray::from(it.clone())).collect();
                    column.typed::<ByteArrayType>().write_batch(&all, defs, reps)
                }
                Values::Ints(all) => column.typed::<Int64Type>().write_batch(all, defs, reps),
                Values::Int32s(all) => column.typed::<Int32Type>().write_batch(all, defs, reps),
                Values::Floats(all) => column.typed::<FloatType>().write_batch(all, defs, reps),
                Values::Times(all) => {
                    let time = |&[low, high, day]: &[u32; 3]| {
                        let mut time = Int96::new();
                        time.set_data(low, high, day);
                        time
                    };
                    let all: Vec<_> = all.iter().map(time).collect();
                    column.typed::<Int96Type>().write_batch(&all, defs, reps)
                }
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

/// The same file with another footer.
pub(super) fn with_footer(
    bytes: &[u8],
    change: impl Fn(&RowGroupMetaData) -> RowGroupMetaData,
) -> Vec<u8> {
    let len = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap()) as usize;
    let start = bytes.len() - 8 - len;
    let footer = ParquetMetaDataReader::decode_metadata(&bytes[start..bytes.len() - 8]).unwrap();
    let file = footer.file_metadata();
    let groups = footer.row_groups().iter().map(change).collect();
    let file = file.clone();
    let mut out = bytes[..start].to_vec();
    ParquetMetaDataWriter::new(&mut out, &ParquetMetaData::new(file, groups)).finish().unwrap();
    out
}

pub(super) fn open(bytes: Vec<u8>) -> Result<ParquetReader, Error> {
    ParquetReader::from_bytes(bytes.into(), Path::new("x.parquet"), Default::default())
}

pub(super) fn said(bytes: Vec<u8>) -> String {
    match open(bytes) {
        Ok(reader) => panic!("{} rows", reader.len()),
        Err(error) => error.to_string(),
    }
}

pub(super) const IMAGE: &str =
    "required group image { required binary bytes; required binary path (UTF8); }";
pub(super) const LABEL: &str = "required int64 label;";

pub(super) fn pair(number: u64, label: i64) -> Vec<Column> {
    vec![images(&[number]), texts(&[&format!("{number}.png")]), ints(&[label])]
}

#[test]
fn parquet_rows_that_are_only_claimed_are_refused() {
    const MANY: i64 = 100_000;
    let bytes = table(&format!("{IMAGE} {LABEL}"), "", &[pair(1, 0)]);
    let claim = |group: &RowGroupMetaData, n_values: i64| {
        let chunk = |chunk: &ColumnChunkMetaData| {
            chunk.clone().into_builder().set_num_values(n_values).build().unwrap()
        };
        let columns = group.columns().iter().map(chunk).collect();
        let claimed = group.clone().into_builder().set_num_rows(MANY);
        claimed.set_column_metadata(columns).build().unwrap()
    };
    let rows = with_footer(&bytes, |group| claim(group, 1));
    let what = "row group 0: column `image.bytes`: 1 values for 100000 rows";
    assert!(said(rows).contains(what));
    // The claim includes the values; page headers show that they do not exist.
    let values = with_footer(&bytes, |group| claim(group, MANY));
    let said_of_values = said(values);
    assert!(said_of_values.contains("its pages hold 1 rows, not 100000"), "{said_of_values}");
}

/// A damaged page is decoded once, not once per row.
#[test]
fn parquet_damage_is_found_once_for_all_rows_of_a_page() {
    let n_rows = 20_000;
    let names: Vec<String> = (0..n_rows).map(|row| format!("{row}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let zeros = vec![0; n_rows];
    let bytes = table(
        "required binary name (UTF8); required int64 n;",
        "",
        &[vec![texts(&names), ints(&zeros)]],
    );
    let mut damaged = bytes.clone();
    damaged[40..60].fill(0xff);
    let reader = open(damaged).unwrap();
    let n_bad = (0..reader.len()).filter(|&row| reader.get(row).is_err()).count();
    assert!(n_bad == n_rows || n_bad == 0, "{n_bad}");
}

#[test]
fn parquet_row_groups_without_rows_are_read() {
    let empty = || vec![images(&[]), texts(&[]), ints(&[])];
    let columns = format!("{IMAGE} {LABEL}");
    for (groups, keys) in [
        (vec![empty(), pair(1, 0), pair(2, 1)], vec!["1.png", "2.png"]),
        (vec![pair(1, 0), empty(), pair(2, 1)], vec!["1.png", "2.png"]),
        (vec![pair(1, 0), empty(), empty()], vec!["1.png"]),
        (vec![empty()], vec![]),
        (vec![], vec![]),
    ] {
        let reader = open(table(&columns, "", &groups)).unwrap();
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
        let found: Vec<_> = (0..reader.len()).map(|row| reader.get(row).unwrap().key).collect();
        assert_eq!(found, keys);
    }
}

#[test]
fn parquet_times_beyond_nanoseconds_of_64_bits_are_errors() {
    // 9999-12-31 and 1970-01-02, by their Julian numbers.
    let times = Values::Times(vec![[0, 0, 5_373_484], [5, 0, 2_440_589]]);
    let reader = open(table("required int96 at;", "", &[vec![flat(times)]])).unwrap();
    let error = reader.get(0).unwrap_err().to_string();
    assert!(
        error.contains("column `at`: its time is before the year 1678 or after 2261"),
        "{error}"
    );
    let day = 86_400_000_000_000;
    assert_eq!(reader.get(1).unwrap().values, [Value::<Encoded>::Int(day + 5)]);
}

/// A list of structs; the second row has none and the third is null.
const OBJECTS: &str =
    "optional group digits (LIST) { repeated group list { required group element {
    required group bbox (LIST) { repeated group list { required float element; } }
    required int32 kind; } } }";

#[test]
fn parquet_objects_of_rows_without_any_have_the_keys_of_others() {
    let image = format!("required binary image; {OBJECTS}");
    let bbox =
        (Values::Floats(vec![0.1, 2.0, 3.0, 4.0]), vec![3, 3, 3, 3, 1, 0], vec![0, 2, 2, 2, 0, 0]);
    let kind = (Values::Int32s(vec![1]), vec![2, 1, 0], vec![0, 0, 0]);
    let groups = [vec![images(&[1, 2, 3]), bbox, kind]];
    let features = r#""image":{"_type":"Image"},"digits":{"_type":"List","feature":{
        "bbox":{"_type":"List","feature":{"dtype":"float32","_type":"Value"}},
        "kind":{"_type":"ClassLabel","names":["cat","dog"]}}}"#;
    let reader = open(table(&image, features, &groups)).unwrap();
    let document = |row: u64| match &reader.get(row).unwrap().values[1] {
        Value::Json(json) => String::from_utf8(json.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    let one = r#"{"bbox":[[0.1,2.0,3.0,4.0]],"kind":[1],"category_name":["dog"]}"#;
    assert_eq!(document(0), one);
    assert_eq!(document(1), r#"{"bbox":[],"kind":[],"category_name":[]}"#);
    assert_eq!(document(2), "null");
}

#[test]
fn parquet_structs_with_the_bytes_of_images_are_images() {
    let only = table("required group image { required binary bytes; }", "", &[vec![images(&[1])]]);
    let reader = open(only).unwrap();
    assert!(matches!(reader.get(0).unwrap().values[..], [Value::Image(_)]));
    assert!(reader.remarks().is_empty());
    let third = "required group image { required int64 width; required binary bytes; required binary path (UTF8); }";
    let groups = [vec![ints(&[8]), images(&[1]), texts(&["a.png"])]];
    let reader = open(table(third, "", &groups)).unwrap();
    let sample = reader.get(0).unwrap();
    assert!(matches!(sample.values[..], [Value::Image(_)]));
    assert_eq!(sample.key, "a.png");
    let remarks = reader.remarks();
    assert!(remarks[0].to_string().contains("the members `width` of `image` are left out"));
    // Bytes that are not an image stay a document.
    let groups = [vec![ints(&[8]), texts(&["no image"]), texts(&["a.bin"])]];
    let reader = open(table(third, "", &groups)).unwrap();
    assert_eq!(reader.schema().fields[0].kind, Kind::Json);
}

#[test]
fn parquet_lists_of_images_of_which_only_paths_are_stored_are_errors() {
    let lists = "required group images (LIST) { repeated group list { required group element {
        optional binary bytes; optional binary path (UTF8); } } }";
    let paths = (Values::Bytes(vec![b"a.png".to_vec(), b"b.png".to_vec()]), vec![2, 2], vec![0, 0]);
    let bytes = (Values::Bytes(vec![vec![7]]), vec![1, 2], vec![0, 0]);
    let reader = open(table(lists, "", &[vec![bytes, paths]])).unwrap();
    let error = reader.get(0).unwrap_err().to_string();
    assert!(error.contains("field `images`: only the path `a.png` is stored"), "{error}");
    assert!(reader.get(1).is_ok() && reader.remarks().is_empty());
    let both = format!("{lists} required binary image;");
    let groups = [vec![
        (Values::Bytes(vec![]), vec![0], vec![0]),
        (Values::Bytes(vec![]), vec![0], vec![0]),
        images(&[1]),
    ]];
    let remarks = open(table(&both, "", &groups)).unwrap().remarks();
    assert!(remarks[0].to_string().contains("the files in `images` are stored as base64 in JSON"));
}

/// Files of one dataset: names, columns, features and row groups.
pub(super) fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    root
}

pub(super) fn refused(root: &Path) -> String {
    assert!(Parquet::default().detect(root));
    ParquetReader::open(root).unwrap_err().to_string()
}

const CLASSES: &str = r#""image":{"_type":"Image"},"label":{"_type":"ClassLabel","names":["#;

#[test]
fn parquet_files_with_their_columns_in_another_order_are_one_dataset() {
    let columns = format!("{IMAGE} {LABEL}");
    let turned = format!("{LABEL} {IMAGE}");
    let other = vec![ints(&[1]), images(&[2]), texts(&["2.png"])];
    let root = folder(&[
        ("train-00000-of-00002.parquet", table(&columns, "", &[pair(1, 0)])),
        ("train-00001-of-00002.parquet", table(&turned, "", &[other])),
    ]);
    let reader = ParquetReader::open(root.path()).unwrap();
    for (row, label) in [(0, 0), (1, 1)] {
        let sample = reader.get(row).unwrap();
        assert_eq!(sample.key, format!("{}.png", row + 1));
        assert!(matches!(sample.values[0], Value::Image(_)));
        assert_eq!(
            (&sample.values[1], reader.label(row).unwrap()),
            (&Value::Int(label), Some(label))
        );
    }
}

#[test]
fn parquet_files_that_differ_are_refused_with_what_differs() {
    let columns = format!("{IMAGE} {LABEL}");
    let one = table(&columns, "", &[pair(1, 0)]);
    let named = |names: &str| table(&columns, &format!("{CLASSES}{names}]}}"), &[pair(1, 0)]);
    let more = format!("{columns} required int64 more;");
    let more = table(&more, "", &[[pair(1, 0), vec![ints(&[3])]].concat()]);
    let text = format!("{IMAGE} required binary label (UTF8);");
    let text = table(&text, "", &[[pair(1, 0)[..2].to_vec(), vec![texts(&["x"])]].concat()]);
    let (cats, dogs) = (named("\"cat\",\"dog\""), named("\"dog\",\"cat\""));
    for (first, other, what) in [
        (&cats, &dogs, "its column `label` has `dog` as class 0, and that of "),
        (&cats, &dogs, "a.parquet has `cat` as class 0"),
        (&cats, &named("\"cat\""), "has 1 classes, and that of"),
        (&cats, &one, "has numbers without names, and that of"),
        (&one, &more, "b.parquet: it has a column `more`, which "),
        (&more, &one, "b.parquet: it has no column `more`, which "),
        (&one, &text, "its column `label` has values of kind text, and that of "),
    ] {
        let root = folder(&[("a.parquet", first.clone()), ("b.parquet", other.clone())]);
        let said = refused(root.path());
        assert!(said.contains(what), "{said}");
    }
    // Classes of objects.
    let columns = format!("{IMAGE} {OBJECTS}");
    let objects = |names: &str| {
        let bbox = (Values::Floats(vec![0.0; 4]), vec![3; 4], vec![0, 2, 2, 2]);
        let kind = (Values::Int32s(vec![0]), vec![2], vec![0]);
        let features = format!(
            "\"digits\":{{\"_type\":\"List\",\"feature\":{{\"kind\":{{\"_type\":\"ClassLabel\",\
             \"names\":[{names}]}}}}}}"
        );
        table(&columns, &features, &[[pair(1, 0)[..2].to_vec(), vec![bbox, kind]].concat()])
    };
    let (cats, dogs) = (objects("\"cat\",\"dog\""), objects("\"dog\",\"cat\""));
    let root = folder(&[("a.parquet", cats), ("b.parquet", dogs)]);
    let said = refused(root.path());
    assert!(said.contains("its column `digits` has `dog` as class 0 of `kind`"), "{said}");
    // Classes in lists.
    let columns = format!(
        "{IMAGE} required group tags (LIST) {{ repeated group list {{ required int32 tag; }} }}"
    );
    let tags = |names: &str| {
        let tags = (Values::Int32s(vec![0, 1]), vec![1, 1], vec![0, 1]);
        let features = format!(
            "\"tags\":{{\"_type\":\"List\",\"feature\":{{\"_type\":\"ClassLabel\",\"names\":[{names}]}}}}"
        );
        table(&columns, &features, &[[pair(1, 0)[..2].to_vec(), vec![tags]].concat()])
    };
    let (cats, dogs) = (tags("\"cat\",\"dog\""), tags("\"dog\",\"cat\""));
    let inner = open(cats.clone()).unwrap().facts().field(1).inner.clone();
    assert_eq!((inner[0].key.as_str(), &*inner[0].names), ("", &["cat".into(), "dog".into()][..]));
    let root = folder(&[("a.parquet", cats), ("b.parquet", dogs)]);
    let said = refused(root.path());
    assert!(said.contains("its column `tags` has `dog` as class 0, and that of"), "{said}");
    // Not every file needs to declare a column as images.
    let root = folder(&[
        ("a.parquet", table(IMAGE, "", &[pair(1, 0)[..2].to_vec()])),
        ("b.parquet", table(IMAGE, "\"image\":{\"_type\":\"Image\"}", &[pair(2, 0)[..2].to_vec()])),
    ]);
    assert_eq!(ParquetReader::open(root.path()).unwrap().len(), 2);
}

#[test]
fn parquet_columns_of_nothing_but_nulls_are_those_of_other_files() {
    let file = |kind: &str, value: Column| {
        let columns = format!("{IMAGE} optional {kind};");
        table(&columns, "", &[[pair(1, 0)[..2].to_vec(), vec![value]].concat()])
    };
    let nulls = (Values::Int32s(vec![]), vec![0], vec![]);
    let scores = (Values::Floats(vec![0.5]), vec![1], vec![]);
    let (nulls, scores) = (file("int32 score (UNKNOWN)", nulls), file("float score", scores));
    for (first, last) in [(&nulls, &scores), (&scores, &nulls)] {
        let root = folder(&[("a.parquet", first.clone()), ("b.parquet", last.clone())]);
        let reader = ParquetReader::open(root.path()).unwrap();
        assert_eq!(reader.schema().fields[1].kind, Kind::Float);
        let of = |row| reader.get(row).unwrap().values[1].clone();
        let is_null = |value: &Value<Encoded>| matches!(value, Value::Float(it) if it.is_nan());
        assert_eq!([0, 1].map(of).iter().filter(|value| is_null(value)).count(), 1);
    }
}

#[test]
fn parquet_partitions_become_columns() {
    let file = |number: u64| table(IMAGE, "", &[pair(number, 0)[..2].to_vec()]);
    let root = folder(&[
        ("label=dog/year=2021/part-0.parquet", file(1)),
        ("label=cat/year=2020/part-0.parquet", file(2)),
    ]);
    let reader = ParquetReader::open(root.path()).unwrap();
    let fields: Vec<_> = reader.schema().fields.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(fields, ["image", "label", "year"]);
    assert_eq!(&reader.schema().fields[1].class_names.clone().unwrap()[..], ["cat", "dog"]);
    let values = |row| reader.get(row).unwrap().values[1..].to_vec();
    assert_eq!(values(0), [Value::Int(0), Value::Int(2020)]);
    assert_eq!(values(1), [Value::Int(1), Value::Int(2021)]);
    assert_eq!((reader.label(1).unwrap(), reader.splits()), (Some(1), &[][..]));
    let root = folder(&[("split=val/source=web/x.parquet", file(1))]);
    let reader = ParquetReader::open(root.path()).unwrap();
    assert_eq!(reader.splits(), [("val".to_owned(), 0..1)]);
    assert_eq!(reader.get(0).unwrap().values[1], Value::Text("web".into()));
    // Values in the rows take precedence.
    let own = table(&format!("{IMAGE} {LABEL}"), "", &[pair(1, 7)]);
    let root = folder(&[("label=7/x.parquet", own)]);
    assert_eq!(ParquetReader::open(root.path()).unwrap().schema().fields.len(), 2);
    let root = folder(&[("label=a/x.parquet", file(1)), ("kind=a/x.parquet", file(1))]);
    assert!(refused(root.path()).contains("it is in `label=...`, and "));
    let root = folder(&[("label=__HIVE_DEFAULT_PARTITION__/x.parquet", file(1))]);
    assert!(refused(root.path()).contains("its folder says that `label` is null"));
}

#[test]
fn parquet_configurations_are_named_and_one_alone_is_taken() {
    let file = || table(IMAGE, "", &[pair(1, 0)[..2].to_vec()]);
    let root = folder(&[
        ("small/train-00000-of-00001.parquet", file()),
        ("large/train/0000.parquet", file()),
        (".git/x.parquet", file()),
    ]);
    let said = refused(root.path());
    assert!(said.contains("its folders `large`, `small` are separate datasets"), "{said}");
    assert!(said.contains(&format!("as {}", root.path().join("large").display())), "{said}");
    fs::remove_dir_all(root.path().join("large")).unwrap();
    assert_eq!(ParquetReader::open(root.path()).unwrap().len(), 1);
    let root = folder(&[
        ("default/train/0000.parquet", file()),
        ("default/partial-validation/0000.parquet", file()),
    ]);
    let splits = ParquetReader::open(root.path()).unwrap().splits().to_vec();
    let names: Vec<_> = splits.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["validation", "train"]);
    let root = folder(&[("part-0.parquet", file()), ("_delta_log/0.json", vec![])]);
    let remarks = ParquetReader::open(root.path()).unwrap().remarks();
    assert!(remarks[0].to_string().contains("a table of Delta Lake, whose log is not read"));
    // Classes of images; one of them contains a table.
    let root = folder(&[("cat/1.png", vec![]), ("cat/x.parquet", file()), ("dog/2.png", vec![])]);
    assert!(!Parquet::default().detect(root.path()));
}

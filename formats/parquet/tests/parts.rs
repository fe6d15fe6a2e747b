//! Other tools' tables with dropped columns, excluded files, and columns that differ between files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use super::tables::{
    Column, IMAGE, LABEL, Values, flat, folder, images, ints, open, pair, refused, said, table,
    texts, with_footer,
};
use crate::{open_with, parquet::ParquetReader};
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use fdconvert_core::{Encoded, Kind, OpenOptions, Reader, Result, Source as _, Value};
use std::path::Path;

fn without(path: &Path, field: &str) -> Result<Box<dyn Reader>> {
    open_with(path, &OpenOptions::default().drop_fields(vec![field.to_owned()]))
}

/// Changes the description of the file's last column.
fn with_last(bytes: &[u8], change: impl Fn(ColumnChunkMetaData) -> ColumnChunkMetaData) -> Vec<u8> {
    with_footer(bytes, |group: &RowGroupMetaData| {
        let mut chunks = group.columns().to_vec();
        let last = chunks.pop().unwrap();
        chunks.push(change(last));
        group.clone().into_builder().set_column_metadata(chunks).build().unwrap()
    })
}

fn with_caption(number: u64, kind: &str, caption: Column) -> Vec<u8> {
    let columns = format!("{IMAGE} {kind} caption;");
    let columns = match kind.split_once('+') {
        Some((kind, annotation)) => format!("{IMAGE} {kind} caption ({annotation});"),
        None => columns,
    };
    table(&columns, "", &[[pair(number, 0)[..2].to_vec(), vec![caption]].concat()])
}

#[test]
fn parquet_columns_that_cannot_be_read_can_be_left_out() {
    let text = || with_caption(1, "required binary+UTF8", texts(&["a"]));
    let int = with_caption(2, "required int64", ints(&[1]));
    let without_caption = table(IMAGE, "", &[pair(2, 0)[..2].to_vec()]);
    let brotli = with_last(&text(), |chunk| {
        let codec = ::parquet::basic::Compression::BROTLI(Default::default());
        chunk.into_builder().set_compression(codec).build().unwrap()
    });
    let decimals =
        with_caption(1, "required binary+DECIMAL(99,80)", flat(Values::Bytes(vec![vec![1]])));
    for (files, what) in [
        (vec![brotli], "column `caption` is compressed with brotli"),
        (vec![decimals], "column `caption` has 80 decimals, and at most 76 are read"),
        (vec![text(), int], "its column `caption` has values of kind int"),
        (vec![text(), without_caption.clone()], "it has no column `caption`"),
        (vec![without_caption, text()], "it has a column `caption`"),
    ] {
        let names = ["a.parquet", "b.parquet"];
        let root = folder(&names.into_iter().zip(files).collect::<Vec<_>>());
        let error = ParquetReader::open(root.path()).unwrap_err();
        let error = error.chain();
        assert!(error.contains(what) && error.contains("drop_fields=caption"), "{error}");
        let reader = without(root.path(), "caption").unwrap();
        assert_eq!(reader.facts().dropped_fields, ["caption"]);
        assert_eq!(reader.schema().fields.len(), 1);
        assert!((0..reader.len()).all(|row| reader.verify_sample(row).is_ok()));
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    }
    let encrypted = Path::new(env!("CARGO_MANIFEST_DIR")).join("parquet/golden/encrypted.parquet");
    let error = ParquetReader::open(&encrypted).unwrap_err().to_string();
    assert!(error.contains("column `label` is encrypted"), "{error}");
    let reader = without(&encrypted, "label").unwrap();
    assert!((0..3).all(|row| reader.verify_sample(row).is_ok()));
    assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    let null = (Values::Bytes(vec![b"a".to_vec()]), vec![1, 0], vec![]);
    let columns = format!("{LABEL} optional binary caption (UTF8);");
    let root = folder(&[("a.parquet", table(&columns, "", &[vec![ints(&[1, 2]), null]]))]);
    assert!(ParquetReader::open(root.path()).unwrap().get(1).is_err());
    assert_eq!(without(root.path(), "caption").unwrap().get(1).unwrap().values, [Value::Int(2)]);
}

#[test]
fn parquet_files_that_are_not_taken_are_told() {
    let file = |number| table(IMAGE, "", &[pair(number, 0)[..2].to_vec()]);
    let told = |names: &[&str]| {
        let files: Vec<_> =
            names.iter().zip(1..).map(|(name, number)| (*name, file(number))).collect();
        let root = folder(&files);
        let reader = ParquetReader::open(root.path()).unwrap();
        let remarks: Vec<_> = reader.remarks().iter().map(ToString::to_string).collect();
        (reader.len(), remarks.join("\n"))
    };
    for (names, taken, what) in [
        (
            &["train/0.parquet", "test/0.parquet", "holdout/0.parquet"][..],
            2,
            "1 more Parquet file in `holdout/` is not read",
        ),
        (&["sample.parquet", "data/train-0.parquet"], 1, "in `data/` is not read"),
        (&["0.parquet", "label=cat/0.parquet"], 1, "in `label=cat/` is not read"),
        (
            &["train/0.parquet", "en/train/0.parquet", "fr/train/0.parquet"],
            1,
            "2 more Parquet files in `en/`, `fr/` are not read",
        ),
        (&["a.parquet", "part-0"], 1, "in `part-0` is not read"),
        (&["a.parquet", "metadata.parquet"], 1, "in `metadata.parquet` is not read"),
        // All files are read.
        (&["label=cat/0.parquet", "label=dog/batch1/0.parquet"], 2, ""),
        (&["a.parquet", "b.parq", "c.pq", "D.PARQUET"], 4, ""),
        (&["a.parquet", "_temporary/0.parquet", ".x.parquet"], 1, ""),
    ] {
        let (n_samples, remarks) = told(names);
        assert_eq!(n_samples, taken, "{names:?}");
        assert!(remarks.contains(what) && remarks.is_empty() == what.is_empty(), "{remarks}");
    }
}

#[test]
fn parquet_times_of_several_units_are_no_one_column() {
    let file =
        |kind: &str, values: Values| table(&format!("required {kind};"), "", &[vec![flat(values)]]);
    let millis = file("int64 t (TIMESTAMP(MILLIS,true))", Values::Ints(vec![1_577_836_800_000]));
    let micros = file("int64 t (TIMESTAMP_MICROS)", Values::Ints(vec![1_577_836_800_000_000]));
    let nanos = file("int96 t", Values::Times(vec![[0, 0, 2_440_589]]));
    let days = file("int32 t (DATE)", Values::Int32s(vec![18_262]));
    let plain = file("int64 t", Values::Ints(vec![1]));
    for (first, other, what) in [
        (&millis, &micros, "its column `t` has times in microseconds, and that of "),
        (&micros, &nanos, "its column `t` has times in nanoseconds, and that of "),
        (&micros, &days, "its column `t` has dates in days, and that of "),
        (&days, &plain, "its column `t` has plain numbers, and that of "),
    ] {
        let root = folder(&[("a.parquet", first.clone()), ("b.parquet", other.clone())]);
        let error = refused(root.path());
        assert!(error.contains(what), "{error}");
    }
    let root = folder(&[("a.parquet", micros.clone()), ("b.parquet", micros)]);
    assert_eq!(ParquetReader::open(root.path()).unwrap().len(), 2);
}

#[test]
fn parquet_lists_that_are_only_claimed_are_refused() {
    const MANY: i64 = 10_000;
    let list = "optional group m (LIST) { repeated group list { required int64 element; } }";
    let empty = (Values::Ints(vec![]), vec![1], vec![0]);
    let claimed = with_footer(&table(list, "", &[vec![empty]]), |group| {
        let chunks = group
            .columns()
            .iter()
            .map(|chunk| chunk.clone().into_builder().set_num_values(MANY).build().unwrap());
        let builder = group.clone().into_builder().set_num_rows(MANY);
        builder.set_column_metadata(chunks.collect()).build().unwrap()
    });
    let error = said(claimed);
    assert!(
        error.contains("column `m.list.element`: its pages hold 1 values, not 10000"),
        "{error}"
    );
}

#[test]
fn parquet_summaries_of_folders_are_no_tables() {
    let summary = with_last(&table(LABEL, "", &[vec![ints(&[1])]]), |chunk| {
        chunk.into_builder().set_file_path("a.parquet".to_owned()).build().unwrap()
    });
    let error = said(summary);
    assert!(
        error.contains("the summary of other Parquet files") && error.contains("give the folder"),
        "{error}"
    );
}

#[test]
fn parquet_columns_that_begin_with_a_broken_image_are_images() {
    let image = |number| images(&[number]).0;
    let column = |first: &[Vec<u8>], n_images: u64| {
        let Values::Bytes(more) = images(&(1..=n_images).collect::<Vec<_>>()).0 else {
            panic!("{:?}", image(1));
        };
        let defs =
            first.iter().map(|it| i16::from(it != b"null")).chain(more.iter().map(|_| 1)).collect();
        let values = first.iter().filter(|it| *it != b"null").cloned().chain(more).collect();
        let bytes = table("optional binary x;", "", &[vec![(Values::Bytes(values), defs, vec![])]]);
        let reader = open(bytes).unwrap();
        let n_read = (0..reader.len()).filter(|row| reader.get(*row).is_ok()).count();
        (reader.schema().fields[0].kind.clone(), n_read)
    };
    assert_eq!(column(&[b"broken".to_vec()], 5), (Kind::Image, 5));
    assert_eq!(column(&[vec![]], 5), (Kind::Image, 5));
    assert_eq!(column(&vec![b"null".to_vec(); 17], 3), (Kind::Image, 3));
    assert_eq!(column(&[b"no image".to_vec(), b"nor this".to_vec()], 5).0, Kind::Bytes);
}

#[test]
fn parquet_folders_beside_those_of_splits_are_splits() {
    let file = |number| table(IMAGE, "", &[pair(number, 0)[..2].to_vec()]);
    let root = folder(&[("split=holdout/0.parquet", file(1)), ("split=train/0.parquet", file(2))]);
    let reader = ParquetReader::open(root.path()).unwrap();
    assert_eq!(reader.splits(), [("holdout".to_owned(), 0..1), ("train".to_owned(), 1..2)]);
    assert_eq!(reader.schema().fields.len(), 1);
}

#[test]
fn parquet_numbers_of_folders_that_begin_with_zero_are_texts() {
    let file = |number| table(IMAGE, "", &[pair(number, 0)[..2].to_vec()]);
    let root =
        folder(&[("label=01/zip=007/0.parquet", file(1)), ("label=1/zip=42/0.parquet", file(2))]);
    let reader = ParquetReader::open(root.path()).unwrap();
    let values = |row| reader.get(row).unwrap().values[1..].to_vec();
    assert_eq!(values(0), [Value::Int(0), Value::Text("007".into())]);
    assert_eq!(values(1), [Value::Int(1), Value::Text("42".into())]);
}

#[test]
fn parquet_maps_and_decimals_are_of_the_type_of_their_column() {
    let document = |bytes: Vec<u8>| {
        let reader = open(bytes).unwrap();
        let text = |row| match reader.get(row).unwrap().values.remove(0) {
            Value::<Encoded>::Json(json) => String::from_utf8(json.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        (0..reader.len()).map(text).collect::<Vec<_>>()
    };
    let map = |key: &str| {
        format!(
            "optional group m (MAP) {{ repeated group key_value {{ {key} key; optional int32 value; }} }}"
        )
    };
    let values = || (Values::Int32s(vec![1]), vec![3, 1], vec![0, 0]);
    let of_ints = (Values::Int32s(vec![1]), vec![2, 1], vec![0, 0]);
    let of_ints = table(&map("required int32"), "", &[vec![of_ints, values()]]);
    assert_eq!(document(of_ints), ["[[1,1]]", "[]"]);
    let of_texts = (Values::Bytes(vec![b"a".to_vec()]), vec![2, 1], vec![0, 0]);
    let columns = map("required binary").replace("key;", "key (UTF8);");
    assert_eq!(document(table(&columns, "", &[vec![of_texts, values()]])), [r#"{"a":1}"#, "{}"]);
    let wide = |first: u8, last: u8| [vec![first; 31], vec![last]].concat();
    let wide = vec![wide(0, 150), wide(0xff, 0xff), [vec![0x80], vec![0; 31]].concat()];
    let bytes = table("required binary d (DECIMAL(76,2));", "", &[vec![flat(Values::Bytes(wide))]]);
    // The last is -2^255.
    let lowest = "-578960446186580977117854925043439539266349923328202820197287920039565648199.68";
    assert_eq!(document(bytes), [r#""1.50""#, r#""-0.01""#, &format!("\"{lowest}\"")]);
    let wider = table(
        "required binary d (DECIMAL(76,2));",
        "",
        &[vec![flat(Values::Bytes(vec![vec![1; 33]]))]],
    );
    let error = open(wider).unwrap().get(0).unwrap_err().to_string();
    assert!(error.contains("column `d`: a decimal of more than 32 bytes"), "{error}");
}

//! Unsupported columns, images from Pillow's pixels, and folders that are no dataset.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use crate::{mds::Mds, open, open_with};
use fdconvert_core::*;
use fdconvert_testkit::fixtures;
use serde_json::json;
use std::{fs, path::Path};

/// Writes a dataset of one shard, like Streaming.
fn write(folder: &Path, columns: &[(&str, &str)], samples: &[&[&[u8]]]) {
    let names: Vec<_> = columns.iter().map(|(name, _)| name).collect();
    let encodings: Vec<_> = columns.iter().map(|(_, encoding)| encoding).collect();
    let size = |encoding: &str| match encoding {
        "int" => json!(8),
        "int32" => json!(4),
        _ => json!(null),
    };
    let sizes: Vec<_> = columns.iter().map(|(_, encoding)| size(encoding)).collect();
    let mut config = json!({
        "column_encodings": encodings, "column_names": names, "column_sizes": sizes,
        "compression": null, "format": "mds", "hashes": [], "size_limit": 1 << 26, "version": 2,
    });
    let text = config.to_string().into_bytes();
    let encode = |sample: &&[&[u8]]| {
        let variable = sample.iter().zip(&sizes).filter(|(_, size)| size.is_null());
        let lens = variable.flat_map(|(value, _)| (value.len() as u32).to_le_bytes());
        lens.chain(sample.iter().flat_map(|value| value.iter().copied())).collect::<Vec<u8>>()
    };
    let samples: Vec<Vec<u8>> = samples.iter().map(encode).collect();
    let mut words = vec![samples.len() as u32];
    let mut end = 4 * (samples.len() as u32 + 2) + text.len() as u32;
    words.push(end);
    for sample in &samples {
        end += sample.len() as u32;
        words.push(end);
    }
    let mut shard: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    shard.extend(text);
    shard.extend(samples.concat());
    let about = config.as_object_mut().unwrap();
    let file = json!({"basename": "shard.00000.mds", "bytes": shard.len(), "hashes": {}});
    about.insert("raw_data".into(), file);
    about.insert("samples".into(), samples.len().into());
    about.insert("zip_data".into(), json!(null));
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("shard.00000.mds"), shard).unwrap();
    let index = json!({"shards": [config], "version": 2});
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
}

fn pil(width: u32, height: u32, mode: &str, pixels: &[u8]) -> Vec<u8> {
    let words = [width, height, mode.len() as u32].map(u32::to_le_bytes).concat();
    [&words, mode.as_bytes(), pixels].concat()
}

fn said(result: Result<Box<dyn Reader>>) -> String {
    match result {
        Ok(reader) => panic!("opened with {:?}", reader.schema()),
        Err(error) => error.chain(),
    }
}

#[test]
fn a_column_that_is_not_read_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let jpg = fixtures::JPEG_420;
    for encoding in ["pkl", "ndarray:bool", "jpeg_array", "list[jpeg]"] {
        let columns = [("emb", encoding), ("image", "jpeg")];
        write(folder.path(), &columns, &[&[b"?", jpg], &[b"???", jpg]]);
        let error = said(open(folder.path()));
        assert!(error.contains("column `emb`") && error.contains(encoding), "{error}");
        assert!(error.contains("to leave it out: drop_fields=emb"), "{error}");
        let dropped = ["emb".to_owned()];
        let reader =
            open_with(folder.path(), &OpenOptions::default().drop_fields(dropped.to_vec()))
                .unwrap();
        assert_eq!(reader.facts().dropped_fields, dropped);
        assert_eq!(reader.schema().fields.len(), 1);
        assert!((0..2).all(|index| reader.verify_sample(index).is_ok()));
        assert!(
            matches!(&reader.get(1).unwrap().values[..], [Value::Image(it)] if it.bytes == jpg)
        );
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    }
}

#[test]
fn arrays_that_tell_their_shape_have_that_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let elements = [1.5_f32, -2.0].map(f32::to_le_bytes).concat();
    let value = |head: &[u8]| [head, &elements].concat();
    let spec = ArraySpec { dtype: DType::F32, shape: vec![2, 1], torch: false };
    // Two dimensions of one byte each, and of eight bytes each; the element type comes first if it
    // is not fixed.
    let wide = [&[2 << 2 | 3][..], &2_u64.to_le_bytes(), &1_u64.to_le_bytes()].concat();
    for (encoding, code) in [("ndarray:float32", &[][..]), ("ndarray", &[34])] {
        let of = |head: &[u8]| value(&[code, head].concat());
        let all =
            [of(&[2 << 2, 2, 1]), of(&wide), of(&[2 << 2, 1, 2]), of(&[2 << 2, 9, 1]), vec![]];
        let samples: Vec<[&[u8]; 1]> = all.iter().map(|it| [&it[..]]).collect();
        let samples: Vec<&[&[u8]]> = samples.iter().map(|it| &it[..]).collect();
        write(folder.path(), &[("emb", encoding)], &samples);
        let reader = open(folder.path()).unwrap();
        assert_eq!(reader.schema().fields[0].kind, Kind::Array(spec.clone()));
        for index in 0..2 {
            let values = reader.get(index).unwrap().values;
            assert!(matches!(&values[..], [Value::Array(it)] if it[..] == elements));
            reader.verify_sample(index).unwrap();
        }
        let error = reader.get(2).unwrap_err().to_string();
        let what = "an array of float32 [1, 2], and the first of the dataset is of float32 [2, 1]";
        assert!(error.contains(what), "{error}");
        let error = reader.get(3).unwrap_err().to_string();
        assert!(error.contains("8 bytes do not fill the array's shape"), "{error}");
        assert!(reader.get(4).is_err() && reader.verify_layout().is_empty());
    }
    write(folder.path(), &[("emb", "ndarray"), ("n", "int")], &[&[b"", &[0; 8]]]);
    let error = said(open(folder.path()));
    assert!(error.contains("to leave it out: drop_fields=emb"), "{error}");
}

/// Merges the shards of folders into one index, like `streaming.base.util.merge_index`.
fn merge(root: &Path, prefix: &str, folders: &[&str]) {
    let mut shards = Vec::new();
    for folder in folders {
        let text = fs::read(root.join(folder).join("index.json")).unwrap();
        let mut index: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let shard = index["shards"][0].as_object_mut().unwrap();
        let slash = if prefix.contains('\\') { '\\' } else { '/' };
        shard["raw_data"]["basename"] = format!("{prefix}{folder}{slash}shard.00000.mds").into();
        shards.push(json!(shard));
    }
    let index = json!({"shards": shards, "version": 2});
    fs::write(root.join("index.json"), index.to_string()).unwrap();
}

#[test]
fn shards_of_several_writers_are_one_dataset() {
    let root = tempfile::tempdir().unwrap();
    let (jpg, png) = (fixtures::JPEG_420, fixtures::png(8, 6, 1).bytes);
    let a = root.path().join("a");
    let b = root.path().join("b");
    write(&a, &[("image", "jpeg"), ("y", "int")], &[&[jpg, &(-1_i64).to_le_bytes()]]);
    let turned = [("y", "int32"), ("image", "png")];
    write(&b, &turned, &[&[&(-2_i32).to_le_bytes(), &png]]);
    // The second as on Windows.
    for prefix in ["./", r".\"] {
        merge(root.path(), prefix, &["a", "b"]);
        let reader = open(root.path()).unwrap();
        for (index, bytes, y) in [(0, jpg, -1), (1, &png[..], -2)] {
            reader.verify_sample(index).unwrap();
            let values = reader.get(index).unwrap().values;
            assert!(matches!(&values[..], [Value::Image(image), Value::Int(it)]
                if image.bytes[..] == *bytes && *it == y));
        }
        assert_eq!(reader.codec_hint(1).unwrap(), Some(Codec::Png));
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    }

    let more = [("image", "jpeg"), ("y", "int"), ("z", "str")];
    let sample: &[&[u8]] = &[jpg, &(-2_i64).to_le_bytes(), b"?"];
    for (others, first, field, what) in [
        (&more[..], "a", "z", "the shard `b/shard.00000.mds` has a column `z`, which `a/shard"),
        (&more, "b", "z", "the shard `a/shard.00000.mds` has no column `z`, which `b/shard"),
        (&[("image", "jpeg"), ("y", "str")], "a", "y", "has the column `y` as str, and `a/shard"),
    ] {
        write(&b, others, &[sample.get(..others.len()).unwrap()]);
        merge(root.path(), "", if first == "a" { &["a", "b"] } else { &["b", "a"] });
        let error = said(open(root.path()));
        assert!(error.contains(what), "{error}");
        assert!(error.contains(&format!("to leave it out: drop_fields={field}")), "{error}");
        let dropped = OpenOptions::default().drop_fields(vec![field.to_owned()]);
        let reader = open_with(root.path(), &dropped).unwrap();
        assert_eq!(reader.facts().dropped_fields, [field]);
        assert!((0..2).all(|index| reader.verify_sample(index).is_ok()));
    }
}

#[test]
fn pixels_of_pillow_are_images() {
    let folder = tempfile::tempdir().unwrap();
    let rgb = pil(2, 1, "RGB", &[1, 2, 3, 4, 5, 6]);
    let gray = pil(2, 1, "L", &[7, 8]);
    let others = [pil(2, 1, "P", &[0, 1]), pil(2, 1, "RGB", &[0; 5]), vec![2, 0, 0]];
    let all: Vec<[&[u8]; 1]> =
        [&rgb, &gray].into_iter().chain(&others).map(|it| [&it[..]]).collect();
    let samples: Vec<&[&[u8]]> = all.iter().map(|sample| &sample[..]).collect();
    write(folder.path(), &[("image", "pil")], &samples);
    let reader = open(folder.path()).unwrap();
    assert_eq!(reader.schema().first_image(), Some(0));
    let get = |index| match reader.get(index).unwrap().values.remove(0) {
        Value::Image(image) => (image.codec, image.width, image.height, image.bytes.to_vec()),
        other => panic!("{other:?}"),
    };
    assert_eq!(get(0), (Codec::Raw, 2, 1, vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(get(1), (Codec::Raw, 2, 1, vec![7, 8]));
    assert!((0..2).all(|index| reader.verify_sample(index).is_ok()));
    for (index, what) in [(2, "mode `P`"), (3, "5 bytes for 2x1 pixels of RGB"), (4, "cut short")] {
        let error = reader.get(index).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn one_broken_image_does_not_make_a_column_one_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let jpg = fixtures::JPEG_420;
    write(folder.path(), &[("x", "bytes")], &[&[b"?"], &[jpg], &[jpg], &[jpg], &[jpg]]);
    let reader = open(folder.path()).unwrap();
    assert_eq!(reader.schema().fields[0].kind, Kind::Image);
    assert!(reader.get(0).is_err() && reader.get(1).is_ok());
    write(folder.path(), &[("x", "bytes")], &[&[b"?"], &[jpg], &[jpg], &[b"?"]]);
    assert_eq!(open(folder.path()).unwrap().schema().fields[0].kind, Kind::Bytes);
}

#[test]
fn what_is_no_whole_dataset_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let jpg = fixtures::JPEG_420;
    write(folder.path(), &[("image", "jpeg")], &[&[jpg]]);
    let shard = folder.path().join("shard.00000.mds");
    let error = said(open(&shard));
    assert!(error.contains("is one shard; give its folder"), "{error}");
    for number in 0..2 {
        fs::write(folder.path().join(format!("{number}.jpg")), jpg).unwrap();
    }
    assert!(!Mds::default().detect(folder.path()), "there are more images than shards");
    assert_eq!(open(folder.path()).unwrap().len(), 2);
    (0..2).for_each(|it| fs::remove_file(folder.path().join(format!("{it}.jpg"))).unwrap());
    fs::remove_file(folder.path().join("index.json")).unwrap();
    let error = said(open(folder.path()));
    assert!(error.contains("by their index.json, which is missing"), "{error}");
}

//! Columns that are not read, images that Pillow's pixels are, and folders that are no dataset.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use crate::{OpenOptions, mds::Mds, open, open_with};
use fdconvert_core::*;
use fdconvert_testkit::fixtures;
use serde_json::json;
use std::{fs, path::Path};

/// Writes a dataset of one shard with columns of a variable size, as Streaming does.
fn write(folder: &Path, columns: &[(&str, &str)], samples: &[&[&[u8]]]) {
    let names: Vec<_> = columns.iter().map(|(name, _)| name).collect();
    let encodings: Vec<_> = columns.iter().map(|(_, encoding)| encoding).collect();
    let sizes = vec![serde_json::Value::Null; columns.len()];
    let mut config = json!({
        "column_encodings": encodings, "column_names": names, "column_sizes": sizes,
        "compression": null, "format": "mds", "hashes": [], "size_limit": 1 << 26, "version": 2,
    });
    let text = config.to_string().into_bytes();
    let encode = |sample: &&[&[u8]]| {
        let sizes = sample.iter().flat_map(|value| (value.len() as u32).to_le_bytes());
        sizes.chain(sample.iter().flat_map(|value| value.iter().copied())).collect::<Vec<u8>>()
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
        Err(error) => error.message().in_style(Style::Command),
    }
}

#[test]
fn a_column_that_is_not_read_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let jpg = fixtures::JPEG_420;
    for encoding in ["pkl", "ndarray", "ndarray:float32", "jpeg_array", "list[jpeg]"] {
        let columns = [("emb", encoding), ("image", "jpeg")];
        write(folder.path(), &columns, &[&[b"?", jpg], &[b"???", jpg]]);
        let error = said(open(folder.path()));
        assert!(error.contains("column `emb`") && error.contains(encoding), "{error}");
        assert!(error.contains("--drop-fields emb leaves it out"), "{error}");
        let dropped = ["emb".to_owned()];
        let reader =
            open_with(folder.path(), &OpenOptions::default().drop_fields(dropped.to_vec()))
                .unwrap();
        assert_eq!(reader.dropped_fields(), dropped);
        assert_eq!(reader.schema().fields.len(), 1);
        assert!((0..2).all(|index| reader.verify_sample(index).is_ok()));
        assert!(
            matches!(&reader.get(1).unwrap().values[..], [Value::Image(it)] if it.bytes == jpg)
        );
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
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
    assert!(error.contains("is one shard; give the folder that it lies in"), "{error}");
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

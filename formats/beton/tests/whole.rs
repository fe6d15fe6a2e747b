//! Image files stored whole in a bytes field: masks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use super::common::{beton, open, provenance, read_all};
use crate::beton::BetonReader;
use ::bytes::Bytes;
use fdconvert_core::*;
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

fn schema() -> Schema {
    let fields = ["image", "mask"].map(|name| FieldSpec::new(name, Kind::Image));
    Schema::new(fields.into()).unwrap()
}

fn samples() -> Vec<Sample<Encoded>> {
    let sample = |number: u32| {
        let (side, seed) = (number + 1, u64::from(number));
        let values = [fixtures::raw(side, 2, seed), fixtures::png(side, 2, seed)];
        Sample { key: format!("{number}.png"), values: values.map(Value::Image).into() }
    };
    (0..3).map(sample).collect()
}

fn pack(options: &[(&str, &str)], whole_images: Vec<usize>) -> Result<Bytes> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let (schema, provenance, shard) = (schema(), provenance(), Shard::whole(3));
    let common = Common { whole_images, ..Common::default() };
    let mut writer = beton(options).create(&Create {
        out: &out,
        schema: &schema,
        shard: &shard,
        common: &common,
        provenance: &provenance,
        fingerprint: [7; 16],
        stamp: [7; 16],
        overwrite: false,
        entry_points: false,
        is_open: false,
    })?;
    samples().iter().try_for_each(|sample| writer.write(sample))?;
    writer.finish()?;
    Ok(fs::read(&out).unwrap().into())
}

#[test]
fn masks_of_a_beton_are_what_they_were() {
    for options in [&[][..], &[("compact", "")]] {
        let file = pack(options, vec![1]).unwrap();
        // The type in the second descriptor: FFCV's bytes field.
        assert_eq!(file[24 + 1041], 3);
        let reader = open(&file).unwrap();
        assert_eq!(*reader.schema(), schema());
        assert_eq!(read_all(&reader), samples());
        assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
        for (index, sample) in (0..).zip(samples()) {
            reader.verify_sample(index).unwrap();
            assert_eq!(reader.read(index).unwrap().key, sample.key);
            let lens = sample.values.iter().map(|value| match value {
                Value::Image(image) => image.bytes.len() as u64,
                _ => 0,
            });
            assert_eq!(reader.bytes(index, Amount::Known).unwrap(), Some(lens.sum()));
        }
    }
}

#[test]
fn without_its_index_a_mask_is_its_bytes() {
    let file = pack(&[], vec![1]).unwrap();
    let table = usize::try_from(u64::from_le_bytes(file[16..24].try_into().unwrap())).unwrap();
    let mut broken = file.to_vec();
    broken[table - 1] ^= 1;
    let reader = BetonReader::from_bytes(broken.into(), Path::new("a.beton")).unwrap();
    assert_eq!(reader.schema().fields[1].kind, Kind::Bytes);
    let Value::Image(mask) = &samples()[0].values[1] else { panic!() };
    assert_eq!(reader.get(0).unwrap().values[1], Value::Bytes(mask.bytes.clone()));
    assert!(!reader.verify_layout().is_empty());
}

#[test]
fn a_mask_that_is_not_what_the_index_says_is_damage() {
    let file = pack(&[], vec![1]).unwrap();
    let Value::Image(mask) = &samples()[1].values[1] else { panic!() };
    let at = file.windows(mask.bytes.len()).position(|at| at == mask.bytes).unwrap();
    let mut broken = file.to_vec();
    broken[at + 20] ^= 1;
    let reader = open(&broken.into()).unwrap();
    assert!(reader.verify_sample(0).is_ok() && reader.verify_sample(1).is_err());
    assert!(reader.read(1).is_err());
}

#[test]
fn images_that_are_pixels_elsewhere_are_not_written_whole_unless_that_is_asked_for() {
    let error = pack(&[], Vec::new()).unwrap_err().to_string();
    assert!(error.contains("holds JPEG and raw images, not png"), "{error}");
    assert!(!beton(&[("compat", "ffcv")]).capabilities().whole_images);
}

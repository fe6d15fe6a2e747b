//! Reading returns what was written, in every schema and layout and on every thread.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{
    beton, compact, compat, create, create_as, image_and_text, image_and_text_sample, names_in,
    open, pack, paged, raw, read_all,
};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, Codec, Color, DType, Encoded, Error, FieldSpec, Format, ImageHeader, Kind, Look,
    OptionValues, Reader, Sample, Schema, Skipped, Source, Value,
};
use proptest::prelude::*;

fn kind_and_values() -> impl Strategy<Value = (Kind, Vec<Value<Encoded>>)> {
    let n = 12;
    let bytes = || prop::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from);
    let image = || {
        let raw = (1..40_u32, 1..40_u32, any::<u64>()).prop_map(|(w, h, seed)| raw(w, h, seed));
        let jpeg = (1..=65_535_u32, 1..=65_535_u32, bytes()).prop_map(|(width, height, bytes)| {
            let bytes = [&[0xff, 0xd8], &bytes[..]].concat().into();
            Value::Image(Encoded::new(Codec::Jpeg, width, height, bytes))
        });
        prop_oneof![raw, jpeg]
    };
    let array = (1..4_u64, 1..5_u64, any::<bool>()).prop_flat_map(move |(a, b, torch)| {
        let spec = ArraySpec { dtype: DType::I16, shape: vec![a, b], torch };
        let len = (a * b * 2) as usize;
        let value = prop::collection::vec(any::<u8>(), len).prop_map(|v| Value::Array(v.into()));
        (Just(Kind::Array(spec)), prop::collection::vec(value, n))
    });
    let json = prop::collection::vec(any::<i32>(), 0..5)
        .prop_map(|numbers| Value::Json(format!("{{\"n\": {numbers:?}}}").into()));
    prop_oneof![
        (Just(Kind::Int), prop::collection::vec(any::<i64>().prop_map(Value::Int), n)),
        (
            Just(Kind::Float),
            prop::collection::vec(prop::num::f64::NORMAL.prop_map(Value::Float), n)
        ),
        (Just(Kind::Bytes), prop::collection::vec(bytes().prop_map(Value::Bytes), n)),
        (Just(Kind::Text), prop::collection::vec(".{0,20}".prop_map(Value::Text), n)),
        (Just(Kind::Json), prop::collection::vec(json, n)),
        (Just(Kind::Image), prop::collection::vec(image(), n)),
        array,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_samples_come_back(
        fields in prop::collection::vec(kind_and_values(), 1..6),
        keys in prop::collection::vec(".{0,9}", 1..12),
        layout in 0..3_usize,
    ) {
        let format = [paged, compact, compat][layout]();
        let schema = (0..).zip(&fields);
        let schema = schema.map(|(i, (kind, _))| FieldSpec::new(format!("f{i}"), kind.clone()));
        let schema = Schema::new(schema.collect()).unwrap();
        let samples: Vec<_> = (0..).zip(&keys).map(|(i, key): (usize, _)| {
            let values = fields.iter().map(|(_, values)| values[i].clone()).collect();
            Sample { key: key.clone(), values }
        }).collect();
        let file = pack(&*format, &schema, &samples);
        prop_assert!(pack(&*format, &schema, &samples) == file);
        let reader = open(&file).unwrap();
        if layout == 2 {
            // FFCV's files store neither keys nor texts, and two values may share a pointer.
            for (i, (read, sample)) in read_all(&reader).iter().zip(&samples).enumerate() {
                prop_assert_eq!(&read.key, &format!("{i:08}"));
                for (read, value) in read.values.iter().zip(&sample.values) {
                    match (read, value) {
                        (Value::Json(json), Value::Text(text)) => {
                            prop_assert_eq!(&serde_json::from_slice::<String>(json).unwrap(), text);
                        }
                        _ => prop_assert_eq!(read, value),
                    }
                }
            }
        } else {
            prop_assert_eq!(reader.schema(), &schema);
            prop_assert_eq!(&read_all(&reader), &samples);
            prop_assert_eq!(reader.provenance(), Some(&super::common::provenance()));
            let problems = reader.verify_layout();
            prop_assert!(problems.is_empty(), "{:?}", problems);
        }
    }
}

#[test]
fn many_pages_with_samples_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let schema = image_and_text();
    for format in [paged(), compact()] {
        let mut writer = create_as(&*format, &out, &schema, 60, [0; 16], true).unwrap();
        let mut written = Vec::new();
        for i in 0..60 {
            if i % 7 == 3 {
                let skipped = Skipped { index: i, key: format!("{i}"), reason: "bad".into() };
                writer.skip(skipped).unwrap();
            } else {
                written.push(image_and_text_sample(i, 400 + i as u32, 300));
                writer.write(&written[written.len() - 1]).unwrap();
            }
        }
        writer.finish().unwrap();
        let reader = format.open(&out).unwrap();
        assert_eq!(reader.len(), written.len() as u64);
        for (i, sample) in (0_u64..).zip(&written) {
            assert_eq!(&reader.get(i).unwrap(), sample);
            reader.verify_sample(i).unwrap();
        }
        assert_eq!(reader.provenance().unwrap().skipped.len(), 9);
        let problems = reader.verify_layout();
        assert!(problems.is_empty(), "{problems:?}");
        assert!(format.detect(&out) && format.suits(&out) && !format.detect(folder.path()));
    }
    assert_eq!(names_in(folder.path()), ["a.beton"]);
}

#[test]
fn a_bad_sample_changes_nothing() {
    let schema = image_and_text();
    let good = [image_and_text_sample(0, 9, 9), image_and_text_sample(1, 700, 700)];
    let wide = Encoded::new(Codec::Raw, 70_000, 1, Bytes::new());
    let png = Encoded::new(Codec::Png, 1, 1, Bytes::new());
    let gray = Encoded::new(Codec::Raw, 2, 2, vec![0; 4].into());
    let cut = Encoded::new(Codec::Jpeg, 2, 2, Bytes::new());
    let flat = Encoded::new(Codec::Raw, 0, 2, Bytes::new());
    let large = image_and_text_sample(2, 1000, 1000);
    for format in [paged(), compact(), compat()] {
        let expected = pack(&*format, &schema, &good);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        let mut writer = create(&*format, &out, &schema, 2).unwrap();
        let mut bad: Vec<Sample<Encoded>> = vec![large.clone()];
        for image in [&wide, &png, &gray, &cut, &flat] {
            let mut sample = good[0].clone();
            sample.values[0] = Value::Image(image.clone());
            bad.push(sample);
        }
        let mut too_few = good[0].clone();
        too_few.values.pop();
        bad.push(too_few);
        for sample in &good {
            for bad in &bad {
                let error = writer.write(bad).unwrap_err();
                assert!(matches!(error, Error::Sample { .. }), "{error}");
            }
            writer.write(sample).unwrap();
        }
        assert!(matches!(writer.write(&good[0]), Err(Error::Usage { .. })));
        writer.finish().unwrap();
        assert!(std::fs::read(&out).unwrap() == expected);
    }
    let mut writer = create(&*paged(), &tempfile::tempdir().unwrap().path().join("a"), &schema, 2)
        .unwrap_or_else(|error| panic!("{error}"));
    let message = writer.write(&large).unwrap_err().to_string();
    assert!(message.contains("page_size=4MiB"), "{message}");
}

#[test]
fn what_a_beton_cannot_hold_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let array = |shape: &[u64]| {
        Kind::Array(ArraySpec { dtype: DType::F64, shape: shape.to_vec(), torch: false })
    };
    for (name, kind) in [
        ("seventeen_letters", Kind::Int),
        ("ü", Kind::Int),
        ("a", array(&[1; 33])),
        ("a", array(&[0])),
        ("a", array(&[1 << 20])),
        ("a", array(&[1 << 40, 1 << 40])),
    ] {
        let schema = Schema::new(vec![FieldSpec::new(name, kind)]).unwrap();
        let error = create(&*paged(), &out, &schema, 1).err().unwrap();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
    }
    let fields = (0..65_536).map(|i| FieldSpec::new(format!("f{i}"), Kind::Int)).collect();
    assert!(create(&*paged(), &out, &Schema { fields }, 1).is_err());
    assert!(create(&*paged(), &out, &image_and_text(), u64::MAX).is_err());
    let empty = create(&*paged(), &out, &image_and_text(), 5).unwrap();
    assert!(matches!(empty.finish(), Err(Error::Usage { .. })));
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn options_are_checked() {
    let set = |options: &[(&str, &str)]| {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        crate::beton::Beton::default().with_options(&OptionValues(options.collect()))
    };
    for bad in [
        &[("page_size", "1048576")][..],
        &[("page_size", "3000000")],
        &[("page_size", "4294967296")],
        &[("page_size", "x")],
        &[("compat", "webdataset")],
        &[("compat", "ffcv"), ("compact", "")],
        &[("level", "3")],
    ] {
        assert!(matches!(set(bad).err(), Some(Error::Usage { .. })), "{bad:?}");
    }
    assert!(set(&[("page_size", "2147483648")]).is_ok());
}

#[test]
fn holds_what_ffcv_decodes() {
    let beton = beton(&[]);
    let jpeg = ImageHeader { codec: Codec::Jpeg, ..ImageHeader::raw(5, 5, 3) };
    assert!(beton.holds(&jpeg));
    assert!(beton.holds(&ImageHeader { color: Color::Gray, progressive: true, ..jpeg }));
    assert!(beton.holds(&ImageHeader::raw(65_535, 5, 3)));
    assert!(!beton.holds(&ImageHeader { color: Color::Cmyk, ..jpeg }));
    assert!(!beton.holds(&ImageHeader { bits: 12, ..jpeg }));
    assert!(!beton.holds(&ImageHeader { codec: Codec::Png, ..jpeg }));
    assert!(!beton.holds(&ImageHeader::raw(5, 5, 1)));
    assert!(!beton.holds(&ImageHeader::raw(65_536, 5, 3)));
}

#[test]
fn an_existing_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    std::fs::write(&out, b"precious").unwrap();
    let schema = image_and_text();
    assert!(create(&*paged(), &out, &schema, 1).is_err());
    assert_eq!(names_in(folder.path()), ["a.beton"]);
    std::fs::remove_file(&out).unwrap();
    // It appears during the write.
    let mut writer = create(&*paged(), &out, &schema, 1).unwrap();
    writer.write(&image_and_text_sample(0, 3, 3)).unwrap();
    std::fs::write(&out, b"precious").unwrap();
    assert!(matches!(writer.finish(), Err(Error::Usage { .. })));
    assert_eq!(std::fs::read(&out).unwrap(), b"precious");
    assert_eq!(names_in(folder.path()), ["a.beton"]);
    let mut writer = create_as(&*paged(), &out, &schema, 1, [0; 16], true).unwrap();
    writer.write(&image_and_text_sample(0, 3, 3)).unwrap();
    writer.finish().unwrap();
    assert_eq!(paged().open(&out).unwrap().len(), 1);
}

#[test]
fn many_threads_read_the_same() {
    let samples: Vec<_> = (0..500).map(|i| image_and_text_sample(i, 20, 20)).collect();
    let file = pack(&*paged(), &image_and_text(), &samples);
    let reader = open(&file).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let (reader, samples) = (&reader, &samples);
            scope.spawn(move || {
                for i in (0..samples.len()).map(|i| (i * 7 + thread * 61) % samples.len()) {
                    assert_eq!(&reader.get(i as u64).unwrap(), &samples[i]);
                }
            });
        }
    });
}

#[test]
fn fingerprints_tell_files_apart() {
    let samples: Vec<_> = (0..3).map(|i| image_and_text_sample(i, 4, 4)).collect();
    let mut other = samples.clone();
    other[1].key = "other".into();
    let fingerprint = |samples: &[_]| {
        open(&pack(&*compact(), &image_and_text(), samples))
            .unwrap()
            .fingerprint(Look::Sizes)
            .unwrap()
    };
    assert_eq!(fingerprint(&samples), fingerprint(&samples));
    assert_ne!(fingerprint(&samples), fingerprint(&other));
    let plain = |n: usize| open(&pack(&*compat(), &image_and_text(), &samples[..n])).unwrap();
    assert_ne!(
        plain(2).fingerprint(Look::Sizes).unwrap(),
        plain(3).fingerprint(Look::Sizes).unwrap()
    );
}

#[test]
fn a_full_disk_leaves_nothing() {
    use fdconvert_storage::fault;
    let samples: Vec<_> = (0..8).map(|i| image_and_text_sample(i, 500, 500)).collect();
    for after in [0, 100, 3000, 3 << 20, 5 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let full = std::io::ErrorKind::StorageFull;
        let armed = fault::arm(folder.path(), fault::Operation::Write, after, full);
        let out = folder.path().join("a.beton");
        let packed = create(&*paged(), &out, &image_and_text(), 8).and_then(|mut writer| {
            samples.iter().try_for_each(|sample| writer.write(sample))?;
            writer.finish()
        });
        assert!(matches!(packed, Err(Error::Io { .. })), "{after}: {packed:?}");
        drop(armed);
        assert!(names_in(folder.path()).is_empty(), "{after}");
    }
}

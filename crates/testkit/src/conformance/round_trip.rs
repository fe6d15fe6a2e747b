use super::{Profile, bench::Bench};
use crate::fixtures;
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, Codec, DType, Encoded, Error, FieldSpec, Format, ImageHeader, Kind, Sample, Schema,
    Skipped, Value,
};

/// Images and labels are read back: one sample, several, and with further images.
///
/// # Panics
/// When they do not.
pub fn round_trip(format: &dyn Format, profile: &Profile) {
    for n_samples in [1, 2, 40] {
        let bench = Bench::new(format, profile);
        let (schema, samples) = bench.labelled(n_samples, 7);
        bench.write(&schema, &samples);
        bench.assert_holds(&schema, &samples);
        bench.assert_nothing_outside();
    }
    let bench = Bench::new(format, profile);
    if bench.has(&Kind::Image) {
        let schema = bench.with_image(FieldSpec::new("second", Kind::Image));
        let samples = fixtures::samples(&schema, &bench.images(), 5, 3);
        bench.write(&schema, &samples);
        bench.assert_holds(&schema, &samples);
    }
}

/// Every kind of the profile is read back, alone with an image and all together.
///
/// # Panics
/// When one does not.
pub fn every_kind(format: &dyn Format, profile: &Profile) {
    let others: Vec<&Kind> = profile.kinds.iter().filter(|kind| **kind != Kind::Image).collect();
    let check = |schema: &Schema| {
        let bench = Bench::new(format, profile);
        let samples = fixtures::samples(schema, &bench.images(), 12, 5);
        bench.write(schema, &samples);
        bench.assert_holds(schema, &samples);
    };
    let bench = Bench::new(format, profile);
    for kind in &others {
        check(&bench.with_image(FieldSpec::new("field", (*kind).clone())));
    }
    let mut fields: Vec<_> = (0..)
        .zip(&others)
        .map(|(i, kind)| FieldSpec::new(format!("{} {i}", kind.name()), (*kind).clone()))
        .collect();
    if bench.has(&Kind::Image) {
        // Not first: formats must not rely on that.
        fields.insert(fields.len() / 2, FieldSpec::new("picture", Kind::Image));
    }
    check(&Schema::new(fields).unwrap());
}

/// The smallest, largest and oddest values of every kind are read back.
///
/// # Panics
/// When one does not.
pub fn sizes(format: &dyn Format, profile: &Profile) {
    let check = |kind: Kind, values: Vec<Value<Encoded>>| {
        let bench = Bench::new(format, profile);
        if !bench.has(&kind) {
            return;
        }
        let schema = bench.with_image(FieldSpec::new("field", kind));
        let mut samples = fixtures::samples(&schema, &bench.images(), values.len(), 1);
        for (sample, value) in samples.iter_mut().zip(values) {
            *sample.values.last_mut().unwrap() = value;
        }
        bench.write(&schema, &samples);
        bench.assert_holds(&schema, &samples);
    };
    check(Kind::Int, [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int).into());
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324, 0.1];
    check(Kind::Float, floats.map(Value::Float).into());
    let bytes = |n_bytes| Bytes::from(fixtures::Random::new(1).bytes(n_bytes));
    check(Kind::Bytes, [0, 1, 0, 3 << 20, 7, 0].map(|n| Value::Bytes(bytes(n))).into());
    check(Kind::Bytes, vec![Value::Bytes(Bytes::new())]);
    let lists = [0, 1, 300, 0, 0, 2, 11, 0].map(|n| Value::Images(fixtures::image_list(n, 7)));
    check(Kind::Images, lists.into());
    check(Kind::Images, vec![Value::Images(Vec::new())]);
    let long = "long ".repeat(30_000);
    let texts = ["", "a\0b\r\n\t\"\\", "\u{feff}é图\u{1f600}", &long, "{}"];
    check(Kind::Text, texts.map(|text| Value::Text(text.to_owned())).into());
    let documents = [
        "null",
        r#"{"b":1,"a":[2.5,"x\n",{}],"big":12345678901234567890123}"#,
        "{ \"a\" :\n 1.0e2 }",
        "[]",
        r#"{"$json":"x"}"#,
    ];
    check(
        Kind::Json,
        documents.map(|text| Value::Json(Bytes::from_static(text.as_bytes()))).into(),
    );
    if profile.kinds.iter().any(|kind| matches!(kind, Kind::Array(_))) {
        let profile = &Profile { kinds: with_arrays(profile), ..profile.clone() };
        every_kind(format, profile);
    }
}

/// Returns the profile's kinds, with arrays of every element type and a few shapes.
fn with_arrays(profile: &Profile) -> Vec<Kind> {
    let image = profile.kinds.iter().filter(|kind| **kind == Kind::Image).cloned();
    let array = |dtype, shape| Kind::Array(ArraySpec { dtype, shape, torch: false });
    let types = DType::ALL.into_iter().map(|dtype| array(dtype, vec![3]));
    let shapes = [vec![], vec![1], vec![2, 1, 3], vec![1 << 18]];
    image.chain(types).chain(shapes.map(|shape| array(DType::U8, shape))).collect()
}

/// Images of one pixel and of the largest side are read back; those of one byte are, or are
/// refused.
///
/// # Panics
/// When that does not hold.
pub fn image_sizes(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    if !bench.has(&Kind::Image) {
        return;
    }
    let made = [fixtures::raw, fixtures::bmp, fixtures::png].into_iter();
    let images: Vec<_> = made
        .flat_map(|make| [(1, 1), (1, 300), (65_535, 1)].map(|(w, h)| make(w, h, 9)))
        .filter(|image| {
            let header = ImageHeader::raw(image.width, image.height, 3);
            format.holds(&ImageHeader { codec: image.codec, ..header })
        })
        .collect();
    if !images.is_empty() {
        let schema = bench.with_image(FieldSpec::new("label", Kind::Int));
        let samples = fixtures::samples(&schema, &images, images.len(), 2);
        bench.write(&schema, &samples);
        bench.assert_holds(&schema, &samples);
    }
    if profile.opaque_images {
        for n_bytes in [0, 1] {
            let image = Encoded { bytes: vec![0; n_bytes].into(), ..bench.images()[0].clone() };
            one_odd(format, profile, |_, sample| sample.values[0] = Value::Image(image.clone()));
        }
    }
}

/// A sample that does not fit the schema or the format is refused as such, without affecting
/// others.
///
/// # Panics
/// When that does not hold.
pub fn bad_samples(format: &dyn Format, profile: &Profile) {
    let must_refuse = |change: &dyn Fn(&Bench<'_>, &mut Sample<Encoded>)| {
        assert!(!one_odd(format, profile, change), "accepted a sample that is not of the schema");
    };
    must_refuse(&|_, sample| sample.values.truncate(1));
    must_refuse(&|_, sample| sample.values.push(Value::Int(1)));
    must_refuse(&|_, sample| *sample.values.last_mut().unwrap() = Value::Float(1.0));
    if profile.kinds.contains(&Kind::Image) {
        must_refuse(&|_, sample| sample.values[0] = Value::Bytes(Bytes::new()));
        for (header, image) in fixtures::images() {
            // Unsupported codecs only; finer distinctions need pixels.
            let codec = |codec: Codec| format.holds(&ImageHeader { codec, ..header });
            let gray = fixtures::images()
                .into_iter()
                .any(|(other, _)| other.codec == header.codec && format.holds(&other));
            if !codec(header.codec) && !gray {
                must_refuse(&|_, sample| sample.values[0] = Value::Image(image.clone()));
            }
        }
    }
}

/// Skipped samples leave no gap, and an output without samples is an error.
///
/// # Panics
/// When that does not hold.
pub fn skips(format: &dyn Format, profile: &Profile) {
    let skipped = |index: u64| {
        let key = format!("skipped/{index}.jpg");
        Skipped { index, key, reason: "it was empty".into() }
    };
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(4, 2);
    let mut writer = bench.create(&schema, 7, false).unwrap();
    writer.skip(skipped(0)).unwrap();
    writer.write(&samples[0]).unwrap();
    writer.write(&samples[1]).unwrap();
    writer.skip(skipped(3)).unwrap();
    writer.write(&samples[2]).unwrap();
    writer.write(&samples[3]).unwrap();
    writer.skip(skipped(6)).unwrap();
    assert_eq!(bench.finish(writer, &schema, 7).unwrap().samples, 4);
    bench.assert_holds(&schema, &samples);
    if let Some(provenance) = bench.open().provenance() {
        assert_eq!(provenance.skipped, [0, 3, 6].map(skipped));
        assert_eq!(provenance.source, "fixtures");
    }

    for n_skipped in [0, 2] {
        let bench = Bench::new(format, profile);
        let mut writer = bench.create(&schema, n_skipped as usize, false).unwrap();
        (0..n_skipped).for_each(|index| writer.skip(skipped(index)).unwrap());
        let result = writer.finish();
        if format.is_sharded() {
            // Readers fail on empty shards: there is only the record, and no dataset.
            assert_eq!(result.unwrap().samples, 0);
            assert!(!format.detect(&bench.out()));
            continue;
        }
        assert!(matches!(result, Err(Error::Usage { .. })), "no sample at all: {result:?}");
        bench.assert_empty();
    }
}

/// Writes a sample unchanged and one changed by `change` between good ones: it is read back or
/// refused. Returns whether it was accepted.
fn one_odd(
    format: &dyn Format,
    profile: &Profile,
    change: impl Fn(&Bench<'_>, &mut Sample<Encoded>),
) -> bool {
    let bench = Bench::new(format, profile);
    let (schema, mut samples) = bench.labelled(5, 4);
    change(&bench, &mut samples[2]);
    let mut writer = bench.create(&schema, samples.len(), false).unwrap();
    let results: Vec<_> = samples.iter().map(|sample| writer.write(sample)).collect();
    bench.finish(writer, &schema, samples.len()).unwrap();
    for (i, result) in results.iter().enumerate() {
        match result {
            Ok(()) => {}
            Err(Error::Sample { key, .. }) if i == 2 => assert_eq!(*key, samples[2].key),
            Err(other) => panic!("sample {i}: {other}"),
        }
    }
    let accepted = results[2].is_ok();
    if !accepted {
        samples.remove(2);
    }
    bench.assert_holds(&schema, &samples);
    accepted
}

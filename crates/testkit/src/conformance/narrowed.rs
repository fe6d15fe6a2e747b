use super::{Profile, bench::Bench, places};
use fdconvert_core::{
    Amount, Encoded, Error, Format, Image, Indices, Look, Reader, Sample, Subset, Value,
};
use std::sync::Arc;

/// Chosen samples are those of the whole dataset, whatever is asked of them.
///
/// # Panics
/// When they are not.
pub fn narrowed(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(40, 5);
    bench.write(&schema, &samples);
    let whole: Arc<dyn Reader> = bench.open().into();
    let scattered: Vec<u64> = (0..60).map(|k| k * k * 7 % 40).collect();
    for list in [scattered, (3..30).collect(), (0..40).rev().step_by(3).collect(), vec![]] {
        let indices = Indices::from(list.clone());
        let chosen = Subset::new(whole.clone(), indices.into()).unwrap();
        compare(&*whole, &chosen, &list);
    }
    let beyond = Subset::new(whole, Arc::new(Indices::from_iter([1, 40])));
    assert!(matches!(beyond, Err(Error::Usage { .. })));
}

fn compare(whole: &dyn Reader, chosen: &dyn Reader, list: &[u64]) {
    assert_eq!(chosen.len(), list.len() as u64);
    assert_eq!(chosen.schema(), whole.schema());
    assert_eq!((chosen.name(), chosen.has_checksums()), (whole.name(), whole.has_checksums()));
    places::strata(chosen);
    let own: Vec<u64> = (0..chosen.len()).rev().collect();
    let inner: Vec<u64> = list.iter().copied().rev().collect();
    let _ahead = chosen.read_ahead(&own);
    let many = chosen.get_many(&own).into_iter().map(Result::unwrap);
    assert!(many.eq(whole.get_many(&inner).into_iter().map(Result::unwrap)));
    for (at, &index) in (0..).zip(list) {
        assert_eq!(chosen.get(at).unwrap(), whole.get(index).unwrap());
        assert_eq!(stored(chosen, at), stored(whole, index));
        assert_eq!(chosen.key(at), whole.key(index));
        assert_eq!(chosen.label(at).unwrap(), whole.label(index).unwrap());
        assert_eq!(chosen.codec_hint(at).unwrap(), whole.codec_hint(index).unwrap());
        assert_eq!(chosen.image_extent(at).unwrap(), whole.image_extent(index).unwrap());
        assert_eq!(chosen.image_size(at).unwrap(), whole.image_size(index).unwrap());
        for amount in [Amount::Known, Amount::Planned, Amount::Announced] {
            assert_eq!(chosen.bytes(at, amount).unwrap(), whole.bytes(index, amount).unwrap());
        }
        for field in 0..chosen.schema().fields.len() {
            let value = |reader: &dyn Reader, index| reader.value(index, field).unwrap();
            assert_eq!(plain(value(chosen, at)), plain(value(whole, index)));
            // What is read alone is what the sample holds.
            let read = whole.read(index).unwrap().values.swap_remove(field);
            let read = Some(read).filter(Value::is_plain);
            assert_eq!(plain(value(whole, index)), plain(read));
            let points = chosen.entry_points(at, field).unwrap();
            assert_eq!(points, whole.entry_points(index, field).unwrap());
        }
        chosen.verify_row(at).unwrap();
        chosen.verify_sample(at).unwrap();
    }
    let usage = |result: Result<(), Error>| matches!(result, Err(Error::Usage { .. }));
    for at in [chosen.len(), u64::MAX] {
        assert!(usage(chosen.get(at).map(drop)) && usage(chosen.read(at).map(drop)));
        assert!(usage(chosen.verify_sample(at)) && usage(chosen.verify_row(at)));
        assert!(chosen.get_many(&[at])[0].is_err());
        let _ = chosen.key(at);
    }
    let fingerprint = |reader: &dyn Reader| reader.fingerprint(Look::Sizes).unwrap();
    assert_ne!(fingerprint(chosen), fingerprint(whole));
    assert_eq!(fingerprint(chosen), fingerprint(chosen));
}

fn stored(reader: &dyn Reader, index: u64) -> Sample<Encoded> {
    let read = reader.read(index).unwrap().try_map_image(|image| match image {
        Image::Encoded(encoded) => Ok(encoded),
        Image::Pixels(_) | Image::Bilevel(_) => Err("stored images do not come as pixels"),
    });
    read.unwrap()
}

/// Comparable form of a value without images.
fn plain(value: Option<Value<Image>>) -> String {
    match value {
        Some(Value::Int(int)) => int.to_string(),
        Some(Value::Float(float)) => float.to_bits().to_string(),
        Some(Value::Text(text)) => text,
        Some(Value::Json(json)) => String::from_utf8_lossy(&json).into_owned(),
        Some(_) => "another kind".to_owned(),
        None => String::new(),
    }
}

use super::{Profile, bench::Bench};
use fdconvert_core::{Error, Format, Image, Look, Reader, Sample, Value};
use std::thread;

/// `read`, `get`, `get_many` and `key` agree, and refuse what does not exist.
///
/// # Panics
/// When that does not hold.
pub fn reader_contract(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(9, 5);
    bench.write(&schema, &samples);
    let reader = bench.open();
    assert!(!reader.is_empty());
    for index in 0..9 {
        let sample = reader.get(index).unwrap();
        reader.schema().check(&sample).unwrap();
        assert_eq!(reader.key(index), sample.key);
        let image = sample.values.iter().find_map(|value| match value {
            Value::Image(image) => Some((image.width, image.height)),
            _ => None,
        });
        let known = reader.image_size(index).unwrap();
        assert!(known.is_none() || known == image, "{known:?} is not {image:?}");
        let read = reader.read(index).unwrap().try_map_image(|image| match image {
            Image::Encoded(encoded) => Ok(encoded),
            Image::Pixels(_) | Image::Bilevel(_) => Err("stored images do not come as pixels"),
        });
        assert_eq!(read.unwrap(), sample);
    }
    let indices = [3, 0, 3, 8];
    let many: Vec<Sample<_>> = reader.get_many(&indices).into_iter().map(Result::unwrap).collect();
    let single: Vec<_> = indices.iter().map(|&index| reader.get(index).unwrap()).collect();
    assert_eq!(many, single);

    let usage = |result: Result<(), Error>| matches!(result, Err(Error::Usage { .. }));
    for index in [9, 10, u64::from(u32::MAX) + 1, u64::MAX] {
        assert!(usage(reader.get(index).map(drop)), "get({index}) of 9 samples");
        assert!(usage(reader.read(index).map(drop)), "read({index}) of 9 samples");
        assert!(usage(reader.verify_sample(index)), "verify_sample({index}) of 9 samples");
        assert!(reader.get_many(&[0, index])[1].is_err());
        // For messages: any text is fine, but no panic.
        let _ = reader.key(index);
    }

    let name = reader.name();
    assert!(!name.is_empty() && !name.contains('/'), "the name `{name}` is a path");
    let _ = reader.details();
    let fingerprint = |reader: &dyn Reader| reader.fingerprint(Look::Sizes).unwrap();
    assert_eq!(fingerprint(&*reader), fingerprint(&*bench.open()));
    let other = Bench::new(format, profile);
    let (schema, samples) = other.labelled(8, 5);
    other.write(&schema, &samples);
    assert_ne!(fingerprint(&*reader), fingerprint(&*other.open()));
}

/// Eight threads read the same as one.
///
/// # Panics
/// When they do not.
pub fn concurrency(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(64, 5);
    bench.write(&schema, &samples);
    let reader = bench.open();
    let expected: Vec<_> = (0..reader.len()).map(|index| reader.get(index).unwrap()).collect();
    thread::scope(|scope| {
        for start in 0..8 {
            let (reader, expected) = (&reader, &expected);
            scope.spawn(move || {
                for step in 0..expected.len() {
                    let index = (start * 8 + step * 5) % expected.len();
                    assert_eq!(reader.get(index as u64).unwrap(), expected[index]);
                }
            });
        }
    });
}

/// A dataset verifies directly after writing.
///
/// # Panics
/// When it does not.
pub fn verify(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(20, 5);
    bench.write(&schema, &samples);
    let reader = bench.open();
    let complaints = reader.verify_layout();
    assert!(complaints.is_empty(), "{complaints:?}");
    (0..reader.len()).for_each(|index| reader.verify_sample(index).unwrap());
}

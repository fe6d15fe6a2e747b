use super::{Profile, bench::Bench};
use crate::{
    compare::tree,
    fixtures::{self, Random},
};
use bytes::Bytes;
use fdconvert_core::{Encoded, FieldSpec, Format, Kind, Reader, Sample, Value};
use std::{fs, path::PathBuf};

/// Entry points are read back with their images, or the format declares that it stores none;
/// damaged ones are an error; and those of no image change nothing.
///
/// # Panics
/// When that does not hold.
pub fn entry_points(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    if !bench.has(&Kind::Image) {
        return;
    }
    let schema = bench.with_image(FieldSpec::new("second", Kind::Image));
    let samples = fixtures::samples(&schema, &bench.images(), 24, 3);
    let given: Vec<_> = (0..).zip(&samples).map(|(i, sample)| made_up(i, sample)).collect();
    let mut writer = bench.create_as(&schema, samples.len(), false, true).unwrap();
    for (sample, entry_points) in samples.iter().zip(&given) {
        writer.write(&with(sample, entry_points)).unwrap();
    }
    bench.finish(writer, &schema, samples.len()).unwrap();
    bench.assert_holds(&schema, &samples);

    let reader = bench.open();
    let positions = positions(&*reader, &samples);
    let stored = format.capabilities().entry_points;
    for (&index, given) in positions.iter().zip(&given) {
        let images = image_fields(&*reader);
        for (&field, wanted) in images.iter().zip(given) {
            let wanted = wanted.as_ref().filter(|_| stored);
            assert_eq!(reader.entry_points(index, field).unwrap().as_ref(), wanted, "{index}");
        }
        for other in (0..reader.schema().fields.len() + 2).filter(|field| !images.contains(field)) {
            assert_eq!(reader.entry_points(index, other).unwrap(), None, "field {other}");
        }
    }
    drop(reader);
    if stored {
        let known = given.iter().flatten().flatten().next();
        let Some(known) = known else { return };
        let (path, at) = find(bench.out(), known);
        for byte in [at, at + known.len() / 2, at + known.len() + 7] {
            damage(&bench, &path, byte, &given, &positions);
        }
    }
    without(format, profile);
}

/// The reader does not invent entry points for samples without.
fn without(format: &dyn Format, profile: &Profile) {
    let bench = Bench::new(format, profile);
    let (schema, samples) = bench.labelled(3, 1);
    bench.write(&schema, &samples);
    let reader = bench.open();
    for index in 0..3 {
        for field in image_fields(&*reader) {
            assert_eq!(reader.entry_points(index, field).unwrap(), None);
        }
    }
}

/// One flipped bit gives an error, or the original entry points; the images are unchanged.
fn damage(
    bench: &Bench<'_>,
    path: &PathBuf,
    byte: usize,
    given: &[Vec<Option<Bytes>>],
    positions: &[u64],
) {
    let whole = fs::read(path).unwrap();
    let mut damaged = whole.clone();
    damaged[byte] ^= 4;
    fs::write(path, damaged).unwrap();
    let reader = bench.open();
    assert!(!reader.verify_layout().is_empty(), "damage at {byte} was not noticed");
    let mut n_errors = 0;
    for (&index, given) in positions.iter().zip(given) {
        reader.get(index).unwrap();
        for (&field, wanted) in image_fields(&*reader).iter().zip(given) {
            match reader.entry_points(index, field) {
                Err(_) => n_errors += 1,
                Ok(found) => assert_eq!(found, *wanted, "wrong entry points after damage"),
            }
        }
    }
    assert_eq!(n_errors, 1, "damage at {byte}");
    drop(reader);
    fs::write(path, whole).unwrap();
}

/// Returns the sample with these entry points for its images.
fn with(sample: &Sample<Encoded>, entry_points: &[Option<Bytes>]) -> Sample<Encoded> {
    let mut given = entry_points.iter();
    let mut sample = sample.clone();
    for value in &mut sample.values {
        if let Value::Image(image) = value {
            image.entry_points = given.next().cloned().flatten();
        }
    }
    sample
}

/// Returns random bytes as entry points for some of the JPEGs of a sample.
fn made_up(i: u64, sample: &Sample<Encoded>) -> Vec<Option<Bytes>> {
    let mut random = Random::new(i);
    let images = sample.values.iter().filter_map(|value| match value {
        Value::Image(image) => Some(image.codec == fdconvert_core::Codec::Jpeg),
        _ => None,
    });
    let mut bytes = || Bytes::from([&[0x22][..], &random.bytes(40)].concat());
    images.map(|is_jpeg| (is_jpeg && i % 4 != 3).then(&mut bytes)).collect()
}

fn image_fields(reader: &dyn Reader) -> Vec<usize> {
    let fields = (0..).zip(&reader.schema().fields);
    fields.filter(|(_, field)| field.kind == Kind::Image).map(|(at, _)| at).collect()
}

/// Returns the positions of the samples in the dataset, found by their images, because not every
/// format keeps order and keys.
fn positions(reader: &dyn Reader, samples: &[Sample<Encoded>]) -> Vec<u64> {
    if reader.get(0).unwrap().key == samples[0].key {
        return (0..samples.len() as u64).collect();
    }
    let keys: Vec<_> = (0..reader.len()).map(|index| reader.key(index)).collect();
    let position = |sample: &Sample<_>| keys.iter().position(|key| *key == sample.key);
    samples.iter().enumerate().map(|(i, sample)| position(sample).unwrap_or(i) as u64).collect()
}

/// Returns the file of a dataset that contains these bytes, and their position.
fn find(out: PathBuf, bytes: &[u8]) -> (PathBuf, usize) {
    let files: Vec<PathBuf> = if out.is_dir() {
        let names = tree(&out).into_keys();
        names.map(|name| out.join(String::from_utf8(name).unwrap())).collect()
    } else {
        vec![out]
    };
    let found = files.into_iter().find_map(|path| {
        let whole = fs::read(&path).ok()?;
        let at = whole.windows(bytes.len()).position(|window| window == bytes)?;
        Some((path, at))
    });
    found.unwrap_or_else(|| panic!("the entry points are in no file as they are"))
}

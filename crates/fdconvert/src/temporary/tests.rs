use super::*;
use bytes::Bytes;
use fdconvert_core::{Amount, ArraySpec, Bilevel, Codec, DType, Encoded, Look, Pixels};
use fdconvert_testkit::fixtures;
use std::fs;

fn schema() -> Schema {
    let array = ArraySpec { dtype: DType::U8, shape: vec![5000], torch: false };
    let fields = [
        ("image", Kind::Image),
        ("score", Kind::Float),
        ("raw", Kind::Bytes),
        ("caption", Kind::Text),
        ("boxes", Kind::Json),
        ("other", Kind::Image),
        ("embedding", Kind::Array(array)),
    ];
    let fields = fields.map(|(name, kind)| FieldSpec::new(name, kind));
    let label = FieldSpec::label("label", ["dark", "light"].map(String::from).into());
    Schema::new(fields.into_iter().chain([label]).collect()).unwrap()
}

/// Returns a sample with all kinds of values, and images in all forms.
fn sample(number: u64) -> Sample<Image> {
    let png = fixtures::png(40, 30, number);
    let encoded = Encoded::new(Codec::Png, 40, 30, png.bytes);
    let data = vec![number as u8; 60 * 50 * 3];
    let pixels = Pixels { width: 60, height: 50, channels: 3, data };
    let bits = vec![0xf0; 2 * 9];
    let bilevel = Bilevel { width: 12, height: 9, levels: [3, 200], bits };
    let (image, other) = match number % 2 {
        0 => (Image::Encoded(encoded), Image::Bilevel(bilevel)),
        _ => (Image::Pixels(pixels), Image::Encoded(encoded)),
    };
    let values = vec![
        Value::Image(image),
        Value::Float(number as f64 / 3.0),
        Value::Bytes(vec![7; number as usize * 999].into()),
        Value::Text("ä".repeat(number as usize)),
        Value::Json(Bytes::from_static(b"{ \"a\": [1,  2] }")),
        Value::Image(other),
        Value::Array(vec![number as u8; 5000].into()),
        Value::Int(number as i64 % 2),
    ];
    Sample { key: format!("a.b/c d/{number}.x.png"), values }
}

fn pushed(out: &Path, numbers: &[u64]) -> TemporaryDataset {
    let mut dataset = TemporaryDataset::beside(out, schema()).unwrap().keep_pixels(5);
    for &number in numbers {
        match number {
            3 => dataset.push_unreadable("three", "it was never made").unwrap(),
            _ => dataset.push(&sample(number)).unwrap(),
        }
    }
    dataset
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn samples_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    for most_shard_bytes in [SHARD_BYTES, 40_000, 1] {
        let mut dataset = pushed(&out, &[]);
        assert!(dataset.is_empty());
        dataset.most_shard_bytes = most_shard_bytes;
        let bad = Sample { key: "short".into(), values: Vec::new() };
        for number in 0..9 {
            match number {
                3 => dataset.push_unreadable("three", "it was never made").unwrap(),
                _ => dataset.push(&sample(number)).unwrap(),
            }
            assert!(dataset.push(&bad).is_err());
        }
        assert_eq!(dataset.len(), 9);
        let source = dataset.finish("nine").unwrap();
        assert_eq!((source.len(), source.name()), (9, "nine"));
        assert!(source.facts().field(5).keeps_pixels && !source.facts().field(0).keeps_pixels);
        for number in (0..9).filter(|number| *number != 3) {
            let (expected, found) = (sample(number), source.read(number).unwrap());
            assert_eq!(format!("{expected:?}"), format!("{found:?}"));
            for (expected, found) in expected.values.iter().zip(&found.values) {
                match (expected, found) {
                    (Value::Image(Image::Encoded(one)), Value::Image(Image::Encoded(two))) => {
                        assert_eq!(one.bytes, two.bytes);
                    }
                    (Value::Bytes(one), Value::Bytes(two))
                    | (Value::Array(one), Value::Array(two)) => assert_eq!(one, two),
                    _ => {}
                }
            }
            assert_eq!(source.key(number), expected.key);
            assert_eq!(source.label(number).unwrap(), Some(number as i64 % 2));
            assert_eq!(source.bytes(number, Amount::Known).unwrap(), None);
        }
        assert_eq!(source.codec_hint(0).unwrap(), Some(Codec::Png));
        let error = source.read(3).unwrap_err().to_string();
        assert_eq!(error, "sample `three`: it was never made");
        assert!(source.read(9).is_err());
        assert_eq!(names(folder.path()), ["x.beton.samples.partial"]);
        drop(source);
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn every_sample_counts_for_the_fingerprint() {
    let folder = tempfile::tempdir().unwrap();
    let of = |numbers: &[u64]| {
        let out = folder.path().join("x.beton");
        pushed(&out, numbers).finish("x").unwrap().fingerprint(Look::Sizes).unwrap()
    };
    let all = of(&[0, 1, 2, 3, 4]);
    assert_eq!(all, of(&[0, 1, 2, 3, 4]));
    for others in [&[0, 1, 2, 3][..], &[0, 1, 2, 3, 5], &[0, 2, 1, 3, 4], &[0, 1, 2, 5, 4]] {
        assert_ne!(all, of(others));
    }
}

#[test]
fn what_a_killed_program_left_is_removed_and_what_a_running_one_has_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    std::mem::forget(pushed(&out, &[0, 1]));
    // This process holds the lock while it runs.
    let refused = TemporaryDataset::beside(&out, schema()).err().unwrap().to_string();
    assert!(refused.contains("is being written by another run"), "{refused}");
    let moved = folder.path().join("moved.samples.partial");
    fs::rename(folder.path().join("x.beton.samples.partial"), &moved).unwrap();
    // As after a kill: the copy of a mark is not locked.
    let left = folder.path().join("x.beton.samples.partial");
    fs::create_dir_all(left.join("wds")).unwrap();
    fs::copy(moved.join(ScratchDir::MARK), left.join(ScratchDir::MARK)).unwrap();
    fs::write(left.join("wds/train-000000.tar.partial"), b"cut").unwrap();
    let source = pushed(&out, &[4]).finish("x").unwrap();
    assert_eq!((source.len(), source.key(0)), (1, sample(4).key));
    drop(source);
    assert!(!left.exists());
    // A foreign folder is left alone.
    fs::create_dir(&left).unwrap();
    fs::write(left.join("precious"), b"").unwrap();
    assert!(TemporaryDataset::beside(&out, schema()).is_err());
    assert!(left.join("precious").exists());
}

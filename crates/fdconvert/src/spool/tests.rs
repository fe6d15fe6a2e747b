//! Spools of any budget beside the obvious version: samples in a list, and all of them in one hash.
use super::{pieces::LARGE_BYTES, *};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, Bilevel, Codec, DType, Encoded, FieldSpec, Kind, Pixels, Source, Value,
};
use proptest::{collection, prelude::*};
use std::{
    sync::Mutex,
    thread::{self, ThreadId},
};

/// A sample, or the key of one that cannot be read and why.
type Pushed = Result<Sample<Image>, (String, String)>;

const ARRAY_BYTES: usize = LARGE_BYTES + 904;

fn schema() -> Schema {
    let array = ArraySpec { dtype: DType::U8, shape: vec![ARRAY_BYTES as u64], torch: false };
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

fn codec_number(codec: Codec) -> u8 {
    Codec::ALL.iter().position(|it| *it == codec).unwrap() as u8
}

fn head(key: &str, marks: [u8; 2], label: i64, image_bytes: u64) -> Vec<u8> {
    let key = (key.len() as u32).to_le_bytes();
    [&key[..], &marks, &[0; 10], &label.to_le_bytes(), &image_bytes.to_le_bytes()].concat()
}

/// The bytes of a record one behind the other, as the file has them.
fn obvious_bytes(pushed: &Pushed) -> Vec<u8> {
    bytes_with(pushed, |bytes| bytes.to_vec())
}

/// The same with checksums in the place of what is large.
fn obvious_sums(pushed: &Pushed) -> Vec<u8> {
    bytes_with(pushed, |bytes| match bytes.len() {
        ..LARGE_BYTES => bytes.to_vec(),
        LARGE_BYTES.. => xxhash_rust::xxh3::xxh3_64(bytes).to_le_bytes().to_vec(),
    })
}

/// The bytes of a record, with what `of_long` makes of each value that has a length.
fn bytes_with(pushed: &Pushed, of_long: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let sample = match pushed {
        Err((key, reason)) => {
            return [&head(key, [0xff, 2], 0, 0), key.as_bytes(), reason.as_bytes()].concat();
        }
        Ok(sample) => sample,
    };
    let images = sample.values.iter().filter_map(|value| match value {
        Value::Image(Image::Encoded(image)) => Some(Some(image)),
        Value::Image(_) => Some(None),
        _ => None,
    });
    let images: Vec<_> = images.collect();
    let codec = images[0].map_or(0xff, |image| codec_number(image.codec));
    let image_bytes = images.iter().map(|image| image.map(|image| image.bytes.len() as u64));
    let image_bytes: Option<u64> = image_bytes.sum();
    let Some(Value::Int(label)) = sample.values.last() else { panic!("it has no label") };
    let marks = [codec, if image_bytes.is_some() { 5 } else { 1 }];
    let head = head(&sample.key, marks, *label, image_bytes.unwrap_or(0));
    let mut out = [&head, sample.key.as_bytes()].concat();
    let long = |tag: &[u8], bytes: &[u8]| {
        [tag, &(bytes.len() as u64).to_le_bytes(), &of_long(bytes)].concat()
    };
    let image = |tag: &[u8], width: u32, height: u32, bytes: &[u8]| {
        long(&[tag, &width.to_le_bytes(), &height.to_le_bytes()].concat(), bytes)
    };
    for value in &sample.values {
        out.extend(match value {
            Value::Int(int) => [&[0][..], &int.to_le_bytes()].concat(),
            Value::Float(float) => [&[1][..], &float.to_le_bytes()].concat(),
            Value::Bytes(bytes) => long(&[2], bytes),
            Value::Text(text) => long(&[3], text.as_bytes()),
            Value::Json(json) => long(&[4], json),
            Value::Array(array) => long(&[5], array),
            Value::Image(Image::Encoded(it)) => {
                let sum = xxhash_rust::xxh3::xxh3_64(&it.bytes).to_le_bytes();
                let tag = [6, codec_number(it.codec)];
                let sides = [it.width.to_le_bytes(), it.height.to_le_bytes()].concat();
                long(&[&tag[..], &sides, &sum].concat(), &it.bytes)
            }
            Value::Image(Image::Pixels(it)) => {
                image(&[7, it.channels], it.width, it.height, &it.data)
            }
            Value::Image(Image::Bilevel(it)) => {
                image(&[8, it.levels[0], it.levels[1]], it.width, it.height, &it.bits)
            }
            other => panic!("{other:?}"),
        });
    }
    out
}

fn obvious_fingerprint(samples: &[Pushed]) -> [u8; 16] {
    let mut all = serde_json::to_vec(&schema()).unwrap();
    all.extend(samples.iter().flat_map(obvious_sums));
    xxhash_rust::xxh3::xxh3_128(&all).to_le_bytes()
}

fn check_read(source: &SpooledSamples, index: u64, expected: &Sample<Image>) {
    let read = source.read(index).unwrap();
    let sums = read.values.iter().filter_map(|value| match value {
        Value::Image(Image::Encoded(image)) => Some((image.xxh3, &image.bytes)),
        _ => None,
    });
    for (sum, bytes) in sums {
        assert_eq!(sum, Some(xxhash_rust::xxh3::xxh3_64(bytes)), "{index}");
    }
    assert!(obvious_bytes(&Ok(read)) == obvious_bytes(&Ok(expected.clone())), "{index}");
}

fn check(source: &SpooledSamples, samples: &[Pushed]) {
    assert_eq!(source.len(), samples.len() as u64);
    assert_eq!(source.fingerprint(), obvious_fingerprint(samples));
    for (index, expected) in (0..).zip(samples) {
        match expected {
            Ok(sample) => {
                check_read(source, index, sample);
                assert_eq!(source.key(index), sample.key);
                let Some(Value::Int(label)) = sample.values.last() else { panic!("no label") };
                assert_eq!(source.label(index).unwrap(), Some(*label));
                let bytes = |value: &Value<Image>| match value {
                    Value::Image(Image::Encoded(image)) => Some(image.bytes.len() as u64),
                    _ => None,
                };
                let image_bytes = bytes(&sample.values[0]).zip(bytes(&sample.values[5]));
                assert_eq!(source.image_bytes(index), image_bytes.map(|(a, b)| a + b));
                let codec = match &sample.values[0] {
                    Value::Image(Image::Encoded(image)) => Some(image.codec),
                    _ => Some(Codec::Png),
                };
                assert_eq!(source.codec_hint(index), codec);
            }
            Err((key, reason)) => {
                let error = source.read(index).unwrap_err().to_string();
                assert_eq!(error, format!("sample `{key}`: {reason}"));
                assert_eq!((source.key(index), source.image_bytes(index)), (key.clone(), None));
            }
        }
    }
    let beyond = source.read(samples.len() as u64).unwrap_err().to_string();
    assert!(beyond.ends_with(&format!("does not exist, only {} do", samples.len())), "{beyond}");
}

/// Spools samples. Before sample `forked` the process is another one.
fn spooled(samples: &[Pushed], budget: u64, forked: Option<usize>) -> Arc<SpooledSamples> {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = SampleSpool::new(schema(), folder.path()).unwrap().memory_budget(budget);
    for (at, pushed) in samples.iter().enumerate() {
        if forked == Some(at) {
            spool.background.pretend_to_be_foreign();
        }
        match pushed {
            Ok(sample) => spool.push(sample.clone()).unwrap(),
            Err((key, reason)) => spool.push_unreadable(key, reason).unwrap(),
        }
        assert_eq!(spool.len(), at as u64 + 1);
    }
    if forked == Some(samples.len()) {
        spool.background.pretend_to_be_foreign();
    }
    let source = spool.finish("made").unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    source
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let lens = [0, 1, 40, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 3 * LARGE_BYTES];
    (any::<u8>(), prop::sample::select(lens.to_vec()))
        .prop_map(|(seed, len)| (0..len).map(|at| seed.wrapping_add(at as u8)).collect())
}

fn image() -> impl Strategy<Value = Value<Image>> {
    let codec = prop::sample::select(Codec::ALL.to_vec());
    (0..3, codec, bytes(), any::<(u16, u16)>()).prop_map(|(form, codec, data, (width, height))| {
        let (width, height) = (width.into(), height.into());
        Value::Image(match form {
            0 => Image::Encoded(Encoded::new(codec, width, height, data.into())),
            1 => Image::Pixels(Pixels { width, height, channels: 3, data }),
            _ => Image::Bilevel(Bilevel { width, height, levels: [1, 200], bits: data }),
        })
    })
}

fn pushed() -> impl Strategy<Value = Pushed> {
    let values = (image(), -1e9..1e9, bytes(), bytes(), bytes(), image(), any::<u8>(), -1..2_i64);
    let sample = values.prop_map(|(image, score, raw, text, json, other, array, label)| {
        let text = text.into_iter().map(|byte| char::from(byte & 0x7f)).collect();
        vec![
            image,
            Value::Float(score),
            Value::Bytes(raw.into()),
            Value::Text(text),
            Value::Json(json.into()),
            other,
            Value::Array(vec![array; ARRAY_BYTES].into()),
            Value::Int(label),
        ]
    });
    let key = "[a-z/]{0,40}".prop_map(|name| format!("{name}.png"));
    (key, sample, prop::bool::weighted(0.1)).prop_map(|(key, values, is_broken)| match is_broken {
        true => Err((key, "it was never made".into())),
        false => Ok(Sample { key, values }),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn spools_of_any_budget_are_the_obvious_version(
        samples in collection::vec(pushed(), 0..80),
        share in 0.0..1.0,
        forked in prop::option::of(0_usize..80),
    ) {
        let all: usize = samples.iter().map(|pushed| obvious_bytes(pushed).len() + 500).sum();
        for budget in [0, (all as f64 * share) as u64, u64::MAX] {
            let source = spooled(&samples, budget, forked);
            check(&source, &samples);
            if budget == 0 {
                assert_eq!(source.kept.len(), 0);
            } else if budget == u64::MAX {
                assert!(source.filed.is_empty());
            }
        }
    }
}

/// Images of this many bytes, with a label.
fn images(n: usize, n_bytes: usize) -> Vec<Sample<Image>> {
    let sample = |at: usize| {
        let bytes = vec![at as u8; n_bytes].into();
        let image = Image::Encoded(Encoded::new(Codec::Jpeg, 8, 8, bytes));
        Sample {
            key: format!("{at}.jpg"),
            values: vec![Value::Image(image), Value::Int(at as i64)],
        }
    };
    (0..n).map(sample).collect()
}

fn of_images(folder: &Path, budget: u64) -> SampleSpool {
    let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
    let spool = SampleSpool::new(Schema::new(fields).unwrap(), folder).unwrap();
    spool.memory_budget(budget)
}

#[test]
fn more_than_may_wait_is_written_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let samples = images(90, 600_000);
    let mut fingerprints = Vec::new();
    for budget in [0, 20 << 20, u64::MAX] {
        let mut spool = of_images(folder.path(), budget);
        for (at, sample) in samples.iter().enumerate() {
            if at == 70 {
                spool.background.pretend_to_be_foreign();
            }
            spool.push(sample.clone()).unwrap();
        }
        let source = spool.finish("images").unwrap();
        for (at, sample) in (0..).zip(&samples) {
            check_read(&source, at, sample);
        }
        fingerprints.push(source.fingerprint());
    }
    assert_eq!(fingerprints, [fingerprints[0]; 3]);
}

#[test]
fn a_full_disk_is_an_error_of_what_is_pushed_next_and_of_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let refusing = folder.path().join("read-only");
    std::fs::write(&refusing, b"").unwrap();
    let refusing = || Background::new(Arc::new(File::open(&refusing).unwrap()));
    let expected = format!("cannot write a temporary file in {}", folder.path().display());
    let is_expected = |error: Error| {
        let Error::Io { source, .. } = &error else { panic!("{error}") };
        // Bad file descriptor.
        assert_eq!((source.raw_os_error(), error.to_string()), (Some(9), expected.clone()));
    };
    let mut spool = of_images(folder.path(), 0);
    spool.background = refusing();
    let mut pushed = images(1, 2 << 20).into_iter().cycle().map(|image| spool.push(image));
    is_expected(pushed.by_ref().take(100_000).find_map(Result::err).unwrap());
    is_expected(pushed.next().unwrap().unwrap_err());
    drop(pushed);
    is_expected(spool.finish("none").err().unwrap());
    for n_bytes in [10, 2 << 20] {
        let mut spool = of_images(folder.path(), 0);
        spool.background = refusing();
        // The thread may be faster than the next one.
        let _ = images(2, n_bytes).into_iter().try_for_each(|image| spool.push(image));
        is_expected(spool.finish("none").err().unwrap());
    }
}

#[test]
fn a_dropped_spool_leaves_neither_a_file_nor_a_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = of_images(folder.path(), 1 << 20);
    for image in images(20, 1 << 20) {
        spool.push(image).unwrap();
    }
    let file = Arc::downgrade(&spool.file);
    drop(spool);
    assert!(file.upgrade().is_none());
}

/// Bytes that say which thread has dropped them.
struct Owner(Vec<u8>, Arc<Mutex<Vec<ThreadId>>>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(thread::current().id());
    }
}

#[test]
fn bytes_are_dropped_by_the_thread_that_pushes() {
    let folder = tempfile::tempdir().unwrap();
    let dropped = Arc::new(Mutex::new(Vec::new()));
    for ends in [true, false] {
        let mut spool = of_images(folder.path(), 2 << 20);
        for mut sample in images(60, 1 << 20) {
            let Value::Image(Image::Encoded(image)) = &mut sample.values[0] else { continue };
            image.bytes = Bytes::from_owner(Owner(image.bytes.to_vec(), dropped.clone()));
            spool.push(sample).unwrap();
        }
        // Of sixty no more than may wait is left.
        assert!(dropped.lock().unwrap().len() >= 50);
        if ends {
            drop(spool.finish("images").unwrap());
        } else {
            drop(spool);
        }
        assert_eq!(std::mem::take(&mut *dropped.lock().unwrap()), [thread::current().id(); 60]);
    }
}

//! Reads past the page cache: equal batches from every format, no delivery of damage, and bounded
//! rates.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, epoch, options};
use fdconvert_core::{
    Amount, Codec, Encoded, FieldSpec, Format, Kind, Reader, Sample, Schema, Value,
};
use fdconvert_formats::beton::Beton;
use fdconvert_formats::mds::Mds;
use fdconvert_formats::mixed::Mixed;
use fdconvert_formats::wds::Wds;
use fdconvert_loader::{
    Access, CachePolicy, Datasets, Failures, Loader, OnError, Options, Sampling, research::LIQUID,
};
use fdconvert_profile::{SlowStorage, Throttle};
use fdconvert_testkit::fixtures;
use std::{
    collections::BTreeSet,
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

fn pack(format: &dyn Format, out: &Path, images: &[Encoded]) -> Arc<dyn Reader> {
    let fields = vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", ["a", "b", "c"].map(str::to_owned).to_vec().into()),
    ];
    let sample = |(number, image): (usize, &Encoded)| {
        let values = vec![Value::Image(image.clone()), Value::Int(number as i64 % 3)];
        Sample { key: format!("{number:04}.{}", image.codec.extension()), values }
    };
    let samples: Vec<_> = images.iter().enumerate().map(sample).collect();
    common::packed(format, out, &Schema::new(fields).unwrap(), &samples)
}

/// Returns forty images that the format holds; some are larger than a block of the disk, some
/// smaller.
fn images(format: &dyn Format) -> Vec<Encoded> {
    let image = |number: u32| {
        let (width, height, seed) = (20 + number, 18 + number * 2, u64::from(number));
        let codec = if number.is_multiple_of(3) { Codec::Png } else { Codec::Bmp };
        match codec {
            _ if format.name() == "beton" => fixtures::raw(width, height, seed),
            Codec::Png => fixtures::png(width, height, seed),
            _ if format.name() == "mixed" => fixtures::bmp(width, height, seed),
            _ => fixtures::png(width, height, seed),
        }
    };
    (0..40).map(image).collect()
}

fn each_format(check: impl Fn(&dyn Format, &Path, Arc<dyn Reader>)) {
    let formats: [(&dyn Format, &str); 4] = [
        (&Beton::default(), "a.beton"),
        (&Wds::default(), "a.wds"),
        (&Mds::default(), "a.mds"),
        (&Mixed::default(), "a.mixed"),
    ];
    for (format, name) in formats {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(name);
        let reader = pack(format, &out, &images(format));
        check(format, &out, reader);
    }
}

fn loader(reader: &Arc<dyn Reader>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

#[test]
fn direct_batches_are_those_of_maps() {
    each_format(|format, _, reader| {
        let expected = epoch(&mut loader(&reader, options(7, 8)));
        let direct = options(7, 8).access(Access::Direct);
        for fetch_threads in [0, 5] {
            let mut running = loader(&reader, direct.clone().fetch_threads(fetch_threads));
            assert_eq!(epoch(&mut running), expected, "{}", format.name());
            let stats = running.stats();
            let bytes: u64 =
                (0..40).map(|at| reader.bytes(at, Amount::Known).unwrap().unwrap()).sum();
            assert_eq!((stats.storage_bytes, stats.reads, stats.hits), (bytes, 40, 0));
            assert_eq!((stats.fetched_bytes, stats.hit_share()), (bytes, 0.0));
        }
        let cache_bytes =
            (0..40).map(|at| reader.bytes(at, Amount::Known).unwrap().unwrap()).sum::<u64>() / 2;
        for cache_policy in [CachePolicy::RESIDENT, LIQUID] {
            let cached = direct.clone().cache_bytes(cache_bytes).cache_policy(cache_policy);
            let mut running = loader(&reader, cached.clone());
            let mut mapped = loader(&reader, cached.access(Access::Mapped));
            for _ in 0..3 {
                assert_eq!(epoch(&mut running), epoch(&mut mapped), "{}", format.name());
            }
            assert!(running.stats().hits > 20 && running.stats().reads == mapped.stats().reads);
        }
    });
}

/// A flipped bit still looks like pixels: only the checksum detects it.
#[test]
fn a_flipped_bit_is_not_delivered() {
    each_format(|format, out, reader| {
        let extent = reader.image_extent(17).unwrap().unwrap();
        let file = File::options().read(true).write(true).open(&extent.path).unwrap();
        let mut byte = [0];
        let at = extent.offset + extent.len / 2;
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
        drop(file);
        let reader: Arc<dyn Reader> = format.open(out).unwrap().into();
        let failures = Failures { on_error: OnError::Skip, ..Failures::default() };
        for cache_bytes in [0, 100_000] {
            let mut running = loader(
                &reader,
                options(7, 8)
                    .access(Access::Direct)
                    .cache_bytes(cache_bytes)
                    .failures(failures.clone()),
            );
            for _ in 0..2 {
                while let Some(batch) = running.next_batch() {
                    let batch = batch.unwrap();
                    for (sample, valid) in batch.samples().iter().zip(batch.valid()) {
                        assert_eq!(*valid, *sample != 17, "{}", format.name());
                    }
                }
            }
        }
        let direct = options(7, 8).access(Access::Direct).sampling(Sampling::Sequential);
        let said = loader(&reader, direct).find_map(Result::err).unwrap().chain();
        assert!(said.contains("checksum") && said.contains("0017"), "{said}");
    });
}

/// A wrong label looks like any other.
#[test]
fn a_flipped_label_is_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let (format, out) = (Beton::default(), folder.path().join("a.beton"));
    pack(&format, &out, &images(&format));
    // The label of the first row, after the header, two descriptors and the image's cell.
    let (file, at) = (File::options().write(true).open(&out).unwrap(), 24 + 2 * 1041 + 16);
    file.write_all_at(&[7], at).unwrap();
    let reader: Arc<dyn Reader> = format.open(&out).unwrap().into();
    for access in [Access::Mapped, Access::Direct] {
        let checked = options(7, 8).access(access);
        let said = loader(&reader, checked.clone()).find_map(Result::err).unwrap().chain();
        assert!(said.contains("checksum"), "{said}");
        let mut unchecked = loader(&reader, checked.verify(false));
        assert_eq!(epoch(&mut unchecked).len(), 6);
    }
}

#[test]
fn files_that_vanish_or_shrink_are_errors() {
    each_format(|_, _, reader| {
        let extent = reader.image_extent(39).unwrap().unwrap();
        std::fs::remove_file(&extent.path).unwrap();
        let direct = options(7, 8).access(Access::Direct);
        let said = loader(&reader, direct).find_map(Result::err).unwrap().chain();
        assert!(said.contains(&extent.path.display().to_string()), "{said}");
    });
}

#[test]
fn datasets_that_do_not_say_where_images_lie_are_refused() {
    let datasets = Datasets::one(Memory::new(5)).unwrap();
    let refused = Loader::new(datasets, options(4, 8).access(Access::Direct));
    let said = refused.err().unwrap().to_string();
    assert!(said.contains("memory does not know") && said.starts_with("access"), "{said}");
}

/// Both kinds of access wait for a slow disk's time, except for images in memory.
#[test]
fn throttles_are_paid_for_every_read_and_for_no_hit() {
    each_format(|format, _, reader| {
        let bytes: u64 = (0..40).map(|at| reader.bytes(at, Amount::Known).unwrap().unwrap()).sum();
        for access in [Access::Mapped, Access::Direct] {
            let rate = bytes as f64 * 10.0;
            let throttle = Arc::new(Throttle::new(rate).unwrap());
            let storage =
                SlowStorage { throttle: Some(throttle.clone()), ..SlowStorage::default() };
            let throttled = options(5, 8).access(access).cache_bytes(bytes / 2);
            let start = Instant::now();
            let mut running = loader(&storage.around(reader.clone()), throttled);
            assert_eq!(epoch(&mut running).len(), 8);
            let took = start.elapsed();
            // The debt is at least the cost of all bytes, and has been waited for.
            assert!(throttle.reserve(0, start) >= Duration::from_millis(99), "{}", format.name());
            assert!(took >= Duration::from_millis(99), "{took:?}");
            assert_eq!(running.stats().storage_bytes, bytes);
            epoch(&mut running);
            let second = running.stats().storage_bytes - bytes;
            assert!(second > 0 && second < bytes * 2 / 3, "{second} of {bytes}");
        }
    });
}

/// A mixed set is spread codec by codec.
#[test]
fn codecs_of_a_mixed_set_are_in_every_batch() {
    let folder = tempfile::tempdir().unwrap();
    let format = Mixed::default();
    let reader = pack(&format, &folder.path().join("a.mixed"), &images(&format));
    assert_eq!(reader.strata(), [14, 26]);
    let bytes: u64 = (0..40).map(|at| reader.bytes(at, Amount::Known).unwrap().unwrap()).sum();
    for cache_bytes in [0, bytes / 3] {
        let mut running = loader(&reader, options(10, 8).cache_bytes(cache_bytes));
        assert_eq!(running.residents().len(), 2);
        let mut all = BTreeSet::new();
        for batch in epoch(&mut running) {
            let pngs = batch.samples.iter().filter(|sample| sample.is_multiple_of(3)).count();
            assert!((3..=4).contains(&pngs), "{pngs} of 3.5");
            all.extend(batch.samples);
        }
        assert!(all.into_iter().eq(0..40));
    }
}

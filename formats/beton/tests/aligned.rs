//! Images at multiples of the block size of file systems.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{
    beton, compact, create, image_and_text, image_and_text_sample, noise, open, pack, paged, raw,
    read_all,
};
use crate::index::Index;
use bytes::Bytes;
use fdconvert_core::{
    Codec, Common, Create, Encoded, Error, FieldSpec, Format, Kind, Provenance, Reader as _,
    Sample, Schema, Shard, Value,
};
use proptest::prelude::*;

const OPTIONS: [&[(&str, &str)]; 4] = [
    &[("align", "4096"), ("page-size", "2097152")],
    &[("align", "4096"), ("page-size", "2097152"), ("compact", "")],
    &[("align", "16384"), ("page-size", "2097152")],
    &[("align", "65536"), ("page-size", "4194304"), ("compact", "")],
];

/// A text in front of two images, and bytes behind them.
fn schema() -> Schema {
    Schema::new(vec![
        FieldSpec::new("name", Kind::Text),
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("mask", Kind::Image),
        FieldSpec::new("tail", Kind::Bytes),
    ])
    .unwrap()
}

fn jpeg(seed: u64, len: usize) -> Value<Encoded> {
    let bytes = [&[0xff, 0xd8][..], &noise(seed, len)].concat();
    Value::Image(Encoded::new(Codec::Jpeg, 5, 7, bytes.into()))
}

fn sample(number: u64, lens: &(usize, u32, usize)) -> Sample<Encoded> {
    let (jpeg_len, side, tail) = *lens;
    let values = vec![
        Value::Text("n".repeat(number as usize % 3)),
        jpeg(number, jpeg_len),
        raw(side, 3, number),
        Value::Bytes(noise(number, tail).into()),
    ];
    Sample { key: format!("k{number}"), values }
}

/// The values of the index block in the order of the table: place, length, and whether an image.
fn places(file: &Bytes) -> Vec<(u64, u64, bool)> {
    let table = u64::from_le_bytes(file[16..24].try_into().unwrap());
    let index = Index::find_before(file, table).unwrap().unwrap();
    let mut places = Vec::new();
    for sample in 0..index.n_samples() {
        for region in 0..index.regions_per_sample() {
            let found = index.region(sample, region).unwrap();
            places.push((found.offset, found.len, found.image.is_some()));
        }
    }
    places
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Also where images are blocks and one byte more, and where pages end.
    #[test]
    fn images_are_aligned_and_nothing_overlaps(
        lens in prop::collection::vec(
            (
                prop_oneof![0..9000_usize, 4090..4100_usize, 400_000..900_000_usize],
                1..6000_u32,
                prop_oneof![Just(0_usize), 0..5000_usize],
            ),
            1..9,
        ),
        layout in 0..OPTIONS.len(),
    ) {
        let format = beton(OPTIONS[layout]);
        let (align, page_bytes) = (OPTIONS[layout][0].1, OPTIONS[layout][1].1);
        let (align, page_bytes): (u64, u64) = (align.parse().unwrap(), page_bytes.parse().unwrap());
        let samples: Vec<_> = (0..).zip(&lens).map(|(i, lens)| sample(i, lens)).collect();
        let file = pack(&*format, &schema(), &samples);
        let reader = open(&file).unwrap();
        prop_assert_eq!(&read_all(&reader), &samples);
        let problems = reader.verify_layout();
        prop_assert!(problems.is_empty(), "{:?}", problems);

        let mut end = 0;
        for sample in places(&file).chunks(4) {
            let page = sample[0].0 / page_bytes;
            for &(offset, len, is_image) in sample {
                prop_assert!(offset >= end, "{} begins before {}", offset, end);
                prop_assert!(!is_image || offset.is_multiple_of(align), "{}", offset);
                // An empty value takes a byte.
                end = offset + len.max(1);
                prop_assert_eq!((offset / page_bytes, (end - 1) / page_bytes), (page, page));
            }
        }
    }
}

/// What is in front of the images of a page would be left out of what they take otherwise.
#[test]
fn a_sample_that_fits_a_page_by_its_bytes_alone_is_refused() {
    let format = beton(OPTIONS[0]);
    let folder = tempfile::tempdir().unwrap();
    let mut writer = create(&*format, &folder.path().join("a.beton"), &schema(), 1).unwrap();
    let large = sample(1, &((2 << 20) - 100_000, 1, 95_000));
    let error = writer.write(&large).unwrap_err().to_string();
    assert!(error.contains("`page-size=4MiB` would do"), "{error}");
    // With the tail in the block that the second image begins, to the last byte.
    let fits = sample(3, &((2 << 20) - 4096 - 4096 - 2, 1, 4096 - 9));
    writer.write(&fits).unwrap();
    writer.finish().unwrap();
}

/// Readers ask nothing of it: the values are those of an unaligned file.
#[test]
fn only_places_differ_from_other_files() {
    let samples: Vec<_> = (0..9).map(|i| image_and_text_sample(i, 40, 30)).collect();
    for (aligned, plain) in [(OPTIONS[0], paged()), (OPTIONS[1], compact())] {
        let aligned = pack(&*beton(aligned), &image_and_text(), &samples);
        let plain = pack(&*plain, &image_and_text(), &samples);
        let (aligned, plain) = (open(&aligned).unwrap(), open(&plain).unwrap());
        assert_eq!(read_all(&aligned), read_all(&plain));
    }
}

/// The record says that images are aligned, so verification asks for it.
#[test]
fn a_verification_compares_with_the_record() {
    let samples: Vec<_> = (0..3).map(|i| image_and_text_sample(i, 40, 30)).collect();
    let problems = |format: &dyn Format| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.beton");
        let params = [("beton.align".to_owned(), "4096".to_owned())].into();
        let request = Create {
            out: &out,
            schema: &image_and_text(),
            shard: &Shard::whole(3),
            common: &Common::default(),
            provenance: &Provenance { params, ..Provenance::default() },
            fingerprint: [7; 16],
            stamp: [7; 16],
            overwrite: false,
            entry_points: false,
            is_open: false,
        };
        let mut writer = format.create(&request).unwrap();
        samples.iter().for_each(|sample| writer.write(sample).unwrap());
        writer.finish().unwrap();
        format.open(&out).unwrap().verify_layout()
    };
    assert!(problems(&*beton(OPTIONS[0])).is_empty());
    let found = problems(&*compact());
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|error| error.to_string().contains("is not aligned to 4096")));
}

#[test]
fn what_cannot_be_is_refused() {
    let set = |options: &[(&str, &str)]| {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let options = fdconvert_core::OptionValues(options.collect());
        crate::beton::Beton::default().with_options(&options).err()
    };
    for (options, said) in [
        (&[("align", "512")][..], "none of 4096"),
        (&[("align", "")], "none of 4096"),
        (&[("align", "4096"), ("compat", "ffcv")], "FFCV aligns nothing: drop `compat`"),
    ] {
        let error = set(options).unwrap();
        assert!(matches!(error, Error::Usage { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(set(&[("align", "65536"), ("compact", "")]).is_none());
}

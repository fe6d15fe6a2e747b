//! Cost of random reads in a store, for fdconvert's files and for other tools' files with a page
//! index.
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::parquet::{
    Parquet, ParquetReader,
    stage::{check, properties},
    tests::library,
};
use ::parquet::{
    basic::{Compression, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties},
};
use fdconvert_core::{
    Common, Create, Encoded, FieldSpec, Format as _, Kind, Provenance, Reader as _, Sample, Schema,
    Shard, Source as _, Value,
};
use fdconvert_testkit::{
    fixtures::{Random, png, samples},
    server::Server,
};
use std::{fs, path::Path, thread, time::Duration};

/// Two row groups and a half.
const N_SAMPLES: usize = 250;

fn schema() -> Schema {
    let classes = ["cat".to_owned(), "dog".to_owned()];
    let label = FieldSpec::label("label", classes.into());
    let score = FieldSpec::new("score", Kind::Float);
    let caption = FieldSpec::new("caption", Kind::Text);
    Schema::new(vec![label, FieldSpec::new("image", Kind::Image), score, caption]).unwrap()
}

/// Images of 2 to 12 KiB.
fn all() -> Vec<Sample<Encoded>> {
    let images: Vec<_> = (0..20).map(|at| png(24 + 2 * at, 24 + 2 * at, at.into())).collect();
    samples(&schema(), &images, N_SAMPLES, 3)
}

fn ours(out: &Path) {
    let (shard, common) = (Shard::whole(N_SAMPLES as u64), Common::default());
    let schema = schema();
    let mut writer = Parquet::default()
        .create(&Create {
            out,
            schema: &schema,
            shard: &shard,
            common: &common,
            provenance: &Provenance::default(),
            fingerprint: [7; 16],
            stamp: [7; 16],
            overwrite: false,
            entry_points: false,
            is_open: false,
        })
        .unwrap();
    all().iter().for_each(|sample| writer.write(sample).unwrap());
    writer.finish().unwrap();
}

/// As another tool writes it: without fdconvert's note and block.
fn theirs(out: &Path, properties: WriterProperties) {
    let (schema, all) = (schema(), all());
    all.iter().for_each(|sample| check(&schema, sample).unwrap());
    fs::write(out, library::file(&schema, properties, &all, 100)).unwrap();
}

fn image_bytes(sample: &Sample<Encoded>) -> u64 {
    let bytes = sample.values.iter().map(|value| match value {
        Value::Image(image) => image.bytes.len(),
        _ => 0,
    });
    bytes.sum::<usize>() as u64
}

/// Lengths of the pages with a row, for each column, including their dictionaries.
fn pages_of(reader: &ParquetReader, row: u64) -> Vec<u64> {
    let file = &reader.parts[0].file;
    let (group, row) = file.group_of(row).unwrap();
    let len = |leaf: usize| {
        let table = file.table(group, leaf).unwrap();
        let (page, _) = file.page_of(group, leaf, row).unwrap();
        table.pages[page].len + table.dictionary.map_or(0, |(_, len)| len)
    };
    (0..file.leaves.len()).map(len).collect()
}

/// Cost of 60 random reads.
struct Cost {
    /// For each sample the lengths of its pages, and the bytes of its image.
    samples: Vec<(Vec<u64>, u64)>,
    requests: u64,
    bytes: u64,
}

impl Cost {
    /// The sum over all samples.
    fn sum(&self, of: impl Fn(&[u64], u64) -> u64) -> u64 {
        self.samples.iter().map(|(pages, image)| of(pages, *image)).sum()
    }
}

/// At most `most`, and not much less: bytes fetched together with the footer or the start of the
/// file are kept and not fetched again.
fn assert_about(found: u64, most: u64) {
    assert!(found <= most && found * 2 >= most, "{found} of {most}");
}

/// Reads random samples with a reader that has read keys and page indexes, but no page.
fn cost(out: &Path) -> Cost {
    let here = ParquetReader::open(out).unwrap();
    let server = Server::start(out.parent().unwrap().parent().unwrap());
    let url = format!("{}/bucket/{}", server.url(), out.file_name().unwrap().to_string_lossy());
    let there = ParquetReader::open(Path::new(&url)).unwrap();
    there.key(0);
    (0..N_SAMPLES as u64).for_each(|row| drop(pages_of(&there, row)));
    // The server may count bytes after the client has received them.
    let settled = || {
        thread::sleep(Duration::from_millis(300));
        server.served()
    };
    let (before, mut random, mut samples) = (settled(), Random::new(1), Vec::new());
    for _ in 0..60 {
        let index = random.below(N_SAMPLES as u64);
        there.cache.clear();
        let sample = there.get(index).unwrap();
        assert_eq!(sample, here.get(index).unwrap());
        samples.push((pages_of(&here, index), image_bytes(&sample)));
    }
    let after = settled();
    let (requests, bytes) = (after.requests - before.requests, after.bytes - before.bytes);
    Cost { samples, requests, bytes }
}

/// Numbers and keys are in the index block, so only the caption needs a page.
#[test]
fn a_random_sample_of_ours_costs_its_bytes_and_a_page_of_each_text() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("bucket/x.parquet");
    fs::create_dir(out.parent().unwrap()).unwrap();
    ours(&out);
    let cost = cost(&out);
    assert_about(cost.requests, 2 * 60);
    assert_about(cost.bytes, cost.sum(|pages, image| image + pages.last().unwrap()));
}

fn properties_of_others(codec: Compression, rows: usize, has_dictionary: bool) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(has_dictionary)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_row_count_limit(rows)
        .set_write_batch_size(rows)
        .set_max_row_group_row_count(None)
        .build()
}

/// Columns are the label, the image's bytes and path, the score and the caption; the path was read
/// for the keys.
#[test]
fn a_random_sample_of_others_costs_a_page_of_each_column() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("bucket")).unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let files = [
        ("a", properties_of_others(Compression::UNCOMPRESSED, 1, false), 1),
        ("b", properties_of_others(Compression::UNCOMPRESSED, 16, false), 16),
        ("c", properties_of_others(zstd, 16, false), 16),
        ("d", properties_of_others(zstd, 16, true), 16),
        ("e", properties(&schema()).unwrap(), 1),
    ];
    for (name, properties, n_images) in files {
        let out = root.path().join("bucket").join(format!("{name}.parquet"));
        theirs(&out, properties);
        let cost = cost(&out);
        // All but the path; a dictionary takes its own request.
        let wanted = cost.sum(|pages, _| pages.iter().sum::<u64>() - pages[2]);
        assert_about(cost.bytes, wanted);
        assert!(cost.requests <= 60 * if name == "d" { 8 } else { 4 }, "{name}: {}", cost.requests);
        let beyond = cost.sum(|pages, image| pages[1] - image);
        if n_images == 1 {
            // Headers and levels: the image's page is the image.
            assert!(beyond < 60 * 64, "{name}: {beyond}");
        } else {
            // A page has several images, and reading one reads all of it.
            assert!(beyond > 4 * cost.sum(|_, image| image), "{name}: {beyond}");
        }
    }
}

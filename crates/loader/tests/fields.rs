//! Fields besides images and labels: every batch has the dataset's values, whatever their path to
//! it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, list, options};
use fdconvert_core::{
    Amount, ArraySpec, DType, Encoded, FieldSpec, Format, Kind, Reader, Sample, Schema, Value,
};
use fdconvert_formats::{beton::Beton, mds::Mds, wds::Wds};
use fdconvert_loader::{
    Access, Batch, Blend, CachePolicy, Column, Datasets, Failures, Label, Last, Loader, OnError,
    Options, Sampling, ThreadExchange, Transform, World, research::LIQUID,
};
use fdconvert_testkit::fixtures;
use std::{path::Path, slice::from_ref, sync::Arc, thread};

const N_SAMPLES: usize = 30;
const NAMES: [&str; 7] = ["id", "score", "blob", "caption", "meta", "box", "label"];

fn schema() -> Schema {
    let boxed = ArraySpec { dtype: DType::F32, shape: vec![2, 2], torch: false };
    let fields = vec![
        FieldSpec::new("id", Kind::Int),
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", ["a", "b", "c"].map(str::to_owned).to_vec().into()),
        FieldSpec::new("score", Kind::Float),
        FieldSpec::new("blob", Kind::Bytes),
        FieldSpec::new("caption", Kind::Text),
        FieldSpec::new("meta", Kind::Json),
        FieldSpec::new("box", Kind::Array(boxed)),
        FieldSpec::new("mask", Kind::Image),
    ];
    Schema::new(fields).unwrap()
}

fn samples(format: &dyn Format) -> Vec<Sample<Encoded>> {
    let image = |number: u64| match format.name() {
        "beton" => fixtures::raw(20 + number as u32, 18, number),
        _ => fixtures::png(20 + number as u32, 18, number),
    };
    let images: Vec<_> = (0..10).map(image).collect();
    fixtures::samples(&schema(), &images, N_SAMPLES, 3)
}

fn pack(format: &dyn Format, out: &Path) -> Arc<dyn Reader> {
    common::packed(format, out, &schema(), &samples(format))
}

fn each_format(check: impl Fn(&dyn Format, &Path, Arc<dyn Reader>)) {
    let formats: [(&dyn Format, &str); 3] =
        [(&Beton::default(), "a.beton"), (&Wds::default(), "a.wds"), (&Mds::default(), "a.mds")];
    for (format, name) in formats {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(name);
        check(format, &out, pack(format, &out));
    }
}

fn all_fields(batch: u32) -> Options {
    options(batch, 8).fields(NAMES.map(str::to_owned).to_vec()).seed(4)
}

fn open(readers: &[Arc<dyn Reader>], options: Options) -> Loader {
    let readers = readers.iter().map(|reader| (reader.clone(), 1.0)).collect();
    Loader::new(Datasets::weighted(readers).unwrap(), options).unwrap()
}

/// Returns the value of a row in the form of a sample.
fn value(column: &Column, row: usize) -> Value<Encoded> {
    match column {
        Column::Int(ints) => Value::Int(ints[row]),
        Column::Float(floats) => Value::Float(floats[row]),
        Column::Text(texts) => Value::Text(texts[row].clone()),
        Column::Json(documents) => Value::Json(documents[row].clone()),
        Column::Bytes(values) => Value::Bytes(values[row].clone()),
        Column::Array { spec, bytes } => {
            assert_eq!(spec.byte_len(), Some(bytes.len() as u64));
            let n_bytes = bytes.len() / column.len();
            Value::Array(bytes[row * n_bytes..][..n_bytes].to_vec().into())
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that each row equals its sample from `get`.
fn check(batch: &Batch, readers: &[Arc<dyn Reader>]) {
    assert!(batch.fields().map(|(name, _)| name).eq(NAMES));
    for (row, number) in batch.samples().iter().enumerate() {
        let (mut reader, mut index) = (0, *number);
        while index >= readers[reader].len() {
            index -= readers[reader].len();
            reader += 1;
        }
        let sample = readers[reader].get(index).unwrap();
        for (name, column) in batch.fields() {
            assert_eq!(column.len(), batch.len());
            let field = readers[reader].schema().position(name).unwrap();
            assert_eq!(value(column, row), sample.values[field], "`{name}` of {number}");
        }
    }
}

/// Returns all columns of an epoch, with each row compared with its sample.
fn epoch(loader: &mut Loader, readers: &[Arc<dyn Reader>]) -> Vec<Vec<(String, Column)>> {
    let columns = |batch: Batch| {
        check(&batch, readers);
        batch.fields().map(|(name, column)| (name.to_owned(), column.clone())).collect()
    };
    loader.map(|batch| columns(batch.unwrap())).collect()
}

#[test]
fn every_kind_comes_as_it_is_stored() {
    each_format(|format, _, reader| {
        let readers = [reader];
        for sampling in
            [Sampling::Sequential, Sampling::Shuffle, Sampling::Windowed { chunk: 4, window: 8 }]
        {
            let with = |threads, fetch_threads| {
                let options = all_fields(7)
                    .threads(threads)
                    .fetch_threads(fetch_threads)
                    .sampling(sampling.clone());
                epoch(&mut open(&readers, options), &readers)
            };
            let expected = with(1, 0);
            assert_eq!(expected.len(), 5, "{}", format.name());
            assert_eq!(with(4, 0), expected);
            assert_eq!(with(2, 3), expected);
        }
        let mut loader = open(&readers, all_fields(7));
        assert_eq!(loader.datasets().left_out(), ["mask"]);
        let batch = loader.next_batch().unwrap().unwrap();
        let Some(Column::Array { spec, .. }) = batch.field("box") else { panic!() };
        assert_eq!((spec.dtype, &spec.shape[..]), (DType::F32, &[7, 2, 2][..]));
        let Some(Column::Int(labels)) = batch.field("label") else { panic!() };
        assert_eq!(batch.labels(), Some(&labels[..]));
        assert!(batch.field("mask").is_none() && batch.field("image").is_none());
    });
}

#[test]
fn a_resumed_loader_continues_with_the_same_columns() {
    each_format(|_, _, reader| {
        let readers = [reader];
        let expected = epoch(&mut open(&readers, all_fields(4)), &readers);
        let mut first = open(&readers, all_fields(4));
        let state = first.by_ref().take(3).map(|batch| batch.unwrap().state()).last().unwrap();
        let mut second = open(&readers, all_fields(4));
        second.restore(&state).unwrap();
        assert_eq!(epoch(&mut second, &readers), expected[3..]);
        // The choice of fields is not part of a state.
        let mut without = open(&readers, all_fields(4).fields(Vec::new()));
        without.restore(&state).unwrap();
        assert_eq!(without.count(), expected.len() - 3);
    });
}

#[test]
fn several_datasets_padding_and_direct_reads_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let readers = [
        pack(&Beton::default(), &folder.path().join("a.beton")),
        pack(&Wds::default(), &folder.path().join("a.wds")),
        pack(&Mds::default(), &folder.path().join("a.mds")),
    ];
    let base = all_fields(16).last(Last::Pad);
    let expected = epoch(&mut open(&readers, base.clone()), &readers);
    assert_eq!(expected.len(), 6);
    for verify in [true, false] {
        let direct = base.clone().access(Access::Direct).verify(verify).fetch_threads(3);
        assert_eq!(epoch(&mut open(&readers, direct), &readers), expected);
    }
}

#[test]
fn caches_keep_values_with_their_images() {
    each_format(|format, _, reader| {
        let readers = [reader];
        let n_bytes: u64 = (0..N_SAMPLES as u64)
            .map(|at| readers[0].bytes(at, Amount::Known).unwrap().unwrap())
            .sum();
        let folder = tempfile::tempdir().unwrap();
        for (cache_policy, in_folder) in
            [(CachePolicy::RESIDENT, false), (CachePolicy::RESIDENT, true), (LIQUID, false)]
        {
            let options = all_fields(7)
                .cache_bytes(n_bytes / 2)
                .cache_policy(cache_policy)
                .cache_folder(in_folder.then(|| folder.path().to_owned()));
            let mut loader = open(&readers, options.clone());
            for _ in 0..2 {
                assert_eq!(epoch(&mut loader, &readers).len(), 5, "{}", format.name());
            }
            assert!(loader.stats().hits > 0);
            if in_folder {
                // Another loader finds the copies; one with other fields uses separate ones.
                let mut again = open(&readers, options.clone());
                epoch(&mut again, &readers);
                assert!(again.stats().reads < N_SAMPLES as u64);
                let mut other = open(&readers, options.fields(vec!["score".into()]));
                assert!(other.by_ref().all(|batch| batch.unwrap().field("score").is_some()));
                assert_eq!(other.stats().reads, N_SAMPLES as u64);
            }
        }
    });
}

#[test]
fn values_travel_with_the_samples_of_moved_rows() {
    each_format(|format, _, reader| {
        let readers = [reader];
        let loader = |(exchange, rank)| {
            let options = all_fields(6)
                .world(World { rank, size: 2 })
                .cache_bytes(1 << 20)
                .locality(true)
                .exchange(Some(Arc::new(exchange)));
            open(&readers, options)
        };
        let mut loaders: Vec<_> =
            ThreadExchange::of_ranks(2).into_iter().zip(0..).map(loader).collect();
        for _ in 0..4 {
            thread::scope(|scope| {
                let readers = &readers;
                for loader in &mut loaders {
                    scope.spawn(move || epoch(loader, readers));
                }
            });
        }
        let sum = |of: fn(&fdconvert_loader::Stats) -> u64| -> u64 {
            loaders.iter().map(|loader| of(&loader.stats())).sum()
        };
        assert!(sum(|stats| stats.exchanged) > 0, "{}", format.name());
        assert_eq!(sum(|stats| stats.not_exchanged), 0);
    });
}

#[test]
fn rows_that_fail_have_the_values_of_what_they_show() {
    let with = |policy, names: &[&str]| {
        options(8, 16)
            .fields(names.iter().map(|name| (*name).to_owned()).collect())
            .failures(Failures { on_error: policy, ..Failures::default() })
    };
    let reader = || Memory::new(16).broken(&[5]);
    let loader = common::loader(&reader(), with(OnError::Substitute, &["label"]));
    let mut n_substituted = 0;
    for batch in loader.map(Result::unwrap) {
        let Some(Column::Int(labels)) = batch.field("label") else { panic!() };
        assert_eq!(batch.labels(), Some(&labels[..]));
        assert!(batch.samples().iter().zip(labels).all(|(at, label)| *at as i64 % 7 == *label));
        n_substituted += batch.substituted().iter().filter(|is| **is).count();
    }
    assert_eq!(n_substituted, 1);

    let fields =
        [("score", Value::Float(0.5)), ("text", Value::Text("a".into())), ("id", Value::Int(3))];
    let reader = reader().with_fields(&fields);
    let options = with(OnError::Skip, &["score", "text", "id"]);
    let loader = common::loader(&reader, options.label(Label::None));
    let mut n_skipped = 0;
    for batch in loader.map(Result::unwrap) {
        for (row, valid) in batch.valid().iter().enumerate() {
            n_skipped += usize::from(!valid);
            let shown = batch.fields().map(|(_, column)| value(column, row));
            let expected = match valid {
                true => fields.clone().map(|(_, value)| value),
                false => [Value::Float(0.0), Value::Text(String::new()), Value::Int(0)],
            };
            assert!(shown.eq(expected));
        }
    }
    assert_eq!(n_skipped, 1);
}

/// The same values as labels, with all fields and without any.
#[test]
fn labels_of_every_kind_are_columns() {
    each_format(|format, _, reader| {
        let readers = [reader];
        for name in NAMES {
            let label = Label::Field(name.into());
            let all = all_fields(7).label(label.clone()).last(Last::Pad);
            let mut n_batches = 0;
            for batch in open(&readers, all.clone()).map(Result::unwrap) {
                check(&batch, &readers);
                assert_eq!(batch.label_column(), batch.field(name), "{}", format.name());
                n_batches += 1;
            }
            let n_bytes: u64 = (0..N_SAMPLES as u64)
                .map(|at| readers[0].bytes(at, Amount::Known).unwrap().unwrap())
                .sum();
            let folder = tempfile::tempdir().unwrap();
            for cache_bytes in [0, n_bytes / 2] {
                let alone = all
                    .clone()
                    .fields(Vec::new())
                    .cache_bytes(cache_bytes)
                    .cache_folder((cache_bytes > 0).then(|| folder.path().to_owned()))
                    .threads(3);
                let mut loader = open(&readers, alone.clone());
                let first = loader.next_batch().unwrap().unwrap();
                check_labels(&first, &readers[0], name);
                assert_eq!(first.fields().count(), 0);
                let mut resumed = open(&readers, alone);
                resumed.restore(&loader.state()).unwrap();
                let rest = resumed.by_ref().map(|batch| {
                    check_labels(&batch.unwrap(), &readers[0], name);
                });
                assert_eq!(rest.count(), n_batches - 1);
                // Shown fields are not listed as left out; all other fields are.
                assert!(!resumed.datasets().left_out().iter().any(|left_out| left_out == name));
                assert_eq!(resumed.datasets().left_out().len(), NAMES.len());
                // The samples are kept by then: in the next epoch hits have their labels, too.
                resumed.by_ref().for_each(|batch| check_labels(&batch.unwrap(), &readers[0], name));
                assert_eq!(resumed.stats().hits > 0, cache_bytes > 0);
            }
        }
    });
}

fn check_labels(batch: &Batch, reader: &Arc<dyn Reader>, name: &str) {
    let (column, field) = (batch.label_column().unwrap(), reader.schema().position(name).unwrap());
    assert_eq!(column.len(), batch.len());
    assert_eq!(batch.labels().is_some(), matches!(column, Column::Int(_)));
    for (row, number) in batch.samples().iter().enumerate() {
        let sample = reader.get(*number).unwrap();
        assert_eq!(value(column, row), sample.values[field], "`{name}` of {number}");
    }
}

#[test]
fn labels_are_of_one_kind_in_all_datasets_and_no_images() {
    let folder = tempfile::tempdir().unwrap();
    let reader = pack(&Beton::default(), &folder.path().join("a.beton"));
    let said = |readers: Vec<Arc<dyn Reader>>, name: &str| {
        let readers = readers.into_iter().map(|reader| (reader, 1.0)).collect();
        let options = options(4, 8).label(Label::Field(name.into()));
        Loader::new(Datasets::weighted(readers).unwrap(), options).err().unwrap().to_string()
    };
    let other: Arc<dyn Reader> = Memory::new(8).with_fields(&[("id", Value::Float(0.5))]);
    let found = said(vec![reader.clone(), other], "id");
    assert!(found.contains("label: `id` is an int in a.beton and a float in memory"), "{found}");
    for name in ["mask", "image", "captions"] {
        let found = said(vec![reader.clone()], name);
        let expected = format!("label: a.beton has no label `{name}`; its fields are ");
        assert!(found.contains(&expected) && found.contains("name `id` or `label` or"), "{found}");
    }
}

#[test]
fn labels_of_other_kinds_travel_with_moved_rows() {
    let folder = tempfile::tempdir().unwrap();
    let readers = [pack(&Wds::default(), &folder.path().join("a.wds"))];
    let loader = |(exchange, rank)| {
        let options = options(6, 8)
            .world(World { rank, size: 2 })
            .cache_bytes(1 << 20)
            .locality(true)
            .exchange(Some(Arc::new(exchange)))
            .label(Label::Field("box".into()));
        open(&readers, options)
    };
    let mut loaders: Vec<_> =
        ThreadExchange::of_ranks(2).into_iter().zip(0..).map(loader).collect();
    for _ in 0..4 {
        thread::scope(|scope| {
            for loader in &mut loaders {
                let reader = &readers[0];
                scope.spawn(move || {
                    loader.for_each(|batch| check_labels(&batch.unwrap(), reader, "box"));
                });
            }
        });
    }
    assert!(loaders.iter().map(|loader| loader.stats().exchanged).sum::<u64>() > 0);
}

#[test]
fn arrays_of_numbers_for_each_class_are_mixed_as_labels() {
    let several = ArraySpec { dtype: DType::U8, shape: vec![5], torch: false };
    let square = ArraySpec { dtype: DType::F32, shape: vec![2, 2], torch: false };
    let fields = vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("classes", Kind::Array(several)),
        FieldSpec::new("square", Kind::Array(square)),
    ];
    let schema = Schema::new(fields).unwrap();
    let samples = fixtures::samples(&schema, &[fixtures::raw(20, 18, 1)], 10, 3);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let reader = common::packed(&Beton::default(), &out, &schema, &samples);
    let with = |label: &str, num_classes| {
        let mixup = Transform::MixUp { alpha: 1.0, num_classes };
        options(10, 8)
            .label(Label::Field(label.into()))
            .transform(list([Transform::squeeze([8, 8]), mixup]))
            .sampling(Sampling::Sequential)
    };
    let numbers = |row: usize| match &samples[row].values[1] {
        Value::Array(bytes) => bytes.iter().copied().map(f32::from).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    for num_classes in [None, Some(5)] {
        let batch = open(from_ref(&reader), with("classes", num_classes)).next().unwrap().unwrap();
        let Some(Column::Array { spec, bytes }) = batch.label_column() else { panic!() };
        assert_eq!((spec.dtype, &spec.shape[..]), (DType::F32, &[10, 5][..]));
        let Blend::MixUp { lambda } = batch.blend() else { panic!() };
        let (own, other) = (lambda as f32, (1.0 - lambda) as f32);
        let expected = (0..10).flat_map(|row| {
            let rows = numbers(row).into_iter().zip(numbers((row + 9) % 10));
            rows.map(|(a, b)| b * other + a * own).collect::<Vec<_>>()
        });
        assert!(expected.eq(bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it))));
    }
    let refused = |label, num_classes| {
        let readers = vec![(reader.clone(), 1.0)];
        let datasets = Datasets::weighted(readers).unwrap();
        Loader::new(datasets, with(label, num_classes)).err().unwrap().to_string()
    };
    let found = refused("classes", Some(6));
    assert!(found.contains("num_classes: the label `classes` has 5 numbers"), "{found}");
    let found = refused("square", None);
    assert!(found.contains("`square` have the shape [2, 2], and only rows"), "{found}");
}

#[test]
fn damaged_values_are_not_delivered() {
    each_format(|format, out, reader| {
        let caption = reader.schema().position("caption").unwrap();
        let Value::Text(text) = &reader.get(7).unwrap().values[caption] else { panic!() };
        // A beton stores it as JSON, in which the rest has another form.
        let (text, _) = text.split_once('ä').unwrap();
        let mut n_damaged = 0;
        for file in files(out) {
            let mut bytes = std::fs::read(&file).unwrap();
            let places = bytes.windows(text.len()).enumerate();
            let places: Vec<_> =
                places.filter(|(_, it)| *it == text.as_bytes()).map(|(at, _)| at).collect();
            for at in &places {
                bytes[*at] ^= 1;
            }
            if !places.is_empty() && file.extension().is_none_or(|it| it != "fdx") {
                std::fs::write(&file, bytes).unwrap();
                n_damaged += 1;
            }
        }
        assert_eq!(n_damaged, 1, "{}", format.name());
        let readers = [format.open(out).unwrap().into()];
        for access in [Access::Mapped, Access::Direct] {
            let options = options(8, 8).access(access).fields(vec!["caption".into()]);
            let failed = open(&readers, options.clone()).find_map(Result::err).unwrap();
            assert!(failed.to_string().contains("checksum"), "{failed}");
            // A loader with other fields reads no caption past the page cache.
            if access == Access::Direct {
                let fields = vec!["score".into(), "id".into()];
                assert!(open(&readers, options.fields(fields)).all(|batch| batch.is_ok()));
            }
        }
    });
}

fn files(path: &Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).unwrap();
    entries.flat_map(|entry| files(&entry.unwrap().path())).collect()
}

#[test]
fn fields_that_cannot_be_in_batches_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let reader = pack(&Beton::default(), &folder.path().join("a.beton"));
    let said = |readers: Vec<Arc<dyn Reader>>, names: &[&str]| {
        let fields = names.iter().map(|name| (*name).to_owned()).collect();
        let readers = readers.into_iter().map(|reader| (reader, 1.0)).collect();
        let options = options(4, 8).label(Label::None).fields(fields);
        Loader::new(Datasets::weighted(readers).unwrap(), options).err().unwrap().to_string()
    };
    let one = |names| said(vec![reader.clone()], names);
    for (found, parts) in [
        (one(&["image"]), ["fields: `image` of a.beton is the image", "anyway"]),
        (one(&["captions"]), ["a.beton has no field `captions`", "`caption` (text)"]),
        (one(&["id", "id"]), ["`id` is named twice", "fields"]),
    ] {
        assert!(parts.iter().all(|part| found.contains(part)), "{found}");
    }
    let other = |value| Memory::new(8).with_fields(&[("id", value)]);
    let found = said(vec![reader.clone(), other(Value::Float(0.5))], &["id"]);
    assert!(found.contains("`id` is an int in a.beton and a float in memory"), "{found}");
    let found = said(vec![reader, other(Value::Int(5))], &["id", "score"]);
    assert!(found.contains("memory has no field `score`"), "{found}");
}

#[test]
fn what_a_formula_tells_of_its_images_comes_with_them() {
    let reader: Arc<dyn Reader> =
        fdconvert_formats::open(Path::new("fractal:svd?classes=3&instances=4&size=32"))
            .unwrap()
            .into();
    let meta = reader.schema().position("meta").unwrap();
    let fields = vec!["meta".into()];
    for batch in open(from_ref(&reader), options(5, 16).fields(fields)).map(Result::unwrap) {
        for (row, sample) in batch.samples().iter().enumerate() {
            let expected = reader.get(*sample).unwrap().values[meta].clone();
            assert_eq!(value(batch.field("meta").unwrap(), row), expected);
        }
    }
}

//! Datasets that change: histories of edits against a model.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    Append, Context, Edited, Error, Pack, PackOptions, Ratio, Remove, Update, Value, VerifyOptions,
    kept_versions, log, open, verify,
};
use fdconvert_testkit::fixtures::{self, Random};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const CLASSES: [&str; 3] = ["ant", "bee", "cat"];

/// A sample as it should be: key, class, bytes of the image.
type Expected = (String, i64, Vec<u8>);

/// A folder of images whose names begin with `name`, and its samples in order.
fn photos(folder: &Path, name: &str, n: u64, seed: u64) -> Vec<Expected> {
    let mut samples = Vec::new();
    for (class, of_class) in (0..).zip(CLASSES) {
        fs::create_dir_all(folder.join(of_class)).unwrap();
        let mine = (0..n).filter(|it| it % 3 == class);
        for at in mine {
            let key = format!("{of_class}/{name}-{at:04}.png");
            let image = fixtures::png(4 + (at % 5) as u32, 3, seed + at);
            fs::write(folder.join(&key), &image.bytes).unwrap();
            samples.push((key, class as i64, image.bytes.to_vec()));
        }
    }
    samples
}

fn options(format: &str) -> PackOptions {
    let options = PackOptions::default().format(format).shard_count(4);
    match format {
        "mixed" => options.ratio("0.5".parse::<Ratio>().unwrap()),
        "wds" => options
            .format_option("sidecars", "fdx,dali,wids,timm,card,croissant,energon,img2dataset"),
        _ => options,
    }
}

/// The samples of a version. Images of a mixed set are compared by their pixels elsewhere: some
/// became BMP.
fn samples(path: &str, with_images: bool) -> Vec<Expected> {
    let dataset = open(path).unwrap();
    let sample = |index| {
        let sample = dataset.get(index).unwrap();
        let mut image = Vec::new();
        let mut label = -1;
        for value in sample.values {
            match value {
                Value::Image(found) if with_images => image = found.bytes.to_vec(),
                Value::Int(class) => label = class,
                _ => {}
            }
        }
        (sample.key, label, image)
    };
    (0..dataset.len()).map(sample).collect()
}

fn check(path: &str, expected: &[Expected], format: &str) {
    let is_mixed = format == "mixed";
    let found = samples(path, !is_mixed);
    let expected: Vec<Expected> = expected
        .iter()
        .map(|(key, label, image)| {
            (key.clone(), *label, if is_mixed { Vec::new() } else { image.clone() })
        })
        .collect();
    assert_eq!(found, expected, "{path}");
    let verified =
        verify(Path::new(path), &VerifyOptions::default().deep(true), Context::default());
    let problems = verified.unwrap().problems;
    assert!(problems.is_empty(), "{path}: {problems:?}");
}

/// All files but the log, which has times.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() && entry.file_name() != "log.json" {
            let path = entry.path().strip_prefix(folder).unwrap().to_path_buf();
            found.insert(path, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn unwrap(edited: Result<Edited, Error>) -> Edited {
    edited.map_err(|error| error.chain()).unwrap()
}

/// One random edit of the dataset and of the model.
fn step(
    dataset: &Path,
    root: &Path,
    (format, threads): (&str, usize),
    model: &mut Vec<Expected>,
    rng: &mut Random,
    at: u64,
) -> Edited {
    match rng.below(3) {
        0 => {
            let folder = root.join(format!("more-{at}"));
            let n = 1 + rng.below(9);
            model.extend(photos(&folder, &format!("more{at}"), n, 1000 * at));
            let options = PackOptions::default().shard_count(4);
            unwrap(
                Append::new(dataset, [&folder])
                    .options(options)
                    .keep_versions(3)
                    .threads(threads)
                    .run(),
            )
        }
        1 if model.len() > 2 => {
            let n = 1 + rng.below((model.len() as u64 / 2).min(12));
            let mut keys = Vec::new();
            for _ in 0..n {
                let gone = model.remove(rng.below(model.len() as u64) as usize);
                keys.push(gone.0);
            }
            unwrap(Remove::new(dataset).keys(keys).keep_versions(3).threads(threads).run())
        }
        _ => {
            let n = 1 + rng.below(3);
            let mut table = "path,label\n".to_owned();
            let mut changed = BTreeMap::new();
            for _ in 0..n {
                let sample = rng.below(model.len() as u64) as usize;
                changed.insert(sample, (model[sample].1 + 1) % 3);
            }
            for (sample, label) in changed {
                model[sample].1 = label;
                table += &format!("{},{}\n", model[sample].0, CLASSES[label as usize]);
            }
            let file = root.join(format!("labels-{at}.csv"));
            fs::write(&file, table).unwrap();
            let edited =
                unwrap(Update::new(dataset, &file).keep_versions(3).threads(threads).run());
            assert_eq!(edited.entry.changed, edited.entry.changed.clamp(1, n), "{format}");
            edited
        }
    }
}

/// Thirty edits: each version has the samples of the model while it is kept, the log tells their
/// numbers, and the files are the same for any number of threads.
fn history(format: &str) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut trees = Vec::new();
    for threads in [1, 3] {
        let dataset = root.join(format!("{threads}")).join(format!("set.{format}"));
        fs::create_dir_all(dataset.parent().unwrap()).unwrap();
        let source = root.join("photos");
        let mut model = photos(&source, "first", 14, 7);
        Pack::new([&source], &dataset).options(options(format)).threads(threads).run().unwrap();
        let mut models = vec![model.clone()];
        let mut rng = Random::new(11);
        for at in 1..=30 {
            let edited = step(&dataset, root, (format, threads), &mut model, &mut rng, at);
            models.push(model.clone());
            let version = at + 1;
            assert_eq!((edited.entry.version, edited.was_done), (version, false));
            assert_eq!(edited.entry.samples, model.len() as u64);
            check(dataset.to_str().unwrap(), &model, format);
            let kept: Vec<u64> = (version.saturating_sub(2).max(1)..version).collect();
            assert_eq!(kept_versions(&dataset).unwrap(), kept);
            if at % 5 == 0 {
                for kept in kept {
                    let path = format!("{}@{kept}", dataset.display());
                    check(&path, &models[kept as usize - 1], format);
                }
            }
        }
        let log = log(&dataset).unwrap();
        let said: Vec<u64> = log.iter().map(|entry| entry.samples).collect();
        let wanted: Vec<u64> = models.iter().map(|model| model.len() as u64).collect();
        assert_eq!(said, wanted);
        let entries = log.windows(2);
        entries.for_each(|pair| {
            assert_eq!(pair[0].samples + pair[1].added - pair[1].removed, pair[1].samples);
        });
        // Compaction.
        let even = root.join(format!("{threads}-even.{format}"));
        let even_options = match format {
            "mixed" => PackOptions::default().format("mixed").shard_count(5),
            _ => options(format),
        };
        Pack::new([&dataset], &even).options(even_options).run().unwrap();
        check(even.to_str().unwrap(), &model, format);
        trees.push(files(&dataset));
    }
    assert_eq!(trees[0].keys().collect::<Vec<_>>(), trees[1].keys().collect::<Vec<_>>());
    for (path, bytes) in &trees[0] {
        assert!(trees[1][path] == *bytes, "{}", path.display());
    }
}

#[test]
fn thirty_edits_of_tar_shards() {
    history("wds");
}

#[test]
fn thirty_edits_of_mds() {
    history("mds");
}

#[test]
fn thirty_edits_of_parquet_files() {
    history("parquet");
}

#[test]
fn thirty_edits_of_a_mixed_set() {
    history("mixed");
}

/// Names of the files in a dataset that a glob for shards finds.
fn shards(dataset: &Path, ending: &str) -> Vec<String> {
    let names = files(dataset).into_keys().map(|path| path.to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

#[test]
fn what_is_removed_is_in_no_file_and_names_stay_a_sequence() {
    removed_from("wds", |number| format!("train-{number:06}.tar"));
    removed_from("mds", |number| format!("shard.{number:05}.mds"));
    removed_from("parquet", |number| format!("data/train-{number:05}-of-00006.parquet"));
}

fn removed_from(format: &str, name: fn(u64) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let (source, dataset) = (folder.path().join("photos"), folder.path().join("set"));
    let model = photos(&source, "first", 24, 7);
    Pack::new([&source], &dataset).options(options(format)).run().unwrap();
    // All of the second shard, and one of the third.
    let gone: Vec<&Expected> = model[4..8].iter().chain(&model[9..10]).collect();
    let keys = gone.iter().map(|(key, ..)| key.clone());
    unwrap(Remove::new(&dataset).keys(keys).run());
    let names: Vec<String> = (0..5).map(name).collect();
    let ending = Path::new(&names[0]).extension().unwrap().to_str().unwrap();
    assert_eq!(shards(&dataset, ending), names);
    for (path, bytes) in files(&dataset) {
        for (key, _, image) in &gone {
            let stem = key.trim_end_matches(".png");
            for part in [&image[..], stem.as_bytes()] {
                let found = bytes.windows(part.len()).any(|window| window == part);
                assert!(!found, "{key} is in {}", path.display());
            }
        }
    }
    let left: Vec<Expected> = model.iter().filter(|it| !gone.contains(it)).cloned().collect();
    check(dataset.to_str().unwrap(), &left, format);
}

#[test]
fn appended_and_compacted_shards_are_those_of_packing_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    photos(&path("a"), "a", 12, 1);
    photos(&path("b"), "b", 9, 50);
    for (format, ending) in [("wds", ".tar"), ("mds", ".mds")] {
        let [set, even, once] = ["set", "even", "once"].map(|it| path(&format!("{it}.{format}")));
        Pack::new([path("a")], &set).options(options(format)).run().unwrap();
        unwrap(Append::new(&set, [path("b")]).run());
        Pack::new([&set], &even).options(options(format)).run().unwrap();
        Pack::new([path("a"), path("b")], &once).options(options(format)).run().unwrap();
        assert_eq!(shards(&even, ending), shards(&once, ending));
        for name in shards(&once, ending) {
            assert!(fs::read(even.join(&name)).unwrap() == fs::read(once.join(&name)).unwrap());
        }
    }
}

#[test]
fn two_edits_of_one_version_have_one_winner() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let first = photos(&path("a"), "a", 12, 1);
    let more = [photos(&path("b"), "b", 9, 50), photos(&path("c"), "c", 9, 80)];
    for run in 0..50 {
        let set = path(&format!("set-{run}.wds"));
        Pack::new([path("a")], &set).options(options("wds")).run().unwrap();
        let append = |name: &str| Append::new(&set, [path(name)]).threads(1).run();
        let results = std::thread::scope(|scope| {
            let runs = ["b", "c"].map(|name| scope.spawn(move || append(name)));
            runs.map(|run| run.join().unwrap())
        });
        let mut expected = first.clone();
        let mut again = Vec::new();
        let mut versions = Vec::new();
        for (at, result) in results.into_iter().enumerate() {
            match result {
                Ok(edited) => versions.push((edited.entry.version, at)),
                Err(error) => {
                    let text = error.chain();
                    assert!(text.contains("was faster, and made version 2"), "{text}");
                    again.push(at);
                }
            }
        }
        for at in again {
            let edited = unwrap(append(["b", "c"][at]));
            versions.push((edited.entry.version, at));
        }
        versions.sort_unstable();
        assert_eq!([versions[0].0, versions[1].0], [2, 3]);
        versions.iter().for_each(|(_, at)| expected.extend(more[*at].clone()));
        check(set.to_str().unwrap(), &expected, "wds");
        fs::remove_dir_all(&set).unwrap();
    }
}

#[test]
fn the_same_edit_again_is_no_edit_and_refusals_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    photos(&path("a"), "a", 12, 1);
    photos(&path("b"), "b", 9, 50);
    let set = path("set.wds");
    Pack::new([path("a")], &set).options(options("wds")).run().unwrap();
    let append = || unwrap(Append::new(&set, [path("b")]).run());
    assert!(!append().was_done);
    let before = files(&set);
    assert!(append().was_done && append().entry.version == 2);
    let refused = |error: Result<Edited, Error>, part: &str| {
        let error = error.map(|edited| edited.entry).unwrap_err().chain();
        assert!(error.contains(part), "{error}");
    };
    refused(Remove::new(&set).keys(["ant/none.png"]).run(), "not in the source");
    refused(Remove::new(&set).matching("width < 1").run(), "none of the 21 samples");
    refused(Remove::new(&set).matching("width < 99").run(), "all of the 21 samples");
    refused(Remove::new(&set).run(), "which samples");
    fs::create_dir_all(path("c/dog")).unwrap();
    fs::write(path("c/dog/1.png"), fixtures::png(4, 4, 1).bytes).unwrap();
    refused(Append::new(&set, [path("c")]).run(), "dog");
    fs::create_dir_all(path("d")).unwrap();
    fs::write(path("d/1.png"), fixtures::png(4, 4, 1).bytes).unwrap();
    refused(Append::new(&set, [path("d")]).run(), "fields");
    refused(Append::new(path("a"), [path("b")]).run(), "folder of images");
    let version = PathBuf::from(format!("{}@1", set.display()));
    refused(Append::new(&version, [path("b")]).run(), "stays as it is");
    assert!(open(&version).map(|_| ()).unwrap_err().chain().contains("no version 1"));
    let beton = path("set.beton");
    Pack::new([path("a")], &beton).run().unwrap();
    refused(Append::new(&beton, [path("b")]).run(), "fdconvert pack");
    assert!(files(&set) == before);
}

#[test]
fn samples_without_images_are_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("a")).unwrap();
    photos(&path("a"), "a", 6, 1);
    let drop = PackOptions::default().drop_field("image").format("wds");
    Pack::new([path("a")], path("whole.wds")).run().unwrap();
    for name in ["one.wds", "two.wds"] {
        Pack::new([path("whole.wds")], path(name)).options(drop.clone()).run().unwrap();
    }
    let edited = unwrap(Append::new(path("one.wds"), [path("two.wds")]).run());
    assert_eq!((edited.entry.samples, edited.entry.added), (12, 6));
}

//! Data are fetched before they are needed: requests are merged, and many are in flight.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking, and record")]

use crate::common;
use fdconvert_loader::{Datasets, Last, Loader, Options, Sampling, Stats};
use fdconvert_testkit::server::{Fault, Faults, Server};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Bytes that the server may count later than the client receives them, or that are read besides
/// the samples: the indexes of all shards.
const INDEXES: u64 = 60_000;

/// Serialises tests, because times are compared.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills a bucket with the same 240 photos in several formats; three shards each for formats with
/// shards.
fn bucket(root: &Path, names: &[&str]) {
    let photos = root.join("photos");
    common::ok(&[&"sample", &photos]);
    let many = root.join("many");
    for copy in 0..20 {
        let class = many.join(format!("class-{copy:02}"));
        fs::create_dir_all(&class).unwrap();
        for (number, photo) in files(&photos).into_iter().enumerate() {
            fs::copy(photo, class.join(format!("{number:02}.jpg"))).unwrap();
        }
    }
    fs::create_dir_all(root.join("stores/bucket")).unwrap();
    for name in names {
        let out = root.join("stores/bucket").join(name);
        let format = name.strip_prefix("p.").unwrap_or(name);
        let mut pack: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &many, &out, &"--format", &format];
        match *name {
            "mixed" => pack.extend([&"--ratio" as &dyn AsRef<OsStr>, &"0.5"]),
            "p.beton" => {}
            _ => pack.extend([&"--shards" as &dyn AsRef<OsStr>, &"3"]),
        }
        common::ok(&pack);
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.retain(|path| path.extension().is_some_and(|it| it == "jpg"));
    files.sort();
    files
}

/// All batches of an epoch: images, labels, and valid rows.
type Batches = Vec<(Vec<u8>, Vec<i64>, Vec<bool>)>;

fn epoch(loader: &mut Loader) -> Batches {
    let mut batches = Vec::new();
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        let (labels, valid) = (batch.labels().unwrap().to_vec(), batch.valid().to_vec());
        batches.push((batch.images().to_vec(), labels, valid));
    }
    batches
}

fn read(path: &str, options: Options) -> (Batches, Stats) {
    let mut loader = Loader::new(Datasets::open(path).unwrap(), options).unwrap();
    (epoch(&mut loader), loader.stats())
}

/// Returns options for one reading and one decoding thread.
fn options(sampling: Sampling, ahead_bytes: u64) -> Options {
    let (fetch_threads, threads) = (1, 1);
    Options::default()
        .batch_size(16)
        .sampling(sampling)
        .fetch_threads(fetch_threads)
        .threads(threads)
        .ahead_bytes(ahead_bytes)
}

#[test]
fn in_sequence_requests_are_far_fewer_than_samples() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let names = ["wds", "mds", "mixed", "p.beton"];
    bucket(root.path(), &names);
    let server = Server::start(&root.path().join("stores"));
    for name in names {
        let local = root.path().join("stores/bucket").join(name);
        let expected = read(local.to_str().unwrap(), options(Sampling::Sequential, 0)).0;
        let url = format!("{}/bucket/{name}", server.url());
        let datasets = Datasets::open(&url).unwrap();
        let mut loader = Loader::new(datasets, options(Sampling::Sequential, 64 << 20)).unwrap();
        let before = server.served();
        assert_eq!(epoch(&mut loader), expected, "{name}");
        let requests = server.served().requests - before.requests;
        assert!(requests <= 240 / 10, "{name}: {requests}");
        // The headers between such small photos are a seventh at most, and MDS reads the indexes of
        // its shards when they are first needed.
        let (stats, bytes) = (loader.stats(), server.served().bytes - before.bytes);
        let asked = stats.storage_bytes;
        assert!(bytes <= asked + asked / 7 + INDEXES, "{name}: {bytes} of {asked}");
        assert!(stats.over_fetched_bytes + asked + INDEXES >= bytes, "{name}: {stats:?}");
    }
}

#[test]
fn shuffled_globally_a_twentieth_of_the_bytes_is_over_fetched_at_most() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    bucket(root.path(), &["wds", "p.beton"]);
    let server = Server::start(&root.path().join("stores"));
    for name in ["wds", "p.beton"] {
        let local = root.path().join("stores/bucket").join(name);
        let expected = read(local.to_str().unwrap(), options(Sampling::Shuffle, 0)).0;
        // For all samples, a third of them, and a few. All of them are a sequence, and between
        // photos as small as these the headers of a tar are more than a twentieth.
        let all = (name == "p.beton").then_some(64 << 20);
        for ahead_bytes in all.into_iter().chain([1 << 20, 200 << 10]) {
            let url = format!("{}/bucket/{name}", server.url());
            let datasets = Datasets::open(&url).unwrap();
            let mut loader =
                Loader::new(datasets, options(Sampling::Shuffle, ahead_bytes)).unwrap();
            let before = server.served();
            assert_eq!(epoch(&mut loader), expected);
            let stats = loader.stats();
            let (requests, bytes) =
                (server.served().requests - before.requests, server.served().bytes - before.bytes);
            println!(
                "{name} {ahead_bytes}: {requests} requests, {bytes} of {}",
                stats.storage_bytes
            );
            let asked = stats.storage_bytes;
            assert!(bytes <= asked + asked / 20 + INDEXES, "{name}, {ahead_bytes}: {bytes}");
            assert!(requests <= 240 && stats.requests >= requests, "{requests}: {stats:?}");
            assert!(stats.received_bytes + INDEXES >= bytes, "{bytes}: {stats:?}");
        }
    }
}

#[test]
fn one_thread_that_reads_has_many_requests_in_flight() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    bucket(root.path(), &["wds"]);
    let latency = Duration::from_millis(60);
    let server =
        Server::with_faults(&root.path().join("stores"), Faults { latency, ..Faults::default() });
    let url = format!("{}/bucket/wds", server.url());
    let at = |ahead_bytes| {
        let mut loader =
            Loader::new(Datasets::open(&url).unwrap(), options(Sampling::Shuffle, ahead_bytes));
        assert_eq!(epoch(loader.as_mut().unwrap()).len(), 15);
        server.served().most_in_flight
    };
    let (without, with) = (at(0), at(1 << 20));
    // Opening requests the indexes of all shards at the same time.
    assert!(without <= 3 && (16..=134).contains(&with), "{without}, {with}");
}

#[test]
fn faults_change_nothing_of_what_is_read_ahead() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let names = ["wds", "mds", "mixed", "p.beton"];
    bucket(root.path(), &names);
    let shares = vec![
        (0.15, Fault::Cut(1.0)),
        (0.05, Fault::Status(503)),
        (0.05, Fault::Reset),
        (0.05, Fault::Stall(Duration::from_millis(50))),
    ];
    for (seed, name) in (1..).zip(names) {
        let faults = Faults { seed, shares: shares.clone(), ..Faults::default() };
        let server = Server::with_faults(&root.path().join("stores"), faults);
        let local = root.path().join("stores/bucket").join(name);
        for sampling in [Sampling::Sequential, Sampling::Shuffle] {
            let expected = read(local.to_str().unwrap(), options(sampling.clone(), 0)).0;
            let url = format!("{}/bucket/{name}", server.url());
            assert_eq!(read(&url, options(sampling, 300 << 10)).0, expected, "{name}");
        }
    }
}

#[test]
fn an_object_that_was_replaced_is_named() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    bucket(root.path(), &["wds"]);
    let server = Server::start(&root.path().join("stores"));
    let url = format!("{}/bucket/wds", server.url());
    let options = options(Sampling::Sequential, 64 << 10).last(Last::Drop);
    let mut loader = Loader::new(Datasets::open(&url).unwrap(), options).unwrap();
    loader.next_batch().unwrap().unwrap();
    // The last shard is read in its present state; the tag of the first is known already.
    let shard = root.path().join("stores/bucket/wds/train-000000.tar");
    let mut bytes = fs::read(&shard).unwrap();
    let last = bytes.len() - 5000;
    bytes[last] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let said = loader.find_map(Result::err).unwrap().chain();
    assert!(said.contains("wds/train-000000.tar") && said.contains("changed"), "{said}");
}

#[test]
fn what_is_kept_is_not_asked_for_again() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    bucket(root.path(), &["wds"]);
    let server = Server::start(&root.path().join("stores"));
    let url = format!("{}/bucket/wds", server.url());
    for cache_folder in [None, Some(root.path().join("cache"))] {
        let options =
            options(Sampling::Shuffle, 1 << 20).cache_bytes(1 << 30).cache_folder(cache_folder);
        let mut loader = Loader::new(Datasets::open(&url).unwrap(), options).unwrap();
        epoch(&mut loader);
        let before = server.served().requests;
        epoch(&mut loader);
        assert_eq!(server.served().requests, before);
    }
}

#[test]
fn the_command_reads_ahead_with_one_thread() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    bucket(root.path(), &["wds"]);
    let server = Server::start(&root.path().join("stores"));
    let (local, url) = (root.path().join("stores/bucket/wds"), "s3://bucket/wds");
    let run = |args: &[&dyn AsRef<OsStr>]| {
        let before = server.served();
        let args = args.iter().map(|arg| arg.as_ref());
        let output = common::fdconvert().args(args).envs(server.variables()).output().unwrap();
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        server.served().requests - before.requests
    };
    let (here, there) = (root.path().join("here.beton"), root.path().join("there.beton"));
    common::ok(&[&"pack", &local, &here, &"--threads", &"1"]);
    for threads in ["1", "3"] {
        let args: [&dyn AsRef<OsStr>; 6] =
            [&"pack", &url, &there, &"--threads", &threads, &"--overwrite"];
        let packed = run(&args);
        assert!(packed <= 240 / 8, "{packed}");
        assert_eq!(fs::read(&here).unwrap(), fs::read(&there).unwrap());
    }
    // Twice for each sample without it.
    let verified = run(&[&"verify", &url, &"--deep"]);
    assert!(verified <= 240 / 4, "{verified}");
}

/// A folder of 240 photos in the bucket `bucket`.
fn folder_in_bucket(root: &Path) {
    bucket(root, &[]);
    fs::rename(root.join("many"), root.join("stores/bucket/many")).unwrap();
}

/// Each photo is an object; its length comes with the list, and not with a plan.
#[test]
fn images_of_a_folder_are_fetched_side_by_side() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    folder_in_bucket(root);
    let faults = Faults { latency: Duration::from_millis(30), ..Faults::default() };
    let (local, url) = (root.join("stores/bucket/many"), "s3://bucket/many");
    let here = root.join("here.beton");
    common::ok(&[&"pack", &local, &here, &"--threads", &"1"]);
    let there = root.join("there.beton");
    let plan = root.join("many.fdplan");
    let runs: [Vec<&dyn AsRef<OsStr>>; 4] = [
        vec![&"pack", &url, &there],
        vec![&"plan", &url, &"-o", &plan, &"--format", &"beton"],
        vec![&"pack", &"--plan", &plan, &there, &"--overwrite"],
        vec![&"verify", &url],
    ];
    for args in runs {
        let server = Server::with_faults(&root.join("stores"), faults.clone());
        let (is_pack, is_plan) = (args[0].as_ref() == "pack", args[0].as_ref() == "plan");
        let args = args.iter().map(|arg| arg.as_ref());
        let threads = is_pack.then_some(["--threads", "1"]).into_iter().flatten();
        let mut command = common::fdconvert();
        let output = command.args(args).args(threads).envs(server.variables()).output().unwrap();
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        let served = server.served();
        if is_pack {
            assert_eq!(fs::read(&here).unwrap(), fs::read(&there).unwrap());
        }
        if !is_plan {
            let by_path = server.by_path();
            let photos = by_path.iter().filter(|(path, _)| path.ends_with(".jpg"));
            assert!(photos.clone().all(|(_, &n)| n == 1) && photos.count() == 240, "{by_path:#?}");
            assert!((16..=134).contains(&served.most_in_flight), "{served:?}");
        }
    }
}

/// Each of 40 folders could be a part of an MDS dataset.
#[test]
fn folders_are_looked_at_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    common::ok(&[&"sample", &photos]);
    let photo = &files(&photos)[0];
    for class in 0..40 {
        let class = root.path().join(format!("stores/bucket/many/class-{class:02}"));
        fs::create_dir_all(&class).unwrap();
        fs::copy(photo, class.join("a.jpg")).unwrap();
    }
    let faults = Faults { latency: Duration::from_millis(30), ..Faults::default() };
    let server = Server::with_faults(&root.path().join("stores"), faults);
    let plan = root.path().join("plan");
    let args = ["plan", "s3://bucket/many", "--format", "beton", "-o", plan.to_str().unwrap()];
    let output = common::fdconvert().args(args).envs(server.variables()).output().unwrap();
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    let by_path = server.by_path();
    let looks = by_path.iter().filter(|(path, _)| path.ends_with("/index.json")).count();
    assert_eq!(looks, 41, "{by_path:#?}");
    let at_once = server.most_in_flight_of("index.json");
    assert!((16..=32).contains(&at_once), "{at_once}");
}

/// A mask for each photo in another folder, and failing answers.
#[test]
fn masks_beside_images_are_fetched_and_faults_change_nothing() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    folder_in_bucket(root);
    let (photos, masks) = (root.join("stores/bucket/many"), root.join("stores/bucket/masks"));
    for photo in files(&photos) {
        let mask = masks.join(photo.strip_prefix(&photos).unwrap());
        fs::create_dir_all(mask.parent().unwrap()).unwrap();
        fs::copy(photo, mask).unwrap();
    }
    let (here, there) = (root.join("here.wds"), root.join("there.wds"));
    let pair = format!("mask={}", masks.display());
    common::ok(&[&"pack", &photos, &here, &"--pair", &pair]);
    let shares = vec![(0.1, Fault::Cut(1.0)), (0.05, Fault::Status(503)), (0.05, Fault::Reset)];
    let faults = Faults { seed: 5, shares, ..Faults::default() };
    let server = Server::with_faults(&root.join("stores"), faults);
    let args = ["pack", "s3://bucket/many", there.to_str().unwrap(), "--threads", "1"];
    let pair = ["--pair", "mask=s3://bucket/masks", "--buffer", "1MiB"];
    let output =
        common::fdconvert().args(args).args(pair).envs(server.variables()).output().unwrap();
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    for file in common::names(&here).iter().filter(|name| here.join(name).is_file()) {
        assert_eq!(fs::read(here.join(file)).unwrap(), fs::read(there.join(file)).unwrap());
    }
}

/// Only samples that the selection reads are announced.
#[test]
fn samples_are_chosen_with_many_requests_in_flight() {
    let _alone = alone();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    folder_in_bucket(root);
    let many = root.join("stores/bucket/many");
    for (name, format) in [("wds", "wds"), ("p.parquet", "parquet")] {
        let out = root.join("stores/bucket").join(name);
        common::ok(&[&"pack", &many, &out, &"--format", &format]);
    }
    let latency = Duration::from_millis(30);
    let server = |name: &str, args: &[&str]| {
        let faults = Faults { latency, ..Faults::default() };
        let server = Server::with_faults(&root.join("stores"), faults);
        let (url, plan) = (format!("s3://bucket/{name}"), root.join("plan"));
        let _ = fs::remove_file(&plan);
        let fixed = ["plan", &url, "--format", "beton", "-o", plan.to_str().unwrap()];
        let mut command = common::fdconvert();
        let output = command.args(fixed).args(args).envs(server.variables()).output().unwrap();
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        server
    };
    let all = ["--where", "width >= 1 && height >= 1"];
    let some = ["--where", "label == \"class-03\" && width >= 1"];
    for args in [&all[..], &["--dedup", "exact"]] {
        let served = server("many", args);
        let by_path = served.by_path();
        let photos = by_path.iter().filter(|(path, _)| path.ends_with(".jpg"));
        assert!(photos.clone().all(|(_, &n)| n == 1) && photos.count() == 240, "{by_path:#?}");
        assert!((16..=134).contains(&served.served().most_in_flight), "{:?}", served.served());
        for name in ["wds", "p.parquet"] {
            // Merged: some requests of 4 MiB instead of one for each sample.
            let requests = server(name, args).served().requests;
            assert!(requests <= 12, "{name}: {requests}");
        }
    }
    let served = server("many", &some);
    let photos = served.by_path().into_iter().filter(|(path, _)| path.ends_with(".jpg"));
    assert_eq!(photos.count(), 12);
    let distinct = ["--dedup", "exact"];
    let some = ["--where", "label == \"class-03\"", "--dedup", "exact"];
    for name in ["wds", "p.parquet"] {
        let (whole, part) = (server(name, &distinct).served(), server(name, &some).served());
        assert!(part.bytes < whole.bytes / 2, "{name}: {part:?} of {whole:?}");
        // Sizes are in the index, so that no image is read for them.
        let sizes = server(name, &all).served();
        assert!(sizes.bytes < whole.bytes / 2, "{name}: {sizes:?} of {whole:?}");
    }
}

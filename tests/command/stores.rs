//! Datasets in stores: the command with URLs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking, and record")]

use crate::common::{self, fdconvert, text};
use fdconvert_core::SplitChoice;
use fdconvert_loader::{Datasets, Loader, Options};
use fdconvert_testkit::{
    compare,
    server::{Fault, Faults, Server},
    zip,
};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::Output,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

/// Runs the command with a store.
fn run(server: &Server, args: &[&dyn AsRef<OsStr>]) -> Output {
    let args = args.iter().map(|arg| arg.as_ref());
    fdconvert().args(args).envs(server.variables()).output().unwrap()
}

fn ok(server: &Server, args: &[&dyn AsRef<OsStr>]) -> String {
    let output = run(server, args);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn fails(server: &Server, args: &[&dyn AsRef<OsStr>]) -> String {
    let output = run(server, args);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// Fills a bucket with the same photos in every format; returns the names of the datasets.
fn bucket(root: &Path) -> Vec<&'static str> {
    let photos = root.join("photos");
    common::ok(&[&"sample", &photos]);
    let bucket = root.join("stores/bucket");
    fs::create_dir_all(bucket.join("sub")).unwrap();
    let names = ["sub/p.beton", "wds", "mds", "mixed"];
    for name in names {
        let format = if name == "sub/p.beton" { "beton" } else { name };
        let out = bucket.join(name);
        let mut pack: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &photos, &out, &"--format", &format];
        match name {
            "mixed" => pack.extend([&"--ratio" as &dyn AsRef<OsStr>, &"0.5"]),
            "wds" | "mds" => pack.extend([&"--shards" as &dyn AsRef<OsStr>, &"3"]),
            _ => {}
        }
        common::ok(&pack);
    }
    names.to_vec()
}

#[test]
fn every_format_is_read_from_a_bucket_and_from_a_web_server() {
    let root = tempfile::tempdir().unwrap();
    let names = bucket(root.path());
    let server = Server::start(&root.path().join("stores"));
    for (number, name) in names.iter().enumerate() {
        let local = root.path().join("stores/bucket").join(name);
        let unpacked = root.path().join(format!("local-{number}"));
        common::ok(&[&"unpack", &local, &unpacked]);
        for (kind, base) in [("s3", "s3://bucket".to_owned()), ("web", server.url() + "/bucket")] {
            let url = format!("{base}/{name}");
            let said = ok(&server, &[&"inspect", &url, &"--hash", &"--json"]);
            let mut said: serde_json::Value = serde_json::from_str(&said).unwrap();
            let here = common::ok(&[&"inspect", &local, &"--hash", &"--json"]);
            let mut here: serde_json::Value = serde_json::from_str(&here).unwrap();
            for document in [&mut said, &mut here] {
                document.as_object_mut().unwrap().remove("path");
            }
            assert_eq!(said, here, "{url}");
            ok(&server, &[&"verify", &url, &"--deep"]);
            ok(&server, &[&"diff", &local, &url]);
            let out = root.path().join(format!("{kind}-{number}"));
            ok(&server, &[&"unpack", &url, &out]);
            assert_eq!(compare::tree(&out), compare::tree(&unpacked), "{url}");
        }
    }
}

#[test]
fn what_is_packed_from_a_bucket_is_what_is_packed_from_a_folder() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let server = Server::start(&root.path().join("stores"));
    let (here, there) = (root.path().join("here.beton"), root.path().join("there.beton"));
    common::ok(&[&"pack", &root.path().join("stores/bucket/wds"), &here]);
    ok(&server, &[&"pack", &"s3://bucket/wds", &there]);
    assert_eq!(fs::read(here).unwrap(), fs::read(there).unwrap());
}

#[test]
fn files_beside_images_come_from_a_bucket_and_zips_do_not() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("stores/bucket/photos");
    common::tree(&photos, &["a/1.png", "a/2.png", "b/3.png"]);
    for name in ["a/1.txt", "a/2.txt", "b/3.txt", "b/4.txt"] {
        fs::write(photos.join(name), name).unwrap();
    }
    let zipped = zip::zip(&[zip::Entry::stored("1.png", fdconvert_testkit::fixtures::PNG_RGB)]);
    fs::write(root.path().join("stores/bucket/p.zip"), zipped).unwrap();
    let server = Server::start(&root.path().join("stores"));
    let (here, there) = (root.path().join("here.beton"), root.path().join("there.beton"));
    common::ok(&[&"pack", &photos, &here, &"--beside", &"txt"]);
    let said = ok(&server, &[&"pack", &"s3://bucket/photos", &there, &"--beside", &"txt"]);
    assert!(said.contains("1 file ignored (.txt 1)"), "{said}");
    assert_eq!(fs::read(here).unwrap(), fs::read(there).unwrap());

    let out = root.path().join("x.beton");
    let message = fails(&server, &[&"pack", &"s3://bucket/p.zip", &out]);
    assert!(message.contains("p.zip is a zip in a store") && message.contains("copy it here"));
}

#[test]
fn faults_of_the_network_change_nothing() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let stall = Fault::Stall(Duration::from_millis(20));
    let shares = vec![
        (0.1, Fault::Cut(1.0)),
        (0.05, Fault::Status(503)),
        (0.05, Fault::Reset),
        (0.05, stall),
    ];
    let faults = Faults { seed: 1, shares, ..Faults::default() };
    let server = Server::with_faults(&root.path().join("stores"), faults);
    for name in ["wds", "mds", "sub/p.beton"] {
        let (url, local) =
            (format!("s3://bucket/{name}"), root.path().join("stores/bucket").join(name));
        let (here, there) = (root.path().join("here"), root.path().join("there"));
        common::ok(&[&"unpack", &local, &here]);
        ok(&server, &[&"unpack", &url, &there]);
        assert_eq!(compare::tree(&here), compare::tree(&there), "{url}");
        fs::remove_dir_all(here).unwrap();
        fs::remove_dir_all(there).unwrap();
    }
}

/// Reads a dataset through a network with these faults; returns the samples that could not be read.
fn read_through_faults(root: &Path, seed: u64) -> Vec<String> {
    let shares = vec![
        (0.05, Fault::Cut(1.0)),
        (0.03, Fault::Status(503)),
        (0.03, Fault::Reset),
        (0.03, Fault::Stall(Duration::from_millis(200))),
        (0.03, Fault::Tag),
    ];
    let server = Server::with_faults(root, Faults { seed, shares, ..Faults::default() });
    let name = ["wds", "mds", "mixed", "sub/p.beton"][(seed % 4) as usize];
    let dataset = match fdconvert::open(format!("{}/bucket/{name}", server.url())) {
        Ok(dataset) => dataset,
        Err(error) => return vec![error.chain()],
    };
    let local = fdconvert::open(root.join("bucket").join(name)).unwrap();
    // Not announced, all together, or each sample separately.
    let indices: Vec<u64> = (0..local.len()).collect();
    let _ahead: Vec<_> = match seed % 3 {
        0 => Vec::new(),
        1 => vec![dataset.read_ahead(&indices)],
        _ => indices.chunks(1).map(|one| dataset.read_ahead(one)).collect(),
    };
    let mut errors = Vec::new();
    for index in 0..local.len() {
        match dataset.get(index) {
            Ok(sample) => assert_eq!(sample, local.get(index).unwrap(), "{name}, seed {seed}"),
            Err(error) => errors.push(error.chain()),
        }
    }
    errors
}

/// Many runs through faults each end with the same bytes, or report the object that has changed.
fn many_runs_through_faults(seeds: std::ops::Range<u64>) {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let stores = root.path().join("stores");
    let (next, n_errors) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    for error in read_through_faults(&stores, seed) {
                        // Only a different tag ends the retries.
                        let is_named = error.contains("http://") && error.contains("changed");
                        assert!(is_named, "seed {seed}: {error}");
                        n_errors.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    println!("{seeds:?}: {} errors, all named", n_errors.load(Ordering::Relaxed));
}

#[test]
fn a_few_runs_through_faults() {
    many_runs_through_faults(0..24);
}

#[test]
#[ignore = "minutes: part of the record in docs/reliability.md"]
fn a_thousand_runs_through_faults() {
    many_runs_through_faults(0..1000);
}

/// The answer of a store may also break off when it refuses; then the reason is requested again.
#[test]
fn a_refusal_that_breaks_off_is_still_understood() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let shares = vec![(0.3, Fault::Cut(1.0))];
    let faults = Faults { seed: 7, shares, ..Faults::default() };
    let server = Server::with_faults(&root.path().join("stores"), faults);
    let url = format!("{}/bucket/sub/p.beton", server.url());
    let dataset = fdconvert::open(&url).unwrap();
    let mut bytes = fs::read(root.path().join("stores/bucket/sub/p.beton")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    server.put("bucket/sub/p.beton", &bytes);
    let read = (0..dataset.len()).map(|index| dataset.get(index));
    let errors: Vec<_> = read.filter_map(|read| read.err().map(|error| error.chain())).collect();
    assert!(errors.len() > 5, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains("changed")), "{errors:?}");
}

/// Returns all data for a training from a dataset that a loader reads.
fn batches(dataset: &str, options: Options) -> Vec<(Vec<u8>, Vec<i64>)> {
    let mut loader = Loader::new(Datasets::open(dataset).unwrap(), options).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        batches.push((batch.images().to_vec(), batch.labels().unwrap().to_vec()));
    }
    batches
}

#[test]
fn training_from_a_store_sees_what_training_from_a_disk_sees() {
    let root = tempfile::tempdir().unwrap();
    let names = bucket(root.path());
    let shares = vec![(0.1, Fault::Cut(1.0)), (0.05, Fault::Status(503)), (0.05, Fault::Reset)];
    let faults = Faults { seed: 2, shares, ..Faults::default() };
    let server = Server::with_faults(&root.path().join("stores"), faults);
    let options = || Options::default().batch_size(4).fetch_threads(8).threads(1);
    for name in names {
        let local = root.path().join("stores/bucket").join(name);
        let there = batches(&format!("{}/bucket/{name}", server.url()), options());
        assert_eq!(there, batches(local.to_str().unwrap(), options()), "{name}");
    }
}

#[test]
fn requests_are_few_and_in_flight_together() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let faults = Faults { latency: Duration::from_millis(100), ..Faults::default() };
    let server = Server::with_faults(&root.path().join("stores"), faults);
    let url = format!("{}/bucket/wds", server.url());
    let datasets = Datasets::open(&url).unwrap();
    // A check, the manifest, and the index of each of three shards.
    let opened = server.served().requests;
    assert!(opened <= 3 + 3, "{:#?}", server.by_path());
    // One request each: reading ahead is tested elsewhere.
    let (batch_size, fetch_threads, ahead_bytes) = (12, 12, 0);
    let options = Options::default()
        .batch_size(batch_size)
        .fetch_threads(fetch_threads)
        .ahead_bytes(ahead_bytes)
        .threads(1);
    let mut loader = Loader::new(datasets, options).unwrap();
    assert_eq!(loader.next_batch().unwrap().unwrap().len(), 12);
    assert_eq!(server.served().requests, opened + 12);
    // Other tests of this process send requests as well.
    let stats = loader.stats();
    assert!(stats.requests >= 12 && stats.received_bytes >= stats.storage_bytes, "{stats:?}");
    assert!(server.served().most_in_flight >= 6, "{:?}", server.served());
}

#[test]
fn a_cache_in_a_folder_spares_exactly_its_share_of_the_requests() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let server = Server::start(&root.path().join("stores"));
    let url = format!("{}/bucket/wds", server.url());
    let cache = root.path().join("cache");
    let options = |cache_bytes: u64| {
        Options::default()
            .batch_size(4)
            .threads(1)
            .cache_bytes(cache_bytes)
            .cache_folder(Some(cache.clone()))
            .ahead_bytes(0)
    };
    // All images fit: the first epoch reads each once, the second and another process none.
    for (epochs, requests) in [(2, 12), (1, 0)] {
        let datasets = Datasets::open(&url).unwrap();
        let mut loader = Loader::new(datasets, options(1 << 20)).unwrap();
        let before = server.served().requests;
        for _ in 0..epochs {
            while let Some(batch) = loader.next_batch() {
                batch.unwrap();
            }
        }
        assert_eq!(server.served().requests - before, requests);
        assert_eq!(loader.stats().not_kept, 0);
    }
    // A third of them, in a separate folder; a truncated copy is read again.
    let mut loader = Loader::new(Datasets::open(&url).unwrap(), options(50 << 10)).unwrap();
    let mut epoch = || {
        let before = server.served().requests;
        let mut seen = Vec::new();
        while let Some(batch) = loader.next_batch() {
            seen.push(batch.unwrap().images().to_vec());
        }
        (server.served().requests - before, seen)
    };
    assert_eq!(epoch().0, 12);
    let missed = epoch().0;
    assert!((7..=9).contains(&missed), "{missed}");
    let folder = common::names(&cache).into_iter().map(|name| cache.join(name));
    let folder = folder.min_by_key(|folder| common::names(folder).len()).unwrap();
    let copy = folder.join(&common::names(&folder)[0]);
    fs::OpenOptions::new().write(true).open(&copy).unwrap().set_len(100).unwrap();
    assert_eq!(epoch().0, missed + 1);
    assert_eq!(epoch().0, missed);
}

#[test]
fn an_object_that_is_another_one_now_is_named() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let server = Server::start(&root.path().join("stores"));
    let dataset = fdconvert::open(format!("{}/bucket/wds", server.url())).unwrap();
    let last = dataset.len() - 1;
    dataset.get(last).unwrap();
    let shard = root.path().join("stores/bucket/wds/train-000002.tar");
    let mut bytes = fs::read(&shard).unwrap();
    bytes[700] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let said = dataset.get(last).unwrap_err().chain();
    assert!(said.contains("wds/train-000002.tar") && said.contains("changed"), "{said}");
}

#[test]
fn errors_name_the_object_and_the_cure() {
    let root = tempfile::tempdir().unwrap();
    bucket(root.path());
    let server = Server::start(&root.path().join("stores"));
    let said = fails(&server, &[&"inspect", &"s3://bucket/nothing"]);
    assert!(said.contains("s3://bucket/nothing: there is no such file or folder"), "{said}");
    let said = fails(&server, &[&"inspect", &"s3://missing/x.beton"]);
    assert!(said.contains("s3://missing/x.beton"), "{said}");
    let said = fails(&server, &[&"inspect", &"ftp://host/x"]);
    assert!(said.contains("must begin with one of s3://"), "{said}");
    let said = fails(&server, &[&"inspect", &"s3://"]);
    assert!(said.contains("names no bucket"), "{said}");
    let web = format!("{}/bucket/sub", server.url());
    let said = fails(&server, &[&"inspect", &web]);
    assert!(said.contains("there is no such file or folder"), "{said}");
}

/// Lists are refused like objects, and Azure has another error for a missing bucket.
#[test]
fn refused_lists_and_missing_containers_say_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let shares = vec![(1.0, Fault::Status(403))];
    let denying = Server::with_faults(root.path(), Faults { shares, ..Faults::default() });
    let server = Server::start(root.path());
    let said = |variables: &[(&str, String)], url: &str| {
        let mut command = fdconvert();
        command.args(["verify", url]).envs(variables.iter().cloned());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{url}");
        text(&output.stderr)
    };
    for (variables, url) in [
        (denying.variables().to_vec(), "s3://bucket/folder"),
        (denying.azure_variables().to_vec(), "az://bucket/folder"),
        (denying.azure_variables().to_vec(), "az://bucket/x.beton"),
    ] {
        let said = said(&variables, url);
        assert!(said.contains(url) && said.contains("check the credentials"), "{said}");
    }
    for url in ["az://missing/folder", "az://missing/x.beton"] {
        let said = said(&server.azure_variables(), url);
        assert!(said.contains(url) && said.contains("there is no such bucket"), "{said}");
    }
}

/// An object that another process writes a moment after a failed request is found: otherwise a run
/// would mistake the dataset that its twin has just completed for a different one.
#[test]
fn an_object_that_was_missing_a_moment_ago_is_found() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("bucket")).unwrap();
    let server = Server::start(root.path());
    let url = format!("{}/bucket/fdconvert.json", server.url());
    let url = Path::new(&url);
    assert_eq!(fdconvert_storage::read_if_there(url, 100).unwrap(), None);
    server.put("bucket/fdconvert.json", b"{}");
    assert_eq!(fdconvert_storage::read_if_there(url, 100).unwrap().as_deref(), Some(&b"{}"[..]));
}

#[test]
fn a_split_of_a_dataset_in_a_store_is_read_without_the_shards_of_others() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    common::ok(&[&"sample", &photos]);
    let bucket = root.path().join("stores/bucket");
    fs::create_dir_all(&bucket).unwrap();
    let split = ["--split", "train=0.75,val=0.25"];
    common::ok(&[&"pack", &photos, &bucket.join("wds"), &"--format", &"wds", &split[0], &split[1]]);
    let server = Server::start(&root.path().join("stores"));
    let url = format!("{}/bucket/wds", server.url());
    let of_shard = |split: &str| {
        let paths = server.by_path().into_iter();
        let shards = paths.filter(|(path, _)| path.contains(&format!("{split}-")));
        shards.filter(|(path, _)| path.ends_with(".tar")).map(|(_, n)| n).sum::<u64>()
    };
    let datasets = Datasets::open_split(&url, SplitChoice::named(["val"])).unwrap();
    let (opened, of_val) = (of_shard("train"), of_shard("val"));
    let options = Options::default().batch_size(1).threads(1);
    let mut loader = Loader::new(datasets, options).unwrap();
    let mut n_batches = 0;
    while let Some(batch) = loader.next_batch() {
        batch.unwrap();
        n_batches += 1;
    }
    assert_eq!(n_batches, 3);
    assert_eq!(of_shard("train"), opened, "no sample of another split was asked for");
    assert!(of_shard("val") > of_val, "{:#?}", server.by_path());
    assert!(opened <= 1, "{:#?}", server.by_path());
    let message = fails(&server, &[&"bench", &url, &"--seconds", &"0.1"]);
    assert!(message.contains("--split train"), "{message}");
    let said = ok(&server, &[&"stats", &url, &"--split", &"val"]);
    assert!(said.contains("3 samples"), "{said}");
}

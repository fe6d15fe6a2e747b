//! Workers that share a dataset in a store: killed, paused, through faults, always the same bytes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking, and record")]

use crate::{
    common::{self, fdconvert, text},
    leases::wait_until_stopped,
};
use fdconvert_storage::{Leases, Seen, open_leases, place::set_store_options};
use fdconvert_testkit::{
    compare::tree,
    server::{Fault, Faults, Server},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

/// A store, a plan of shards of three samples, and the files that one machine makes of it.
struct Stage {
    root: tempfile::TempDir,
    server: Server,
    plan: PathBuf,
    expected: Vec<(String, Vec<u8>)>,
}

impl Stage {
    /// The Kodak images, `times` in classes of their own.
    fn new(format: &str, times: usize, faults: Faults) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("stores/bucket")).unwrap();
        for class in 0..times {
            let class = path(&format!("source/c{class}"));
            fs::create_dir_all(&class).unwrap();
            for image in common::sorted(&fdconvert_testkit::fixtures::kodak()) {
                fs::copy(&image, class.join(image.file_name().unwrap())).unwrap();
            }
        }
        let (source, plan, whole) = (path("source"), path("p.fdplan"), path("whole"));
        let mut recipe = vec!["--format", format, "--shard-count=3", "--shuffle", "--seed=5"];
        // A mixed set keeps what the source has.
        match format {
            "mixed" => recipe.push("--ratio=0.5"),
            _ => recipe.extend(["--jpeg-quality=80", "--max-side=300"]),
        }
        let run = |args: [&str; 1], to: &[&std::ffi::OsStr]| {
            let output = fdconvert().args(args).arg(&source).args(&recipe).args(to).output();
            assert!(output.as_ref().unwrap().status.success(), "{output:?}");
        };
        run(["plan"], &["-o".as_ref(), plan.as_ref()]);
        run(["pack"], &[whole.as_ref()]);
        let server = Server::with_faults(&path("stores"), faults);
        Self { expected: files(tree(&whole)), root, server, plan }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = fdconvert();
        command.args(args).envs(self.server.variables());
        command
    }

    /// A worker on its way.
    fn worker(&self, out: &str, lease: &str) -> Child {
        let mut command = self.command(&["pack", "--claim", "--json", "--threads=1"]);
        command.args(["--lease", lease, "--plan"]).arg(&self.plan);
        command.arg(format!("s3://bucket/{out}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn folder(&self, out: &str) -> PathBuf {
        self.root.path().join("stores/bucket").join(out)
    }

    /// What lies beside the dataset in its folder of leases.
    fn leases(&self, out: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder(out).join(".fdconvert/leases")).into_iter();
        let names = entries.flatten().flatten().map(|it| it.file_name().into_string().unwrap());
        names.collect()
    }

    #[track_caller]
    fn is_complete(&self, out: &str) {
        let found = files(tree(&self.folder(out)));
        let names = |files: &[(String, Vec<u8>)]| -> BTreeSet<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        let (found_names, expected_names) = (names(&found), names(&self.expected));
        let other: Vec<_> = found_names.symmetric_difference(&expected_names).collect();
        assert!(other.is_empty(), "left over, or missing: {other:?}");
        assert!(found == self.expected, "other bytes");
        assert_eq!(self.leases(out), Vec::<String>::new());
        assert_eq!(self.server.open_uploads(), Vec::<String>::new());
    }

    /// Waits until a worker has a lease of a shard that is not done.
    fn wait_for_a_lease(&self, out: &str) {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < Duration::from_secs(60), "no worker has a lease");
            let names = self.leases(out);
            let is_open = |name: &String| {
                let stem = name.strip_suffix(".held").filter(|it| it.starts_with("shard"));
                stem.is_some_and(|stem| !names.contains(&format!("{stem}.done")))
            };
            if names.iter().any(is_open) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Everything in a dataset but the copy of the plan, which only shared ones have.
fn files(tree: BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<(String, Vec<u8>)> {
    let files = tree.into_iter().map(|(name, bytes)| (text(&name), bytes));
    // A store has no folders; those of the test's server are empty.
    files.filter(|(name, _)| !name.ends_with(".fdplan") && !name.ends_with('/')).collect()
}

/// Waits for a worker that ends well, and gives its counts.
#[track_caller]
fn counts(worker: Child) -> Value {
    let output = worker.wait_with_output().unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{error}");
    serde_json::from_str::<Value>(&out).unwrap()["leases"].clone()
}

fn signal(worker: &Child, signal: &str) {
    let id = worker.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

#[test]
fn workers_share_the_shards_and_the_last_one_completes_the_dataset() {
    for format in ["wds", "mds", "mixed"] {
        let stage = Stage::new(format, 2, Faults::default());
        let workers: Vec<_> = (0..3).map(|_| stage.worker("shared", "60s")).collect();
        let counts: Vec<_> = workers.into_iter().map(counts).collect();
        let sum = |name: &str| counts.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("taken"), sum("taken_over"), sum("lost")), (8, 0, 0), "{counts:?}");
        let completed = counts.iter().filter(|it| it["completed"] == true).count();
        assert_eq!(completed, 1, "{counts:?}");
        stage.is_complete("shared");
        // One that comes later finds nothing to do, and looks at no shard.
        let before = stage.server.served().requests;
        let late = self::counts(stage.worker("shared", "60s"));
        assert_eq!((&late["taken"], &late["completed"]), (&0.into(), &false.into()), "{late}");
        let asked = stage.server.served().requests - before;
        assert!(asked <= 5, "{asked} requests for a dataset that is complete");
        stage.is_complete("shared");
        let verified = stage.command(&["verify", "--deep", "s3://bucket/shared"]).status().unwrap();
        assert!(verified.success());
    }
}

#[test]
fn requests_that_fail_and_answers_that_are_lost_change_nothing() {
    let shares = vec![(0.03, Fault::Reset), (0.03, Fault::Lost), (0.03, Fault::Status(503))];
    let faults = Faults { shares, ..Faults::default() };
    let stage = Stage::new("wds", 2, faults);
    let workers: Vec<_> = (0..3).map(|_| stage.worker("faults", "20s")).collect();
    workers.into_iter().for_each(|worker| drop(counts(worker)));
    stage.is_complete("faults");
}

/// Eight workers of which one is killed at random now and then, and another started instead.
fn killed_at_random(stage: &Stage, out: &str, kills: usize) -> usize {
    let mut workers: Vec<Child> = (0..8).map(|_| stage.worker(out, "2s")).collect();
    let random = |below: u64| RandomState::new().hash_one(0) % below;
    let mut killed = 0;
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(random(80)));
        let worker = random(workers.len() as u64) as usize;
        // One that is over may not be killed; it has done its work.
        killed += usize::from(workers[worker].try_wait().unwrap().is_none());
        let _ = workers[worker].kill();
        workers[worker].wait().unwrap();
        workers[worker] = stage.worker(out, "2s");
    }
    for worker in workers {
        counts(worker);
    }
    stage.is_complete(out);
    killed
}

#[test]
fn killed_workers_are_replaced_and_the_bytes_are_those_of_one_machine() {
    let stage = Stage::new("wds", 4, Faults::default());
    assert!(killed_at_random(&stage, "killed", 12) >= 6);
}

/// The same, often: `cargo test --workspace --test command leases_in_stores -- --ignored`.
#[test]
#[ignore = "long: 50 runs of eight workers, a third of them killed"]
fn killed_workers_fifty_times() {
    for (format, runs) in [("wds", 30), ("mds", 10), ("mixed", 10)] {
        let stage = Stage::new(format, 4, Faults::default());
        let mut killed = 0;
        for run in 0..runs {
            let name = format!("killed-{run}");
            killed += killed_at_random(&stage, &name, 24);
            fs::remove_dir_all(stage.folder(&name)).unwrap();
        }
        println!("{format}: {runs} runs, {killed} workers killed, same bytes each time");
    }
}

#[test]
fn a_paused_worker_that_comes_back_after_its_shard_was_taken_over_changes_nothing() {
    // Slow enough that a worker is seen while it writes.
    let faults = Faults { latency: Duration::from_millis(20), ..Faults::default() };
    let stage = Stage::new("wds", 2, faults);
    let first = stage.worker("paused", "2s");
    stage.wait_for_a_lease("paused");
    signal(&first, "-STOP");
    wait_until_stopped(&first);
    let second = counts(stage.worker("paused", "2s"));
    assert_eq!(second["completed"], true, "{second}");
    stage.is_complete("paused");
    signal(&first, "-CONT");
    let first = counts(first);
    assert_eq!(first["completed"], false, "{first}");
    stage.is_complete("paused");
}

#[test]
#[ignore = "long: 40 workers paused at random"]
fn workers_paused_forty_times() {
    let mut lost = 0;
    for format in ["mixed", "wds"] {
        let stage = Stage::new(format, 2, Faults::default());
        for run in 0..20 {
            let out = format!("paused-{run}");
            let first = stage.worker(&out, "2s");
            thread::sleep(Duration::from_millis(RandomState::new().hash_one(0) % 700));
            signal(&first, "-STOP");
            counts(stage.worker(&out, "2s"));
            stage.is_complete(&out);
            signal(&first, "-CONT");
            lost += counts(first)["lost"].as_u64().unwrap();
            stage.is_complete(&out);
        }
    }
    println!("40 workers were paused, {lost} shards were lost to others");
}

#[test]
fn an_interrupted_worker_gives_its_shard_back() {
    let faults = Faults { latency: Duration::from_millis(20), ..Faults::default() };
    let stage = Stage::new("wds", 4, faults);
    let mut first = stage.worker("interrupted", "600s");
    stage.wait_for_a_lease("interrupted");
    signal(&first, "-INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    // Otherwise this one would wait for ten minutes.
    let began = Instant::now();
    let second = counts(stage.worker("interrupted", "600s"));
    assert_eq!((&second["taken_over"], &second["completed"]), (&0.into(), &true.into()));
    assert!(began.elapsed() < Duration::from_secs(300));
    stage.is_complete("interrupted");
}

#[test]
fn parts_that_were_packed_before_count_and_other_datasets_stay() {
    let stage = Stage::new("wds", 2, Faults::default());
    let plan = stage.plan.to_str().unwrap();
    let part = ["pack", "--plan", plan, "--part", "1/2", "s3://bucket/mixed"];
    assert!(stage.command(&part).status().unwrap().success());
    let rest = counts(stage.worker("mixed", "60s"));
    assert_eq!((&rest["taken"], &rest["completed"]), (&4.into(), &true.into()), "{rest}");
    stage.is_complete("mixed");
    // Another dataset under the same name.
    let source = stage.root.path().join("source");
    let other = stage.root.path().join("other.fdplan");
    let mut planning = stage.command(&["plan", "--format=wds", "--shard-count=5", "-o"]);
    assert!(planning.arg(&other).arg(&source).status().unwrap().success());
    let other = other.to_str().unwrap();
    let refused =
        stage.command(&["pack", "--plan", other, "--claim", "s3://bucket/mixed"]).output();
    assert_eq!(refused.unwrap().status.code(), Some(2));
    stage.is_complete("mixed");
}

#[test]
fn a_lease_that_stores_cannot_time_and_stores_that_are_read_only_are_refused() {
    let stage = Stage::new("wds", 1, Faults::default());
    let plan = stage.plan.to_str().unwrap();
    let refused = |args: &[&str]| {
        let output =
            stage.command(&["pack", "--claim", "--plan", plan]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert!(refused(&["--lease=1s", "s3://bucket/out"]).contains("at least 2 s"));
    assert!(refused(&["https://127.0.0.1:1/out"]).contains("can only be read"));
    assert!(!stage.folder("out").join(".fdconvert/leases").exists());
}

/// Lets eight workers of this process do the same at the same time, and counts those that got a lease.
fn race(dataset: &Path, take: impl Fn(&dyn Leases) -> bool + Sync) -> usize {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        let one = || {
            let leases = open(dataset);
            // Of what was listed the ages of leases are known.
            leases.list().unwrap();
            barrier.wait();
            take(&*leases)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().filter_map(|it| it.join().ok()).filter(|got| *got).count()
    })
}

fn open(dataset: &Path) -> Arc<dyn Leases> {
    open_leases(dataset, LASTS).unwrap()
}

const LASTS: Duration = Duration::from_secs(60);

#[test]
fn one_of_many_gets_a_lease_and_one_of_many_takes_it_over() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("bucket")).unwrap();
    // Answers that are lost make a worker ask again for what it has got.
    let shares = vec![(0.05, Fault::Lost), (0.05, Fault::Reset)];
    let server = Server::with_faults(root.path(), Faults { shares, ..Faults::default() });
    let url = server.url();
    let options = [
        ("endpoint", url.as_str()),
        ("allow_http", "true"),
        ("access_key_id", "a"),
        ("secret_access_key", "b"),
        ("region", "us-east-1"),
    ];
    set_store_options(options.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
    let dataset = Path::new("s3://bucket/set");
    let file = |name: &str| root.path().join(format!("bucket/set/.fdconvert/leases/{name}.held"));
    // Lets a lease be as old as one that was not renewed for so long.
    let age = |name: &str| {
        let file = fs::File::options().write(true).open(file(name)).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - LASTS * 2).unwrap();
    };
    for number in 0..20 {
        let name = format!("shard-{number}");
        assert_eq!(race(dataset, |leases| leases.create(&name).unwrap().is_some()), 1);
        let leases = open(dataset);
        leases.list().unwrap();
        assert!(!leases.look(&name).unwrap().unwrap().is_stale());
        age(&name);
        // What another worker writes tells the time.
        assert!(leases.create(&format!("time-{number}")).unwrap().is_some());
        let got = race(dataset, |leases| {
            let stale = leases.look(&name).unwrap().filter(Seen::is_stale);
            stale.is_some_and(|seen| leases.take_over(&seen).unwrap().is_some())
        });
        assert_eq!(got, 1, "{name}");
        assert_eq!(generation(&file(&name)), "2");
    }

    // Whose lease was taken over can neither renew nor release it.
    let (first, second) = (open(dataset), open(dataset));
    let lease = first.create("shard-a").unwrap().unwrap();
    assert!(first.renew(&lease).unwrap());
    age("shard-a");
    assert!(second.create("time-a").unwrap().is_some());
    second.list().unwrap();
    let stale = second.look("shard-a").unwrap().unwrap();
    assert!(stale.is_stale());
    let taken = second.take_over(&stale).unwrap().unwrap();
    assert!(!first.renew(&lease).unwrap());
    first.release(&lease).unwrap();
    assert!(second.renew(&taken).unwrap(), "the first has released what is the second's");
    assert!(second.take_over(&stale).unwrap().is_none(), "the same lease is not taken over twice");
    // One that was given back is free.
    second.release(&taken).unwrap();
    assert!(first.look("shard-a").unwrap().is_none());
    let again = first.create("shard-a").unwrap().unwrap();
    // Work that is done is not.
    first.finish(&again, b"three samples").unwrap();
    first.release(&again).unwrap();
    assert!(second.create("shard-a").unwrap().is_none());
    assert_eq!(second.outcome("shard-a").unwrap().unwrap(), b"three samples");
    // What others have put there stays.
    let notes = file("shard-a").with_file_name("notes.txt");
    fs::write(&notes, b"precious").unwrap();
    first.clear("manifest").unwrap();
    assert!(second.list().unwrap().is_none());
    assert_eq!(fs::read(&notes).unwrap(), b"precious");
}

fn generation(lease: &Path) -> String {
    let text = fs::read_to_string(lease).unwrap();
    text.split(' ').nth_back(1).unwrap().to_owned()
}

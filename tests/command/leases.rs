//! Workers that share a dataset by leases: killed, paused, come and gone, always the same bytes.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, expect, fails, fdconvert, ok};
use fdconvert_testkit::compare::tree;
use serde_json::Value;
use std::{
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The Kodak images, `times` in classes of their own.
fn source(root: &Path, times: usize) -> PathBuf {
    let folder = root.join("source");
    for class in 0..times {
        let class = folder.join(format!("c{class}"));
        fs::create_dir_all(&class).unwrap();
        for path in common::sorted(&fdconvert_testkit::fixtures::kodak()) {
            fs::copy(&path, class.join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

/// A plan of shards of three samples, and the files that one machine makes of it.
struct Planned {
    root: tempfile::TempDir,
    plan: PathBuf,
    expected: Vec<(String, Vec<u8>)>,
}

impl Planned {
    fn new(format: &str, times: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        let source = source(root.path(), times);
        let (plan, whole) = (root.path().join("p.fdplan"), root.path().join("whole"));
        let mut recipe = vec!["--format", format, "--shard-count=3", "--shuffle", "--seed=5"];
        // A mixed set keeps what the source has.
        if format != "mixed" {
            recipe.extend(["--jpeg-quality=80", "--max-side=300"]);
        } else {
            recipe.push("--ratio=0.5");
        }
        for command in [vec!["plan"], vec!["pack"]] {
            let mut run = fdconvert();
            run.args(&command).arg(&source).args(&recipe);
            match command[0] {
                "plan" => run.arg("-o").arg(&plan),
                _ => run.arg(&whole),
            };
            let output = run.output().unwrap();
            assert!(output.status.success(), "{}", common::text(&output.stderr));
        }
        Self { expected: files(&whole), root, plan }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A worker on its way.
    fn worker(&self, out: &Path, lease: &str) -> Child {
        let mut command = fdconvert();
        command.args(["pack", "--claim", "--json", "--threads=1", "--lease", lease, "--plan"]);
        command.arg(&self.plan).arg(out);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn is_complete(&self, out: &Path) {
        let found = files(out);
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&found), names(&self.expected));
        assert!(found == self.expected, "other bytes");
        let empty = fs::read_dir(out.join(".fdconvert")).unwrap().map(|entry| entry.unwrap());
        assert!(empty.into_iter().all(|entry| entry.path().is_file()), "a folder is left");
    }
}

/// Everything in a dataset but the copy of the plan, which only shared ones have.
fn files(out: &Path) -> Vec<(String, Vec<u8>)> {
    let files = tree(out).into_iter().map(|(name, bytes)| (common::text(&name), bytes));
    files.filter(|(name, _)| !name.ends_with(".fdplan")).collect()
}

/// Waits for a worker that ends well, and gives its counts.
#[track_caller]
fn counts(worker: Child) -> Value {
    counts_unless_locked(worker).unwrap()
}

/// As [`counts`]; nothing of a worker that was stopped by a file that another one has locked, as it
/// was paused while it completed the dataset.
fn counts_unless_locked(worker: Child) -> Option<Value> {
    let output = worker.wait_with_output().unwrap();
    let (text, error) = (common::text(&output.stdout), common::text(&output.stderr));
    if output.status.code() == Some(2) && error.contains("is being written by another run") {
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{text}{error}");
    Some(serde_json::from_str::<Value>(&text).unwrap()["leases"].clone())
}

fn signal(worker: &Child, signal: &str) {
    let id = worker.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Waits until no thread of a worker runs any more, which a signal to stop does not.
pub(crate) fn wait_until_stopped(worker: &Child) {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", worker.id())).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    for _ in 0..10_000 {
        // Systems without such files are given some time.
        if state() == Some('T') {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(state(), None, "it does not stop");
}

/// A worker that is paused while it writes its first shard, and where.
fn paused_in_a_shard(planned: &Planned, name: &str, lease: &str) -> (Child, PathBuf) {
    let caught = (0..50).find_map(|attempt| {
        let out = planned.out(&format!("{name}-{attempt}"));
        let worker = pause_in_a_shard(planned.worker(&out, lease), &out)?;
        Some((worker, out))
    });
    // None was seen while it wrote its first shard.
    caught.unwrap()
}

/// Pauses a worker as soon as it writes in its place; none where it was faster. One that has made the
/// place, and nothing in it, has not taken the shard yet.
fn pause_in_a_shard(mut worker: Child, out: &Path) -> Option<Child> {
    let records = out.join(".fdconvert");
    let within = |folder: &Path, wanted: &str| -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|it| it == wanted)).collect()
    };
    let has = |folder: &Path, wanted: &str| !within(folder, wanted).is_empty();
    let writes = || {
        let places = within(&records.join("leases"), "place");
        places.iter().any(|place| place.join("shard").exists())
    };
    while worker.try_wait().unwrap().is_none() {
        if writes() {
            signal(&worker, "-STOP");
            wait_until_stopped(&worker);
            // The shard may have been finished meanwhile.
            if writes() && !has(&records, "json") {
                return Some(worker);
            }
            signal(&worker, "-CONT");
            worker.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

#[test]
fn workers_share_the_shards_and_the_last_one_completes_the_dataset() {
    for format in ["wds", "mds", "mixed"] {
        let planned = Planned::new(format, 2);
        let out = planned.out("shared");
        let workers: Vec<_> = (0..3).map(|_| planned.worker(&out, "60s")).collect();
        let counts: Vec<_> = workers.into_iter().map(counts).collect();
        let sum = |name: &str| counts.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("taken"), sum("taken_over"), sum("lost")), (8, 0, 0), "{counts:?}");
        let completed = counts.iter().filter(|it| it["completed"] == true).count();
        assert_eq!(completed, 1, "{counts:?}");
        planned.is_complete(&out);
        // One that comes later finds nothing to do, and looks at no shard.
        let late = ok(&[&"pack", &"--plan", &planned.plan, &"--claim", &out]);
        assert!(late.contains("0 taken"), "{late}");
        planned.is_complete(&out);
        ok(&[&"merge", &out]);
        ok(&[&"verify", &out, &"--deep"]);
        planned.is_complete(&out);
    }
}

/// Eight workers of which one is killed at random now and then, and another started instead.
fn killed_at_random(planned: &Planned, name: &str, kills: usize) -> usize {
    let out = planned.out(name);
    let mut workers: Vec<Child> = (0..8).map(|_| planned.worker(&out, "1s")).collect();
    let random = |below: u64| RandomState::new().hash_one(0) % below;
    let mut killed = 0;
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(random(80)));
        let worker = random(workers.len() as u64) as usize;
        // One that is over may not be killed; it has done its work.
        killed += usize::from(workers[worker].try_wait().unwrap().is_none());
        let _ = workers[worker].kill();
        workers[worker].wait().unwrap();
        workers[worker] = planned.worker(&out, "1s");
    }
    for worker in workers {
        counts(worker);
    }
    planned.is_complete(&out);
    killed
}

#[test]
fn killed_workers_are_replaced_and_the_bytes_are_those_of_one_machine() {
    let planned = Planned::new("wds", 4);
    assert!(killed_at_random(&planned, "killed", 12) >= 6);
}

/// The same, often: `cargo test --workspace --test command leases -- --ignored`.
#[test]
#[ignore = "long: 50 runs of eight workers, a third of them killed"]
fn killed_workers_fifty_times() {
    for (format, runs) in [("wds", 30), ("mds", 10), ("mixed", 10)] {
        let planned = Planned::new(format, 4);
        let mut killed = 0;
        for run in 0..runs {
            let name = format!("killed-{run}");
            killed += killed_at_random(&planned, &name, 24);
            fs::remove_dir_all(planned.out(&name)).unwrap();
        }
        println!("{format}: {runs} runs, {killed} workers killed, same bytes each time");
    }
}

#[test]
fn a_shard_of_a_killed_worker_is_taken_over_when_its_lease_is_stale() {
    let planned = Planned::new("wds", 2);
    let (mut first, out) = paused_in_a_shard(&planned, "stale", "1s");
    first.kill().unwrap();
    first.wait().unwrap();
    let began = Instant::now();
    let second = counts(planned.worker(&out, "600s"));
    assert_eq!(second["taken_over"], 1, "{second}");
    assert_eq!(second["completed"], true);
    // As long as the lease of the first lasts, not as that of the second.
    assert!(began.elapsed() < Duration::from_secs(400));
    planned.is_complete(&out);
}

#[test]
fn a_paused_worker_that_comes_back_after_its_shard_was_taken_over_changes_nothing() {
    let planned = Planned::new("wds", 2);
    let (first, out) = paused_in_a_shard(&planned, "paused", "1s");
    let second = counts(planned.worker(&out, "1s"));
    assert!(second["taken_over"].as_u64().unwrap() >= 1, "{second}");
    planned.is_complete(&out);
    signal(&first, "-CONT");
    let first = counts(first);
    assert!(first["lost"].as_u64().unwrap() >= 1, "{first}");
    planned.is_complete(&out);
}

/// Paused at any moment, also while files get their names.
#[test]
#[ignore = "long: 40 workers paused at random"]
fn workers_paused_forty_times() {
    let (mut lost, mut locked) = (0, 0);
    for format in ["wds", "mixed"] {
        let planned = Planned::new(format, 2);
        for run in 0..20 {
            let out = planned.out(&format!("paused-{run}"));
            let first = planned.worker(&out, "1s");
            std::thread::sleep(Duration::from_millis(RandomState::new().hash_one(0) % 700));
            signal(&first, "-STOP");
            match counts_unless_locked(planned.worker(&out, "1s")) {
                Some(_) => planned.is_complete(&out),
                None => locked += 1,
            }
            signal(&first, "-CONT");
            lost += counts(first)["lost"].as_u64().unwrap();
            planned.is_complete(&out);
        }
    }
    println!(
        "40 workers were paused, {lost} shards were lost to others, {locked} times waited for"
    );
}

#[test]
fn an_interrupted_worker_gives_its_shard_back() {
    let planned = Planned::new("wds", 4);
    let (mut first, out) = paused_in_a_shard(&planned, "interrupted", "60s");
    signal(&first, "-INT");
    signal(&first, "-CONT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    // Notes of finished shards, or, where there are none, not even the folder.
    let left = fs::read_dir(out.join(".fdconvert/leases")).into_iter().flatten().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    let is_note = |name: &String| name.ends_with(".done") || name.ends_with(".begun");
    assert!(left.iter().all(is_note), "{left:?}");
    let second = counts(planned.worker(&out, "60s"));
    assert_eq!(second["taken_over"], 0, "{second}");
    planned.is_complete(&out);
}

#[test]
fn parts_that_were_packed_before_count() {
    let planned = Planned::new("wds", 2);
    let out = planned.out("both");
    ok(&[&"pack", &"--plan", &planned.plan, &"--part", &"1/2", &out]);
    let worker = counts(planned.worker(&out, "60s"));
    assert_eq!(worker["taken"], 4, "{worker}");
    planned.is_complete(&out);
}

/// What a part has left when it was killed while its files got their names.
#[test]
fn what_a_killed_part_has_left_is_replaced() {
    let planned = Planned::new("wds", 2);
    let out = planned.out("both");
    ok(&[&"pack", &"--plan", &planned.plan, &"--part", &"1/8", &out]);
    let record = out.join(".fdconvert/train-000000.json");
    let text = fs::read(&record).unwrap();
    // The fingerprint, without what follows: a claim.
    fs::write(out.join(".fdconvert/train-000000.json.partial"), &text[..49]).unwrap();
    fs::remove_file(record).unwrap();
    fs::write(out.join("train-000000.tar.partial"), b"the start of a shard").unwrap();
    counts(planned.worker(&out, "60s"));
    planned.is_complete(&out);
}

#[test]
fn what_a_worker_killed_behind_the_manifest_has_left_goes() {
    for format in ["wds", "mds", "mixed"] {
        let planned = Planned::new(format, 1);
        let (part, out) = (planned.out("part"), planned.out("out"));
        let mut first = fdconvert();
        first.args(["pack", "--part=1/2", "--quiet", "--plan"]).arg(&planned.plan).arg(&part);
        assert!(first.status().unwrap().success());
        assert_eq!(counts(planned.worker(&out, "60s"))["completed"], true);
        // Its leases, and the times of the source.
        fs::create_dir(out.join(".fdconvert/leases")).unwrap();
        let times = ".fdconvert/source.stamp";
        fs::copy(part.join(times), out.join(times)).unwrap();
        counts(planned.worker(&out, "60s"));
        planned.is_complete(&out);
    }
}

#[test]
fn files_and_datasets_of_others_are_refused_and_stay() {
    let planned = Planned::new("wds", 1);
    let claim = |out: &Path| fails(&[&"pack", &"--plan", &planned.plan, &"--claim", &out]);
    let out = planned.out("foreign");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("train-000002.tar"), b"precious").unwrap();
    let message = claim(&out);
    assert!(message.contains("train-000002.tar"), "{message}");
    assert!(claim(&out).contains("train-000002.tar"));
    assert_eq!(fs::read(out.join("train-000002.tar")).unwrap(), b"precious");
    assert!(!out.join("fdconvert.json").exists());

    // A dataset whose shards would not be in the way of ours.
    let other = planned.out("other");
    let of_val = planned.root.path().join("val");
    fs::create_dir_all(of_val.join("val/cat")).unwrap();
    fs::write(of_val.join("val/cat/1.png"), fdconvert_testkit::fixtures::PNG_RGB).unwrap();
    ok(&[&"pack", &of_val, &other, &"--format", &"wds"]);
    let before = tree(&other);
    assert!(claim(&other).contains("holds another dataset"));
    assert!(
        files(&other) == before.into_iter().map(|(n, b)| (common::text(&n), b)).collect::<Vec<_>>()
    );
}

#[test]
fn what_does_not_go_with_workers_is_refused() {
    let planned = Planned::new("wds", 1);
    let (plan, out) = (&planned.plan, planned.out("out"));
    for other in ["--part=1/2", "--overwrite"] {
        assert!(fails(&[&"pack", &"--plan", plan, &"--claim", &other, &out]).contains("--claim"));
    }
    assert!(fails(&[&"pack", &planned.out("source"), &"--claim", &out]).contains("--plan"));
    let short = fails(&[&"pack", &"--plan", plan, &"--claim", &"--lease=soon", &out]);
    assert!(short.contains("is not a time"), "{short}");
    let short = fails(&[&"pack", &"--plan", plan, &"--claim", &"--lease=500ms", &out]);
    assert!(short.contains("--lease") && short.contains("at least 1 s"), "{short}");
    let single = planned.out("single.fdplan");
    ok(&[&"plan", &planned.out("source"), &"-o", &single, &"--format", &"beton"]);
    let beton = planned.out("x.beton");
    let message = fails(&[&"pack", &"--plan", &single, &"--claim", &beton]);
    assert!(message.contains("--claim: a beton is one file"), "{message}");

    // A part does not see which shards the workers have.
    fs::create_dir_all(out.join(".fdconvert/leases")).unwrap();
    let message = fails(&[&"pack", &"--plan", plan, &"--part=1/1", &out]);
    assert!(message.contains("--claim") && message.contains("leases"), "{message}");
    ok(&[&"pack", &"--plan", plan, &"--claim", &out]);
    planned.is_complete(&out);
    ok(&[&"pack", &"--plan", plan, &"--part=1/1", &out]);
}

#[test]
fn what_is_skipped_is_told_by_the_worker_and_by_the_one_that_completes() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path(), 1);
    fs::write(source.join("c0/broken.jpg"), b"\xff\xd8\xff\xe0 no image").unwrap();
    let (plan, out) = (root.path().join("p.fdplan"), root.path().join("out"));
    ok(&[
        &"plan",
        &source,
        &"-o",
        &plan,
        &"--format",
        &"wds",
        &"--jpeg-quality=80",
        &"--shard-count=7",
    ]);
    let message = fails(&[&"pack", &"--plan", &plan, &"--claim", &out]);
    assert!(message.contains("broken.jpg"), "{message}");
    let text = expect(1, &[&"pack", &"--plan", &plan, &"--claim", &"--on-error=skip", &out]);
    assert!(text.contains("broken.jpg") && text.contains("completed by this worker"), "{text}");
    ok(&[&"verify", &out]);
}

/// Variables that number processes, none of which the tests may have from outside.
const NUMBERS: [&str; 12] = [
    "RANK",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX",
    "AWS_BATCH_JOB_ARRAY_INDEX",
];

#[test]
fn the_part_is_what_the_launcher_says() {
    let planned = Planned::new("wds", 1);
    let part = |out: &Path, environment: &[(&str, String)], parts: Option<&str>| {
        let mut command = fdconvert();
        NUMBERS.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.args(["pack", "--part", "auto", "--plan"]).arg(&planned.plan).arg(out);
        command.args(parts.map(|parts| ["--parts", parts]).into_iter().flatten());
        let output = command.output().unwrap();
        let text = common::text(&output.stdout) + &common::text(&output.stderr);
        (output.status.code(), text)
    };
    type Environment = fn(usize) -> Vec<(&'static str, String)>;
    let launchers: [(Environment, Option<&str>); 6] = [
        (|n| vec![("RANK", n.to_string()), ("WORLD_SIZE", "2".into())], None),
        (
            |n| {
                let rank = ("OMPI_COMM_WORLD_RANK", n.to_string());
                vec![rank, ("OMPI_COMM_WORLD_SIZE", "2".into())]
            },
            None,
        ),
        (|n| vec![("SLURM_PROCID", n.to_string()), ("SLURM_NTASKS", "2".into())], None),
        (
            |n| {
                vec![
                    ("SLURM_ARRAY_TASK_ID", (3 + 4 * n).to_string()),
                    ("SLURM_ARRAY_TASK_MIN", "3".into()),
                    ("SLURM_ARRAY_TASK_STEP", "4".into()),
                    ("SLURM_ARRAY_TASK_COUNT", "2".into()),
                ]
            },
            None,
        ),
        (|n| vec![("JOB_COMPLETION_INDEX", n.to_string())], Some("2")),
        (|n| vec![("AWS_BATCH_JOB_ARRAY_INDEX", n.to_string())], Some("2")),
    ];
    for (number, (environment, parts)) in launchers.into_iter().enumerate() {
        let out = planned.out(&format!("launched-{number}"));
        for process in 0..2 {
            let (status, text) = part(&out, &environment(process), parts);
            assert_eq!(status, Some(0), "{text}");
            let name = environment(process)[0].0;
            assert!(text.contains(&format!("part {}/2, by ", process + 1)), "{text}");
            assert!(text.contains(name) && text.contains("packed 6 of 6 samples"), "{text}");
        }
        ok(&[&"merge", &out]);
        planned.is_complete(&out);
    }
    let out = planned.out("refused");
    let (status, text) = part(&out, &[], None);
    assert!(status == Some(2) && NUMBERS[..2].iter().all(|it| text.contains(it)), "{text}");
    let (status, text) = part(&out, &[("JOB_COMPLETION_INDEX", "0".into())], None);
    assert!(status == Some(2) && text.contains("--parts"), "{text}");
    assert!(!out.exists());
}

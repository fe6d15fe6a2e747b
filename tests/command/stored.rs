//! Datasets written to stores.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking, and record")]

use crate::common::{self, fdconvert, text};
use fdconvert_testkit::{
    compare,
    server::{Fault, Faults, Server},
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

pub(crate) type Args<'a> = &'a [&'a dyn AsRef<OsStr>];

/// A store, and local files for the tests next to its buckets.
pub(crate) struct Stage {
    root: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Stage {
    pub(crate) fn new(faults: Faults) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("stores/bucket")).unwrap();
        let server = Server::with_faults(&root.path().join("stores"), faults);
        Self { root, server }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn bucket(&self) -> PathBuf {
        self.path("stores/bucket")
    }

    pub(crate) fn command(&self, args: Args<'_>) -> Command {
        let mut command = fdconvert();
        command.args(args.iter().map(|arg| arg.as_ref())).envs(self.server.variables());
        command
    }

    pub(crate) fn run(&self, args: Args<'_>) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn ok(&self, args: Args<'_>) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    pub(crate) fn fails(&self, args: Args<'_>) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        text(&output.stderr)
    }

    fn photos(&self) -> PathBuf {
        let photos = self.path("photos");
        common::ok(&[&"sample", &photos]);
        photos
    }

    /// Writes images that no codec makes smaller, so that objects have several parts: `n` BMPs of
    /// 1.5 MB.
    pub(crate) fn large(&self, n: usize) -> PathBuf {
        let folder = self.path("large");
        fs::create_dir_all(folder.join("a")).unwrap();
        for number in 0..n {
            fs::write(folder.join(format!("a/{number:03}.bmp")), bmp(number as u32)).unwrap();
        }
        folder
    }
}

/// Returns 700 x 700 pixels of noise.
fn bmp(seed: u32) -> Vec<u8> {
    let (side, row) = (700_u32, 2100_u32);
    let mut bytes = b"BM".to_vec();
    for word in [54 + row * side, 0, 54, 40, side, side, 1 | 24 << 16, 0, row * side, 0, 0, 0, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    bytes.extend((0..row * side).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    }));
    bytes
}

/// Name of the format, and its options.
const FORMATS: [(&str, &[&str]); 4] = [
    ("beton", &[]),
    ("wds", &["--shards", "3"]),
    ("mds", &["--shards", "3"]),
    ("mixed", &["--shards", "3", "--ratio", "0.5"]),
];

pub(crate) fn pack<'a>(
    source: &'a Path,
    out: &'a str,
    format: &'a str,
    more: &'a [&str],
) -> Vec<&'a OsStr> {
    let args = ["pack".as_ref(), source.as_os_str(), out.as_ref(), "--format".as_ref()];
    args.into_iter().chain([OsStr::new(format)]).chain(more.iter().map(OsStr::new)).collect()
}

pub(crate) fn dynamic<'a>(args: &'a [&'a OsStr]) -> Vec<&'a dyn AsRef<OsStr>> {
    args.iter().map(|arg| arg as &dyn AsRef<OsStr>).collect()
}

#[test]
fn what_is_packed_into_a_bucket_is_what_is_packed_into_a_folder() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    for (format, more) in FORMATS {
        let here = stage.path(&format!("here.{format}"));
        common::ok(&dynamic(&pack(&photos, here.to_str().unwrap(), format, more)));
        let url = format!("s3://bucket/sub/there.{format}");
        stage.ok(&dynamic(&pack(&photos, &url, format, more)));
        let there = stage.bucket().join(format!("sub/there.{format}"));
        assert_eq!(compare::tree(&there), compare::tree(&here), "{format}");
        stage.ok(&[&"verify", &url, &"--deep"]);
        // From one bucket to another place in it, and back to the disk.
        let copy = format!("s3://bucket/copy.{format}");
        stage.ok(&dynamic(&pack(Path::new(&url), &copy, format, more)));
        let back = stage.path(&format!("back.{format}"));
        stage.ok(&dynamic(&pack(Path::new(&url), back.to_str().unwrap(), format, more)));
        let copied = stage.bucket().join(format!("copy.{format}"));
        assert_eq!(compare::tree(&copied), compare::tree(&back), "{format}");
    }
    let recipe = "fractal:fractaldb?classes=2&instances=100&size=32";
    common::ok(&[&"pack", &recipe, &stage.path("f.fdformula"), &"--format", &"formula"]);
    stage.ok(&[&"pack", &recipe, &"s3://bucket/f.fdformula", &"--format", &"formula"]);
    let formula = fs::read(stage.bucket().join("f.fdformula")).unwrap();
    assert_eq!(formula, fs::read(stage.path("f.fdformula")).unwrap());
    assert!(stage.server.open_uploads().is_empty());
}

/// Entry points wait in a file next to the output; a store has no such file.
#[cfg(feature = "turbo")]
#[test]
fn entry_points_are_written_to_a_bucket() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    for (format, more) in FORMATS.into_iter().filter(|(format, _)| *format != "mds") {
        let here = stage.path(&format!("here.{format}"));
        common::ok(&dynamic(&pack(&photos, here.to_str().unwrap(), format, more)));
        let url = format!("s3://bucket/there.{format}");
        stage.ok(&dynamic(&pack(&photos, &url, format, more)));
        let there = stage.bucket().join(format!("there.{format}"));
        assert_eq!(compare::tree(&there), compare::tree(&here), "{format}");
    }
}

/// Images in a bucket: in class folders, in split folders, and flat.
#[test]
fn a_folder_of_images_in_a_bucket_is_the_folder_on_a_disk() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    let bucket = stage.bucket();
    let copy = |from: &Path, to: &str| {
        let to = bucket.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    let names = ["closeup/kodak-03.jpg", "scene/kodak-05.jpg", "scene/kodak-09.jpg"];
    for name in names {
        let (from, file) = (photos.join(name), name.rsplit('/').next().unwrap());
        copy(&from, &format!("classes/{name}"));
        copy(&from, &format!("classes/scene.b/deep er/{file}"));
        copy(&from, &format!("splits/train/{name}"));
        copy(&from, &format!("splits/val/{name}"));
        copy(&from, &format!("flat/{file}"));
    }
    for stray in ["classes/notes.txt", "classes/empty/x.txt", "classes/.git/a", "classes/.git/b"] {
        copy(&photos.join(names[0]), stray);
    }
    for folder in ["classes", "splits", "flat"] {
        let (url, here) = (format!("s3://bucket/{folder}"), bucket.join(folder));
        let packed = |source: &dyn AsRef<OsStr>, out: &Path| {
            let said = stage.ok(&[&"pack", source, &out, &"--format", &"wds", &"--json"]);
            let mut said: serde_json::Value = serde_json::from_str(&said).unwrap();
            said.as_object_mut().unwrap().remove("ignored").unwrap()
        };
        let (a, b) = (stage.path(&format!("a-{folder}")), stage.path(&format!("b-{folder}")));
        assert_eq!(packed(&url, &a), packed(&here, &b), "{folder}");
        assert_eq!(compare::tree(&a), compare::tree(&b), "{folder}");
        stage.ok(&[&"verify", &url]);
    }
    let list = stage.path("list.csv");
    fs::write(&list, "path,score\nscene/kodak-05.jpg,1\ncloseup/kodak-03.jpg,2\n").unwrap();
    let out = stage.path("listed.beton");
    stage.ok(&[&"pack", &"s3://bucket/classes", &out, &"--labels", &list]);
    // A plan keeps the list of the store; an image that changes size meanwhile is reported.
    let plan = stage.path("p.fdplan");
    stage.ok(&[&"plan", &"s3://bucket/classes", &"-o", &plan, &"--format", &"wds"]);
    stage.ok(&[&"pack", &"--plan", &plan, &stage.path("planned")]);
    assert_eq!(compare::tree(&stage.path("planned")), compare::tree(&stage.path("a-classes")));
}

#[test]
fn the_same_command_finds_the_dataset_complete_and_another_is_refused() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    for (format, more) in FORMATS {
        let url = format!("s3://bucket/{format}");
        stage.ok(&dynamic(&pack(&photos, &url, format, more)));
        let before = compare::tree(&stage.bucket().join(format));
        let stored = stage.server.stored();
        stage.ok(&dynamic(&pack(&photos, &url, format, more)));
        let is_data = |path: &str| [".tar", ".mds", "beton"].iter().any(|it| path.ends_with(it));
        for (path, times) in stage.server.stored().iter().filter(|(path, _)| is_data(path)) {
            assert_eq!(Some(times), stored.get(path), "{path} was written again");
        }
        let other = [more, &["--max-side", "40"]].concat();
        let said = stage.fails(&dynamic(&pack(&photos, &url, format, &other)));
        assert!(said.contains("s3://bucket/") && said.contains("--overwrite"), "{said}");
        assert_eq!(compare::tree(&stage.bucket().join(format)), before, "{format}");
        let replaced = [&other[..], &["--overwrite"]].concat();
        stage.ok(&dynamic(&pack(&photos, &url, format, &replaced)));
        let here = stage.path(&format!("other.{format}"));
        common::ok(&dynamic(&pack(&photos, here.to_str().unwrap(), format, &other)));
        assert_eq!(compare::tree(&stage.bucket().join(format)), compare::tree(&here), "{format}");
    }
}

#[test]
fn large_objects_are_sent_in_parts_through_faults() {
    let shares = vec![
        (0.05, Fault::Reset),
        (0.05, Fault::Status(503)),
        (0.05, Fault::Lost),
        (0.05, Fault::Stall(Duration::from_millis(20))),
        (0.05, Fault::Cut(1.0)),
    ];
    let stage = Stage::new(Faults { seed: 3, shares, ..Faults::default() });
    let large = stage.large(24);
    for (format, more) in FORMATS {
        let here = stage.path(&format!("here.{format}"));
        let more = [more, &["--encode", "keep"]].concat();
        let more: Vec<_> = if format == "mixed" { more[..4].to_vec() } else { more };
        common::ok(&dynamic(&pack(&large, here.to_str().unwrap(), format, &more)));
        let url = format!("s3://bucket/{format}");
        // After too many network failures the same command resumes.
        let ended = (0..5).map(|_| stage.run(&dynamic(&pack(&large, &url, format, &more))));
        let said: Vec<_> = ended.take_while(|it| !it.status.success()).collect();
        let said: Vec<_> = said.iter().map(|output| text(&output.stderr)).collect();
        assert!(said.len() < 5, "{format}: {said:?}");
        assert_eq!(compare::tree(&stage.bucket().join(format)), compare::tree(&here), "{format}");
    }
}

#[test]
fn a_shard_that_was_replaced_by_others_is_not_trusted() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    let args = pack(&photos, "s3://bucket/wds", "wds", &["--shards", "3"]);
    stage.ok(&dynamic(&args));
    let before = compare::tree(&stage.bucket().join("wds"));
    let shard = stage.bucket().join("wds/train-000001.tar");
    let mut bytes = fs::read(&shard).unwrap();
    bytes[600] ^= 1;
    stage.server.put("bucket/wds/train-000001.tar", &bytes);
    assert_ne!(compare::tree(&stage.bucket().join("wds")), before);
    stage.ok(&dynamic(&args));
    assert_eq!(compare::tree(&stage.bucket().join("wds")), before);
}

/// As after a kill of a run that overwrites: data of earlier files, and no record. The mark does
/// not distinguish contents of files with the same length.
#[test]
fn data_without_records_is_written_again() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    let (first, second) = (photos.join("scene/kodak-05.jpg"), photos.join("closeup/kodak-03.jpg"));
    for (format, more) in &FORMATS[1..] {
        let url = format!("s3://bucket/{format}");
        let args = pack(&photos, &url, format, more);
        stage.ok(&dynamic(&args));
        let out = stage.bucket().join(format);
        for name in compare::tree(&out).into_keys().map(|name| text(&name)) {
            if name.contains(".fdconvert/") || name.contains("fdconvert") && name.ends_with("json")
            {
                fs::remove_file(out.join(name)).unwrap();
            }
        }
        for photo in [&first, &second] {
            let mut bytes = fs::read(photo).unwrap();
            // The density in the header, which changes no pixel.
            bytes[15] ^= 1;
            fs::write(photo, bytes).unwrap();
        }
        let here = stage.path(&format!("here.{format}"));
        common::ok(&dynamic(&pack(&photos, here.to_str().unwrap(), format, more)));
        let output = stage.run(&dynamic(&args));
        if output.status.success() {
            let (found, expected) = (compare::tree(&out), compare::tree(&here));
            let differs = |name: &&Vec<u8>| found.get(*name) != expected.get(*name);
            let differing: Vec<_> = expected.keys().filter(differs).map(|it| text(it)).collect();
            assert_eq!(differing, [] as [String; 0], "{format}");
        } else {
            assert!(text(&output.stderr).contains("--overwrite"), "{format}");
        }
    }
}

#[test]
fn parts_of_a_plan_meet_in_a_bucket() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    let plan = stage.path("p.fdplan");
    let (here, there) = (stage.path("here"), "s3://bucket/there");
    common::ok(&[&"plan", &photos, &"-o", &plan, &"--format", &"wds", &"--shards", &"4"]);
    for part in ["1/2", "2/2"] {
        common::ok(&[&"pack", &"--plan", &plan, &"--part", &part, &here]);
        stage.ok(&[&"pack", &"--plan", &plan, &"--part", &part, &there]);
    }
    common::ok(&[&"merge", &here]);
    stage.ok(&[&"merge", &there]);
    assert_eq!(compare::tree(&stage.bucket().join("there")), compare::tree(&here));
}

#[test]
fn finished_shards_are_looked_at_beside_each_other() {
    let stage = Stage::new(Faults { latency: Duration::from_millis(20), ..Faults::default() });
    let (photos, plan) = (stage.photos(), stage.path("p.fdplan"));
    common::ok(&[&"plan", &photos, &"-o", &plan, &"--format", &"wds", &"--shards", &"12"]);
    let part = || stage.ok(&[&"pack", &"--plan", &plan, &"--part", &"1/1", &"s3://bucket/out"]);
    part();
    let packing = stage.server.served().most_in_flight;
    assert!(packing < 8, "{packing} requests at a time while packing");
    let said = part();
    assert!(said.contains("already complete"), "{said}");
    let looking = stage.server.served().most_in_flight;
    assert!(looking >= 8, "{looking} requests at a time while looking at finished shards");
}

#[test]
fn a_plan_in_a_bucket_is_not_replaced_by_another_one() {
    let stage = Stage::new(Faults::default());
    let (photos, plan) = (stage.photos(), "s3://bucket/p.fdplan");
    let planned = |shards: &str| {
        stage.run(&[&"plan", &photos, &"-o", &plan, &"--format", &"wds", &"--shards", &shards])
    };
    assert!(planned("4").status.success());
    let first = fs::read(stage.bucket().join("p.fdplan")).unwrap();
    // A repetition is equal.
    assert!(planned("4").status.success());
    let refused = planned("3");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--overwrite"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(stage.bucket().join("p.fdplan")).unwrap(), first);
    for part in ["2/2", "1/2"] {
        stage.ok(&[&"pack", &"--plan", &plan, &"--part", &part, &"s3://bucket/out"]);
    }
    stage.ok(&[&"merge", &"s3://bucket/out"]);
    stage.ok(&[&"verify", &"s3://bucket/out"]);
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let stage = Stage::new(Faults::default());
    let photos = stage.photos();
    let web = format!("{}/bucket/x.beton", stage.server.url());
    let said = stage.fails(&[&"pack", &photos, &web]);
    assert!(said.contains("can only be read; stores that are written to are s3://"), "{said}");
    stage.ok(&[&"pack", &photos, &"s3://bucket/a.beton"]);
    let said = stage.fails(&[&"pack", &"s3://bucket/a.beton", &"s3://bucket/a.beton"]);
    assert!(said.contains("is its own source"), "{said}");
    let said = stage.fails(&[&"unpack", &"s3://bucket/a.beton", &"s3://bucket/files"]);
    assert!(said.contains("written into folders only") && !said.contains("--format"), "{said}");
    let said = stage.fails(&[&"pack", &photos, &"s3://bucket/files", &"--format", &"folder"]);
    assert!(said.contains("written into folders only") && said.contains("--format wds"), "{said}");
    let said = stage.fails(&[&"pack", &photos, &"s3://missing/a.beton"]);
    assert!(said.contains("there is no such bucket"), "{said}");
    let [ratio, auto, format, mixed] = ["--ratio", "auto", "--format", "mixed"];
    let said = stage.fails(&[&"pack", &photos, &"s3://bucket/m", &ratio, &auto, &format, &mixed]);
    assert!(said.contains("the disk of OUT is what it measures"), "{said}");
}

/// Returns the objects of a bucket with their bytes.
fn objects(stage: &Stage) -> BTreeMap<Vec<u8>, Vec<u8>> {
    compare::tree(&stage.bucket())
}

/// Returns the number of writes of each shard that its record marks as finished.
fn finished(stage: &Stage, out: &str) -> BTreeMap<String, u64> {
    let records = stage.bucket().join(out).join(".fdconvert");
    let stems = if records.is_dir() { common::names(&records) } else { Vec::new() };
    let stems: Vec<_> = stems.iter().filter_map(|name| name.strip_suffix(".json")).collect();
    let is_finished = |path: &String| {
        let name = path.rsplit('/').next().unwrap();
        let stem = name.strip_suffix(".tar").or(name.strip_suffix(".mds"));
        path.starts_with(&format!("bucket/{out}/")) && stem.is_some_and(|it| stems.contains(&it))
    };
    stage.server.stored().into_iter().filter(|(path, _)| is_finished(path)).collect()
}

/// Packs with kills after a while, until the output is complete. Returns the number of kills.
fn packed_through_kills(stage: &Stage, args: &[&OsStr], out: &str, seed: u64) -> u64 {
    let mut state = seed;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut n_kills, mut done) = (0, BTreeMap::new());
    loop {
        let mut command = stage.command(&dynamic(args));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(30 + random(250 + 50 * n_kills)));
        let is_over = child.try_wait().unwrap().is_some();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        // A finished shard does not change, whatever happens to the others.
        let now = finished(stage, out);
        for (path, times) in &done {
            assert_eq!(now.get(path), Some(times), "{path} was written again");
        }
        done = now;
        if is_over {
            assert!(output.status.success(), "{}", text(&output.stderr));
            return n_kills;
        }
        n_kills += 1;
        assert!(n_kills < 200, "it does not get on");
    }
}

fn kills(n: u64) {
    let latency = Duration::from_millis(3);
    let stage = Stage::new(Faults { latency, ..Faults::default() });
    let large = stage.large(24);
    let source = "s3://bucket/source";
    stage.ok(&dynamic(&pack(&large, source, "wds", &["--shards", "3"])));
    let (mut n_kills, mut round) = (0, 0);
    while n_kills < n {
        round += 1;
        let format = ["wds", "beton", "mds", "mixed"][round as usize % 4];
        let more = FORMATS.iter().find(|(name, _)| *name == format).unwrap().1;
        let here = stage.path(&format!("here-{format}"));
        if !here.exists() {
            stage.ok(&dynamic(&pack(Path::new(source), here.to_str().unwrap(), format, more)));
        }
        let url = format!("s3://bucket/out-{round}");
        let args = pack(Path::new(source), &url, format, more);
        let name = format!("out-{round}");
        n_kills += packed_through_kills(&stage, &args, &name, round);
        let out = stage.bucket().join(name);
        assert_eq!(compare::tree(&out), compare::tree(&here), "{format}");
    }
    let open = stage.server.open_uploads().len();
    println!("{n_kills} kills in {round} runs, {open} uploads left open");
    stage.ok(&[&"clean", &"s3://bucket", &"--older-than", &"0s"]);
    assert_eq!(stage.server.open_uploads(), [] as [String; 0]);
    assert!(!objects(&stage).keys().any(|name| name.ends_with(b".partial")));
}

#[test]
fn killed_runs_are_resumed_to_the_same_bytes() {
    kills(6);
}

#[test]
#[ignore = "minutes; the record is in docs/reliability.md"]
fn two_hundred_kills() {
    kills(200);
}

/// Two processes that write to one place at the same time: with the same dataset, in every format,
/// both report that it exists; with two different ones, one is refused.
fn two_packers(n: usize) {
    let stage = Stage::new(Faults { latency: Duration::from_millis(2), ..Faults::default() });
    let photos = stage.photos();
    let mut won = [0, 0];
    // The other process's data differ in their bytes, or also in the names of shards.
    let smaller: &[&str] = &["--max-side", "40"];
    let others = [&[][..], smaller, &["--split", "a=0.5", "--split", "b=0.5"]];
    for run in 0..n {
        let url = format!("s3://bucket/{run}");
        let other = others[run % 3];
        let (format, more) = FORMATS[if run % 3 == 2 { 1 } else { run / 3 % 4 }];
        let args = [more.to_vec(), [more, other].concat()];
        let running = args.each_ref().map(|more| {
            let args = pack(&photos, &url, format, more);
            let mut command = stage.command(&dynamic(&args));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let ended = running.map(|child| child.wait_with_output().unwrap());
        let codes = ended.each_ref().map(|output| output.status.code());
        let said = ended.each_ref().map(|output| text(&output.stderr));
        let expected = if other.is_empty() { 2 } else { 1 };
        let n_well = codes.iter().filter(|code| **code == Some(0)).count();
        assert_eq!(n_well, expected, "{run}: {format} {codes:?} {said:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 2))), "{run}: {said:?}");
        let there = compare::tree(&stage.bucket().join(run.to_string()));
        for number in (0..2).filter(|number| codes[*number] == Some(0)) {
            let here = stage.path(&format!("here-{run}-{number}"));
            common::ok(&dynamic(&pack(&photos, here.to_str().unwrap(), format, &args[number])));
            // A refused process may have left its finished shards next to them.
            let is_there = |(name, bytes): (&Vec<u8>, &Vec<u8>)| there.get(name) == Some(bytes);
            assert!(compare::tree(&here).iter().all(is_there), "{run}: {format}");
            won[number] += 1;
        }
        let is_claim = |name: &&Vec<u8>| name.ends_with(b".partial");
        assert_eq!(there.keys().find(is_claim), None, "{run}: {format}");
    }
    println!("{n} runs of two packers: {won:?} ended well");
}

#[test]
fn of_two_packers_one_makes_the_manifest() {
    two_packers(12);
}

#[test]
#[ignore = "minutes; the record is in docs/reliability.md"]
fn fifty_runs_of_two_packers() {
    two_packers(51);
}

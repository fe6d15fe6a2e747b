//! `--align`: images at multiples of the block size of file systems, so that a beton can share the
//! blocks of its source. What is stored depends on neither.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, fails, fdconvert, ok};
use fdconvert_testkit::{fixtures::Random, metadata::jpeg_with};
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Packs and gives the report.
fn pack(source: &Path, out: &Path, options: &[&str]) -> Value {
    let mut command = fdconvert();
    let output = command.arg("pack").args([source, out]).args(options).arg("--json").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{options:?}: {}", common::text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn photos(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    ok(&[&"sample", &photos]);
    photos
}

#[test]
fn any_number_of_threads_and_a_plan_give_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let [plain, plan] = ["plain.beton", "p.fdplan"].map(|name| root.path().join(name));
    pack(&photos, &plain, &[]);
    for (number, options) in
        ["--align 4096", "--align 16384 --compact --jpeg-index on", "--align 4096 --encode raw"]
            .iter()
            .enumerate()
    {
        let options: Vec<_> = options.split(' ').collect();
        let out = |name: &str| root.path().join(format!("{number}-{name}.beton"));
        let first = out("1");
        for threads in ["1", "2", "4"] {
            let options = [&options[..], &["--threads", threads]].concat();
            let report = pack(&photos, &out(threads), &options);
            // Zero where the file system of the temporary folder cannot, and at most all.
            assert!(report["bytes_shared"].as_u64() <= report["bytes_stored"].as_u64());
            assert!(fs::read(out(threads)).unwrap() == fs::read(&first).unwrap(), "{options:?}");
        }
        let mut planned = fdconvert();
        planned.arg("plan").arg(&photos).arg("-o").arg(&plan).args(&options).arg("--overwrite");
        assert!(planned.args(["--format", "beton"]).status().unwrap().success());
        ok(&[&"pack", &"--plan", &plan, &out("plan")]);
        assert!(fs::read(out("plan")).unwrap() == fs::read(&first).unwrap(), "{options:?}");

        ok(&[&"verify", &first, &"--deep"]);
        let found: Value = serde_json::from_str(&ok(&[&"inspect", &first, &"--json"])).unwrap();
        assert_eq!(found["provenance"]["params"]["beton.align"], options[1]);
        if number < 2 {
            ok(&[&"diff", &plain, &first]);
        }
        // And back, where nothing is aligned.
        let back = out("back");
        pack(&first, &back, &[]);
        ok(&[&"diff", &first, &back]);
    }
}

#[test]
fn what_cannot_be_aligned_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let out = root.path().join("a.beton");
    for (options, said) in [
        (&["--align", "512"][..], "4096, 16384, 65536"),
        (&["--align", "4096", "--compat", "ffcv"], "--align: FFCV aligns nothing: drop --compat"),
        (&["--align", "4096", "--format", "mds"], "--align is not an option of the format `mds`"),
    ] {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &photos, &out];
        args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let message = fails(&args);
        assert!(message.contains(said), "{options:?}: {message}");
        assert_eq!(common::names(root.path()), ["photos"]);
    }
}

/// On a file system that can, all whole blocks of what is kept are shared, and the bytes are those
/// of a copy elsewhere. `FDCONVERT_REFLINK` names a folder on one, as this makes one:
///
/// ```sh
/// truncate -s 300M /tmp/disk && mkfs.btrfs /tmp/disk     # or mkfs.xfs
/// mkdir /tmp/mounted && mount -o loop /tmp/disk /tmp/mounted
/// ```
#[test]
#[ignore = "needs a folder on btrfs or XFS: FDCONVERT_REFLINK=FOLDER"]
fn whole_blocks_are_shared_where_the_file_system_can() {
    let folder = env::var_os("FDCONVERT_REFLINK").map(PathBuf::from).unwrap();
    let root = tempfile::tempdir_in(folder).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let (mut random, mut whole) = (Random::new(5), 0);
    // Of all lengths, up to more than half a page.
    for (number, path) in files(&photos).iter().enumerate() {
        let segments: Vec<_> =
            (0..number * 3).map(|_| (0xE5, random.bytes(40_000 + number))).collect();
        let bytes = jpeg_with(&fs::read(path).unwrap(), &segments);
        fs::write(path, &bytes).unwrap();
        whole += bytes.len() as u64 / 4096 * 4096;
    }
    let out = |number: usize| root.path().join(format!("{number}.beton"));
    let copy = elsewhere.path().join("copy.beton");
    let options = ["--align", "4096", "--page-size", "2MiB"];

    // Too young to be shared, as they may be changed within a tick of the clock.
    let report = pack(&photos, &out(0), &options);
    let young = report["bytes_shared"].as_u64().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(pack(&photos, &copy, &options)["bytes_shared"], 0);
    for threads in 1..4 {
        let report = pack(
            &photos,
            &out(threads),
            &[&options[..], &["--threads", &threads.to_string()]].concat(),
        );
        assert_eq!(report["bytes_shared"], whole, "{report}");
    }
    assert!(young <= whole);
    for number in 0..4 {
        assert!(fs::read(out(number)).unwrap() == fs::read(&copy).unwrap(), "{number}");
    }
    // What is written to a source later does not reach the beton.
    for path in files(&photos) {
        let n_bytes = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(n_bytes).unwrap()]).unwrap();
    }
    assert!(fs::read(out(1)).unwrap() == fs::read(&copy).unwrap());
    ok(&[&"verify", &out(1)]);
    println!("{whole} bytes are shared");
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = fdconvert_testkit::workload::files_below(root).unwrap();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jpg"));
    files
}

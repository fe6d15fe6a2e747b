//! Runs that are killed, interrupted or run out of disk space.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, fdconvert, ok, sha256_file};
use fdconvert_testkit::compare::tree;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

/// Twelve images six times over: 85 MB raw, a page of 2 MiB each.
fn source(root: &Path) -> PathBuf {
    let folder = root.join("source");
    for class in 0..6 {
        let class = folder.join(format!("c{class}"));
        fs::create_dir_all(&class).unwrap();
        for path in common::sorted(&fdconvert_testkit::fixtures::kodak()) {
            fs::copy(&path, class.join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn start(source: &Path, out: &Path, threads: &str) -> Child {
    start_with(source, out, threads, &[])
}

fn start_with(source: &Path, out: &Path, threads: &str, options: &[&str]) -> Child {
    fdconvert()
        .arg("pack")
        .args([source, out])
        .args(["--encode", "raw", "--page-size", "2MiB", "--threads", threads])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the unfinished file has grown to `bytes`, or the child has ended.
fn wait_for_size(child: &mut Child, partial: &Path, bytes: u64) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none()
        && fs::metadata(partial).map_or(0, |metadata| metadata.len()) < bytes
    {
        assert!(began.elapsed() < Duration::from_secs(60), "the pack does not move");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn killed_at_many_points_it_ends_with_the_same_bytes() {
    kill_at_many_points(&[]);
}

fn kill_at_many_points(options: &[&str]) {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let whole = root.path().join("whole.beton");
    assert!(start_with(&source, &whole, "2", options).wait().unwrap().success());
    let expected = sha256_file(&whole);

    let out = root.path().join("killed.beton");
    let partial = root.path().join("killed.beton.partial");
    let mut kills = 0;
    for round in 1.. {
        // Each round proceeds a little further than the one before, with another number of threads.
        let mut child = start_with(&source, &out, ["1", "2", "3"][round % 3], options);
        wait_for_size(&mut child, &partial, round as u64 * 11_000_000);
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        assert!(!out.exists(), "a killed run left a file that looks finished");
        kills += 1;
    }
    assert!(kills >= 3, "killed only {kills} times");
    assert_eq!(sha256_file(&out), expected);
    assert_eq!(common::names(root.path()), ["killed.beton", "source", "whole.beton"]);
    ok(&[&"verify", &out, &"--deep"]);
}

#[test]
fn a_resumed_run_says_so_and_another_run_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    let partial = root.path().join("x.beton.partial");
    let mut child = start(&source, &out, "2");
    wait_for_size(&mut child, &partial, 30_000_000);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists(), "killed too late for this test");

    // A run with other options must not touch the files of the first.
    let before = sha256_file(&partial);
    let message = common::fails(&[&"pack", &source, &out, &"--encode", &"jpeg"]);
    assert!(message.contains("--overwrite"), "{message}");
    assert_eq!(sha256_file(&partial), before);

    let text =
        ok(&[&"pack", &source, &out, &"--encode", &"raw", &"--page-size", &"2MiB", &"--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["resumed"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["samples"], 72);
}

#[test]
fn an_interrupt_leaves_nothing_and_exits_130() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    let mut child = start(&source, &out, "2");
    wait_for_size(&mut child, &root.path().join("x.beton.partial"), 20_000_000);
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(common::names(root.path()), ["source"]);
}

/// `/dev/full` and quotas are not available everywhere; a limit on file size is, and fails like a
/// full disk.
#[test]
fn a_disk_that_fills_up_is_an_error_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    // The command ignores SIGXFSZ: writing fails with EFBIG.
    let script = r#"ulimit -f 20000; exec "$0" pack "$1" "$2" --encode raw"#;
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_fdconvert")])
        .args([&source, &out])
        .output()
        .unwrap();
    let message = common::text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot write") && message.contains("x.beton"), "{message}");
    assert_eq!(common::names(root.path()), ["source"]);
}

/// Four PNGs in two classes, and the arguments that pack them into two shards of that format.
fn small(root: &Path) -> PathBuf {
    let folder = root.join("small");
    for (number, class) in ["a", "a", "b", "b"].iter().enumerate() {
        let image = fdconvert_testkit::fixtures::png(40, 30, number as u64);
        fs::create_dir_all(folder.join(class)).unwrap();
        fs::write(folder.join(class).join(format!("{number}.png")), &image.bytes).unwrap();
    }
    folder
}

fn pack(source: &Path, out: &Path, format: &str, more: &[&str]) -> (i32, String) {
    let mut command = fdconvert();
    command.arg("pack").args([source, out]).args(["--format", format]).args(more);
    let output = command.output().unwrap();
    let text = common::text(&output.stdout) + &common::text(&output.stderr);
    (output.status.code().unwrap(), text)
}

const SHARDED: [(&str, &str, &str); 3] = [
    ("wds", "train-000000.tar", ".fdconvert/train-000000.json"),
    ("mds", "shard.00000.mds", ".fdconvert/shard.00000.json"),
    ("mixed", "png/train-000000.tar", "png/.fdconvert/train-000000.json"),
];
const TWO: [&str; 2] = ["--shard-count", "2"];

#[test]
fn files_of_others_are_refused_by_name_and_stay() {
    let root = tempfile::tempdir().unwrap();
    let source = small(root.path());
    let victim = root.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    for (format, shard, _) in SHARDED {
        let out = root.path().join(format);
        for name in [format!("{shard}.partial"), "fdconvert.json.partial".into()] {
            let manifest = if format == "mixed" { "fdconvert-mixed.json.partial" } else { &name };
            let name = if name.starts_with("fdconvert") { manifest } else { &name };
            let path = out.join(name);
            for link in [false, true] {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                if link {
                    std::os::unix::fs::symlink(&victim, &path).unwrap();
                } else {
                    fs::write(&path, b"precious").unwrap();
                }
                let (code, text) = pack(&source, &out, format, &TWO);
                assert!(code == 2 && text.contains(name), "{format} {name}: {code} {text}");
                assert_eq!(fs::read(&path).unwrap(), b"precious", "{format} {name}");
                assert_eq!(fs::read(&victim).unwrap(), b"precious");
                fs::remove_file(&path).unwrap();
            }
        }
        // After it is moved away, the same command continues.
        let (code, text) = pack(&source, &out, format, &TWO);
        assert_eq!(code, 0, "{format}: {text}");
    }
    let out = root.path().join("index");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("train-000000.fdx"), b"precious").unwrap();
    let (code, text) = pack(&source, &out, "wds", &["--sidecars", "none"]);
    assert!(code == 2 && text.contains("train-000000.fdx"), "{text}");
    assert_eq!(fs::read(out.join("train-000000.fdx")).unwrap(), b"precious");
    // The folder itself and that of the records.
    for name in ["linked", "real/.fdconvert"] {
        fs::create_dir_all(root.path().join("real")).unwrap();
        let link = root.path().join(name);
        std::os::unix::fs::symlink(&out, &link).unwrap();
        let out = root.path().join(name.split('/').next().unwrap());
        let (code, text) = pack(&source, &out, "wds", &TWO);
        assert!(code == 2 && text.contains("symbolic link"), "{text}");
    }
}

#[test]
fn a_beton_and_a_formula_follow_no_link_either() {
    let root = tempfile::tempdir().unwrap();
    let source = small(root.path());
    let victim = root.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let recipe = PathBuf::from("fractal:svd?classes=2&instances=4&size=32");
    for (format, source) in [("beton", &source), ("formula", &recipe)] {
        let out = root.path().join("x").with_extension(format);
        let partial = out.with_extension(format!("{format}.partial"));
        std::os::unix::fs::symlink(&victim, &partial).unwrap();
        for more in [&[][..], &["--overwrite"]] {
            let (code, text) = pack(source, &out, format, more);
            assert!(code == 2 && text.contains("symbolic link"), "{text}");
            assert_eq!(fs::read(&victim).unwrap(), b"precious");
        }
        fs::remove_file(&partial).unwrap();
        assert_eq!(pack(source, &out, format, &[]).0, 0);
    }
    // A formula is the result of its command while it exists.
    let out = root.path().join("x.formula");
    let (code, text) = pack(&recipe, &out, "formula", &[]);
    assert!(code == 0 && text.contains("already complete"), "{text}");
    let other = PathBuf::from("fractal:svd?classes=3&instances=4&size=32");
    assert_eq!(pack(&other, &out, "formula", &[]).0, 2);
}

#[test]
fn a_resumed_run_compares_finished_shards_with_their_records() {
    let root = tempfile::tempdir().unwrap();
    let source = small(root.path());
    for (format, shard, record) in SHARDED {
        let out = root.path().join(format);
        assert_eq!(pack(&source, &out, format, &TWO).0, 0);
        let whole = tree(&out);
        for damaged in [shard, record] {
            // As after a kill just before the manifest, and then damage on the disk.
            fs::remove_file(out.join("fdconvert.json"))
                .or_else(|_| fs::remove_file(out.join("fdconvert-mixed.json")))
                .unwrap();
            let mut bytes = fs::read(out.join(damaged)).unwrap();
            let at = bytes.len() - 30;
            bytes[at] ^= 1;
            fs::write(out.join(damaged), bytes).unwrap();
            let (code, text) = pack(&source, &out, format, &TWO);
            assert!(code == 0 && text.contains("checked"), "{format} {damaged}: {text}");
            assert!(tree(&out) == whole, "{format}: {damaged} stayed damaged");
        }
        let (code, text) = pack(&source, &out, format, &TWO);
        assert!(code == 0 && text.contains("already complete"), "{format}: {text}");
        assert!(tree(&out) == whole);
    }
}

#[test]
fn a_source_that_was_written_to_since_is_not_blended_in() {
    let root = tempfile::tempdir().unwrap();
    let source = small(root.path());
    let (first, last) = (source.join("a/0.png"), source.join("b/3.png"));
    let sound = fs::read(&last).unwrap();
    let since = fs::metadata(&last).unwrap().modified().unwrap();
    for (format, _, _) in SHARDED {
        let out = root.path().join(format);
        let touch = |path: &Path, time| {
            fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        };
        // The last shard cannot be written, so that the first one waits for another run.
        fs::write(&last, vec![0; sound.len()]).unwrap();
        touch(&last, since);
        assert_eq!(pack(&source, &out, format, &TWO).0, 2);
        assert!(out.join(".fdconvert/source.stamp").is_file(), "{format}");
        let before = fs::metadata(&first).unwrap().modified().unwrap();
        touch(&first, before + Duration::from_secs(5));
        let (code, text) = pack(&source, &out, format, &TWO);
        assert!(code == 2 && text.contains("were written to since"), "{format}: {text}");
        touch(&first, before);
        fs::write(&last, &sound).unwrap();
        touch(&last, since);
        let (code, text) = pack(&source, &out, format, &TWO);
        assert_eq!(code, 0, "{format}: {text}");
        // The finished output has no stamp.
        assert!(!out.join(".fdconvert/source.stamp").exists(), "{format}");
    }
}

/// A server that accepts connections without answering does not block the command.
#[test]
#[cfg(feature = "stores")]
fn an_interrupt_does_not_wait_for_a_silent_server() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.beton", server.local_addr().unwrap());
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out.wds");
    let out = out.to_str().unwrap();
    for args in [&["inspect", &url][..], &["verify", &url], &["unpack", &url, out]] {
        let mut child = fdconvert().args(args).stderr(Stdio::piped()).spawn().unwrap();
        // The command has connected, and waits.
        let connection = server.accept().unwrap();
        let began = Instant::now();
        let id = child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{args:?}");
        drop(connection);
    }
    assert_eq!(common::names(root.path()), [""; 0]);
}

/// A store that no longer answers writes blocks the command for seconds, whatever it was sending.
#[test]
#[cfg(all(feature = "stores", feature = "turbo"))]
fn an_interrupt_does_not_wait_for_a_store_that_answers_no_write() {
    use crate::stored::Stage;
    use fdconvert_testkit::server::Faults;
    use std::ffi::OsStr;
    let interrupt = |stage: &Stage, source: &Path, is_sending: &dyn Fn(&Stage) -> bool| {
        let pack: [&dyn AsRef<OsStr>; 3] = [&"pack", &source, &"s3://bucket/out.wds"];
        let mut child = stage.command(&pack).stderr(Stdio::null()).spawn().unwrap();
        while !is_sending(stage) {
            std::thread::sleep(Duration::from_millis(2));
        }
        stage.server.fall_silent();
        std::thread::sleep(Duration::from_millis(500));
        let began = Instant::now();
        let id = child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{source:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    };
    // Objects of one request, which are small; and one in parts.
    let stage = Stage::new(Faults::default());
    interrupt(&stage, &small(&stage.path("")), &|stage| stage.server.served().requests > 0);
    let stage = Stage::new(Faults::default());
    interrupt(&stage, &stage.large(12), &|stage| !stage.server.open_uploads().is_empty());
}

/// Opening tries several names and formats; together they have one minute.
#[test]
#[cfg(feature = "stores")]
fn opening_at_a_silent_server_ends_after_a_minute() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", server.local_addr().unwrap());
    let began = Instant::now();
    let said = common::fails(&[&"inspect", &url]);
    assert!(said.contains("there was no answer within 60 s"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(90), "{:?}", began.elapsed());
}

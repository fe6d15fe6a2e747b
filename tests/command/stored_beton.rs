//! Large betons in stores: sent while they are made, and resumed at their parts.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::{
    common::{self, text},
    stored::{Stage, dynamic, pack},
};
use fdconvert_testkit::{
    compare,
    server::{Fault, Faults},
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

const URL: &str = "s3://bucket/x.beton";
const NOTES: &str = "bucket/x.beton.partial.journal";
/// With entry points, which wait elsewhere than what is sent.
const OPTIONS: &[&str] = &["--jpeg-index", "on"];
const N_IMAGES: u64 = 152;

/// JPEGs of noise, of a megabyte each: enough for two notes. And the beton of them on a disk.
struct Images {
    _root: tempfile::TempDir,
    folder: PathBuf,
    beton: PathBuf,
}

/// The same for all tests.
fn images() -> &'static Images {
    static IMAGES: OnceLock<Images> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let root = tempfile::tempdir().unwrap();
        let (folder, beton) = (root.path().join("images"), root.path().join("here.beton"));
        fs::create_dir_all(folder.join("a")).unwrap();
        common::ok(&[&"sample", &root.path().join("photos")]);
        let start = fs::read(root.path().join("photos/scene/kodak-05.jpg")).unwrap();
        for number in 0..N_IMAGES {
            let mut bytes = start.clone();
            // Decoders pass over what lies behind the image.
            bytes.extend((0..1 << 20).map(|at| ((at * (2 * number + 3)) >> 7) as u8));
            fs::write(folder.join(format!("a/{number:03}.jpg")), bytes).unwrap();
        }
        common::ok(&dynamic(&pack(&folder, beton.to_str().unwrap(), "beton", OPTIONS)));
        let len = fs::metadata(&beton).unwrap().len();
        assert!(len > 150 << 20, "{len} bytes are too few for two notes");
        Images { _root: root, folder, beton }
    })
}

struct Large {
    stage: Stage,
    images: &'static Path,
    here: &'static Path,
}

impl Large {
    fn new(faults: Faults) -> Self {
        let Images { folder, beton, .. } = images();
        Self { stage: Stage::new(faults), images: folder, here: beton }
    }

    fn start(&self, more: &[&str]) -> Child {
        let options = [OPTIONS, more].concat();
        let args = pack(self.images, URL, "beton", &options);
        let mut command = self.stage.command(&dynamic(&args));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn note(&self, number: usize) -> PathBuf {
        self.stage.path("stores").join(NOTES).join(format!("{number:08}"))
    }

    /// Killed once it has written so many notes.
    fn kill_after(&self, n_notes: usize) {
        let mut child = self.start(&[]);
        self.wait_for(n_notes, &mut child);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code().is_none(), "{}", text(&output.stderr));
        assert_eq!(self.stage.server.open_uploads(), ["bucket/x.beton"]);
    }

    fn wait_for(&self, n_notes: usize, child: &mut Child) {
        let began = Instant::now();
        while !self.note(n_notes - 1).is_file() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before that note");
            assert!(began.elapsed() < Duration::from_secs(120), "no note was written");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Packs to the end, and gives how many samples it has found.
    fn resumed(&self) -> u64 {
        let output = self.start(&["--json"]).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        self.check();
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        said["resumed"].as_u64().unwrap()
    }

    fn objects(&self) -> Vec<String> {
        let files = walkdir::WalkDir::new(self.stage.bucket()).into_iter().map(Result::unwrap);
        let files = files.filter(|entry| entry.file_type().is_file());
        files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The beton is there, and nothing else.
    fn check(&self) {
        let there = self.stage.bucket().join("x.beton");
        assert_eq!(compare::tree(&there), compare::tree(self.here));
        assert_eq!(self.objects(), ["x.beton"]);
        assert_eq!(self.stage.server.open_uploads(), [] as [String; 0]);
    }
}

fn slow() -> Faults {
    Faults { latency: Duration::from_millis(10), ..Faults::default() }
}

#[test]
fn a_large_beton_is_resumed_behind_the_last_note() {
    let large = Large::new(slow());
    large.kill_after(1);
    let first = fs::read(large.note(0)).unwrap();
    let of_one = large.resumed();
    fs::remove_file(large.stage.bucket().join("x.beton")).unwrap();

    large.kill_after(2);
    let of_two = large.resumed();
    assert!(0 < of_one && of_one < of_two && of_two < N_IMAGES, "{of_one} {of_two}");

    // A note that is damaged, and those behind it, do not count.
    fs::remove_file(large.stage.bucket().join("x.beton")).unwrap();
    large.kill_after(2);
    let mut bytes = fs::read(large.note(1)).unwrap();
    bytes[100] ^= 1;
    fs::write(large.note(1), bytes).unwrap();
    assert_eq!(large.resumed(), of_one);

    // What the store has given up meanwhile is sent again, whatever the notes say.
    fs::remove_file(large.stage.bucket().join("x.beton")).unwrap();
    large.kill_after(1);
    large.stage.server.abort_uploads();
    assert_eq!(large.resumed(), 0);

    // Notes that a run was killed before it removed.
    fs::create_dir_all(large.note(0).parent().unwrap()).unwrap();
    fs::write(large.note(0), first).unwrap();
    assert_eq!(large.resumed(), N_IMAGES);
}

/// Who stops a run, or has a network that fails, loses no more than one who kills it, and is told.
#[test]
fn a_run_that_ends_early_says_what_stays() {
    let large = Large::new(slow());
    let mut child = large.start(&[]);
    large.wait_for(1, &mut child);
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains(URL) && said.contains("stays in the store"), "{said}");
    assert!(large.resumed() > 0);
}

#[test]
fn another_run_replaces_what_was_sent_only_if_asked_to() {
    let large = Large::new(slow());
    large.kill_after(1);
    let other = pack(large.images, URL, "beton", &["--max-side", "40"]);
    let said = large.stage.fails(&dynamic(&other));
    assert!(said.contains("is of an unfinished run with another source"), "{said}");
    // Also where only the notes say whose it is.
    fs::remove_file(large.stage.bucket().join("x.beton.partial")).unwrap();
    let said = large.stage.fails(&dynamic(&other));
    assert!(said.contains("unfinished output of a run with another source"), "{said}");
    assert!(said.contains("--overwrite") && said.contains("fdconvert clean"), "{said}");
    let other = pack(large.images, URL, "beton", &["--max-side", "40", "--overwrite"]);
    large.stage.ok(&dynamic(&other));
    assert_eq!(large.objects(), ["x.beton"]);
    assert_eq!(large.stage.server.open_uploads(), [] as [String; 0]);

    fs::remove_file(large.stage.bucket().join("x.beton")).unwrap();
    large.kill_after(1);
    let said = large.stage.ok(&[&"clean", &"s3://bucket", &"--older-than", &"0s"]);
    assert!(said.contains(URL), "{said}");
    assert_eq!(large.stage.server.open_uploads(), [] as [String; 0]);
    assert!(!large.note(0).exists());
    assert_eq!(large.resumed(), 0);
}

#[test]
fn two_processes_send_one_beton() {
    let large = Large::new(slow());
    for n_notes in [0, 1] {
        let mut first = large.start(&[]);
        if n_notes > 0 {
            // The second takes over the upload of the first, which does not stop.
            large.wait_for(n_notes, &mut first);
        }
        let second = large.start(&[]);
        for child in [first, second] {
            let Output { status, stderr, .. } = child.wait_with_output().unwrap();
            assert!(status.success(), "{n_notes}: {}", text(&stderr));
        }
        large.check();
        fs::remove_file(large.stage.bucket().join("x.beton")).unwrap();
    }
}

/// A process that may write no file of more than 32 MiB.
#[test]
fn no_disk_has_the_whole_beton() {
    let shares = [Fault::Status(503), Fault::Reset, Fault::Lost].map(|fault| (0.03, fault));
    let large = Large::new(Faults { seed: 5, shares: shares.into(), ..Faults::default() });
    let args = pack(large.images, URL, "beton", OPTIONS);
    let command = large.stage.command(&dynamic(&args));
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 65536; exec \"$0\" \"$@\""]).arg(command.get_program());
    shell.args(command.get_args()).envs(large.stage.server.variables());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    large.check();
    let on_disk = large.stage.path("there.beton");
    let args = pack(large.images, on_disk.to_str().unwrap(), "beton", OPTIONS);
    shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 65536; exec \"$0\" \"$@\""]).arg(command.get_program());
    assert!(!shell.args::<&[&OsStr], _>(&args).output().unwrap().status.success());
    assert!(!Path::new(&on_disk).exists());
}

/// Whatever lies in front of the data and behind it, and however long it is.
#[test]
fn every_layout_is_sent_as_it_is_written() {
    let stage = Stage::new(Faults::default());
    let photos = stage.path("photos");
    common::ok(&[&"sample", &photos]);
    // Rows of more than a part.
    let many = Path::new("fractal:fractaldb?classes=100&instances=3000&size=13");
    let layouts: [(&Path, &str); 8] = [
        (&photos, "--compact"),
        (&photos, "--page-size 2MiB"),
        (&photos, "--page-size 2MiB --encode raw"),
        (&photos, "--page-size 4MiB --encode raw"),
        (&photos, "--compact --page-size 2MiB --encode raw"),
        (&photos, "--compat ffcv --encode raw"),
        (&photos, "--compat ffcv --encode jpeg --page-size 2MiB"),
        (many, "--encode raw --compact --page-size 2MiB"),
    ];
    for (number, (source, options)) in layouts.into_iter().enumerate() {
        let options: Vec<_> = options.split(' ').collect();
        let here = stage.path(&format!("{number}.beton"));
        common::ok(&dynamic(&pack(source, here.to_str().unwrap(), "beton", &options)));
        let url = format!("s3://bucket/{number}.beton");
        stage.ok(&dynamic(&pack(source, &url, "beton", &options)));
        let there = stage.bucket().join(format!("{number}.beton"));
        assert!(compare::tree(&there) == compare::tree(&here), "{options:?}");
    }
    assert_eq!(stage.server.open_uploads(), [] as [String; 0]);
}

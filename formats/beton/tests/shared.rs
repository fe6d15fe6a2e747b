//! Blocks of source files that a beton shares, played by copies where the file system of the test
//! cannot: the file has the bytes of one that was written, whatever becomes of a request or a
//! source.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::common::{aligned, beton, create, names_in, noise, paged};
use fdconvert_core::{
    Codec, Encoded, FieldSpec, FileState, Format, Kind, Origin, Sample, Schema, ShardSummary, Value,
};
use fdconvert_storage::fault::{self, Operation};
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};
use tempfile::TempDir;

/// Bytes of the files: less than a block, whole blocks, and others; more than a page of 2 MiB.
const LENS: [usize; 9] = [100, 4095, 4096, 4097, 8192, 100_000, 1_500_000, 700_001, 12_288];
/// A JPEG as far as its header goes: 5 x 7, three channels.
const HEAD: [u8; 21] =
    *b"\xff\xd8\xff\xc0\0\x11\x08\0\x07\0\x05\x03\x01\x11\0\x02\x11\x01\x03\x11\x01";
/// Bytes of their whole blocks.
const WHOLE: u64 = 4096 + 4096 + 8192 + 98_304 + 1_499_136 + 696_320 + 12_288;

fn schema() -> Schema {
    let fields = [("image", Kind::Image), ("note", Kind::Text)];
    Schema::new(fields.map(|(name, kind)| FieldSpec::new(name, kind)).into()).unwrap()
}

struct Stage {
    folder: TempDir,
    samples: Vec<Sample<Encoded>>,
}

impl Stage {
    /// Files, and the samples that they are, each with the file it came from.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        let samples = (0..LENS.len()).map(|number| {
            let path = folder.path().join(format!("{number}.jpg"));
            let bytes = [&HEAD[..], &noise(number as u64, LENS[number] - HEAD.len())].concat();
            fs::write(&path, &bytes).unwrap();
            let image = Encoded::new(Codec::Jpeg, 5, 7, bytes.into());
            let note = Value::Text("n".repeat(number));
            let values = vec![Value::Image(image.with_origin(Some(origin(&path)))), note];
            Sample { key: format!("{number}.jpg"), values }
        });
        let samples = samples.collect();
        Self { folder, samples }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out/a.beton")
    }

    fn file(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("{number}.jpg"))
    }

    /// Packs, after something was done to the sources; gives the bytes as well.
    fn pack(&self, format: &dyn Format, change: impl Fn()) -> (ShardSummary, Vec<u8>) {
        let mut writer = create(format, &self.out(), &schema(), LENS.len() as u64).unwrap();
        change();
        self.samples.iter().for_each(|sample| writer.write(sample).unwrap());
        let summary = writer.finish().unwrap();
        let bytes = fs::read(self.out()).unwrap();
        assert_eq!(names_in(self.out().parent().unwrap()), ["a.beton"]);
        let reader = format.open(&self.out()).unwrap();
        let problems = reader.verify_layout();
        assert!(problems.is_empty(), "{problems:?}");
        (0..reader.len()).for_each(|i| reader.verify_sample(i).unwrap());
        fs::remove_file(self.out()).unwrap();
        (summary, bytes)
    }

    /// The file that was written without sharing.
    fn written(&self, format: &dyn Format) -> Vec<u8> {
        let mut writer = create(format, &self.out(), &schema(), LENS.len() as u64).unwrap();
        for sample in &self.samples {
            let mut sample = sample.clone();
            if let Value::Image(image) = &mut sample.values[0] {
                image.beside = None;
            }
            writer.write(&sample).unwrap();
        }
        assert_eq!(writer.finish().unwrap().bytes_shared, 0);
        let bytes = fs::read(self.out()).unwrap();
        fs::remove_file(self.out()).unwrap();
        bytes
    }

    /// From here on blocks are shared below the folder of the output.
    fn sharing(&self) -> fault::Armed {
        self.sharing_up_to(u64::MAX)
    }

    /// A request fails once so many bytes were shared.
    fn sharing_up_to(&self, bytes: u64) -> fault::Armed {
        let below = self.folder.path().join("out");
        fault::arm(&below, Operation::Share, bytes, io::ErrorKind::Unsupported)
    }
}

/// As a source that was at rest gives it.
fn origin(path: &Path) -> Origin {
    let found = fs::metadata(path).unwrap();
    let state = FileState {
        device: found.dev(),
        number: found.ino(),
        len: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    Origin { path: path.to_path_buf(), state }
}

#[test]
fn whole_blocks_are_shared_and_the_rest_is_written() {
    let stage = Stage::new();
    let compact = beton(&[("page-size", "2097152"), ("align", "4096"), ("compact", "")]);
    for format in [aligned(), compact] {
        let expected = stage.written(&*format);
        let _armed = stage.sharing();
        let (summary, bytes) = stage.pack(&*format, || {});
        assert!(bytes == expected);
        assert_eq!(summary.bytes_shared, WHOLE);
    }
    // Of larger blocks there are fewer, and of unaligned files none.
    let large = beton(&[("page-size", "2097152"), ("align", "65536")]);
    for (format, shared) in [(large, 65_536 + 22 * 65_536 + 10 * 65_536), (paged(), 0)] {
        let expected = stage.written(&*format);
        let _armed = stage.sharing();
        let (summary, bytes) = stage.pack(&*format, || {});
        assert!(bytes == expected);
        assert_eq!(summary.bytes_shared, shared);
    }
}

/// What is shared is not written: a disk that holds only the rest is large enough.
#[test]
fn shared_blocks_are_not_written_as_well() {
    let stage = Stage::new();
    let expected = stage.written(&*aligned());
    let _armed = stage.sharing();
    let out = stage.folder.path().join("out");
    let _full = fault::arm(&out, Operation::Write, 64 << 10, io::ErrorKind::StorageFull);
    let (_, bytes) = stage.pack(&*aligned(), || {});
    assert!(bytes == expected);
}

#[test]
fn a_refused_request_is_not_made_again() {
    let stage = Stage::new();
    let expected = stage.written(&*aligned());
    // In the middle of the first page, and of the second.
    for (most, shared) in [(0, 0), (8191, 4096), (20_000, 16_384), (2_000_000, 1_613_824)] {
        let _armed = stage.sharing_up_to(most);
        let (summary, bytes) = stage.pack(&*aligned(), || {});
        assert!(bytes == expected, "{most}");
        assert_eq!(summary.bytes_shared, shared, "{most}");
    }
}

/// Between reading and writing anything may happen to a source; what was read is stored.
#[test]
fn a_file_that_was_changed_is_not_shared() {
    let other = || vec![7; LENS[5]];
    type Change<'a> = (&'a str, &'a dyn Fn(&Path));
    let changes: [Change<'_>; 6] = [
        ("other bytes of the same length", &|path| fs::write(path, other()).unwrap()),
        ("the same bytes, written again", &|path| {
            fs::write(path, fs::read(path).unwrap()).unwrap();
        }),
        ("cut", &|path| fs::write(path, b"short").unwrap()),
        ("its time set back", &|path| {
            let before = fs::metadata(path).unwrap().modified().unwrap();
            fs::write(path, other()).unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(before).unwrap();
        }),
        ("another file of its name", &|path| {
            let new = path.with_extension("new");
            fs::write(&new, other()).unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("gone", &|path| fs::remove_file(path).unwrap()),
    ];
    for (what, change) in changes {
        let stage = Stage::new();
        let expected = stage.written(&*aligned());
        let _armed = stage.sharing();
        let (summary, bytes) = stage.pack(&*aligned(), || {
            wait_a_tick();
            change(&stage.file(5));
        });
        assert!(bytes == expected, "{what}");
        assert_eq!(summary.bytes_shared, WHOLE - 98_304, "{what}");
    }
}

/// Until the system gives another time to what is changed.
fn wait_a_tick() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

/// Also while its blocks are taken: what came of that is written over.
#[test]
fn a_file_that_changes_meanwhile_is_written_over() {
    let stage = Stage::new();
    let expected = stage.written(&*aligned());
    let (file, requests) = (stage.file(5), AtomicU64::new(0));
    let change = move || {
        // The first three are for other files.
        if requests.fetch_add(1, Ordering::Relaxed) == 3 {
            wait_a_tick();
            fs::write(&file, vec![9; LENS[5]]).unwrap();
        }
    };
    let _armed = fault::arm_sharing(&stage.folder.path().join("out"), change);
    let (summary, bytes) = stage.pack(&*aligned(), || {});
    assert!(bytes == expected);
    assert_eq!(summary.bytes_shared, WHOLE - 98_304);
}

/// A killed run leaves pages with shared blocks, and continues after them.
#[test]
fn a_killed_run_continues_after_shared_blocks() {
    let stage = Stage::new();
    let expected = stage.written(&*aligned());
    let _armed = stage.sharing();
    let n_samples = LENS.len() as u64;
    let partial = stage.out().with_extension("beton.partial");
    let journal = stage.out().with_extension("beton.partial.journal");
    for end in 0..LENS.len() {
        let mut writer = create(&*aligned(), &stage.out(), &schema(), n_samples).unwrap();
        stage.samples[..end].iter().for_each(|sample| writer.write(sample).unwrap());
        let left = [&partial, &journal].map(|path| (fs::read(path).unwrap(), path));
        drop(writer);
        left.into_iter().for_each(|(bytes, path)| fs::write(path, bytes).unwrap());

        let mut writer = create(&*aligned(), &stage.out(), &schema(), n_samples).unwrap();
        let resumed = usize::try_from(writer.resumed()).unwrap();
        assert_eq!(resumed > 0, end > 7, "{end}");
        stage.samples[resumed..].iter().for_each(|sample| writer.write(sample).unwrap());
        let shared = writer.finish().unwrap().bytes_shared;
        assert_eq!(shared == WHOLE, resumed == 0, "{end}");
        assert!(fs::read(stage.out()).unwrap() == expected, "{end}");
        fs::remove_file(stage.out()).unwrap();
    }
}

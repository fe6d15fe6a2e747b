//! A kept listing: used while nothing has changed, and thrown away for every change.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use crate::folder::{Folder, FolderReader};
use fdconvert_core::{Error, Message, Source};
use fdconvert_testkit::fixtures;
use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

/// A tree with links of all kinds, and what lies beside it.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        for name in ["root/a/1.png", "root/a/2.png", "root/b/deep/3.png", "outside/x.png"] {
            let path = tree.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, fixtures::PNG_RGB).unwrap();
        }
        for (target, name) in [
            ("../b/deep/3.png", "root/a/file.png"),
            ("../b", "root/a/folder"),
            ("../../outside/x.png", "root/b/outside.png"),
            ("nowhere.png", "root/b/dangling.png"),
        ] {
            symlink(target, tree.path(name)).unwrap();
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// Opens it by its cache, with why that was not used.
    fn open(&self) -> (FolderReader, Option<Message>) {
        Folder::default().open_cached(&self.path("root"), &self.cache()).unwrap()
    }
}

/// Folders that have just changed may change once more in the same tick of a clock: they are not
/// believed before this.
fn age() {
    thread::sleep(Duration::from_millis(2100));
}

fn keys(reader: &FolderReader) -> Vec<String> {
    (0..reader.len()).map(|index| reader.key(index)).collect()
}

#[test]
fn a_second_run_reads_what_the_first_one_found() {
    let tree = Tree::new();
    let young = tree.open().1.unwrap();
    assert!(young.contains("there is none yet"), "{young}");
    assert!(tree.open().1.unwrap().contains("less than 2 seconds"));
    age();
    assert!(tree.open().1.is_some());
    let (reader, why) = tree.open();
    assert_eq!(why, None);
    let walked = Folder::default().open_folder(&tree.path("root")).unwrap();
    assert_eq!(keys(&reader), keys(&walked));
    assert_eq!(reader.schema(), walked.schema());
    assert_eq!(reader.fingerprint(), walked.fingerprint());
    assert_eq!(reader.ignored(), walked.ignored());
    // Two links, and the same two again by way of a link to their folder.
    assert_eq!(reader.ignored().links, 4, "{:?}", reader.ignored());

    // A file that is rewritten in place is an error when it is read, and says what to do.
    fs::write(tree.path("root/a/1.png"), fixtures::PNG_GRAY).unwrap();
    let (reader, why) = tree.open();
    assert_eq!(why, None);
    let error = reader.read(0).unwrap_err();
    assert!(
        matches!(&error, Error::Usage { option, .. } if option.name() == "listing_cache"),
        "{error}"
    );
    assert!(error.to_string().contains("remove that file"), "{error}");

    // What changes outside of the root would stay unseen.
    let follow = Folder::default().follow_links(true);
    let (_, why) = follow.open_cached(&tree.path("root"), &tree.cache()).unwrap();
    assert!(why.unwrap().contains("nothing was kept"));
}

#[test]
fn every_change_is_noticed() {
    type Change = fn(&Tree);
    let changes: [(&str, Change); 10] = [
        ("a file was added", |tree| fs::write(tree.path("root/a/9.png"), "").unwrap()),
        ("a file was removed", |tree| fs::remove_file(tree.path("root/a/2.png")).unwrap()),
        ("a file was renamed", |tree| {
            fs::rename(tree.path("root/a/2.png"), tree.path("root/a/0.png")).unwrap();
        }),
        ("a file far below was added", |tree| {
            fs::write(tree.path("root/b/deep/4.png"), "").unwrap();
        }),
        ("a folder was touched", |tree| {
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(9999);
            File::open(tree.path("root/b")).unwrap().set_modified(long_ago).unwrap();
        }),
        ("a folder was renamed", |tree| {
            fs::rename(tree.path("root/b"), tree.path("root/c")).unwrap();
        }),
        ("a folder took the place of another", |tree| {
            fs::rename(tree.path("root/b/deep"), tree.path("outside/deep")).unwrap();
            fs::create_dir(tree.path("root/b/deep")).unwrap();
        }),
        ("a link leads elsewhere", |tree| {
            fs::remove_file(tree.path("root/a/folder")).unwrap();
            symlink("../b/deep", tree.path("root/a/folder")).unwrap();
        }),
        // No folder below the root knows of these.
        ("a link leads back by way of the outside", |tree| {
            fs::remove_file(tree.path("outside/x.png")).unwrap();
            symlink(tree.path("root/a/1.png"), tree.path("outside/x.png")).unwrap();
        }),
        ("the root is another folder", |tree| {
            fs::rename(tree.path("root"), tree.path("other")).unwrap();
            let copied = Tree::new();
            fs::rename(copied.path("root"), tree.path("root")).unwrap();
        }),
    ];
    let trees: Vec<Tree> = changes.iter().map(|_| Tree::new()).collect();
    age();
    for ((what, change), tree) in changes.iter().zip(&trees) {
        assert!(tree.open().1.is_some());
        assert_eq!(tree.open().1, None, "{what}");
        change(tree);
        let (reader, why) = tree.open();
        let why = why.unwrap_or_else(|| panic!("not noticed: {what}"));
        assert!(why.contains("has changed") || why.contains("does not lead"), "{what}: {why}");
        let walked = Folder::default().open_folder(&tree.path("root")).unwrap();
        assert_eq!(keys(&reader), keys(&walked), "{what}");
    }
}

#[test]
fn a_cache_that_is_damaged_or_of_something_else_is_not_believed() {
    let tree = Tree::new();
    age();
    tree.open();
    let whole = fs::read(tree.cache()).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("another version", flipped(8), "another version"),
        ("a flipped byte", flipped(whole.len() / 2), "damaged"),
        ("a flipped checksum", flipped(24), "damaged"),
        ("truncated", whole[..whole.len() - 1].to_vec(), "damaged"),
        ("truncated in its header", whole[..20].to_vec(), "cut short"),
    ];
    for (what, bytes, expected) in cases {
        fs::write(tree.cache(), bytes).unwrap();
        let why = tree.open().1.unwrap_or_else(|| panic!("believed: {what}"));
        assert!(why.contains(expected), "{what}: {why}");
        // It was written again.
        assert_eq!(fs::read(tree.cache()).unwrap().len(), whole.len(), "{what}");
        assert_eq!(tree.open().1, None, "{what}");
    }
    let is_refused = |root: &Path, cache: &Path| {
        matches!(Folder::default().open_cached(root, cache), Err(Error::Usage { .. }))
    };
    fs::write(tree.cache(), "notes of a user").unwrap();
    assert!(is_refused(&tree.path("root"), &tree.cache()));
    assert_eq!(fs::read(tree.cache()).unwrap(), b"notes of a user");

    // One that keeps another folder is replaced.
    fs::write(tree.cache(), &whole).unwrap();
    let other = tree.path("root/b");
    let (_, why) = Folder::default().open_cached(&other, &tree.cache()).unwrap();
    assert!(why.unwrap().contains("of another folder"));
}

//! Files that are truncated while mapped. A separate binary, because it installs a signal handler,
//! and parts of it die by that signal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the tests stand in for a host with handlers and maps of its own")]

use bytes::Bytes;
use fdconvert_core::{Error, Result};
use fdconvert_storage::{map, sigbus};
use std::{
    env,
    fs::{self, File, OpenOptions},
    hint::black_box,
    io::ErrorKind,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
};

const PAGE: usize = 4096;

/// Bytes without a zero.
fn content(n_pages: usize) -> Vec<u8> {
    (0..n_pages * PAGE).map(|at| (at % 251) as u8 + 1).collect()
}

fn cut(path: &Path, len: usize) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len as u64).unwrap();
}

fn mapped(folder: &Path, n_pages: usize) -> (PathBuf, Bytes) {
    let path = folder.join("data.bin");
    fs::write(&path, content(n_pages)).unwrap();
    let bytes = map(&path).unwrap();
    (path, bytes)
}

fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(black_box(bytes).to_vec())
}

#[test]
fn a_cut_file_is_an_error_that_names_it_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = mapped(folder.path(), 16);
    cut(&path, 5 * PAGE);
    let error = sigbus::caught(|| copy(&bytes[3 * PAGE..9 * PAGE])).unwrap_err();
    let said = error.chain();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::UnexpectedEof)
    );
    assert!(said.contains("data.bin") && said.contains("to 20480 bytes"), "{said}");
    assert!(said.contains("byte 20480 was wanted"), "{said}");
    assert!(sigbus::happened());
    // The rest stays readable, repeatedly, and the missing part stays an error.
    for _ in 0..3 {
        let rest = sigbus::caught(|| copy(&bytes[..5 * PAGE])).unwrap();
        assert_eq!(rest, content(5));
        assert!(sigbus::caught(|| copy(&bytes[8 * PAGE..])).is_err());
        assert!(sigbus::caught(|| sigbus::populate(&bytes[6 * PAGE..7 * PAGE])).is_err());
    }
    // The page with the new end has zeros after it, and raises no signal.
    for len in [4 * PAGE + 100, 16 * PAGE - 100] {
        fs::write(&path, content(16)).unwrap();
        cut(&path, len);
        let page = &bytes[len / PAGE * PAGE..][..PAGE];
        let cut_page = sigbus::caught(|| sigbus::populate(page));
        assert!(cut_page.unwrap_err().chain().contains("it was cut"));
    }
    // Restored bytes are readable again.
    fs::write(&path, content(16)).unwrap();
    assert_eq!(sigbus::caught(|| copy(&bytes)).unwrap(), content(16));
    sigbus::populate(&bytes[1..]).unwrap();
}

#[test]
fn what_was_made_of_zeros_is_not_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = mapped(folder.path(), 16);
    cut(&path, 5 * PAGE);
    let mut told = Vec::new();
    let hit = sigbus::caught(|| {
        told.push(sigbus::watched(|| copy(&bytes)).1);
        // The zeros are still mapped.
        told.push(sigbus::watched(|| copy(&bytes[9 * PAGE..])).1);
        Ok(())
    });
    assert!(hit.is_err() && told.ends_with(&[false, false]), "{told:?}");
    fs::write(&path, content(16)).unwrap();
    // Other tests of this process have faults of their own.
    let is_whole = || sigbus::watched(|| copy(&bytes).unwrap() == content(16)) == (true, true);
    assert!((0..10_000).any(|_| is_whole()));
}

#[test]
fn zeros_are_never_taken_for_data() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = mapped(folder.path(), 64);
    cut(&path, 32 * PAGE);
    let (n_whole, n_failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let expected = content(64);
    thread::scope(|scope| {
        for number in 0..6 {
            let (bytes, expected, n_whole, n_failed) = (&bytes, &expected, &n_whole, &n_failed);
            scope.spawn(move || {
                for round in 0..200 {
                    let page = (round * 7 + number * 11) % 63;
                    let part = page * PAGE + 100..(page + 1) * PAGE + 100;
                    match sigbus::caught(|| copy(&bytes[part.clone()])) {
                        Ok(read) => {
                            assert!(part.end <= 32 * PAGE && read == expected[part]);
                            n_whole.fetch_add(1, SeqCst);
                        }
                        Err(error) => {
                            // Work that was only disturbed must not fail.
                            assert!(part.end > 32 * PAGE, "{}", error.chain());
                            n_failed.fetch_add(1, SeqCst);
                        }
                    }
                }
            });
        }
    });
    assert!(n_whole.into_inner() > 300 && n_failed.into_inner() > 300);
}

#[test]
fn maps_may_go_while_they_are_hit_and_files_may_be_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = mapped(folder.path(), 8);
    let kept = bytes.slice(..PAGE);
    cut(&path, PAGE);
    fs::remove_file(&path).unwrap();
    assert!(sigbus::caught(|| copy(&bytes)).is_err());
    // It is unreadable from now on, which is better than zeros.
    assert!(sigbus::caught(|| copy(&kept)).is_err());
    drop((bytes, kept));

    let (path, bytes) = mapped(folder.path(), 8);
    cut(&path, PAGE);
    let mut bytes = Some(bytes);
    let hit = sigbus::caught(|| bytes.take().map_or(Ok(Vec::new()), |bytes| copy(&bytes)));
    assert!(hit.is_err(), "the map was dropped within the work");
    let (_, bytes) = mapped(folder.path(), 8);
    assert_eq!(sigbus::caught(|| copy(&bytes)).unwrap(), content(8));
    // A panic ends the work, too.
    cut(&path, PAGE);
    let panics = || sigbus::caught::<()>(|| panic!("{}", black_box(&bytes)[5 * PAGE]));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(sigbus::caught(|| copy(&bytes[..PAGE])).is_ok());
}

/// Name of the role of a child process.
const ROLE: &str = "FDCONVERT_TEST_ROLE";

/// Runs one of the roles below in a child process.
fn ended(role: &str, sigbus: &str) -> ExitStatus {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env("FDCONVERT_SIGBUS", sigbus).output().unwrap().status
}

#[test]
fn other_loads_end_the_process_as_ever() {
    assert_eq!(ended("outside", "").signal(), Some(libc::SIGBUS));
    assert_eq!(ended("within", "off").signal(), Some(libc::SIGBUS), "switched off");
    assert_eq!(ended("within", "").code(), Some(0));
    assert_eq!(ended("foreign", "").signal(), Some(libc::SIGBUS), "a map that is not ours");
    assert_eq!(ended("sent", "").signal(), Some(libc::SIGBUS), "sent by somebody");
}

#[test]
fn the_handler_before_ours_is_called_for_what_is_not_ours() {
    assert_eq!(ended("chained", "").code(), Some(42));
}

#[test]
fn forked_processes_read_on() {
    assert_eq!(ended("forked", "").code(), Some(0));
}

extern "C" fn exit_42(_: libc::c_int) {
    // SAFETY: may be called by a handler.
    unsafe { libc::_exit(42) };
}

#[test]
fn child() {
    let Ok(role) = env::var(ROLE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = mapped(folder.path(), 8);
    if role == "chained" {
        // SAFETY: the handler has the signature of handlers.
        unsafe { libc::signal(libc::SIGBUS, exit_42 as extern "C" fn(_) as libc::sighandler_t) };
    }
    let foreign = folder.path().join("foreign");
    fs::write(&foreign, content(2)).unwrap();
    // SAFETY: it is truncated below, and read, to see what happens.
    let foreign_map = unsafe { memmap2::Mmap::map(&File::open(&foreign).unwrap()) }.unwrap();
    cut(&path, PAGE);
    cut(&foreign, 0);
    // The handler is installed.
    assert!(sigbus::caught(|| copy(&bytes[..PAGE])).is_ok());
    match role.as_str() {
        "outside" => drop(copy(&bytes)),
        "within" => assert!(sigbus::caught(|| copy(&bytes)).is_err()),
        "foreign" | "chained" => {
            assert!(sigbus::caught(|| copy(&bytes)).is_err());
            drop(sigbus::caught(|| copy(&foreign_map)));
        }
        // The previous handler, of the standard library, lets the first one pass.
        // SAFETY: sends a signal to this thread.
        "sent" => (0..2).for_each(|_| assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0)),
        // The child finds zeros in the map, and no thread that would map the file again.
        "forked" => {
            let mut ended = 0;
            let hit = sigbus::caught(|| {
                black_box(black_box(&bytes)[5 * PAGE]);
                // SAFETY: the child only reads maps, and exits.
                match unsafe { libc::fork() } {
                    0 => {
                        let read = |part: Bytes| {
                            thread::spawn(move || sigbus::caught(|| copy(&part))).join().unwrap()
                        };
                        let is_right = read(bytes.slice(..PAGE)).unwrap() == content(1)
                            && read(bytes.slice(5 * PAGE..)).is_err();
                        // SAFETY: ends the child at once.
                        unsafe { libc::_exit(if is_right { 0 } else { 1 }) }
                    }
                    // SAFETY: writes to the number given to it.
                    pid => unsafe { libc::waitpid(pid, &raw mut ended, 0) },
                };
                Ok(())
            });
            assert!(hit.is_err() && ended == 0, "{ended}");
        }
        other => panic!("{other}"),
    }
}

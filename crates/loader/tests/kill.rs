//! A process that is killed repeatedly, and continues from its last state each time, makes the same
//! stream of batches as one run.
//!
//! `LOADER_KILLS=1000 cargo test --release -p fdconvert-loader --test kill -- --nocapture` sets the
//! number of kills; the default is some thirty.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod common;

use common::{Memory, loader, random_crop, seen};
use fdconvert_loader::{Options, State};
use std::{
    env, fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use xxhash_rust::xxh3::xxh3_64;

/// Variable with the file that the child process appends to.
const LOG: &str = "LOADER_TEST_LOG";

/// Variable with the number of batches in the whole stream.
const BATCHES: &str = "LOADER_TEST_BATCHES";

fn options(threads: usize) -> Options {
    random_crop().threads(threads).prefetch(2)
}

fn stream(mut take: impl FnMut(u64, State) -> bool, threads: usize, state: Option<State>) {
    let reader = Memory::new(43).slow(Duration::from_micros(100));
    let mut loader = loader(&reader, options(threads));
    if let Some(state) = state {
        loader.restore(&state).unwrap();
    }
    loop {
        if let Some(batch) = loader.next_batch() {
            let batch = batch.unwrap();
            let hash = xxh3_64(format!("{:?}", seen(&batch)).as_bytes());
            if !take(hash, batch.state()) {
                return;
            }
        }
    }
}

/// Returns the complete lines of the log: the hash of a batch and the state after it.
fn lines(log: &Path) -> Vec<(u64, State)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let line = |line: &str| {
        let (hash, state) = line.split_once(' ').unwrap();
        (u64::from_str_radix(hash, 16).unwrap(), state.parse().unwrap())
    };
    complete.lines().map(line).collect()
}

/// The process that is started and killed; does nothing when run as a test.
#[test]
fn child() {
    let (Some(log), Ok(batches)) = (env::var_os(LOG), env::var(BATCHES)) else { return };
    let log = Path::new(&log);
    let done = lines(log);
    let (mut n_done, wanted) = (done.len(), batches.parse().unwrap());
    // Drops a line that the last process was writing when it died.
    let text: String = done.iter().map(|(hash, state)| format!("{hash:016x} {state}\n")).collect();
    fs::write(log, text).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(log).unwrap();
    let threads = 1 + n_done % 3;
    let take = |hash: u64, state: State| {
        file.write_all(format!("{hash:016x} {state}\n").as_bytes()).unwrap();
        n_done += 1;
        n_done < wanted
    };
    if done.len() < wanted {
        stream(take, threads, done.last().map(|(_, state)| *state));
    }
}

#[test]
fn killed_runs_go_on_exactly() {
    let wanted_kills: usize = env::var("LOADER_KILLS").map_or(30, |kills| kills.parse().unwrap());
    let n_batches = wanted_kills * 6;
    let mut expected = Vec::new();
    let take = |hash, _| {
        expected.push(hash);
        expected.len() < n_batches
    };
    stream(take, 2, None);

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (mut n_kills, mut n_starts) = (0, 0);
    loop {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child", "--test-threads", "1"])
            .env(LOG, &log)
            .env(BATCHES, n_batches.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        n_starts += 1;
        let before = lines(&log).len();
        // After a few batches, at no particular moment.
        loop {
            if let Some(status) = process.try_wait().unwrap() {
                assert!(status.success());
                break;
            }
            let written = fs::metadata(&log).map_or(0, |log| log.len()) as usize / 98;
            if written > before + n_starts % 5 {
                thread::sleep(Duration::from_micros((n_starts * 377 % 2000) as u64));
                process.kill().unwrap();
                process.wait().unwrap();
                n_kills += 1;
                break;
            }
            thread::sleep(Duration::from_micros(200));
        }
        if lines(&log).len() >= n_batches {
            break;
        }
    }
    let found: Vec<u64> = lines(&log).into_iter().map(|(hash, _)| hash).collect();
    let hash = |hashes: &[u64]| xxh3_64(format!("{hashes:?}").as_bytes());
    println!(
        "{n_kills} kills in {} batches: stream {:016x}, unbroken {:016x}",
        found.len(),
        hash(&found),
        hash(&expected)
    );
    assert!(n_kills >= wanted_kills / 2, "{n_kills} kills");
    assert_eq!(found, expected);
}

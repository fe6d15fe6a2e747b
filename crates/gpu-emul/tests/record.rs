//! The record of machines with a GPU, run on a machine without one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, unreachable_pub, reason = "a program; the test calls what is below its `main`")]
#[path = "../examples/record/main.rs"]
mod record;

use clap::Parser;
use fdconvert_gpu_emul::{FakeDriver, FakeMachine, FakeNvJpeg};
use record::{Settings, run};

fn settings(more: &[&str]) -> Settings {
    let driver = FakeDriver::path().to_str().unwrap();
    let tiny =
        ["--images", "3", "--sides", "48", "--batches", "2,3", "--warm-up", "1", "--points", "700"];
    // Never an installed one: it would not know this driver.
    let nvjpeg = ["--nvjpeg", "no/such/library.so"];
    let rest = ["--rounds", "2", "--seconds", "60", "--driver", driver];
    let nvjpeg = if more.contains(&"--nvjpeg") { &[][..] } else { &nvjpeg[..] };
    let all = ["record"].iter().chain(&tiny).chain(&rest).chain(nvjpeg).chain(more);
    Settings::parse_from(all)
}

#[test]
fn it_runs_to_its_end() {
    let fake = FakeDriver::take().unwrap();
    let report = run(&settings(&[]));
    assert!(report.is_fine, "{}", report.text);
    for part in ["Made of tests", "| 48x48 q90 | 512 | 3 | 0 | 0 | 0 |", "f16 NCHW 224 | 3 | 4096"]
    {
        assert!(report.text.contains(part), "{part} is missing:\n{}", report.text);
    }
    assert!(report.text.contains("\n| 3 | 0 | 0 | "), "{}", report.text);
    // Three rows of each of four classes.
    for part in [
        "\n| drawn | 12 | 0 | ",
        "\n| drawn, levels changed | 12 | 0 | ",
        "\n| drawn, RandAugment | 12 | 0 | ",
        "\n- change: ",
    ] {
        assert!(report.text.contains(part), "{part} is missing:\n{}", report.text);
    }
    let stored = report.text.lines().filter(|line| line.contains("| device |"));
    assert_eq!(stored.count(), 4, "{}", report.text);
    for kernel in ["huffman", "idct", "down"] {
        assert!(report.text.contains(kernel), "{}", report.text);
    }
    assert!(report.text.contains("\nskipped: no nvJPEG: no/such/library.so: "), "{}", report.text);
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

#[test]
fn engines_of_nvjpeg_are_rivals() {
    let fake = FakeDriver::take().unwrap();
    let nvjpeg = FakeNvJpeg::new(&fake).unwrap();
    nvjpeg.engines(0b0111);
    let report = run(&settings(&["--nvjpeg", FakeNvJpeg::path().to_str().unwrap()]));
    assert!(report.is_fine, "{}", report.text);
    for part in [
        "Version 12.4.0; hardware decoders: 7 of 5 cores each",
        "- hardware, repeated: skipped: nvjpegCreateEx failed: NVJPEG_STATUS_ARCH_MISMATCH (7)\n",
        "\n| GPU hybrid | interpolated | 48x48 q90 | u8 as stored | 3 | ",
    ] {
        assert!(report.text.contains(part), "{part} is missing:\n{}", report.text);
    }
    // The fake makes no real pixels, so they are far from the expected ones.
    let native =
        report.text.lines().find(|line| line.starts_with("| auto | repeated | 48x48 q50 | u8"));
    let cells: Vec<_> = native.unwrap().split('|').map(str::trim).collect();
    let mean: f64 = cells[8].parse().unwrap();
    assert!((20.0..200.0).contains(&mean) && cells[7] == "0", "{cells:?}");
    assert!(fake.counters().is_clean() && nvjpeg.counters().is_clean());
}

#[test]
fn a_folder_and_no_time_still_make_a_record() {
    let _fake = FakeDriver::take().unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/fixtures");
    let report = run(&settings(&[folder]));
    assert!(report.is_fine && report.text.contains("fixtures | 1024 | "), "{}", report.text);
    let mut hurried = settings(&[]);
    hurried.seconds = 0;
    let report = run(&hurried);
    assert!(report.is_fine && report.text.contains("| - |"), "{}", report.text);
}

#[test]
fn a_failing_driver_stops_it() {
    let fake = FakeDriver::take().unwrap();
    fake.fail(200, 719);
    let report = run(&settings(&[]));
    assert!(!report.is_fine && report.text.contains("Stopped here: "), "{}", report.text);
}

#[test]
fn without_a_gpu_it_says_what_is_missing() {
    let fake = FakeDriver::take().unwrap();
    fake.pretend(FakeMachine { n_devices: 0, ..FakeMachine::DEFAULT });
    let report = run(&settings(&[]));
    let expected = "not run on a GPU: the CUDA driver finds no GPU";
    assert!(report.is_fine && report.text.contains(expected), "{}", report.text);
    let mut missing = settings(&[]);
    missing.driver = Some("no/such/driver.so".into());
    let report = run(&missing);
    assert!(report.is_fine && report.text.contains("not run on a GPU: no CUDA driver"));
}

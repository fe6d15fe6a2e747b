//! Instructions of the hot paths, counted by callgrind: `make gate`.
#![allow(clippy::panic, missing_docs, reason = "a benchmark fails by panicking")]
use fdconvert_hot_paths as hot_paths;
use gungraun::{
    Callgrind, LibraryBenchmarkConfig, Sandbox, library_benchmark, library_benchmark_group, main,
};

/// Where the inputs are made, once for all paths; each finds a copy of this name in its folder.
const INPUTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/inputs");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");

#[library_benchmark]
#[bench::pack_beton(hot_paths::pack_beton)]
#[bench::pack_wds(hot_paths::pack_wds)]
#[bench::pack_mds(hot_paths::pack_mds)]
#[bench::pack_entry_points(hot_paths::pack_entry_points)]
#[bench::pack_jpeg(hot_paths::pack_jpeg)]
#[bench::get_beton(hot_paths::get_beton)]
#[bench::get_wds(hot_paths::get_wds)]
#[bench::decode(hot_paths::decode)]
#[bench::decode_luma(hot_paths::decode_luma)]
#[bench::batches(hot_paths::batches)]
#[bench::batches_raw(hot_paths::batches_raw)]
#[bench::fractals(hot_paths::fractals)]
fn path(take: fn() -> hot_paths::Result) {
    done(take());
}

fn done(result: hot_paths::Result) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn config() -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config
        .sandbox(Sandbox::new(true).fixtures([INPUTS]))
        // Rayon would otherwise start a thread per processor.
        .env("RAYON_NUM_THREADS", "1")
        // Callgrind counts each byte that a string instruction copies, and the C library uses these
        // depending on the offset of a copy in its page.
        .env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-ERMS,-FSRM")
        // Besides the path itself what its threads do, from their start to their end.
        .tool(Callgrind::with_args(["--cache-sim=no", "--toggle-collect=*thread_start*"]));
    config
}

library_benchmark_group!(name = paths, benchmarks = path);
main!(
    config = config();
    setup = done(hot_paths::prepare(FIXTURES.as_ref(), INPUTS.as_ref()));
    library_benchmark_groups = paths
);

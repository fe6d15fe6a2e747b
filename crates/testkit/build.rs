//! Tells the compiler whether the data folder exists, so that tests that need it are ignored by
//! name otherwise.
use std::{
    env,
    path::{Path, PathBuf},
};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_shared)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FDCONVERT_SHARED");
    let folder = shared();
    if folder.is_dir() {
        println!("cargo::rustc-cfg=has_shared");
        // Its removal makes this run again. An absent path would make it run, and all tests
        // compile, every time: if the folder comes later, a test of this crate says what to do.
        println!("cargo::rerun-if-changed={}", folder.join("bad/README.md").display());
    }
}

/// The same folder that `fixtures::shared` finds when the tests run.
fn shared() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = here.ancestors().nth(2).unwrap_or(Path::new("."));
    let named = env::var_os("FDCONVERT_SHARED").filter(|name| !name.is_empty());
    named.map_or_else(|| root.join("../shared"), PathBuf::from).join("data")
}

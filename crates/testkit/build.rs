//! Tells the compiler whether the data folder is there, so that tests which need it are ignored by
//! name where it is not.
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
        // Gone, it makes this run again. An absent path would make it run, and all tests compile,
        // every time: when the folder comes later, a test of this crate says what to do.
        println!("cargo::rerun-if-changed={}", folder.join("bad/README.md").display());
    }
}

/// As `fixtures::shared` finds it when the tests run.
fn shared() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = here.ancestors().nth(2).unwrap_or(Path::new("."));
    let named = env::var_os("FDCONVERT_SHARED").filter(|name| !name.is_empty());
    named.map_or_else(|| root.join("../shared"), PathBuf::from).join("data")
}

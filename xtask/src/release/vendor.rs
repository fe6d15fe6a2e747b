//! The crates within a source package.
//!
//! Cargo wants every crate that the lock file names, for every system. More than half of their bytes
//! are for others than Linux: of those crates only the manifest stays, and sources that are empty.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{checkout::Checkout, folders, machine::Machine, tools::Tools};
use crate::{
    failure::{Context, Result, fail},
    shell, workspace,
};

/// Empties the crates below `vendor` that neither the command nor the package is built of.
pub(super) fn empty_what_linux_does_not_use(
    checkout: &Checkout,
    root: &Path,
    tools: &Tools,
) -> Result<()> {
    let mut tree = checkout.command(Path::new(&workspace::cargo()), tools)?;
    tree.current_dir(root)
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}", "--package", "fdconvert-python", "--package", "fdconvert-cli"]);
    for machine in [Machine::X86_64, Machine::Aarch64] {
        tree.args(["--target", &machine.triple()]);
    }
    let used = folders_of(&shell::output(&mut tree)?);
    let folder = root.join("vendor");
    let mut n_left = 0;
    for name in folders::names(&folder)? {
        if used.contains(&name) {
            n_left += 1;
        } else {
            empty(&folder.join(name))?;
        }
    }
    if n_left == 0 {
        return fail("none of the crates below vendor is used: has their naming changed?");
    }
    println!("release: {n_left} crates in the source package");
    Ok(())
}

/// The folders of crates, from lines such as `libc v0.2.191 (*)`.
fn folders_of(tree: &str) -> BTreeSet<String> {
    let folder = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some(format!("{name}-{version}"))
    };
    tree.lines().filter_map(folder).collect()
}

/// Leaves the manifest, its licences, and empty files where the manifest says that sources are.
fn empty(folder: &Path) -> Result<()> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file).context(format_args!("cannot read {}", file.display()))
    };
    let manifest = read("Cargo.toml")?;
    let sums: Value = serde_json::from_str(&read(".cargo-checksum.json")?)
        .context(format_args!("{}: no checksums", folder.display()))?;
    let kept = |name: &str| name == "Cargo.toml" || name.to_uppercase().starts_with("LICEN");
    for name in folders::names(folder)?.iter().filter(|name| !kept(name)) {
        let path = folder.join(name);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.context(format_args!("cannot remove {}", path.display()))?;
    }
    for source in sources_of(&manifest) {
        let file = folder.join(source);
        if let Some(above) = file.parent() {
            folders::make(above)?;
        }
        fs::write(&file, "").context(format_args!("cannot write {}", file.display()))?;
    }
    let sums = json!({ "files": {}, "package": sums["package"] });
    let file = folder.join(".cargo-checksum.json");
    fs::write(&file, sums.to_string()).context(format_args!("cannot write {}", file.display()))
}

/// The files that a manifest as Cargo publishes it names as sources.
fn sources_of(manifest: &str) -> Vec<&str> {
    let mut sources = vec!["src/lib.rs"];
    for line in manifest.lines() {
        let Some((name, value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        if matches!(name, "path" | "build") && value.ends_with(".rs") && !value.contains("..") {
            sources.push(value);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_a_tree_are_named_as_their_folders() {
        let tree = "fdconvert-cli v0.1.0 (/a)\nlibc v0.2.191\nlibc v0.2.191 (*)\n\nzstd-sys v2.1.3+zstd.1.5.7\n";
        let names = ["fdconvert-cli-0.1.0", "libc-0.2.191", "zstd-sys-2.1.3+zstd.1.5.7"];
        assert_eq!(folders_of(tree), names.map(String::from).into());
    }

    #[test]
    fn emptied_crates_keep_manifest_licence_and_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("lib")).unwrap();
        write("Cargo.toml", "[package]\nbuild = \"build.rs\"\n[lib]\npath = \"other/lib.rs\"\n");
        write("LICENSE-MIT", "free");
        write("lib/big.a", "bytes");
        write(".cargo-checksum.json", r#"{"files":{"lib/big.a":"1"},"package":"2"}"#);
        empty(folder.path()).unwrap();
        let left = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(left("lib/big.a"), None);
        assert_eq!(left("LICENSE-MIT").as_deref(), Some("free"));
        assert_eq!(left("build.rs").as_deref(), Some(""));
        assert_eq!(left("other/lib.rs").as_deref(), Some(""));
        assert_eq!(left(".cargo-checksum.json").as_deref(), Some(r#"{"files":{},"package":"2"}"#));
    }
}

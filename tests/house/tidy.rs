//! Habits of this code that the compiler does not check, and that a reader should not have to
//! check.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The crates with a reason for unsafe code: memory maps, SIMD, the driver of the GPU and its
/// stand-in for tests, and addresses for other Python libraries. They keep it in named modules,
/// under the `unsafe_code = "deny"` of the workspace.
const MAY_BE_UNSAFE: &[&str] = &[
    "crates/storage",
    "crates/codec",
    "crates/jpeg-decode",
    "crates/resize",
    "crates/gpu",
    "crates/gpu-emul",
    "crates/fractal",
    "crates/python",
];

/// Placeholder macros. They belong in a branch, not in a release.
const PLACEHOLDERS: &[&str] = &["todo!(", "unimplemented!(", "dbg!("];

const MAX_LINES: usize = 600;

#[test]
fn crates_forbid_unsafe() {
    let mut wrong = Vec::new();
    for root in crate_roots() {
        let may = MAY_BE_UNSAFE.iter().any(|folder| root.starts_with(path(folder)));
        if !may && !read(&root).contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{}: #![forbid(unsafe_code)] is missing", show(&root)));
        }
    }
    report(&wrong);
}

#[test]
fn every_format_is_specified() {
    let folders = fs::read_dir(path("formats")).unwrap().map(|entry| entry.unwrap().path());
    let formats: Vec<_> = folders.filter(|folder| folder.join("format.rs").is_file()).collect();
    assert!(formats.len() >= 6, "{formats:?}");
    let wrong: Vec<_> = formats
        .iter()
        .map(|folder| folder.join("SPEC.md"))
        .filter(|spec| !spec.is_file())
        .map(|spec| format!("{}: missing; a format is specified before it is written", show(&spec)))
        .collect();
    report(&wrong);
}

#[test]
fn nothing_is_left_open() {
    let mut wrong = Vec::new();
    for file in sources() {
        for (at, line) in read(&file).lines().enumerate() {
            for found in PLACEHOLDERS.iter().filter(|placeholder| line.contains(**placeholder)) {
                wrong.push(format!("{}:{}: {found}..)", show(&file), at + 1));
            }
        }
    }
    report(&wrong);
}

#[test]
fn files_hold_one_idea() {
    let mut wrong = Vec::new();
    for file in sources() {
        let n_lines = read(&file).lines().count();
        if n_lines > MAX_LINES {
            wrong.push(format!("{}: {n_lines} lines, more than {MAX_LINES}", show(&file)));
        }
    }
    report(&wrong);
}

#[test]
fn manifests_inherit() {
    let wrong: Vec<_> = members()
        .into_iter()
        .map(|folder| folder.join("Cargo.toml"))
        .flat_map(|manifest| {
            let complaints = not_inherited(&read(&manifest)).into_iter();
            complaints.map(move |complaint| format!("{}: {complaint}", show(&manifest)))
        })
        .collect();
    report(&wrong);
}

#[test]
fn packages_of_others_have_the_version_of_the_workspace() {
    let manifest = read(&path("Cargo.toml"));
    let (_, version) = manifest.split_once("[workspace.package]\nversion = \"").unwrap();
    let version = version.split('"').next().unwrap();
    let lines = [
        ("CITATION.cff", format!("version: {version}")),
        ("packaging/conda/recipe.yaml", format!("  version: \"{version}\"")),
    ];
    for (file, line) in lines {
        assert!(read(&path(file)).lines().any(|it| it == line), "{file}: no line `{line}`");
    }
}

#[test]
fn markdown_has_no_trailing_whitespace() {
    const FOLDERS: [&str; 8] =
        ["benches", "crates", "docs", "examples", "formats", "fuzz", "tests", "xtask"];
    let at_root = fs::read_dir(path("")).unwrap().map(|entry| entry.unwrap().path());
    let at_root = at_root.filter(|file| file.extension().is_some_and(|it| it == "md"));
    let below = FOLDERS.into_iter().map(path).filter(|folder| folder.is_dir());
    let mut wrong = Vec::new();
    for file in at_root.chain(below.flat_map(|folder| files_below(&folder, "md"))) {
        for (at, line) in read(&file).lines().enumerate() {
            if line.ends_with([' ', '\t']) {
                wrong.push(format!("{}:{}: trailing whitespace", show(&file), at + 1));
            }
        }
    }
    report(&wrong);
}

#[test]
fn manifests_that_do_not_inherit_are_found() {
    let fine = "\
[package]
name = \"fdconvert-novel\"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true
[dependencies]
bytes.workspace = true
png = { workspace = true, optional = true, features = [
  \"unstable\",
] } # Reads.
[dev-dependencies]
fdconvert-novel = { path = \".\", features = [\"fault\"] }
[target.'cfg(unix)'.dependencies.libc]
workspace = true
features = [\"std\"]
[lints]
workspace = true
";
    assert_eq!(not_inherited(fine), [""; 0]);
    for (from, to) in [
        ("version.workspace = true", "version = \"1.0.0\""),
        ("bytes.workspace = true", "bytes = \"1.11\""),
        ("workspace = true, optional", "version = \"0.18\", optional"),
        ("path = \".\"", "path = \".\", version = \"0.1\""),
        ("libc]\nworkspace = true", "libc]\nversion = \"0.2\""),
        ("[lints]\nworkspace = true\n", ""),
    ] {
        assert_eq!(not_inherited(&fine.replacen(from, to, 1)).len(), 1, "{to}");
    }
}

/// Returns settings of a member that duplicate those of the root manifest. Parses the manifests as
/// they are written here, one key per line, rather than all of TOML.
fn not_inherited(manifest: &str) -> Vec<String> {
    const INHERITED: [&str; 4] = ["version", "edition", "rust-version", "license"];
    let mut missing: Vec<_> = INHERITED.map(|key| ("[package]", key)).into();
    missing.push(("[lints]", ""));

    let mut wrong = Vec::new();
    let mut table = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') && line.contains(']') {
            table = line;
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.trim());
        let inherits = value == "true" && (key == "workspace" || key.ends_with(".workspace"));
        if inherits {
            let name = key.strip_suffix("workspace").unwrap_or(key).trim_end_matches('.');
            missing.retain(|known| *known != (table, name));
        } else if table.ends_with("dependencies]") {
            let elsewhere = value.contains("workspace = true") || value.contains("path = ");
            if !elsewhere || value.contains("version = ") {
                wrong.push(format!("{table} {key}: its version belongs in the root manifest"));
            }
        } else if table.contains("dependencies.") && key == "version" {
            wrong.push(format!("{table}: its version belongs in the root manifest"));
        }
    }
    wrong.extend(missing.iter().map(|(table, key)| match *key {
        "" => format!("{table} workspace = true is missing"),
        key => format!("{table} {key}.workspace = true is missing"),
    }));
    wrong
}

/// Returns the folders of the members, without the root package.
fn members() -> Vec<PathBuf> {
    let mut members = crates_below("crates");
    members.extend([path("formats"), path("xtask")]);
    members
}

fn crates_below(folder: &str) -> Vec<PathBuf> {
    let mut crates: Vec<_> = fs::read_dir(path(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .collect();
    crates.sort();
    assert!(!crates.is_empty(), "no crate below {folder}");
    crates
}

/// Returns the folders of the crates' sources, including the command's, which has no manifest.
fn source_folders() -> Vec<PathBuf> {
    let of =
        |folder: PathBuf| Some(folder.join("src")).filter(|src| src.is_dir()).unwrap_or(folder);
    members().into_iter().map(of).chain([path("crates/cli")]).collect()
}

/// Returns every `lib.rs` and `main.rs`.
fn crate_roots() -> Vec<PathBuf> {
    source_folders()
        .into_iter()
        .flat_map(|folder| [folder.join("lib.rs"), folder.join("main.rs")])
        .filter(|root| root.is_file())
        .collect()
}

fn sources() -> Vec<PathBuf> {
    source_folders().iter().flat_map(|folder| files_below(folder, "rs")).collect()
}

/// Returns the files with this extension, except in hidden folders and those that tools generate.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    const LEFT_BEHIND: [&str; 4] = ["target", "corpus", "artifacts", "node_modules"];
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
            let name = name.to_string_lossy();
            if kind.is_dir() && !name.starts_with('.') && !LEFT_BEHIND.contains(&name.as_ref()) {
                folders.push(entry.path());
            } else if kind.is_file() && entry.path().extension().is_some_and(|it| it == extension) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn path(below_root: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below_root)
}

fn show(file: &Path) -> String {
    file.strip_prefix(path("")).unwrap_or(file).display().to_string()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[track_caller]
fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

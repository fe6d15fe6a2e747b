//! Allowed dependencies between crates: the arrows of the architecture, checked over `cargo
//! metadata`.
//!
//! Data flows one way, so dependencies do too. A new arrow is the rarest change of all: it edits
//! the table below and adds a file with the reason in `docs/decisions/`. Development dependencies
//! are free; only dependencies of programs are checked.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Allowed dependencies of each crate, by name without the prefix `fdconvert-`.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &["jpeg"]),
    ("storage", &["core"]),
    ("jpeg", &[]),
    ("jpeg-decode", &["jpeg"]),
    ("fractal", &["core"]),
    ("gpu", &["core", "jpeg"]),
    ("gpu-emul", &["gpu"]),
    // Without the library: its whole tree would be compiled for the gate.
    ("hot-paths", &["core", "codec", "formats", "pipeline", "loader"]),
    ("resize", &["core"]),
    ("codec", &["core", "jpeg", "jpeg-decode", "resize"]),
    ("formats", &["core", "storage", "jpeg", "fractal"]),
    ("pipeline", &["core", "codec", "jpeg"]),
    ("profile", &["core", "codec", "storage"]),
    ("reader", &["core", "storage", "formats"]),
    ("loader", &["core", "storage", "reader", "codec", "resize", "jpeg", "gpu"]),
    (
        "fdconvert",
        &[
            "core", "storage", "reader", "codec", "jpeg", "fractal", "pipeline", "profile",
            "loader", "formats",
        ],
    ),
    ("view", &["core", "storage", "codec", "loader", "pipeline"]),
    ("reproduce", &["core", "loader", "profile", "fdconvert"]),
    // The storage is only a dependency so that it can be built for tests, with faults, like the
    // workspace.
    ("python", &["core", "loader", "reader", "codec", "fdconvert", "storage", ROOT]),
    ("testkit", &["core", "storage"]),
    ("xtask", &["testkit"]),
];

/// Allowed uses between the folders of `formats/`: a mixed set keeps its images in WebDataset
/// shards.
const BETWEEN_FORMATS: &[(&str, &str)] = &[("mixed", "wds")];

/// Folders that all formats share.
const SHARED_BY_FORMATS: &[&str] = &["index", "members", "shards", "sidecars", "tar", "tarball"];

/// The command connects everything, except the crates for tests and chores.
const ROOT: &str = "cli";
const NOT_FOR_ROOT: &[&str] = &["gpu-emul", "hot-paths", "testkit", "xtask"];

/// Places where a user may select the method of a paper by name: `bench --cache-policy liquid`,
/// `profile --search paper` or with more than two forms, and `cache_policy="liquid"` in Python.
const RESEARCH_BY_NAME: &[&str] = &[
    "crates/cli/bench/lane.rs",
    "crates/fdconvert/src/profile/measure.rs",
    "crates/python/src/loader/options.rs",
];

/// A member of the workspace, and the members it uses outside its tests.
struct Package {
    name: String,
    uses: Vec<Use>,
}

struct Use {
    name: String,
    features: Vec<String>,
}

#[test]
fn dependencies_point_one_way() {
    let wrong = forbidden_arrows(&workspace());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn faults_are_injected_by_tests_only() {
    for package in workspace() {
        for used in package.uses {
            let fault = used.features.iter().any(|feature| feature == "fault");
            assert!(!fault, "{} turns on the fault injection of {}", package.name, used.name);
        }
    }
}

/// Methods of papers that serve as baselines are in modules called `research`, which may use the
/// product. The product does not use them.
#[test]
fn research_is_used_by_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut n_files, mut wrong) = (0, Vec::new());
    let product = [root.join("crates"), root.join("formats")];
    for path in product.iter().flat_map(|folder| sources(folder)) {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        if name.contains("/research/") || RESEARCH_BY_NAME.contains(&name.as_str()) {
            continue;
        }
        n_files += 1;
        for line in uses_of_research(&fs::read_to_string(&path).unwrap()) {
            wrong.push(format!("{name}:{line}: the product uses research"));
        }
    }
    assert!(n_files > 100, "only {n_files} files were looked at");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn uses_of_research_are_found() {
    let fine = "//! See [`research`].\nmod order;\npub mod research;\nlet researcher = 1;\n";
    assert_eq!(uses_of_research(fine), [0; 0]);
    let used = "use crate::{\n    order,\n    research::Liquid,\n};\n";
    assert_eq!(uses_of_research(used), [3]);
    assert_eq!(uses_of_research("mod research;\nfn f() {\n    super::research::f();\n}"), [1, 3]);
}

/// `--no-default-features` exists for machines without cmake and nasm; one careless dependency on
/// the codec with its defaults would require them again.
#[test]
fn light_build_has_no_c_jpeg() {
    let has_c_jpeg = |features| tree(features).lines().any(|name| name.starts_with("turbojpeg"));
    assert!(!has_c_jpeg(&["--no-default-features"]), "libjpeg-turbo is in the light build");
    assert!(has_c_jpeg(&[]), "libjpeg-turbo is missing from the default build");
}

/// The crate that loaders link must stay small, and must build without a C compiler.
#[test]
fn reader_is_light() {
    let tree = ["tree", "--offline", "--package", "fdconvert-reader", "--edges", "normal,build"];
    let text = cargo(&[&tree[..], &["--prefix", "none", "--no-dedupe"]].concat());
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() <= 30, "{} crates: {names:?}", names.len());
    for compiler in ["cc", "cmake", "pkg-config"] {
        assert!(!names.contains(&compiler), "{compiler} is in the tree");
    }
}

/// The published viewer contains the page that it embeds, and not the page's sources and tests.
#[test]
fn the_viewers_package_has_its_page() {
    let list = ["package", "--list", "--offline", "--allow-dirty", "--package", "fdconvert-view"];
    let text = cargo(&list);
    let web: Vec<_> = text.lines().filter(|path| path.starts_with("web/")).collect();
    let page = ["app.css", "app.js", "icon.svg", "index.html"];
    assert_eq!(web, page.map(|name| format!("web/dist/{name}")));
    assert!(text.lines().any(|path| path == "src/lib.rs"), "{text}");
}

#[test]
fn forbidden_arrows_are_found() {
    let package = |name: &str, uses: &[&str]| Package {
        name: name.into(),
        uses: uses.iter().map(|&name| Use { name: name.into(), features: vec![] }).collect(),
    };
    let check = |name, uses: &[_]| forbidden_arrows(&[package(name, uses)]).join("\n");
    assert_eq!(check("reader", &["core", "formats"]), "");
    assert_eq!(check("formats", &["fractal"]), "");
    assert_eq!(check("cli", &["pipeline", "formats"]), "");
    assert!(check("core", &["storage"]).contains("core -> storage"));
    assert!(check("formats", &["codec"]).contains("formats -> codec"));
    assert!(check("pipeline", &["formats"]).contains("pipeline -> formats"));
    assert!(check("cli", &["testkit"]).contains("cli -> testkit"));
    assert!(check("novel", &[]).contains("novel: a crate without a row"));
}

/// A format is one folder: it uses the shared ones, and no other format.
#[test]
fn formats_do_not_know_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats");
    let folders: Vec<String> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("mod.rs").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(folders.len() >= 7, "{folders:?}");
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let Some((own, _)) = name.split_once('/') else { continue };
        let text = fs::read_to_string(&path).unwrap();
        for (line, number) in text.lines().zip(1..) {
            let used = |other: &&String| line.contains(&format!("crate::{other}::"));
            for other in folders.iter().filter(used).map(String::as_str) {
                let fine = other == own
                    || SHARED_BY_FORMATS.contains(&other)
                    || BETWEEN_FORMATS.contains(&(own, other));
                if !fine {
                    wrong.push(format!("formats/{name}:{number}: {own} -> {other}"));
                }
            }
            if line.contains("fdconvert_fractal::") && own != "formula" {
                wrong.push(format!("formats/{name}:{number}: {own} -> fractal"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Returns one line for every arrow that the table does not allow and every unknown crate.
fn forbidden_arrows(packages: &[Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        let row = ARROWS.iter().find(|(name, _)| *name == package.name);
        let allowed = row.map(|(_, allowed)| *allowed);
        if allowed.is_none() && package.name != ROOT {
            wrong.push(format!(
                "{}: a crate without a row; add it to ARROWS in tests/house/architecture.rs",
                package.name
            ));
            continue;
        }
        for used in &package.uses {
            let name = used.name.as_str();
            let fine = match allowed {
                None => !NOT_FOR_ROOT.contains(&name),
                Some(allowed) => allowed.contains(&name),
            };
            if !fine {
                wrong.push(format!(
                    "{} -> {name}: not among the arrows of ARROWS in tests/house/architecture.rs",
                    package.name
                ));
            }
        }
    }
    wrong
}

/// Returns the sources below a folder, without their tests, benchmarks and examples.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !["tests", "benches", "examples", "target"].contains(&&*name) {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the numbers of the lines that name a module `research`, other than to declare it public.
fn uses_of_research(text: &str) -> Vec<usize> {
    let names = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        code.trim() != "pub mod research;" && words.any(|word| word == "research")
    };
    let lines = text.lines().zip(1..).filter(|(line, _)| names(line));
    lines.map(|(_, number)| number).collect()
}

/// Returns the members of the workspace according to Cargo.
fn workspace() -> Vec<Package> {
    let text = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 1, "this is not a workspace");
    packages
        .iter()
        .map(|package| Package {
            name: short_name(&package["name"]),
            uses: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|used| used["path"].is_string() && used["kind"] != "dev")
                .map(|used| Use {
                    name: short_name(&used["name"]),
                    features: serde_json::from_value(used["features"].clone()).unwrap(),
                })
                .collect(),
        })
        .collect()
}

fn short_name(name: &Value) -> String {
    let name = name.as_str().unwrap();
    name.strip_prefix("fdconvert-").unwrap_or(name).to_string()
}

/// Returns everything that the command links, one crate per line.
fn tree(features: &[&str]) -> String {
    let tree = [
        "tree",
        "--offline",
        "--package",
        "fdconvert-cli",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ];
    cargo(&[&tree, features].concat())
}

fn cargo(args: &[&str]) -> String {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

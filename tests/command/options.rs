//! Names of options in texts: the library's, the command's flags and Python's keywords.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, fails, ok};
use fdconvert::{Append, Error, Pack, ProfileOptions};
use fdconvert_core::option;
use fdconvert_testkit::fixtures;
use serde_json::{Map, Value};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Options of plans, which are functions of `Planned`.
const OF_PLANS: [&str; 3] = ["plan", "part", "parts"];

#[test]
fn every_name_of_an_option_is_a_flag_of_the_command() {
    let help: String = ["pack", "profile", "append"]
        .map(|command| ok(&[&command as &dyn AsRef<OsStr>, &"--help"]))
        .concat();
    let texts: String = sources().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for name in option::ALL {
        let flag = name.as_str().replace('_', "-");
        let mut places = help.lines().filter_map(|line| {
            let long = line.trim_start().split_once("--").filter(|(short, _)| short.len() <= 4)?.1;
            let (name, value) = long.split_once(' ').unwrap_or((long, ""));
            (name == flag).then(|| value.trim_start().starts_with('<'))
        });
        let takes_value = places.next().unwrap_or_else(|| panic!("--{flag} is not a flag"));
        // The form in texts.
        let constant = flag.replace('-', "_").to_uppercase();
        let never = if takes_value { "on()" } else { "with(" };
        let wrong = [format!("::{constant}.{never}"), format!(" {constant}.{never}")];
        assert!(wrong.iter().all(|wrong| !texts.contains(wrong)), "{wrong:?}");
    }
}

#[test]
fn every_name_of_an_option_is_one_of_the_library_and_a_keyword() {
    let is_known = |name: &str| {
        let object = || Map::from_iter([(name.to_owned(), Value::Null)]);
        let is_unknown = |error: Option<Error>| {
            error.is_some_and(|error| error.to_string().contains(&format!("`{name}` is unknown")))
        };
        !is_unknown(Pack::from_json(Vec::new(), "o".into(), object()).err())
            || !is_unknown(ProfileOptions::from_json(object()).err())
            || !is_unknown(Append::from_json("o".into(), Vec::new(), object()).err())
    };
    assert!(!is_known("no_such_option"));
    for name in option::ALL.iter().filter(|name| !OF_PLANS.contains(&name.as_str())) {
        let keyword = name.as_str().replace('-', "_");
        // A separate function sets it for the whole process.
        assert!(is_known(&keyword) || keyword == "store_option", "{keyword}");
    }
}

#[test]
fn no_name_is_listed_that_nothing_uses() {
    let texts: String = sources().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for name in option::ALL {
        let constant = name.as_str().replace('-', "_").to_uppercase();
        let word = |text: &str| !text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        let mut places = texts.split(constant.as_str()).skip(1).filter(|after| word(after));
        // One of them is the list.
        assert!(places.nth(1).is_some(), "{constant}");
    }
}

#[test]
fn no_text_of_a_library_names_a_flag() {
    let mut wrong = Vec::new();
    for file in sources() {
        // Flags of GNU tar, and variables in a style sheet.
        if file.components().any(|part| part.as_os_str() == "tar") || file.ends_with("src/page.rs")
        {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod").next().unwrap();
        for (at, line) in text.lines().enumerate() {
            let flag = line
                .match_indices("--")
                .any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
            if flag && !line.trim_start().starts_with("//") {
                wrong.push(format!("{}:{}: {line}", file.display(), at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_library_speaks_of_options_and_the_command_of_flags() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("source");
    fs::create_dir(&source).unwrap();
    // A name from outside that looks like an option is unchanged.
    fs::write(source.join("`overwrite`.png"), fixtures::PNG_RGB).unwrap();
    let out = root.path().join("`max_pixels=5`.beton");
    ok(&[&"pack", &source, &out]);
    let again: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &out, &"--encode", &"raw"];
    let message = fails(&again);
    let said = "`max_pixels=5`.beton exists; to replace it: --overwrite";
    assert!(message.contains(said), "{message}");
    let options = fdconvert::PackOptions::default().encode(fdconvert::Encoding::Raw);
    let error = Pack::new([&source], &out).options(options).run().unwrap_err();
    let said = "`max_pixels=5`.beton exists; to replace it: overwrite=true";
    assert!(error.to_string().contains(said), "{error}");

    let other = root.path().join("x.beton");
    let small: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &other, &"--max-pixels", &"1"];
    let message = fails(&small);
    assert!(message.contains("sample ``overwrite`.png`"), "{message}");
    assert!(message.contains("over the limit of 1; to raise it: --max-pixels"), "{message}");
}

#[test]
fn what_is_stored_has_the_names_of_the_library() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("source"), root.path().join("x.wds"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("a.png"), fixtures::PNG_RGB).unwrap();
    fs::write(source.join("b.bmp"), &fixtures::bmp(64, 64, 1).bytes).unwrap();
    let pixels = "1000";
    let args: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &source, &out, &"--max-pixels", &pixels, &"--on-error", &"skip"];
    let printed = common::expect(1, &args);
    assert!(printed.contains("over the limit of 1000; to raise it: --max-pixels"), "{printed}");
    let stored = ok(&[&"inspect", &out, &"--json"]);
    assert!(stored.contains("over the limit of 1000; to raise it: max_pixels"), "{stored}");
}

/// Returns the sources of the libraries, without those of their tests.
fn sources() -> Vec<PathBuf> {
    const LIBRARIES: [&str; 10] = [
        "core",
        "storage",
        "codec",
        "fractal",
        "gpu",
        "pipeline",
        "profile",
        "loader",
        "fdconvert",
        "reader",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = LIBRARIES.map(|name| root.join("crates").join(name).join("src"));
    let mut folders: Vec<PathBuf> = libraries.into_iter().chain([root.join("formats")]).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true if !["tests", "benches", "target"].contains(&name.as_str()) => {
                    folders.push(path);
                }
                false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
                _ => {}
            }
        }
    }
    assert!(found.len() > 100, "{}", found.len());
    found
}

//! Names of options in texts: the library's own, the command's flags and Python's keywords.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, fails, ok};
use fdconvert::{Error, Pack, ProfileOptions};
use fdconvert_core::{Named, Style, message, named};
use fdconvert_testkit::fixtures;
use serde_json::{Map, Value};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// What a plan is packed by: functions of `Planned`.
const OF_PLANS: [&str; 3] = ["plan", "part", "parts"];

#[test]
fn every_named_option_is_a_flag_of_the_command() {
    let help: String =
        ["pack", "profile"].map(|command| ok(&[&command as &dyn AsRef<OsStr>, &"--help"])).concat();
    for option in named::ALL {
        let flag = message!("{option}").in_style(Style::Command);
        let mut places = help.lines().filter_map(|line| {
            let long = line.trim_start().split_once("--").filter(|(short, _)| short.len() <= 4)?.1;
            let (name, value) = long.split_once(' ').unwrap_or((long, ""));
            (format!("--{name}") == flag).then(|| value.trim_start().starts_with('<'))
        });
        let takes_value = places.next().unwrap_or_else(|| panic!("{flag} is not a flag"));
        assert_eq!(takes_value, !option.is_switch(), "{flag}");
    }
}

#[test]
fn every_named_option_is_one_of_the_library_and_a_keyword() {
    let is_known = |name: &str| {
        let object = || Map::from_iter([(name.to_owned(), Value::Null)]);
        let is_unknown = |error: Option<Error>| {
            error.is_some_and(|error| error.to_string().contains(&format!("`{name}` is unknown")))
        };
        !is_unknown(Pack::from_json(Vec::new(), "o".into(), object()).err())
            || !is_unknown(ProfileOptions::from_json(object()).err())
    };
    assert!(!is_known("no_such_option"));
    for option in named::ALL.iter().filter(|option| !OF_PLANS.contains(&option.name())) {
        let keyword = message!("{option}").in_style(Style::Python);
        let name = keyword.split('=').next().unwrap();
        // Set for the process as a whole, by a function of its own.
        assert!(is_known(name) || name == "store_option", "{name}");
        assert_eq!(keyword.ends_with("=True"), option.is_switch(), "{keyword}");
    }
}

#[test]
fn every_option_of_a_format_can_be_named() {
    for format in fdconvert_reader::formats() {
        for option in format.options() {
            assert!(Named::find(option.name).is_some(), "{}", option.name);
        }
    }
}

#[test]
fn no_option_is_listed_that_no_text_names() {
    let texts: String = sources().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for option in named::ALL {
        let constant = option.name().replace('-', "_").to_uppercase();
        let word = |text: &str| !text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        let mut places = texts.split(constant.as_str()).skip(1).filter(|after| word(after));
        // The list is one of them.
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
    // A name from outside that looks like an option stays as it is.
    fs::write(source.join("`overwrite`.png"), fixtures::PNG_RGB).unwrap();
    let out = root.path().join("`max_pixels=5`.beton");
    ok(&[&"pack", &source, &out]);
    let again: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &out, &"--encode", &"raw"];
    let message = fails(&again);
    let said = "`max_pixels=5`.beton exists; replace it with --overwrite";
    assert!(message.contains(said), "{message}");
    let options = fdconvert::PackOptions::default().encode(fdconvert::Encoding::Raw);
    let error = Pack::new([&source], &out).options(options).run().unwrap_err();
    let said = "`max_pixels=5`.beton exists; replace it with `overwrite`";
    assert!(error.to_string().contains(said), "{error}");
    let python = error.message().in_style(Style::Python);
    assert!(python.contains("`max_pixels=5`.beton exists; replace it with overwrite=True"));

    let other = root.path().join("x.beton");
    let small: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &other, &"--max-pixels", &"1"];
    let message = fails(&small);
    assert!(message.contains("sample ``overwrite`.png`"), "{message}");
    assert!(message.contains("over the limit --max-pixels 1"), "{message}");
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
    assert!(printed.contains("over the limit --max-pixels 1000"), "{printed}");
    let stored = ok(&[&"inspect", &out, &"--json"]);
    assert!(stored.contains("over the limit `max_pixels=1000`"), "{stored}");
}

/// The sources of the libraries, without those of their tests.
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

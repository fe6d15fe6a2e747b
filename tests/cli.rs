//! The command as a person or a script meets it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod common;

use common::{expect, fails, fdconvert, kodak_classes, ok, text};
use serde_json::Value;
use std::{fs, io::Read, process::Stdio};

#[test]
fn short_help_fits_a_screen_and_every_command_explains_itself() {
    let help = ok(&[&"-h"]);
    assert!(help.lines().count() <= 24, "{help}");
    assert!(ok(&[&"pack", &"-h"]).lines().count() <= 45);
    for command in ["pack", "unpack", "inspect", "verify"] {
        assert!(help.contains(command), "{help}");
        let long = ok(&[&command, &"--help"]);
        assert!(long.len() > 300, "{long}");
    }
    let pack = ok(&[&"pack", &"--help"]);
    for word in ["--page-size", "--compat", "beton", "fdconvert pack imagenet/train"] {
        assert!(pack.contains(word), "{word} is missing in\n{pack}");
    }
}

#[test]
fn completions_and_manual_are_generated() {
    assert!(ok(&[&"completions", &"bash"]).contains("--page-size"));
    assert!(ok(&[&"man"]).contains(".TH"));
}

#[test]
fn wrong_requests_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let cases: &[(&[&str], &str)] = &[
        (&["--encode", "gif"], "--encode"),
        (&["--encode", "mix:2"], "--encode"),
        (&["--encode", "png", "--jpeg-quality", "5"], "--jpeg-quality"),
        (&["--jpeg-quality", "0"], "jpeg-quality"),
        (&["--page-size", "3MiB"], "power of two"),
        (&["--page-size", "1MiB"], "page-size"),
        (&["--page-size", "lots"], "size"),
        (&["--alpha", "pink"], "--alpha"),
        (&["--threads", "0"], "--threads"),
        (&["--format", "zip"], "beton"),
        (&["--max-side", "0"], "max-side"),
        (&["--max-side", "5", "--short-side", "5"], "short-side"),
        (&["--labels", "/nonexistent.csv"], "nonexistent.csv"),
    ];
    for (options, word) in cases {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let message = fails(&args);
        assert!(message.contains(word), "{options:?}: {message}");
        assert_eq!(common::names(folder.path()), ["kodak"], "{options:?}");
    }
    let message = fails(&[&"pack", &folder.path().join("nowhere"), &out]);
    assert!(message.contains("nowhere") && message.contains("No such file"), "{message}");
    let message = fails(&[&"pack", &source, &folder.path().join("out.what")]);
    assert!(message.contains("--format"), "{message}");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(fails(&[&"pack", &empty, &out]).contains("no image"));
    assert!(fails(&[&"inspect", &source.join("even/PhotoCD_PCD0992_01.png")]).contains("none of"));
}

#[test]
fn an_existing_output_is_refused_unless_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    fs::write(&out, "precious").unwrap();
    let message = fails(&[&"pack", &source, &out]);
    assert!(message.contains("--overwrite"), "{message}");
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    ok(&[&"pack", &source, &out, &"--overwrite"]);
    ok(&[&"verify", &out]);
    // Unpacking never goes into a folder with something in it.
    assert!(fails(&[&"unpack", &out, &source]).contains("kodak"));
}

#[test]
fn json_documents_have_the_keys_that_are_promised() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let back = folder.path().join("back");
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let documents = [
        parse(ok(&[&"pack", &source, &out, &"--json", &"--dry-run"])),
        parse(ok(&[&"pack", &source, &out, &"--json"])),
        parse(ok(&[&"inspect", &out, &"--json", &"--samples", &"2"])),
        parse(ok(&[&"verify", &out, &"--json", &"--deep"])),
        parse(ok(&[&"unpack", &out, &back, &"--json"])),
    ];
    let contract = include_str!("../docs/json.md");
    for document in documents {
        let name = document["document"].as_str().unwrap();
        assert_eq!(document["version"], 1);
        let row = contract.lines().find(|line| line.contains(name)).unwrap();
        for key in document.as_object().unwrap().keys() {
            if key != "document" && key != "version" {
                assert!(row.contains(&format!("`{key}`")), "{name}: {key} is not documented");
            }
        }
    }
}

#[test]
fn inspect_tells_how_a_dataset_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--jpeg-quality", &"77", &"--max-side", &"300"]);
    let text = ok(&[&"inspect", &out, &"--samples", &"1"]);
    for word in ["12 samples", "77", "300", "fdconvert 0.", "even, odd", "300x200", "8.00 MiB"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

#[test]
fn labels_from_a_table_become_fields() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let table = folder.path().join("t.csv");
    fs::write(
        &table,
        "path,label,score,caption\n\
         odd/PhotoCD_PCD0992_03.png,zebra,0.5,\"stripes, many\"\n\
         even/PhotoCD_PCD0992_01.png,apple,2,round\n",
    )
    .unwrap();
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--labels", &table, &"--jpeg-quality", &"50"]);
    let text = ok(&[&"inspect", &out, &"--samples", &"2", &"--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let first = &document["first"][0];
    assert_eq!(first["label"], 1);
    assert_eq!(first["score"], 0.5);
    assert_eq!(first["caption"], "stripes, many");
    assert_eq!(document["first"][1]["label"], 0);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--jpeg-quality", &"50"]);
    let mut child = fdconvert()
        .args(["inspect", "--samples", "12", "--json"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{message}");
    assert!(message.is_empty(), "{message}");
}

#[test]
fn quiet_is_quiet_and_nothing_but_results_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let output = common::run(&[&"pack", &source, &out, &"-q"]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{}", text(&output.stderr));
    // Standard error is no terminal here, so there is no progress on it either.
    let output = common::run(&[&"pack", &source, &out, &"--overwrite"]);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert_eq!(expect(0, &[&"verify", &out, &"-q"]), "");
}

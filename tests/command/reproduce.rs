//! The experiments of the papers, with little data and stand-ins for other loaders.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{self, fails, ok};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Writes a program that answers like other loaders: `--probe` reports the first two of them.
fn python(folder: &Path) -> PathBuf {
    let python = folder.join("python");
    let program = "#!/bin/sh\n\
        case \"$1\" in *loader2.py|*loader3.py) echo 'Traceback' >&2; echo 'No module' >&2; exit 1;; esac\n\
        [ \"$2\" = --probe ] && { echo '{\"version\": \"9.8\"}'; exit 0; }\n\
        while [ $# -gt 0 ]; do [ \"$1\" = --images ] && images=$2; shift; done\n\
        echo chatter; echo \"{\\\"images\\\": $images, \\\"seconds\\\": 2, \\\"cpu_seconds\\\": 4}\"\n";
    fs::write(&python, program).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    python
}

/// Returns the arguments of the smallest experiment.
#[allow(clippy::ptr_arg, reason = "a slice is not a trait object")]
fn small<'a>(paper: &'a &str, page: &'a PathBuf) -> [&'a dyn AsRef<OsStr>; 9] {
    [&"reproduce", paper, &"--quick", &"--images", &"100", &"--rounds", &"1", &"-o", page]
}

fn document(folder: &Path, paper: &str) -> Value {
    let text = fs::read(folder.join(format!("paper-{paper}.json"))).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(
        (&document["document"], &document["paper"]),
        (&"fdconvert-reproduce".into(), &paper.into())
    );
    assert!(document["differences"].as_array().unwrap().len() >= 3);
    let page = fs::read_to_string(folder.join(format!("paper-{paper}.html"))).unwrap();
    let n_figures = document["figures"].as_array().unwrap().len();
    assert!(n_figures > 0 && page.matches("<svg").count() == n_figures);
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 2, "{claims:?}");
    for claim in claims {
        let verdict = claim["verdict"].as_str().unwrap().replace('-', " ");
        assert!(page.contains(&format!("<td>{verdict}</td>")), "{claim}");
        assert!(!claim["paper"].as_str().unwrap().is_empty(), "{claim}");
        assert!(!claim["here"].as_str().unwrap().is_empty(), "{claim}");
    }
    document
}

#[test]
fn loaders_take_turns_and_what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let python = python(folder.path());
    let page = folder.path().join("paper-000.html");
    let said = ok(&[
        &small(&"000", &page)[..],
        &[&"--python", &"no-such-python"],
        &[&"--python", &python],
    ]
    .concat());
    assert!(said.contains("not here: FFCV") && said.contains("No module"), "{said}");
    let found = document(folder.path(), "000");
    // FFCV is not here, and neither is a GPU.
    let of = |part: &str| {
        let mut claims = found["claims"].as_array().unwrap().iter();
        claims.find(|claim| claim["paper"].as_str().unwrap().contains(part)).unwrap()
    };
    assert_eq!(
        (&of("FFCV")["verdict"], &of("GPU")["verdict"]),
        (&"not-here".into(), &"not-here".into())
    );
    assert_eq!(found["others"], serde_json::json!([["torch", "9.8"], ["webdataset", "9.8"]]));
    assert_eq!(found["missing"].as_array().unwrap().len(), 2);
    let bars = found["figures"][0]["plot"]["bars"].as_array().unwrap();
    let bar = |name: &str| bars.iter().find(|bar| bar["name"] == name).unwrap();
    // From 100 images in 4 CPU seconds, and the paper's ratio to that.
    assert_eq!(bar("torch, folder")["value"], 25.0);
    assert_eq!(bar("torch, folder")["paper"], 25.0);
    assert!(bar("fdconvert, formula")["value"].as_f64().unwrap() > 0.0);
    assert_eq!(bars.iter().filter(|bar| bar["is_ours"] == true).count(), 9);
    // Only page and numbers remain.
    assert_eq!(common::names(folder.path()), ["paper-000.html", "paper-000.json", "python"]);
}

#[test]
fn ranks_read_less_with_owners() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("paper-004.html");
    let args: [&dyn AsRef<OsStr>; 7] =
        [&"reproduce", &"004", &"--quick", &"--images", &"800", &"-o", &page];
    ok(&args);
    let found = document(folder.path(), "004");
    let rows = found["tables"][0]["rows"].as_array().unwrap();
    let number = |cell: &Value| cell.as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!((number(&rows[0][1]), number(&rows[0][2])), (800, 800));
    let sent: Vec<u64> = rows.iter().map(|row| number(&row[3])).collect();
    assert_eq!(sent, [800, 0, 0, 0]);
    let verdicts: Vec<_> =
        found["claims"].as_array().unwrap().iter().map(|claim| &claim["verdict"]).collect();
    assert_eq!(verdicts, ["reproduced", "not-here"]);
    assert!(number(&rows[3][2]) * 3 < number(&rows[3][1]), "{rows:?}");
    let said = fails(&args);
    assert!(said.contains("paper-004.html exists") && said.contains("--overwrite"), "{said}");
    ok(&[&args[..], &[&"--overwrite"]].concat());
}

#[test]
fn drawing_is_compared_with_reading() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("paper-001.html");
    let python = python(folder.path());
    ok(&[&small(&"001", &page)[..], &[&"--python", &python, &"-q"]].concat());
    let found = document(folder.path(), "001");
    let lines = found["figures"][1]["plot"]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2);
    // 25 images in a CPU second by the stand-in.
    assert_eq!(found["claims"][0]["verdict"], "reproduced");
    assert!(lines.iter().all(|line| line["points"].as_array().unwrap().len() == 4), "{lines:?}");
}

#[test]
fn what_cannot_be_is_refused_with_the_cure() {
    for (args, cure) in [
        (&["005"][..], "000, 001, 002, 003, 004"),
        (&["000", "--images", "5"], "from 100"),
        (&["000", "--output", "x.json"], ".json"),
        (&["000", "--rounds", "0"], "1..=100"),
    ] {
        let args: Vec<&dyn AsRef<OsStr>> = std::iter::once(&"reproduce" as &dyn AsRef<OsStr>)
            .chain(args.iter().map(|arg| arg as &dyn AsRef<OsStr>))
            .collect();
        let said = fails(&args);
        assert!(said.contains(cure), "{said}");
    }
}

//! The command as a library: what a program that runs it in its own process relies on.
#![allow(clippy::unwrap_used, clippy::panic)]
mod common;

use fdconvert_cli::{Failure, Session, run};
use fdconvert_core::{Class, Error};
use serde_json::Value;
use std::{ffi::OsString, path::Path};

fn pack(source: &Path, out: &Path) -> Vec<OsString> {
    let words = ["fdconvert", "pack", "--json", "--max-side=64", "--jpeg-quality=80"];
    let words = words.iter().map(OsString::from);
    words.chain([source.into(), out.into()]).collect()
}

#[test]
fn output_is_handed_back_and_progress_can_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::kodak_classes(folder.path());
    let session = Session::captured();
    let gauge = session.gauge().clone();
    assert_eq!(gauge.read(), (0, 0));
    let finished = run(pack(&source, &folder.path().join("x.beton")), &session).unwrap();
    assert!(finished.complete);
    let document: Value = serde_json::from_slice(&finished.output).unwrap();
    assert_eq!(document["document"], "fdconvert-packed");
    assert_eq!(gauge.read(), (12, 12));
}

#[test]
fn it_stops_when_asked_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = common::kodak_classes(folder.path());
    let session = Session::captured();
    session.cancel().cancel();
    let Err(Failure::Failed(error)) = run(pack(&source, &folder.path().join("x.beton")), &session)
    else {
        panic!("it was to be cancelled");
    };
    assert_eq!(error.class(), Class::Cancelled);
    assert_eq!(common::names(folder.path()), ["kodak"]);
}

#[test]
fn failures_say_whose_they_are() {
    let session = Session::captured();
    let parse = run(["fdconvert", "pack", "--nonsense"], &session).unwrap_err();
    assert!(matches!(&parse, Failure::Arguments(text) if text.contains("--nonsense")), "{parse}");
    let open = run(["fdconvert", "verify", "/nowhere/at/all"], &session).unwrap_err();
    assert!(matches!(open, Failure::Failed(Error::Io { .. })), "{open}");
}

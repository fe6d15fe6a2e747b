//! The viewer as used by a script: an address, answers, and an end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{self, fails, fdconvert, ok, text};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

/// Starts it; returns the process, its standard output, and the first line of that.
fn start(args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, String) {
    start_as(fdconvert(), args)
}

fn start_as(
    mut command: Command,
    args: &[&str],
) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let command = command.arg("view").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    (child, out, line)
}

fn get(address: &str, path: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, token) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request =
        format!("GET /{token}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
    body.to_owned()
}

/// Stops it, and returns its status and the rest of its output.
fn stop(mut child: Child, mut out: impl Read) -> (Option<i32>, String) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn it_prints_its_address_answers_and_ends_with_ctrl_c() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    common::tree(&photos, &["a/1.png", "a/2.png", "b/3.png"]);
    let photos = photos.to_str().unwrap();
    let (child, out, line) = start(&[photos]);
    let address = line.trim_end();
    let dataset: Value = serde_json::from_str(&get(address, "api/dataset")).unwrap();
    assert_eq!((&dataset["samples"], &dataset["format"]), (&3.into(), &"folder".into()));
    assert_eq!(dataset["path"], photos);
    assert!(get(address, "").contains("<!doctype html>"));
    assert_eq!(stop(child, out), (Some(0), String::new()));
}

#[test]
fn splits_of_a_folder_are_no_classes_and_can_be_shown_alone() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    common::tree(&photos, &["train/a/1.png", "train/b/2.png", "val/a/3.png"]);
    let photos = photos.to_str().unwrap();
    for (args, n) in [(&[photos][..], 3), (&[photos, "--split", "train"], 2)] {
        let (child, out, line) = start(args);
        let sample: Value = serde_json::from_str(&get(line.trim_end(), "api/sample/0")).unwrap();
        assert_eq!(sample["key"], "train/a/1.png");
        let dataset: Value = serde_json::from_str(&get(line.trim_end(), "api/dataset")).unwrap();
        assert_eq!(dataset["samples"], n);
        assert_eq!(dataset["schema"][1]["classes"], serde_json::json!(["a", "b"]), "{dataset}");
        assert_eq!(stop(child, out).0, Some(0));
    }
}

#[test]
fn it_compares_and_prints_a_document() {
    let root = tempfile::tempdir().unwrap();
    let (photos, packed) = (root.path().join("photos"), root.path().join("photos.wds"));
    common::tree(&photos, &["a/1.png", "b/3.png"]);
    ok(&[&"pack", &photos, &packed]);
    let [photos, packed] = [&photos, &packed].map(|path| path.to_str().unwrap());
    let (child, mut out, first) = start(&[photos, "--compare", packed, "--json", "--no-open"]);
    let mut document = first;
    while !document.ends_with("}\n") {
        assert!(out.read_line(&mut document).unwrap() > 0, "{document}");
    }
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        (&document["document"], &document["version"]),
        (&"fdconvert-view".into(), &1.into())
    );
    let address = document["address"].as_str().unwrap();
    let dataset: Value = serde_json::from_str(&get(address, "api/dataset")).unwrap();
    assert_eq!(
        (&dataset["second"]["samples"], &dataset["second"]["path"]),
        (&2.into(), &packed.into())
    );
    let second: Value = serde_json::from_str(&get(address, "api/dataset?set=b")).unwrap();
    assert_eq!(second["format"], "wds");
    assert_eq!(stop(child, out), (Some(0), String::new()));
}

#[cfg(feature = "stores")]
#[test]
fn a_dataset_in_a_store_is_shown_and_checked() {
    let root = tempfile::tempdir().unwrap();
    let (photos, bucket) = (root.path().join("photos"), root.path().join("stores/bucket"));
    common::tree(&photos, &["a/1.png", "a/2.png", "b/3.png"]);
    std::fs::create_dir_all(&bucket).unwrap();
    ok(&[&"pack", &photos, &bucket.join("p.beton")]);
    let server = fdconvert_testkit::server::Server::start(&root.path().join("stores"));
    let mut command = fdconvert();
    command.envs(server.variables());
    let (child, out, line) = start_as(command, &["s3://bucket/p.beton"]);
    let address = line.trim_end();
    let until = |path: &str, numbers: [&str; 2]| loop {
        let answer: Value = serde_json::from_str(&get(address, path)).unwrap();
        if answer[numbers[0]] == answer[numbers[1]] {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let facets = until("api/facets", ["scanned", "samples"])["facets"].clone();
    let codec = facets.as_array().unwrap().iter().find(|facet| facet["name"] == "codec").unwrap();
    assert_eq!(codec["values"][0]["n"], 3, "{facets}");
    let sample: Value = serde_json::from_str(&get(address, "api/sample/2")).unwrap();
    assert_eq!((&sample["key"], &sample["verified"]), (&"b/3.png".into(), &true.into()));
    let damage = until("api/damage", ["checked", "samples"]);
    assert_eq!(damage["found"], 0, "{damage}");
    assert_eq!(stop(child, out), (Some(0), String::new()));
}

#[test]
fn what_is_no_dataset_and_a_port_that_is_taken_are_told() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    assert!(fails(&[&"view", &missing, &"--no-open"]).contains("missing"));
    let photos = root.path().join("photos");
    common::tree(&photos, &["a/1.png"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = common::run(&[&"view", &photos, &"--port", &port]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("cannot listen at port {port} of this machine")), "{said}");
}

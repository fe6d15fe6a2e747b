//! Invalid addresses of stores, unreadable names of objects, and servers that answer unlike stores.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{self, fdconvert, text};
use fdconvert_testkit::server::Server;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    thread,
};

/// Returns the error of the command.
fn refused(args: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = fdconvert();
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_REGION", "r-1")];
    command.env_remove("AWS_ENDPOINT_URL").args(args);
    let output = command.envs(keys).envs(variables.iter().copied()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?} {variables:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

/// Addresses on which the client panics.
#[test]
fn addresses_that_are_none_are_refused_before_a_request() {
    let endpoint = "write http://minio.local:9000, or https://";
    let azure = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "a"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "aGk="),
        ("AZURE_STORAGE_ENDPOINT", "minio.local:9000"),
    ];
    let s3 = ["inspect", "s3://b/d"];
    let option = ["inspect", "s3://b/d", "--store-option", "endpoint=minio.local:9000"];
    let url = "http://127.0.0.1:1";
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 8] = [
        (&s3, &[("AWS_ENDPOINT_URL", "minio.local:9000")], endpoint),
        (&s3, &[("AWS_ENDPOINT_URL_S3", "minio.local:9000")], endpoint),
        (&option, &[], endpoint),
        (&["inspect", "az://b/d"], &azure, endpoint),
        (&["inspect", "gs://b/d"], &[("STORAGE_EMULATOR_HOST", "a b")], "is not a URL"),
        (&["inspect", "hf://datasets/o/n"], &[("HF_ENDPOINT", "minio.local:9000")], "is not a URL"),
        (&s3, &[("AWS_REGION", "us east")], "the region of the store, `us east`, is invalid"),
        (&s3, &[("AWS_ACCESS_KEY_ID", "k\n"), ("AWS_ENDPOINT_URL", url)], "check endpoint, region"),
    ];
    for (args, variables, part) in cases {
        let said = refused(args, variables);
        assert!(said.contains(part), "{args:?} {variables:?}: {said}");
    }
    let photos = tempfile::tempdir().unwrap();
    common::tree(photos.path(), &["a/1.png"]);
    let folder = photos.path().to_str().unwrap();
    for url in ["s3://my bucket/d", "s3://<bucket>/d", "gs://my bucket/d", "az://my bucket/d"] {
        for args in [&["inspect", url][..], &["pack", folder, url]] {
            assert!(refused(args, &[]).contains("is not the name of one"), "{url}");
        }
    }
}

#[test]
fn objects_whose_names_cannot_be_read_are_left_out_and_noted() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("stores/bucket/photos");
    let names = ["a/1.png", "a/3.png", "b/4.png", "b/5.png", "b/6.png", "c/7.png"];
    common::tree(&photos, &names);
    let (here, there) = (root.path().join("here.beton"), root.path().join("there.beton"));
    common::ok(&[&"pack", &photos, &here]);
    common::tree(&photos, &["a/2\u{7f}.png", "b/5\u{7f}/1.png", "b/5\u{7f}/2.png"]);
    let server = Server::start(&root.path().join("stores"));
    let pack = |out: &Path| {
        let out = out.to_str().unwrap();
        let mut command = fdconvert();
        command.args(["pack", "s3://bucket/photos", out]).envs(server.variables());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = pack(&there);
    let note = "2 names in the store are left out, with all below them: \
                photos/a/2\\u{7f}.png has a control character";
    assert!(said.contains(note), "{said}");
    assert_eq!(fs::read(&here).unwrap(), fs::read(&there).unwrap());
    for json in [&[][..], &["--json"]] {
        let mut command = fdconvert();
        command.args(["inspect", "s3://bucket/photos"]).args(json).envs(server.variables());
        let said = text(&command.output().unwrap().stdout).replace(r"\\", r"\");
        assert!(said.contains(note), "{said}");
    }

    // Directly in a folder, in which folders are classes.
    common::tree(&photos, &["\u{7f}/1.png"]);
    let said = pack(&root.path().join("again.beton"));
    assert!(said.contains("3 names in the store are left out"), "{said}");
    assert_eq!(fs::read(&here).unwrap(), fs::read(root.path().join("again.beton")).unwrap());
}

/// Starts a server with the same answer to every request, and returns its URL.
fn answering(status: &'static str, body: String) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 8 << 10]);
            let len = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n");
            let _ =
                connection.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    url
}

#[test]
fn servers_that_are_no_stores_are_told_with_a_cure() {
    let page = format!("<html>{}</html>", "blocked by the proxy ".repeat(300));
    for (status, part) in [
        ("200 OK", "download the file, and name the copy"),
        ("401 Unauthorized", "credentials are not sent to web servers; download the file"),
        ("403 Forbidden", "credentials are not sent to web servers; download the file"),
        ("407 Proxy Authentication Required", "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
    ] {
        let said =
            refused(&["inspect", &format!("{}/f.parquet", answering(status, page.clone()))], &[]);
        assert!(said.contains(part) && !said.contains("check the credentials"), "{said}");
        assert!(said.chars().count() < 700, "{said}");
    }
    let url = answering("403 Forbidden", page);
    let said = refused(&["inspect", "s3://bucket/d"], &[("AWS_ENDPOINT_URL", &url)]);
    assert!(said.contains("check the credentials") && said.chars().count() < 700, "{said}");
}

#[test]
fn a_server_without_tls_is_told_with_its_scheme() {
    let root = tempfile::tempdir().unwrap();
    let silent = Server::start(root.path());
    for plain in [silent.url(), answering("400 Bad Request", String::new())] {
        let said = refused(&["inspect", &(plain.replacen("http", "https", 1) + "/x.beton")], &[]);
        assert!(said.contains("the server does not speak TLS; write http://"), "{said}");
    }
}

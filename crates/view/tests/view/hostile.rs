//! Malicious datasets.
use crate::common::{Memory, Viewer, by, sample};
use fdconvert::{Codec, Encoded, Kind, Value};
use fdconvert_testkit::fixtures;
use serde_json::json;
use std::{io::Write as _, net::TcpStream};

const HTML: &[u8] = b"<!doctype html><script>alert(1)</script>";
const SVG: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";

const KEYS: [&str; 6] = [
    "<script>alert(1)</script>.png",
    "../../etc/passwd",
    "a\"b'c&d.png",
    "line\nbreak\r.png",
    "\u{202e}gnp.exe",
    "nul\0.png",
];

fn hostile() -> Memory {
    let fields = vec![
        ("image", Kind::Image),
        ("<img src=x onerror=alert(1)>", Kind::Text),
        ("page", Kind::Bytes),
    ];
    let images = [
        fixtures::png(4, 4, 1),
        // The declared kind differs from the content.
        Encoded::new(Codec::Jpeg, 4, 4, HTML.into()),
        Encoded::new(Codec::Png, 4, 4, SVG.into()),
        Encoded::new(Codec::Gif, 4, 4, fixtures::png(4, 4, 1).bytes),
        Encoded::new(Codec::Raw, 4, 4, HTML.into()),
        Encoded::new(Codec::Bmp, 60_000, 60_000, b"BM".to_vec().into()),
    ];
    let samples = KEYS.into_iter().zip(images).map(|(key, image)| {
        let text = Value::Text("</script><script>alert(1)</script>".into());
        sample(key, vec![Value::Image(image), text, Value::Bytes(HTML.into())])
    });
    Memory::new(fields, samples.collect())
}

#[test]
fn bytes_of_a_dataset_are_never_sent_as_something_that_runs() {
    let viewer = Viewer::of_samples(hostile());
    for index in 0..KEYS.len() {
        for path in [
            format!("image/{index}"),
            format!("image/{index}?side=16"),
            format!("image/{index}/0"),
            format!("mask/{index}/0"),
            format!("field/{index}/0"),
            format!("field/{index}/2"),
            format!("field/{index}/page"),
            format!("api/sample/{index}"),
        ] {
            let reply = viewer.get(&path);
            assert!([200, 422].contains(&reply.status), "{path}: {}", reply.status);
            let is_safe = match path.split('/').next().unwrap() {
                "field" => {
                    let saved = reply.headers.get("content-disposition");
                    assert_eq!(saved.unwrap(), "attachment; filename=\"field.bin\"", "{path}");
                    reply.kind() == "application/octet-stream"
                }
                "image" | "mask" if reply.status == 200 => {
                    reply.kind() == "image/png" && reply.body.starts_with(b"\x89PNG")
                }
                _ => reply.kind() == "application/json",
            };
            assert!(is_safe, "{path}: {}", reply.kind());
            assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        }
    }
    assert_eq!(viewer.ok("image/3").kind(), "image/png");
    for index in [1, 2, 4, 5] {
        viewer.fails(422, &format!("image/{index}"));
    }
}

#[test]
fn names_are_texts_wherever_they_stand() {
    let viewer = Viewer::of_samples(hostile());
    let rows = viewer.json("api/samples")["samples"].clone();
    for (index, key) in KEYS.iter().enumerate() {
        assert_eq!(rows[index]["key"], *key);
        let found = viewer.json(&format!("api/sample/{index}"));
        assert_eq!(found["key"], *key);
        assert_eq!(found["python"].as_str().unwrap().lines().count(), 4, "{found}");
    }
    let text = "</script><script>alert(1)</script>";
    let kept = viewer.kept(&format!("`<img src=x onerror=alert(1)>` == '{text}'"));
    assert_eq!(kept.len(), 6);
    assert_eq!(viewer.kept("key contains '<script'"), [0]);
    let page = viewer.ok("sheet.html").text();
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("<b>memory") && page.contains("a&quot;b&#39;c&amp;d.png"), "{page}");
    let said = viewer.fails(422, "keys.txt");
    assert!(said.contains("the key of sample 3 has a line break"), "{said}");
    // A field is addressed by its name only, never by a path.
    viewer.fails(404, "field/0/..%2Fpage");
}

#[test]
fn requests_that_were_made_to_hurt_are_refused() {
    let viewer = Viewer::of_samples(hostile());
    for (many, part) in [
        ("key != 'a' && ".repeat(400) + "key != 'b'", "more than 256 parts"),
        ("!".repeat(400) + "(key == 'a')", "more than 64 nested parts"),
    ] {
        let said = viewer.fails(400, &format!("api/samples?{}", by(&many)));
        assert!(said.contains(part), "{said}");
    }
    for path in
        ["image/18446744073709551616", "image/..%2f..%2fetc", "image/0/99999999999999999999"]
    {
        viewer.fails(404, path);
    }
    let long = viewer.get(&"a".repeat(100_000));
    assert!([404, 414, 431].contains(&long.status), "{}", long.status);
    // The server still works.
    assert_eq!(viewer.json("api/dataset")["samples"], json!(KEYS.len()));
}

#[test]
fn clients_that_send_half_a_request_or_read_nothing_delay_no_others() {
    let viewer = Viewer::of_samples(hostile());
    let open = |request: &str| {
        let mut stream = TcpStream::connect(&viewer.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let whole = format!("GET /{}/ HTTP/1.1\r\nHost: {}\r\n\r\n", viewer.token, viewer.host);
    let requests = ["", "GET /", &whole[..whole.len() - 2], &whole.repeat(1000)];
    let stalled: Vec<_> = requests.iter().cycle().take(64).map(|request| open(request)).collect();
    for _ in 0..10 {
        assert_eq!(viewer.json("api/dataset")["samples"], json!(KEYS.len()));
    }
    drop(stalled);
}

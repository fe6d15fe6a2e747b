//! Access control, and headers of every response.
use crate::common::{Viewer, packed};

const PATHS: [&str; 14] = [
    "",
    "app.js",
    "app.css",
    "icon.svg",
    "api/dataset",
    "api/facets",
    "api/samples",
    "api/sample/0",
    "image/0",
    "field/0/0",
    "keys.txt",
    "sheet.html?count=1",
    "api/sample/99",
    "no/such/path",
];

#[test]
fn every_answer_has_the_headers_that_keep_browsers_from_guessing() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    for path in PATHS {
        let reply = viewer.get(path);
        let policy = &reply.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'self'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'none'"));
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.headers[name], value, "{path}");
        }
        assert!(!reply.headers.contains_key("access-control-allow-origin"), "{path}");
    }
    assert_eq!(viewer.fails(404, "no/such/path"), "there is nothing at this path");
}

#[test]
fn without_the_token_or_by_another_name_nothing_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    let (host, token) = (&viewer.host, &viewer.token);
    assert_eq!((token.len(), host.starts_with("127.0.0.1:")), (32, true));
    let port = host.rsplit_once(':').unwrap().1;
    let ask = |path: &str, host: &str| {
        let request = format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        viewer.send(&request).status
    };
    let (right, by_name) = (format!("Host: {host}\r\n"), format!("Host: localhost:{port}\r\n"));
    let path = format!("/{token}/api/dataset");
    assert_eq!((ask(&path, &right), ask(&path, &by_name)), (200, 200));
    let other = format!("/{}/api/dataset", token.replace(|digit| digit != '0', "0"));
    let longer = format!("/{token}0/api/dataset");
    for wrong in ["/", "/api/dataset", "//api/dataset", &other, &longer, "/x/..", "/%00/"] {
        assert_eq!(ask(wrong, &right), 403, "{wrong}");
    }
    for wrong in [
        "Host: example.org\r\n".to_owned(),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("Host: 127.0.0.1.example.org:{port}\r\n"),
        format!("Host: [::1]:{port}\r\n"),
        format!("Host: {host}\r\nHost: example.org\r\n"),
        String::new(),
    ] {
        let status = ask(&path, &wrong);
        assert!(status == 403 || status == 400, "{wrong}: {status}");
    }
    let absolute = format!("http://example.org{path}");
    assert_eq!(ask(&absolute, &right), 403);
}

#[test]
fn nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let reply = viewer.ask(method, "api/dataset", "Content-Length: 0\r\n");
        assert_eq!((reply.status, reply.headers["allow"].as_str()), (405, "GET, HEAD"), "{method}");
        assert!(reply.json()["error"].is_string());
    }
    let head = viewer.ask("HEAD", "api/dataset", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.headers["content-length"], viewer.ok("api/dataset").headers["content-length"]);
}

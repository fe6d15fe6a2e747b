//! Writing objects, whole or in parts, and deleting them.
use super::http::{Request, Response, decode, tag_of};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};
use xxhash_rust::xxh3::xxh3_64;

/// Attributes of objects, counts of their writes, and unfinished uploads.
#[derive(Default)]
pub(super) struct Written {
    /// Attributes of each object, by its path.
    attributes: BTreeMap<String, Vec<(String, String)>>,
    uploads: BTreeMap<String, Upload>,
    n_uploads: u64,
    stored: BTreeMap<String, u64>,
}

struct Upload {
    path: String,
    attributes: Vec<(String, String)>,
    parts: BTreeMap<u32, Vec<u8>>,
}

impl Written {
    pub(super) fn attributes(&self, path: &str) -> Vec<(String, String)> {
        self.attributes.get(path).cloned().unwrap_or_default()
    }

    pub(super) fn put(&mut self, root: &Path, path: &str, bytes: &[u8]) {
        store(root, path, bytes, Vec::new(), self);
    }

    pub(super) fn stored(&self) -> BTreeMap<String, u64> {
        self.stored.clone()
    }

    fn delete(&mut self, root: &Path, path: &str) {
        let _ = fs::remove_file(root.join(path));
        self.attributes.remove(path);
    }

    pub(super) fn abort(&mut self) {
        self.uploads.clear();
    }

    /// Returns the paths of objects with uploads that are neither completed nor aborted.
    pub(super) fn open(&self) -> Vec<String> {
        self.uploads.values().map(|upload| upload.path.clone()).collect()
    }
}

/// Executes a request that changes something, one at a time.
pub(super) fn answer(root: &Path, request: &Request, written: &Mutex<Written>) -> Response {
    let mut written = written.lock().unwrap();
    let upload = request.query.get("uploadId");
    match (request.method.as_str(), upload) {
        ("POST", None) if request.query.contains_key("uploads") => begin(request, &mut written),
        ("PUT", Some(id)) => part(request, id, &mut written),
        ("POST", None) if request.query.contains_key("delete") => {
            delete(root, request, &mut written)
        }
        ("POST", Some(id)) => complete(root, request, id, &mut written),
        ("DELETE", Some(id)) => match written.uploads.remove(id) {
            Some(_) => Response::empty(204, Vec::new()),
            None => Response::plain(404, "NoSuchUpload"),
        },
        ("PUT", None) => put(root, request, &mut written),
        ("DELETE", None) => {
            written.delete(root, &request.path);
            Response::empty(204, Vec::new())
        }
        _ => Response::plain(405, "MethodNotAllowed"),
    }
}

/// Returns S3's list of unfinished uploads in a bucket.
pub(super) fn uploads(request: &Request, written: &Mutex<Written>) -> Response {
    let bucket = request.path.trim_end_matches('/').to_owned() + "/";
    let prefix = request.query.get("prefix").map_or("", String::as_str);
    let mut text = String::new();
    for (id, upload) in &written.lock().unwrap().uploads {
        let Some(key) = upload.path.strip_prefix(&bucket) else { continue };
        if key.starts_with(prefix) {
            let _ = write!(
                text,
                "<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>"
            );
        }
    }
    let text = format!(
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>{text}\
         </ListMultipartUploadsResult>"
    );
    Response::xml(200, &text)
}

fn put(root: &Path, request: &Request, written: &mut Written) -> Response {
    let path = root.join(&request.path);
    if request.header("if-none-match") == Some("*") && path.is_file() {
        return Response::plain(412, "PreconditionFailed");
    }
    if let Some(wanted) = request.header("if-match")
        && tag_of(&path).as_deref() != Some(wanted)
    {
        return Response::plain(412, "PreconditionFailed");
    }
    if let Some(source) = request.header("x-amz-copy-source") {
        return copy(root, source, &request.path, written);
    }
    store(root, &request.path, &request.body, request.attributes(), written)
}

/// Copies an object with its attributes.
fn copy(root: &Path, source: &str, to: &str, written: &mut Written) -> Response {
    let source = decode(source.trim_start_matches('/'));
    let Ok(bytes) = fs::read(root.join(&source)) else { return Response::plain(404, "NoSuchKey") };
    let attributes = written.attributes(&source);
    let stored = store(root, to, &bytes, attributes, written);
    let tag = tag_of(&root.join(to)).unwrap_or_default();
    match stored.is_ok() {
        true => {
            Response::xml(200, &format!("<CopyObjectResult><ETag>{tag}</ETag></CopyObjectResult>"))
        }
        false => stored,
    }
}

fn delete(root: &Path, request: &Request, written: &mut Written) -> Response {
    let bucket = request.path.trim_end_matches('/');
    let text = String::from_utf8_lossy(&request.body);
    let mut deleted = String::new();
    for rest in text.split("<Key>").skip(1) {
        let key = rest.split("</Key>").next().unwrap_or_default();
        written.delete(root, &format!("{bucket}/{key}"));
        let _ = write!(deleted, "<Deleted><Key>{key}</Key></Deleted>");
    }
    Response::xml(200, &format!("<DeleteResult>{deleted}</DeleteResult>"))
}

fn begin(request: &Request, written: &mut Written) -> Response {
    written.n_uploads += 1;
    let id = format!("upload-{}", written.n_uploads);
    let attributes = request.attributes();
    let upload = Upload { path: request.path.clone(), attributes, parts: BTreeMap::new() };
    written.uploads.insert(id.clone(), upload);
    let (bucket, key) = request.path.split_once('/').unwrap_or((&request.path, ""));
    Response::xml(
        200,
        &format!(
            "<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key>\
             <UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        ),
    )
}

fn part(request: &Request, id: &str, written: &mut Written) -> Response {
    let number = request.query.get("partNumber").and_then(|number| number.parse().ok());
    match (written.uploads.get_mut(id), number) {
        (Some(upload), Some(number)) => {
            upload.parts.insert(number, request.body.clone());
            Response::empty(200, vec![("ETag", part_tag(&request.body))])
        }
        _ => Response::plain(404, "NoSuchUpload"),
    }
}

/// Returns equal tags for equal bytes, as stores do.
fn part_tag(bytes: &[u8]) -> String {
    format!("\"{:016x}\"", xxh3_64(bytes))
}

/// Makes an object of the parts in the request, in their order; other parts are dropped.
fn complete(root: &Path, request: &Request, id: &str, written: &mut Written) -> Response {
    let Some(upload) = written.uploads.get(id) else {
        return Response::plain(404, "NoSuchUpload");
    };
    let text = String::from_utf8_lossy(&request.body);
    let (mut bytes, mut last, mut is_last) = (Vec::new(), 0, false);
    for part in text.split("<Part>").skip(1) {
        let field = |name: &str| {
            let value = part.split(&format!("<{name}>")).nth(1)?;
            Some(value.split("</").next()?.replace("&quot;", "\""))
        };
        let number = field("PartNumber").and_then(|number| number.parse().ok()).unwrap_or(0);
        let found = upload.parts.get(&number).filter(|found| {
            let wanted = field("ETag").unwrap_or_default();
            part_tag(found).trim_matches('"') == wanted.trim_matches('"')
        });
        let Some(found) = found else { return Response::plain(400, "InvalidPart") };
        if number <= last {
            return Response::plain(400, "InvalidPartOrder");
        }
        // All except the last have S3's minimum size.
        if is_last {
            return Response::plain(400, "EntityTooSmall");
        }
        (last, is_last) = (number, found.len() < 5 << 20);
        bytes.extend_from_slice(found);
    }
    let Some(upload) = written.uploads.remove(id) else {
        return Response::plain(404, "NoSuchUpload");
    };
    let stored = store(root, &request.path, &bytes, upload.attributes, written);
    let (bucket, key) = request.path.split_once('/').unwrap_or((&request.path, ""));
    let tag = tag_of(&root.join(&request.path)).unwrap_or_default();
    match stored.is_ok() {
        true => Response::xml(
            200,
            &format!(
                "<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key>\
                 <ETag>{tag}</ETag></CompleteMultipartUploadResult>"
            ),
        ),
        false => stored,
    }
}

/// Stores the whole object atomically.
fn store(
    root: &Path,
    path: &str,
    bytes: &[u8],
    attributes: Vec<(String, String)>,
    written: &mut Written,
) -> Response {
    let bucket = path.split('/').next().unwrap_or_default();
    if !root.join(bucket).is_dir() {
        return Response::plain(404, "NoSuchBucket");
    }
    let (to, from): (PathBuf, _) = (root.join(path), root.join(".unfinished"));
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(&from, bytes).unwrap();
    fs::rename(&from, &to).unwrap();
    written.attributes.insert(path.to_owned(), attributes);
    *written.stored.entry(path.to_owned()).or_default() += 1;
    Response::empty(200, vec![("ETag", tag_of(&to).unwrap_or_default())])
}

//! The part of HTTP/1.1 that a store needs.
use chrono::{DateTime, Utc};
use fdconvert_storage::os::identity;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, Read as _, Write as _},
    net::TcpStream,
    ops::Range,
    path::Path,
    time::UNIX_EPOCH,
};
use xxhash_rust::xxh3::xxh3_64;

pub(super) struct Request {
    pub(super) method: String,
    /// Decoded, without the initial slash.
    pub(super) path: String,
    /// Decoded.
    pub(super) query: BTreeMap<String, String>,
    /// By lower-case names.
    headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// Prefix of the headers for attributes of an object.
const ATTRIBUTE: &str = "x-amz-meta-";

pub(super) struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; `None` when it has ended.
    pub(super) fn read(reader: &mut impl BufRead) -> Option<Self> {
        let first = line(reader)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        while let Some(line) = line(reader).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        let path = decode(path.trim_start_matches('/'));
        let query = query.collect();
        let len = headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
        let mut body = vec![0; len];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, query, headers, body })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(super) fn attributes(&self) -> Vec<(String, String)> {
        let kept = self.headers.iter().filter(|(name, _)| name.starts_with(ATTRIBUTE));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    (reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
}

/// Returns when a file was written, as a store reports it: to the second.
pub(super) fn modified(file: &fs::Metadata) -> DateTime<Utc> {
    let since = file.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    DateTime::from_timestamp(since.as_secs() as i64, 0).unwrap()
}

pub(super) fn tag_of(path: &Path) -> Option<String> {
    let file = fs::File::open(path).ok()?;
    Some(tag(&file, &file.metadata().ok()?))
}

fn tag(file: &fs::File, metadata: &fs::Metadata) -> String {
    let modified = metadata.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    // The clock of files may stand still for milliseconds, but a new file has another inode.
    let (_, number) = identity(file, metadata).unwrap();
    let stamp = [metadata.len(), modified.as_nanos() as u64, number];
    format!("\"{:016x}\"", xxh3_64(&stamp.map(u64::to_le_bytes).concat()))
}

pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.first_chunk::<2>().filter(|_| first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if first == b'+' { b' ' } else { first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a file, or the requested range of it, with its attributes.
pub(super) fn file(root: &Path, request: &Request, attributes: Vec<(String, String)>) -> Response {
    let path = root.join(&request.path);
    if request.path.split('/').any(|part| part == "..") || !path.is_file() {
        let bucket = request.path.split('/').next().unwrap_or_default();
        let code = if root.join(bucket).is_dir() { "NoSuchKey" } else { "NoSuchBucket" };
        let code =
            if request.header("x-ms-version").is_some() { "ContainerNotFound" } else { code };
        return Response::plain(404, code);
    }
    let Ok(mut file) = fs::File::open(&path) else { return Response::plain(404, "NoSuchKey") };
    let metadata = file.metadata().unwrap();
    // From the open file, because the name may belong to another by now.
    let tag = tag(&file, &metadata);
    if request.headers.get("if-match").is_some_and(|wanted| *wanted != tag) {
        return Response::plain(412, "PreconditionFailed");
    }
    let (len, range) = (metadata.len(), request.headers.get("range"));
    let range = range.and_then(|range| parse_range(range, len));
    let (status, part) = match range {
        Some(part) if part.is_empty() => return Response::plain(416, "InvalidRange"),
        Some(part) => (206, part),
        None => (200, 0..len),
    };
    let mut headers = vec![
        ("ETag".into(), tag),
        ("Accept-Ranges".into(), "bytes".into()),
        (
            "Last-Modified".into(),
            modified(&metadata).format("%a, %d %b %Y %H:%M:%S GMT").to_string(),
        ),
    ];
    headers.extend(attributes);
    if status == 206 {
        let range = format!("bytes {}-{}/{len}", part.start, part.end - 1);
        headers.push(("Content-Range".into(), range));
    }
    let mut body = Vec::new();
    if request.method == "HEAD" {
        headers.push(("Content-Length".into(), (part.end - part.start).to_string()));
    } else {
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(part.start)).unwrap();
        file.take(part.end - part.start).read_to_end(&mut body).unwrap();
        headers.push(("Content-Length".into(), body.len().to_string()));
    }
    Response { status, headers, body }
}

/// Returns the bytes of a `Range` header, empty for those beyond the file.
fn parse_range(header: &str, len: u64) -> Option<Range<u64>> {
    let (start, end) = header.strip_prefix("bytes=")?.split_once('-')?;
    if start.is_empty() {
        return Some(len.saturating_sub(end.parse().ok()?)..len);
    }
    let start: u64 = start.parse().ok()?;
    let end = if end.is_empty() { len } else { end.parse::<u64>().ok()? + 1 };
    Some(if start < len { start..end.min(len) } else { 0..0 })
}

impl Response {
    /// Returns an error in the form of S3.
    pub(super) fn plain(status: u16, code: &str) -> Self {
        Self::xml(status, &format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>"))
    }

    pub(super) fn xml(status: u16, text: &str) -> Self {
        let headers = vec![
            ("Content-Type".into(), "application/xml".into()),
            ("Content-Length".into(), text.len().to_string()),
        ];
        Self { status, headers, body: text.into() }
    }

    /// Returns a response without a body.
    pub(super) fn empty(status: u16, headers: Vec<(&str, String)>) -> Self {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        let length = ("Content-Length".to_owned(), "0".to_owned());
        Self { status, headers: headers.chain([length]).collect(), body: Vec::new() }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.status < 300
    }

    pub(super) fn change_tag(&mut self) {
        for (_, value) in self.headers.iter_mut().filter(|(name, _)| *name == "ETag") {
            *value = "\"another\"".into();
        }
    }

    /// Sends the response, or only this share of its body; returns the number of sent bytes of the
    /// body, or `None` when the connection has ended.
    pub(super) fn send(
        &self,
        request: &Request,
        cut: Option<f64>,
        mut connection: &TcpStream,
    ) -> Option<u64> {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body: &[u8] = if request.method == "HEAD" { &[] } else { &self.body };
        let n_sent = cut.map_or(body.len(), |share| (body.len() as f64 * share) as usize);
        connection.write_all((head + "\r\n").as_bytes()).ok()?;
        connection.write_all(&body[..n_sent]).ok()?;
        (cut.is_none()).then_some(n_sent as u64)
    }
}

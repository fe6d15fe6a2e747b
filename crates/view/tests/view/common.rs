//! A server at a free port, a small client, and datasets to show.
use fdconvert::{
    Encoded, Error, FieldSpec, Image, Kind, Pack, PackOptions, Reader, Result, Sample,
};
use fdconvert::{Look, Schema, Source, SourceFacts, Value};
use fdconvert_testkit::fixtures;
use fdconvert_view::{Opened, Server};
use serde_json::{Map, Value as Json};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A server that ends with the test.
pub(crate) struct Viewer {
    pub(crate) host: String,
    pub(crate) token: String,
    is_over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    /// By lower-case names.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        assert_eq!(self.headers["content-type"], "application/json", "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn kind(&self) -> &str {
        self.headers.get("content-type").map_or("", String::as_str)
    }
}

impl Viewer {
    pub(crate) fn of(path: &Path) -> Self {
        Self::start(opened(path), None)
    }

    pub(crate) fn of_both(first: &Path, second: &Path) -> Self {
        Self::start(opened(first), Some(opened(second)))
    }

    pub(crate) fn of_samples(memory: Memory) -> Self {
        let opened =
            Opened { reader: Arc::new(memory), path: "memory".into(), format: "none".into() };
        Self::start(opened, None)
    }

    fn start(first: Opened, second: Option<Opened>) -> Self {
        let server = Server::bind(first, second, 0).unwrap();
        let address = server.address();
        let rest = address.strip_prefix("http://").unwrap();
        let (host, token) = rest.split_once('/').unwrap();
        let (host, token) = (host.to_owned(), token.trim_end_matches('/').to_owned());
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = is_over.clone();
        let serve = move || server.serve(|| asked.load(Ordering::Relaxed)).unwrap();
        Self { host, token, is_over, serving: Some(thread::spawn(serve)) }
    }

    /// Sends a literal request.
    pub(crate) fn send(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        };
        Reply { status, headers: lines.map(header).collect(), body: bytes[end + 4..].to_vec() }
    }

    /// Sends a request with additional headers, each with its line end.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> Reply {
        let (host, token) = (&self.host, &self.token);
        self.send(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n"
        ))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "")
    }

    #[track_caller]
    pub(crate) fn ok(&self, path: &str) -> Reply {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Json {
        self.ok(path).json()
    }

    /// Returns the cause of a failure.
    #[track_caller]
    pub(crate) fn fails(&self, status: u16, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        reply.json()["error"].as_str().unwrap().to_owned()
    }

    /// Repeats a request until its response is complete.
    #[track_caller]
    pub(crate) fn until(&self, path: &str, is_complete: impl Fn(&Json) -> bool) -> Json {
        let began = Instant::now();
        loop {
            let answer = self.json(path);
            if is_complete(&answer) {
                return answer;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{path}: {answer}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the catalog, and returns the facets for a filter expression.
    #[track_caller]
    pub(crate) fn facets(&self, filter: &str) -> Json {
        let path = format!("api/facets?{}", by(filter));
        self.until(&path, |it| it["scanned"] == it["samples"])["facets"].clone()
    }

    /// Returns the numbers of the samples that an expression keeps.
    #[track_caller]
    pub(crate) fn kept(&self, filter: &str) -> Vec<u64> {
        self.facets("");
        let answer = self.json(&format!("api/samples?count=1000&{}", by(filter)));
        let rows = answer["samples"].as_array().unwrap();
        assert_eq!(answer["total"].as_u64(), Some(rows.len() as u64), "{answer}");
        rows.iter().map(|row| row["sample"].as_u64().unwrap()).collect()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.serving.take().unwrap().join();
        assert!(thread::panicking() || ended.is_ok());
    }
}

fn opened(path: &Path) -> Opened {
    let reader = fdconvert_reader::open(path).unwrap().into();
    Opened { reader, path: path.display().to_string(), format: "tested".into() }
}

/// Twelve images of three classes, 40 to 51 pixels wide: `cat/0.png`, `cat/3.png` and so on.
pub(crate) fn photos(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    for n in 0..12_u32 {
        let class = photos.join(["cat", "dog", "fox"][n as usize % 3]);
        fs::create_dir_all(&class).unwrap();
        let image = fixtures::png(40 + n, 30, u64::from(n) + 1);
        fs::write(class.join(format!("{n}.png")), image.bytes).unwrap();
    }
    photos
}

/// Packs the same images.
pub(crate) fn packed(root: &Path, format: &str) -> PathBuf {
    let (photos, out) = (photos(root), root.join(format!("photos.{format}")));
    let options = PackOptions::default().format(format);
    assert_eq!(Pack::new([&photos], &out).options(options).run().unwrap().samples, 12);
    out
}

/// A dataset in memory with arbitrary samples.
pub(crate) struct Memory {
    pub(crate) facts: SourceFacts,
    pub(crate) samples: Vec<Sample<Encoded>>,
    /// Samples that cannot be read.
    pub(crate) damaged: Vec<u64>,
    /// Duration of each read of a sample.
    pub(crate) slowness: Duration,
}

impl Memory {
    pub(crate) fn new(fields: Vec<(&str, Kind)>, samples: Vec<Sample<Encoded>>) -> Self {
        let fields = fields.into_iter().map(|(name, kind)| FieldSpec::new(name, kind)).collect();
        let (damaged, slowness) = (vec![], Duration::ZERO);
        let schema = Schema::new(fields).unwrap();
        let facts = SourceFacts::new("<b>memory</b>", schema, samples.len() as u64);
        Self { facts, samples, damaged, slowness }
    }
}

pub(crate) fn sample(key: &str, values: Vec<Value<Encoded>>) -> Sample<Encoded> {
    Sample { key: key.into(), values }
}

impl Source for Memory {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.verify_sample(index)?;
        self.get(index).map(Sample::from)
    }

    fn key(&self, index: u64) -> String {
        self.samples[index as usize].key.clone()
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok([0; 16])
    }
}

impl Reader for Memory {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        thread::sleep(self.slowness);
        let sample = self.samples.get(index as usize).cloned();
        sample.ok_or_else(|| Error::usage("sample", "there is none"))
    }

    fn details(&self) -> Map<String, Json> {
        Map::new()
    }

    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        match self.damaged.contains(&index) {
            true => Err(Error::sample(self.key(index), "its checksum is another one")),
            false => Ok(()),
        }
    }

    fn has_checksums(&self) -> bool {
        true
    }
}

/// Decodes width, height, channels and pixels of a PNG.
pub(crate) fn png(bytes: &[u8]) -> (u32, u32, u8, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    data.truncate(info.buffer_size());
    (info.width, info.height, info.color_type.samples() as u8, data)
}

/// Returns the parameter for an expression.
pub(crate) fn by(expression: &str) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("where", expression).finish()
}

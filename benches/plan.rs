//! Planning a folder of a store from a simulated list of its objects: `cargo bench --bench plan`.
//!
//! A server on the loopback interface lists so many objects (ten million; another number as the
//! argument) in a thousand class folders, as S3 does, a thousand with each request. They are
//! planned, shuffled, in shards of 256 MiB by their sizes, the plan is saved and loaded again. Prints
//! Markdown, with the most memory that was the process's own (`RssAnon`: what lies in temporary files
//! can be taken back by the system); a recorded result is in `benches/README.md`. That a plan needs
//! no more than that is seen with `ulimit -d`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use fdconvert::{Context, PackOptions, Planned, plan};
use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const CLASSES: u64 = 1000;
/// The most memory of the process's own so far, in KiB.
static PEAK: AtomicU64 = AtomicU64::new(0);

fn main() {
    let given = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let n_samples: u64 = given.unwrap_or(10_000_000);
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let endpoint = format!("http://{}", server.local_addr().unwrap());
    thread::spawn(move || {
        for connection in server.incoming() {
            thread::spawn(move || serve(&connection.unwrap(), n_samples / CLASSES));
        }
    });
    thread::spawn(|| {
        loop {
            PEAK.fetch_max(status("RssAnon:"), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
        }
    });
    let options =
        [("endpoint", &endpoint[..]), ("region", "us-east-1"), ("skip_signature", "true")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    fdconvert::set_store_options(options).unwrap();
    let folder = tempfile::tempdir_in(".").unwrap();
    let file = folder.path().join("set.fdplan");

    let began = Instant::now();
    let options = PackOptions::default().format("wds").shuffle(true);
    let planned = plan(&["s3://bucket/set".into()], &options, Context::default()).unwrap();
    let planning = began.elapsed().as_secs_f64();
    let n_shards = planned.plan().shards.len();
    let bytes = planned.save(&file, false).unwrap();
    drop(planned);
    let peak = PEAK.swap(0, Ordering::Relaxed);
    let began = Instant::now();
    let loaded = Planned::load(&file, Context::default()).unwrap();
    let loading = began.elapsed().as_secs_f64();
    assert_eq!(loaded.plan().len(), n_samples);
    println!(
        "| samples | shards | planning s | file MB | loading s | planning, MiB | loading, MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {n_samples} | {n_shards} | {planning:.1} | {} | {loading:.1} | {} | {} |",
        bytes / 1_000_000,
        peak / 1024,
        PEAK.load(Ordering::Relaxed) / 1024
    );
}

/// A number of `/proc/self/status`.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Answers requests for lists: of the class folders, and of the images in one.
fn serve(connection: &TcpStream, in_class: u64) {
    connection.set_nodelay(true).unwrap();
    let mut lines = BufReader::new(connection).lines();
    while let Some(Ok(request)) = lines.next() {
        for header in lines.by_ref() {
            if header.is_ok_and(|header| header.is_empty()) {
                break;
            }
        }
        let value = |name: &str| {
            let query = request.split([' ', '?', '&']).find_map(|part| part.strip_prefix(name));
            query.unwrap_or_default().replace("%2F", "/")
        };
        let mut text = String::from("<ListBucketResult>");
        if value("delimiter=").is_empty() {
            list_class(&mut text, &value("prefix="), &value("continuation-token="), in_class);
        } else {
            text.push_str("<IsTruncated>false</IsTruncated>");
            for class in 0..CLASSES {
                let prefix = format!("set/n{class:08}/");
                write!(text, "<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>").unwrap();
            }
        }
        text.push_str("</ListBucketResult>");
        // Of other things, such as a manifest, there are none.
        let (status, text) = if value("list-type=").is_empty() {
            ("404 Not Found", "")
        } else {
            ("200 OK", &text[..])
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", text.len());
        let mut connection = connection;
        if connection.write_all(&[head.as_bytes(), text.as_bytes()].concat()).is_err() {
            return;
        }
    }
}

fn list_class(text: &mut String, prefix: &str, token: &str, in_class: u64) {
    let start: u64 = token.parse().unwrap_or(0);
    let end = in_class.min(start + 1000);
    let class = prefix.trim_end_matches('/').rsplit('/').next().unwrap();
    if end < in_class {
        let next = format!("<NextContinuationToken>{end}</NextContinuationToken>");
        write!(text, "<IsTruncated>true</IsTruncated>{next}").unwrap();
    } else {
        text.push_str("<IsTruncated>false</IsTruncated>");
    }
    for number in start..end {
        let size = 100_000 + number * 7919 % 20_000;
        write!(
            text,
            "<Contents><Key>{prefix}{class}_{number:08}.JPEG</Key>\
             <LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>\"9b2cf535f27731c974343645a3985328\"</ETag><Size>{size}</Size>\
             <StorageClass>STANDARD</StorageClass></Contents>"
        )
        .unwrap();
    }
}

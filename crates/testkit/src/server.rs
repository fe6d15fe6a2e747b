//! A store for tests: a folder served over HTTP on the loopback interface, like a bucket of S3 and
//! like files of a web server, with network failures.
//!
//! It supports `GET` and `HEAD` with ranges, entity tags and `If-Match`; S3's list of objects,
//! version 2; `PUT` with `If-None-Match` and `If-Match`, copies, multipart uploads, `DELETE`, also of
//! many at once. It checks no signature. Of Azure's interface it has only the error for a missing
//! container. `make servers` tests with other servers.
mod faults;
mod http;
mod list;
mod write;

pub use faults::{Fault, Faults};
use http::{Request, Response};
use std::{
    collections::BTreeMap,
    io::BufReader,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use write::Written;

/// A running server, which stops when this is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    faults: Faults,
    stopped: AtomicBool,
    is_silent: AtomicBool,
    requests: AtomicU64,
    bytes: AtomicU64,
    in_flight: AtomicU64,
    most_in_flight: AtomicU64,
    by_path: Mutex<BTreeMap<String, u64>>,
    /// By the last part of the path: requests in flight, and their maximum.
    by_name: Mutex<BTreeMap<String, (u64, u64)>>,
    written: Mutex<Written>,
}

/// Totals of a server's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Number of requests.
    pub requests: u64,
    /// Number of sent bytes of bodies.
    pub bytes: u64,
    /// Largest number of requests answered at the same time.
    pub most_in_flight: u64,
}

impl Server {
    /// Serves the folders in `root` as buckets.
    #[must_use]
    pub fn start(root: &Path) -> Self {
        Self::with_faults(root, Faults::default())
    }

    /// Serves the folders in `root` as buckets, with failures.
    #[must_use]
    pub fn with_faults(root: &Path, faults: Faults) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            faults,
            stopped: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            most_in_flight: AtomicU64::new(0),
            by_path: Mutex::default(),
            by_name: Mutex::default(),
            written: Mutex::default(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for connection in listener.incoming() {
                if serving.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(connection), shared) = (connection, serving.clone()) else { continue };
                thread::spawn(move || shared.serve(&connection));
            }
        });
        Self { address, shared }
    }

    /// Returns `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the environment variables for clients of S3.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, String); 6] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".into()),
            ("AWS_SECRET_ACCESS_KEY", "secret".into()),
            ("AWS_REGION", "us-east-1".into()),
            ("AWS_CONFIG_FILE", "/dev/null".into()),
            ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".into()),
        ]
    }

    /// Returns the environment variables for clients of Azure. The container's path begins with the
    /// account's name.
    #[must_use]
    pub fn azure_variables(&self) -> [(&'static str, String); 2] {
        [("AZURE_STORAGE_USE_EMULATOR", "true".into()), ("AZURITE_BLOB_STORAGE_URL", self.url())]
    }

    /// Returns the totals since the start.
    #[must_use]
    pub fn served(&self) -> Served {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Served {
            requests: of(&self.shared.requests),
            bytes: of(&self.shared.bytes),
            most_in_flight: of(&self.shared.most_in_flight),
        }
    }

    /// Returns the number of requests for each path.
    #[must_use]
    pub fn by_path(&self) -> BTreeMap<String, u64> {
        self.shared.by_path.lock().unwrap().clone()
    }

    /// Returns the largest number of requests answered at the same time for objects of this name,
    /// in any folder.
    #[must_use]
    pub fn most_in_flight_of(&self, name: &str) -> u64 {
        self.shared.by_name.lock().unwrap().get(name).map_or(0, |&(_, most)| most)
    }

    /// Writes an object, like another client.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.shared.written.lock().unwrap().put(&self.shared.root, path, bytes);
    }

    /// Returns the number of writes of each object.
    #[must_use]
    pub fn stored(&self) -> BTreeMap<String, u64> {
        self.shared.written.lock().unwrap().stored()
    }

    /// Returns the paths of the objects with uploads that are neither completed nor aborted.
    #[must_use]
    pub fn open_uploads(&self) -> Vec<String> {
        self.shared.written.lock().unwrap().open()
    }

    /// Leaves all later requests that write without an answer.
    pub fn fall_silent(&self) {
        self.shared.is_silent.store(true, Ordering::Relaxed);
    }

    /// Aborts all uploads, as a lifecycle rule of a bucket does.
    pub fn abort_uploads(&self) {
        self.shared.written.lock().unwrap().abort();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, connection: &TcpStream) {
        let _ = connection.set_nodelay(true);
        let mut reader = BufReader::new(connection);
        while let Some(request) = Request::read(&mut reader) {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            *self.by_path.lock().unwrap().entry(request.path.clone()).or_default() += 1;
            let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
            let name = request.path.rsplit('/').next().unwrap_or_default();
            self.count_name(name, true);
            let sent = self.answer(&request, number, connection);
            self.count_name(name, false);
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            match sent {
                Some(n_bytes) => self.bytes.fetch_add(n_bytes, Ordering::Relaxed),
                // The connection is broken, or must be.
                None => return,
            };
        }
    }

    fn count_name(&self, name: &str, begins: bool) {
        let mut by_name = self.by_name.lock().unwrap();
        let (now, most) = by_name.entry(name.to_owned()).or_default();
        *now = if begins { *now + 1 } else { *now - 1 };
        *most = (*most).max(*now);
    }

    /// Answers a request, and returns the number of sent bytes of the body; `None` when the
    /// connection has ended.
    fn answer(&self, request: &Request, number: u64, connection: &TcpStream) -> Option<u64> {
        thread::sleep(self.faults.latency);
        let fault = self.faults.of(number);
        match fault {
            Some(Fault::Reset) => return None,
            Some(Fault::Stall(time)) => thread::sleep(time),
            Some(Fault::Status(status)) => {
                let code = if status == 403 { "AccessDenied" } else { "SlowDown" };
                return Response::plain(status, code).send(request, None, connection);
            }
            _ => {}
        }
        let reads = matches!(request.method.as_str(), "GET" | "HEAD");
        while !reads && self.is_silent.load(Ordering::Relaxed) {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let mut response = if !reads {
            write::answer(&self.root, request, &self.written)
        } else if request.query.contains_key("list-type") {
            list::list(&self.root, request)
        } else if request.query.contains_key("uploads") {
            write::uploads(request, &self.written)
        } else {
            let attributes = self.written.lock().unwrap().attributes(&request.path);
            http::file(&self.root, request, attributes)
        };
        if let Some(Fault::Lost) = fault {
            return None;
        }
        if let Some(Fault::Tag) = fault {
            response.change_tag();
        }
        let cut = match fault {
            Some(Fault::Cut(share)) => Some(share),
            _ => None,
        };
        response.send(request, cut, connection)
    }
}

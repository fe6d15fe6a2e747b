//! The server: a port of this machine, and the state of all requests.
use crate::{
    answer::Failure,
    batch::LastBatch,
    compare::SideBySide,
    dataset::{Dataset, Opened},
    request::Asked,
    routes::router,
    security::Guard,
    thumbnails::Thumbnails,
};
use fdconvert_core::{Error, Result};
use fdconvert_pipeline::Cancel;
use std::{
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    time::Duration,
};
use tokio::sync::Semaphore;

/// Number of requests processed at once, each by its own thread: a browser sends six, and threads
/// that wait for a store cost little.
const JOBS: usize = 16;

/// Interval between checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// One or two datasets at a port of this machine.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("1.png"), fdconvert_testkit::fixtures::png(64, 48, 1).bytes)?;
/// # let path = folder.path().display().to_string();
/// use fdconvert_view::{Opened, Server};
///
/// let reader = fdconvert_reader::open(&path)?.into();
/// let server = Server::bind(Opened { reader, path, format: "folder".into() }, None, 0)?;
/// assert!(server.address().starts_with("http://127.0.0.1:"));
/// server.serve(|| true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) guard: Guard,
    pub(crate) jobs: Arc<Semaphore>,
    pub(crate) thumbnails: Thumbnails,
    pub(crate) batch: LastBatch,
    pub(crate) ended: Cancel,
    comparison: Option<Arc<SideBySide>>,
    first: Arc<Dataset>,
    second: Option<Arc<Dataset>>,
}

impl Server {
    /// Binds a port, 0 for any free one. The datasets are not read yet.
    ///
    /// # Errors
    /// `Io` when the port is in use.
    pub fn bind(first: Opened, second: Option<Opened>, port: u16) -> Result<Self> {
        let refused = || format!("port {port} of this machine");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(Error::io("listen at", refused()))?;
        let address = listener.local_addr().map_err(Error::io("listen at", refused()))?;
        listener.set_nonblocking(true).map_err(Error::io("listen at", refused()))?;
        let first = Arc::new(Dataset::new(first));
        let second = second.map(|second| Arc::new(Dataset::new(second)));
        let comparison = second.as_ref().map(|second| {
            Arc::new(SideBySide::new(first.reader().clone(), second.reader().clone()))
        });
        let shared = Shared {
            guard: Guard::new(address.port())?,
            jobs: Arc::new(Semaphore::new(JOBS)),
            thumbnails: Thumbnails::default(),
            batch: LastBatch::default(),
            comparison,
            ended: Cancel::default(),
            first,
            second,
        };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    /// Returns the address of the page, including the token that every request needs.
    #[must_use]
    pub fn address(&self) -> String {
        self.shared.guard.address()
    }

    /// Answers until `is_stopped`, called some twenty times per second, returns true. Meanwhile the
    /// datasets are scanned.
    ///
    /// # Errors
    /// `Io` when the system refuses threads or connections.
    pub fn serve(self, is_stopped: impl Fn() -> bool) -> Result<()> {
        let Self { listener, shared } = self;
        let refused = |action| Error::io(action, "the port of the viewer");
        // The calling thread accepts connections; blocking threads answer.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(JOBS)
            .thread_name("view-answer")
            .build()
            .map_err(refused("start threads for"))?;
        for dataset in [Some(&shared.first), shared.second.as_ref()].into_iter().flatten() {
            dataset.scan(&shared.ended);
        }
        let app = router(shared.clone());
        let served: std::io::Result<()> = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let serving = tokio::spawn(async move { axum::serve(listener, app).await });
            while !is_stopped() && !serving.is_finished() {
                tokio::time::sleep(LOOK).await;
            }
            if serving.is_finished() {
                return serving.await.unwrap_or(Ok(()));
            }
            serving.abort();
            Ok(())
        });
        shared.ended.cancel();
        // Threads that wait for a store are abandoned.
        runtime.shutdown_background();
        served.map_err(refused("listen at"))
    }
}

impl Shared {
    pub(crate) fn dataset(&self, asked: &Asked) -> Result<&Arc<Dataset>, Failure> {
        if !asked.is_second()? {
            return Ok(&self.first);
        }
        self.second().ok_or_else(no_second)
    }

    /// The comparison of the two datasets.
    pub(crate) fn comparison(&self) -> Result<&Arc<SideBySide>, Failure> {
        self.comparison.as_ref().ok_or_else(no_second)
    }

    pub(crate) fn second(&self) -> Option<&Arc<Dataset>> {
        self.second.as_ref()
    }
}

fn no_second() -> Failure {
    Failure::missing("there is one dataset and no second one")
}

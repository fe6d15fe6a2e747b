//! The client of each store, and the threads that send its requests.
use crate::store::{
    address::{check_endpoint, check_region},
    answer::Answer,
    error, hugging_face,
    location::{Base, Location, Scheme},
    options, profile,
};
use fdconvert_core::{Error, Result, caught};
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    http::HttpBuilder,
    list::PaginatedListStore,
};
use std::{
    collections::BTreeMap,
    env,
    future::Future,
    process,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::AbortHandle,
};

/// Threads that send requests: they only wait and copy.
const THREADS: usize = 2;

/// Maximum number of concurrent prefetch requests; requests that a thread waits for are not
/// counted.
const AHEAD: usize = 128;

/// The clients of this process. A forked child has the memory of the request threads but not the
/// threads, so it starts without clients.
struct Clients {
    process: u32,
    runtime: Arc<Runtime>,
    ahead: Arc<Semaphore>,
    stores: BTreeMap<Base, Store>,
}

/// One client, as its different interfaces.
#[derive(Clone)]
struct Store {
    store: Arc<dyn ObjectStore>,
    pages: Option<Arc<dyn PaginatedListStore>>,
}

impl Store {
    fn with_pages<S: ObjectStore + PaginatedListStore>(store: S) -> Self {
        let store = Arc::new(store);
        Self { store: store.clone(), pages: Some(store) }
    }

    fn new(store: impl ObjectStore) -> Self {
        Self { store: Arc::new(store), pages: None }
    }
}

static CLIENTS: Mutex<Option<Clients>> = Mutex::new(None);

/// A store, and the threads that send its requests.
#[derive(Clone)]
pub(crate) struct Client {
    runtime: Arc<Runtime>,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The store's interface for lists by pages, if it has one.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// Permits for prefetch requests, shared by all stores.
    pub(crate) ahead: Arc<Semaphore>,
}

impl Client {
    /// Returns the client for a location, created on first use.
    ///
    /// # Errors
    /// `Usage` for options that do not fit; `Io` when the system has no thread left.
    pub(crate) fn of(location: &Location) -> Result<Self> {
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let here = process::id();
        if let Some(foreign) = clients.take_if(|clients| clients.process != here) {
            // Its threads are in the parent: dropping anything here would wait for them.
            std::mem::forget(foreign);
        }
        let clients = match &mut *clients {
            Some(clients) => clients,
            none => {
                let runtime = Arc::new(start()?);
                let ahead = Arc::new(Semaphore::new(AHEAD));
                none.insert(Clients { process: here, runtime, ahead, stores: BTreeMap::new() })
            }
        };
        let (runtime, ahead) = (clients.runtime.clone(), clients.ahead.clone());
        let found = match clients.stores.get(&location.base) {
            Some(found) => found.clone(),
            None => {
                let made = connect(location)?;
                clients.stores.insert(location.base.clone(), made.clone());
                made
            }
        };
        let Store { store, pages } = found;
        Ok(Self { runtime, ahead, store, pages })
    }

    /// Waits for a request, however long it takes. Must not be called on a runtime.
    pub(crate) fn wait<A: Answer>(&self, request: impl Future<Output = A>) -> A {
        caught(|| self.runtime.block_on(request)).unwrap_or_else(|_| A::of_panic())
    }

    /// Starts a request that no thread waits for.
    pub(crate) fn spawn(&self, request: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(request).abort_handle()
    }
}

fn start() -> Result<Runtime> {
    // An error means that the host program has chosen another provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(THREADS).thread_name("store").enable_all();
    builder.build().map_err(Error::io("start", "the threads for stores"))
}

/// Failures may be temporary, and stores ask for pauses: up to ten tries within three minutes.
fn retry() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(50), ..Default::default() };
    RetryConfig { backoff, ..Default::default() }
}

/// Options of requests. A whole request has no time limit, since objects may be large; a stalled
/// one has.
pub(crate) fn client_options(own: &[(String, String)]) -> ClientOptions {
    let mut client = ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_secs(30))
        .with_connect_timeout(Duration::from_secs(10))
        .with_pool_max_idle_per_host(256);
    for (name, value) in own {
        if let Ok(key) = ClientConfigKey::from_str(name) {
            client = client.with_config(key, value);
        }
    }
    client
}

fn connect(location: &Location) -> Result<Store> {
    let own = options::options();
    let refused = |cause| error::of("connect to", location, cause);
    match &location.base {
        Base::Bucket { scheme: Scheme::Gs, name } => {
            let options = [emulator(), own.clone()].concat();
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(name)
                .with_retry(retry())
                .with_client_options(client_options(&options));
            for (key, value) in known::<GoogleConfigKey>(&options) {
                builder = builder.with_config(key, value);
            }
            let url = builder.get_config_value(&GoogleConfigKey::BaseUrl);
            url.map_or(Ok(()), |url| check_endpoint(&url))?;
            Ok(Store::with_pages(builder.build().map_err(refused)?))
        }
        Base::Bucket { scheme: Scheme::Az, name } => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_container_name(name)
                .with_retry(retry())
                .with_client_options(client_options(&own));
            for (key, value) in known::<AzureConfigKey>(&own) {
                builder = builder.with_config(key, value);
            }
            let url = builder.get_config_value(&AzureConfigKey::Endpoint);
            url.map_or(Ok(()), |url| check_endpoint(&url))?;
            Ok(Store::with_pages(builder.build().map_err(refused)?))
        }
        Base::Bucket { name, .. } => {
            let builder = s3(name);
            s3_endpoint(&builder).map_or(Ok(()), |url| check_endpoint(&url))?;
            let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
            region.map_or(Ok(()), |region| check_region(&region))?;
            Ok(Store::with_pages(builder.build().map_err(refused)?))
        }
        Base::Host(url) => {
            let client = client_options(&own).with_allow_http(true);
            let builder = HttpBuilder::new().with_url(url).with_retry(retry());
            Ok(Store::new(builder.with_client_options(client).build().map_err(refused)?))
        }
        Base::Repository { .. } => {
            let client = hugging_face::authorised(client_options(&own)).with_allow_http(true);
            check_endpoint(&hugging_face::endpoint())?;
            let url = hugging_face::files(&location.base);
            let builder = HttpBuilder::new().with_url(url).with_retry(retry());
            Ok(Store::new(builder.with_client_options(client).build().map_err(refused)?))
        }
    }
}

/// Returns the builder of a client for an S3 bucket.
pub(crate) fn s3(bucket: &str) -> AmazonS3Builder {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let environment = env::vars().filter(|(name, _)| name.starts_with("AWS_"));
    let environment = environment.map(|(name, value)| (name.to_ascii_lowercase(), value));
    let mut options = profile::options(variable);
    options.extend(environment);
    options.extend(options::options());
    allow_plain_http(&mut options);
    let builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        // Many compatible services can only delete one object at a time.
        .with_disable_bulk_delete(true)
        .with_retry(retry())
        .with_client_options(client_options(&options));
    known::<AmazonS3ConfigKey>(&options)
        .fold(builder, |builder, (key, value)| builder.with_config(key, value))
}

/// The endpoint for S3 alone takes precedence over that for all services.
pub(crate) fn s3_endpoint(builder: &AmazonS3Builder) -> Option<String> {
    let get = |key| builder.get_config_value(&key);
    get(AmazonS3ConfigKey::S3Endpoint).or_else(|| get(AmazonS3ConfigKey::Endpoint))
}

/// The options that a builder supports.
fn known<K: FromStr>(options: &[(String, String)]) -> impl Iterator<Item = (K, String)> + '_ {
    options.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.clone())))
}

/// Permits plain HTTP if the endpoint starts with `http://`.
fn allow_plain_http(options: &mut Vec<(String, String)>) {
    let is_plain = |(name, value): &(String, String)| {
        use AmazonS3ConfigKey::{Endpoint, S3Endpoint};
        matches!(name.parse(), Ok(Endpoint | S3Endpoint)) && value.starts_with("http://")
    };
    if options.iter().any(is_plain) {
        options.insert(0, ("allow_http".into(), "true".into()));
    }
}

/// The variable that tells Google's own tools the address of an emulator.
fn emulator() -> Vec<(String, String)> {
    let Ok(host) = env::var("STORAGE_EMULATOR_HOST") else { return Vec::new() };
    let url = if host.contains("://") { host } else { format!("http://{host}") };
    let options = [
        ("google_base_url", url.as_str()),
        ("google_skip_signature", "true"),
        ("allow_http", "true"),
    ];
    options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

//! Time limits for requests.
//!
//! The client repeats a failing request for up to three minutes, and a slow one has no limit.
//! Stopping a run does not wait for that: requests that read end at once, and those that write
//! within seconds, so that started uploads can be aborted. Opening gives up after a minute: a server
//! that was silent then is not asked again for the objects that the next format would check.
use crate::store::{
    client::Client,
    error,
    location::{Base, Location},
};
use fdconvert_core::{Error, Result};
use futures_util::future::{Either, select};
use object_store::Error as Cause;
use std::{
    future::Future,
    io,
    pin::pin,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::watch,
    time::{sleep, sleep_until, timeout},
};

/// Time limit for opening an object, including retries.
const OPENING: Duration = Duration::from_secs(60);

/// A server that was silent is not asked again within this time.
const SILENT: Duration = Duration::from_secs(2);

/// Time for all requests that write, counted from the stop.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Number of callers that have stopped requests, and since when one has.
static STOPPED: LazyLock<watch::Sender<Option<(u32, Instant)>>> =
    LazyLock::new(|| watch::Sender::new(None));

/// The last silent server, and the time.
static LAST_SILENT: Mutex<Option<(Base, Instant)>> = Mutex::new(None);

/// While it lives, nothing is read from stores, and after five seconds nothing is written: current
/// and future requests fail with `Cancelled`.
#[derive(Debug)]
#[must_use = "requests continue when this is dropped"]
pub struct RequestsStopped(());

/// Stops the requests of all threads of this process: those that read at once, for callers that join
/// reading threads; those that write after five seconds, so that started uploads can be aborted.
pub fn stop_requests() -> RequestsStopped {
    STOPPED.send_modify(|stop| stop.get_or_insert_with(|| (0, Instant::now())).0 += 1);
    RequestsStopped(())
}

impl Drop for RequestsStopped {
    fn drop(&mut self) {
        STOPPED.send_modify(|stop| {
            *stop = stop.filter(|&(n, _)| n > 1).map(|(n, since)| (n - 1, since));
        });
    }
}

/// The result of a request; `None` if reading is stopped before that.
pub(crate) async fn unless_stopped<T>(request: impl Future<Output = T>) -> Option<T> {
    let mut stopped = STOPPED.subscribe();
    match select(pin!(request), pin!(stopped.wait_for(Option::is_some))).await {
        Either::Left((found, _)) => Some(found),
        Either::Right(_) => None,
    }
}

/// The result of a request that writes; an error for which [`error::is_stopped`] is true if writing
/// is stopped before that.
async fn unless_over<T>(request: impl Future<Output = Result<T, Cause>>) -> Result<T, Cause> {
    let over = async {
        let mut stopped = STOPPED.subscribe();
        while let Ok(Some((_, since))) = stopped.wait_for(Option::is_some).await.map(|stop| *stop) {
            let end = sleep_until((since + LAST_WRITES).into());
            let resumes = stopped.wait_for(Option::is_none);
            if let Either::Right(_) = select(pin!(resumes), pin!(end)).await {
                return;
            }
        }
    };
    match select(pin!(request), pin!(over)).await {
        Either::Left((found, _)) => found,
        Either::Right(_) => Err(error::stopped()),
    }
}

impl Client {
    /// Waits for a request that reads.
    ///
    /// # Errors
    /// Those of the request; `Cancelled` if reading is stopped.
    pub(crate) fn read<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        self.wait(unless_stopped(request)).unwrap_or(Err(Error::Cancelled))
    }

    /// Waits for a request that writes.
    ///
    /// # Errors
    /// Those of the request; one for which [`error::is_stopped`] is true if writing is stopped.
    pub(crate) fn write<T>(
        &self,
        request: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, Cause> {
        self.wait(unless_over(request))
    }

    /// Waits between two requests that write.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub(crate) fn pause(&self, pause: Duration) -> Result<(), Cause> {
        self.write(async {
            sleep(pause).await;
            Ok(())
        })
    }

    /// Waits for the requests that open something.
    ///
    /// # Errors
    /// As for [`read`](Self::read); `Io` if there is no answer in time.
    pub(crate) fn open<T>(
        &self,
        location: &Location,
        request: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let silent = || {
            let what = format!("there was no answer within {} s", OPENING.as_secs());
            let cause = io::Error::new(io::ErrorKind::TimedOut, what);
            Error::io("open", &location.path)(cause)
        };
        if was_silent(&location.base) {
            return Err(silent());
        }
        let answer = self.read(async { timeout(OPENING, request).await.ok().transpose() })?;
        answer.ok_or_else(|| {
            *LAST_SILENT.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((location.base.clone(), Instant::now()));
            silent()
        })
    }
}

fn was_silent(server: &Base) -> bool {
    let last = LAST_SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().is_some_and(|(silent, at)| silent == server && at.elapsed() < SILENT)
}

//! How long a request is waited for.
//!
//! The client repeats a request that fails for up to three minutes, and one that trickles has no end.
//! The one who stops a run does not wait for that, and opening is over after a minute: a server that is
//! silent then is not asked again for what the next format would look at.
use crate::{
    client::Client,
    location::{Base, Location},
};
use fdconvert_core::{Error, Result};
use futures_util::future::{Either, select};
use std::{
    future::Future,
    io,
    pin::pin,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::timeout};

/// Time for opening an object, with all that is tried again.
const OPENING: Duration = Duration::from_secs(60);

/// A server that was silent is not asked again so soon.
const SILENT: Duration = Duration::from_secs(2);

/// How many have stopped reading.
static STOPPED: LazyLock<watch::Sender<u32>> = LazyLock::new(|| watch::Sender::new(0));

/// The server that was silent last, and when.
static LAST_SILENT: Mutex<Option<(Base, Instant)>> = Mutex::new(None);

/// As long as it lives nothing is read from stores: requests that were made end, as those that will
/// be, with `Cancelled`.
#[derive(Debug)]
#[must_use = "reading continues when this is dropped"]
pub struct ReadingStopped(());

/// Stops reading from stores, of all threads of this process: for those who wait for threads that
/// read. Writing continues, since what a run has begun to send is to be given up in order.
pub fn stop_reading() -> ReadingStopped {
    STOPPED.send_modify(|n| *n += 1);
    ReadingStopped(())
}

impl Drop for ReadingStopped {
    fn drop(&mut self) {
        STOPPED.send_modify(|n| *n -= 1);
    }
}

/// The result of a request; `None` where reading was stopped before.
pub(crate) async fn unless_stopped<T>(request: impl Future<Output = T>) -> Option<T> {
    let mut stopped = STOPPED.subscribe();
    match select(pin!(request), pin!(stopped.wait_for(|n| *n > 0))).await {
        Either::Left((found, _)) => Some(found),
        Either::Right(_) => None,
    }
}

impl Client {
    /// Waits for a request that reads.
    ///
    /// # Errors
    /// Those of the request; `Cancelled` where reading is stopped.
    pub(crate) fn read<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        self.wait(unless_stopped(request)).unwrap_or(Err(Error::Cancelled))
    }

    /// Waits for requests by which something is opened.
    ///
    /// # Errors
    /// As for [`read`](Self::read); `Io` where there is no answer in time.
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

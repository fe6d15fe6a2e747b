//! A running server, stopped when this is dropped.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::kinds::Kind;
use crate::failure::{Context, Result, fail};

/// Time limit until a server answers; Python and Node take seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Running {
    child: Child,
    url: String,
    log: PathBuf,
}

impl Running {
    /// Starts it empty, and waits until it accepts connections.
    pub(super) fn start(kind: Kind, folder: &Path) -> Result<Self> {
        let data = folder.join(format!("data-{kind}"));
        if data.exists() {
            fs::remove_dir_all(&data).context(format_args!("cannot remove {}", data.display()))?;
        }
        fs::create_dir_all(&data).context(format_args!("cannot make {}", data.display()))?;
        Self::serving(kind, folder, &data)
    }

    /// Starts it with a folder for its data, and waits until it accepts connections.
    pub(super) fn serving(kind: Kind, folder: &Path, data: &Path) -> Result<Self> {
        let log = folder.join(format!("{kind}.log"));
        let port = free_port()?;
        let file =
            fs::File::create(&log).context(format_args!("cannot write {}", log.display()))?;
        let errors = file.try_clone().context("cannot share the log")?;
        let child = kind
            .command(folder, data, port)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .spawn()
            .context(format_args!("cannot start {kind}"))?;
        let mut running = Self { child, url: format!("http://127.0.0.1:{port}"), log };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = running.child.try_wait().context("cannot tell whether the server runs")?;
            if ended.is_some() || began.elapsed() > PATIENCE {
                return fail(format!("it does not serve, see {}", running.log.display()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(running)
    }

    pub(super) fn url(&self) -> &String {
        &self.url
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen")?;
    Ok(listener.local_addr().context("cannot listen")?.port())
}

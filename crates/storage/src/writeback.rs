//! Syncing of what a large file has already, while the rest is written.
use std::{
    fs::File,
    io,
    thread::{self, JoinHandle},
};

/// Written bytes after which another sync begins.
const WRITEBACK_BYTES: u64 = 32 << 20;

#[derive(Debug, Default)]
pub(crate) struct Writeback {
    /// Written since the last sync began.
    dirty: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

impl Writeback {
    /// Notes that bytes were written, and begins to sync when they are many and no sync is under
    /// way.
    pub(crate) fn wrote(&mut self, file: &File, bytes: u64) -> io::Result<()> {
        self.dirty += bytes;
        let busy = self.running.as_ref().is_some_and(|running| !running.is_finished());
        if self.dirty < WRITEBACK_BYTES || busy {
            return Ok(());
        }
        self.wait()?;
        self.dirty = 0;
        let file = file.try_clone()?;
        let sync = move || file.sync_data();
        // Without a thread the commit has more to do, and that is all.
        self.running = thread::Builder::new().name("writeback".into()).spawn(sync).ok();
        Ok(())
    }

    /// Waits for the sync under way. The system reports a failed write only once, so its error is
    /// the file's.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        match self.running.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(synced)) => synced,
            Some(Err(_)) => Err(io::Error::other("the thread that syncs has died")),
        }
    }
}

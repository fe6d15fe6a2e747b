//! Syncs the bytes of a large file while the rest is written.
use std::{
    fs::File,
    io,
    thread::{self, JoinHandle},
};

/// Bytes written between the starts of two syncs.
const WRITEBACK_BYTES: u64 = 32 << 20;

#[derive(Debug, Default)]
pub(crate) struct Writeback {
    /// Bytes written since the last sync started.
    dirty: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

impl Writeback {
    /// Counts written bytes, and starts a sync when there are many and none is running.
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
        // Without a thread, the commit only has more to do.
        self.running = thread::Builder::new().name("writeback".into()).spawn(sync).ok();
        Ok(())
    }

    /// Waits for the running sync. The system reports a failed write only once, so its error is the
    /// file's.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        match self.running.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(synced)) => synced,
            Some(Err(_)) => Err(io::Error::other("the thread that syncs has died")),
        }
    }
}

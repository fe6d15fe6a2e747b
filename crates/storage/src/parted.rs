//! An object that is sent in parts while it is made, the parts of its first bytes last.
//!
//! Of files that begin with what is known at the end (a header, rows of all samples), only that
//! beginning waits here, in a file without a name; what follows is sent as soon as a part of it is
//! full. No disk has the object as a whole, and a process that is killed loses the parts that its
//! successor was not told of: see [`Parted::sent`] and [`Parted::take_over`].
use crate::{
    fingerprint_hex, left,
    place::{
        away::{self, Begun, Place, Upload},
        is_url,
    },
    rename,
    scratch::{staging, unnamed},
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use std::{
    collections::BTreeMap,
    fs::File,
    io, mem,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// State in the store of an object that another process continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// The store's name of the upload.
    pub upload: String,
    /// The store's name of each part, by its number.
    pub parts: BTreeMap<u32, String>,
    /// Bytes of the object that are either in them or wait here.
    pub len: u64,
}

/// An object of which all but the first bytes is written in order. Dropped uncommitted, what was
/// sent is given up, unless it is [kept](Self::keep).
#[derive(Debug)]
pub struct Parted {
    path: PathBuf,
    mark: String,
    /// Has the bytes in front of `held_end`.
    held: File,
    /// A border between parts.
    held_end: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of the object so far.
    len: u64,
    /// Bytes behind `held_end` that are not sent yet.
    buffer: Vec<u8>,
    upload: Option<away::PartUpload>,
    /// Another process was told how to continue.
    is_kept: bool,
}

impl Parted {
    /// Returns whether an object at that path can be written so.
    ///
    /// # Errors
    /// `Usage` for stores that are read only.
    pub fn is_possible(path: &Path) -> Result<bool> {
        if is_url(path) { away::numbers_parts(path) } else { Ok(false) }
    }

    /// Nothing is sent yet. The object will be marked as one of the run of that fingerprint; its
    /// first `n_held` bytes may be written in any order until it is committed.
    ///
    /// # Errors
    /// `Usage` when stores take no object of which so much waits; `Io` when there is no place for
    /// it.
    pub fn start(path: &Path, fingerprint: [u8; 16], n_held: u64) -> Result<Self> {
        let held_end = match n_held.checked_sub(1).map(Place::at) {
            Some(place) if place.fits() => place.end(),
            Some(_) => return Err(away::too_large(path)),
            None => 0,
        };
        Ok(Self {
            path: path.to_path_buf(),
            mark: fingerprint_hex(fingerprint),
            held: unnamed()?,
            held_end,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The byte behind those that wait here until the commit.
    #[must_use]
    pub fn held_end(&self) -> u64 {
        self.held_end
    }

    /// Asks the store for an upload that another process has begun; the result tells whether it is
    /// still there. What was sent of it is for [`continue_at`](Self::continue_at) to say.
    ///
    /// # Errors
    /// `Io`.
    pub fn take_over(&self, upload: &str) -> Result<bool> {
        let taken = away::PartUpload::take_over(&self.path, &self.mark, upload)?;
        let is_there = taken.is_some();
        self.state().upload = taken;
        Ok(is_there)
    }

    /// Gives up an upload that another process has begun, if it is still there.
    ///
    /// # Errors
    /// `Io`.
    pub fn give_up(&self, upload: &str) -> Result<()> {
        // Dropped, it is aborted.
        drop(away::PartUpload::take_over(&self.path, &self.mark, upload)?);
        Ok(())
    }

    /// Continues behind the bytes that the store and the caller have.
    pub fn continue_at(&self, parts: BTreeMap<u32, String>, len: u64) {
        let mut state = self.state();
        state.len = len;
        if let Some(upload) = &mut state.upload {
            upload.has(parts);
        }
    }

    /// Writes bytes: anywhere in front of [`held_end`](Self::held_end), behind it only after all
    /// that was written. What lies in between is zero.
    ///
    /// # Errors
    /// `Io`.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let n_held = self.held_end.saturating_sub(offset).min(bytes.len() as u64);
        let (held, rest) = bytes.split_at(n_held as usize);
        let mut state = self.state();
        if !held.is_empty() {
            self.held.write_all_at(held, offset).map_err(staging(&self.path))?;
            state.len = state.len.max(offset + n_held);
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.fill(&mut state, offset + n_held)?;
        self.append(&mut state, rest)
    }

    /// Grows it, with zeros.
    ///
    /// # Errors
    /// `Io`, also when it is longer.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.state();
        if len < state.len && state.len > self.held_end {
            return Err(self.out_of_order(len));
        }
        if len > self.held_end {
            return self.fill(&mut state, len);
        }
        state.len = len;
        Ok(())
    }

    /// Appends zeros up to an offset behind what waits here.
    fn fill(&self, state: &mut State, to: u64) -> Result<()> {
        if state.len > to {
            return Err(self.out_of_order(to));
        }
        // Those in front are the file's own.
        state.len = state.len.max(self.held_end.min(to));
        const ZEROS: [u8; 4096] = [0; 4096];
        while state.len < to {
            let n = (to - state.len).min(ZEROS.len() as u64);
            self.append(state, &ZEROS[..n as usize])?;
        }
        Ok(())
    }

    fn out_of_order(&self, offset: u64) -> Error {
        let what = format!("byte {offset} was to be written after it was sent");
        Error::io("write", &self.path)(io::Error::other(what))
    }

    fn append(&self, state: &mut State, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let place = Place::at(state.len);
            if !place.fits() {
                return Err(away::too_large(&self.path));
            }
            let room = (place.end() - state.len).min(bytes.len() as u64);
            let (now, later) = bytes.split_at(room as usize);
            if state.buffer.is_empty() {
                // Grown little by little it would take twice as much.
                state.buffer.reserve_exact((place.end() - state.len) as usize);
            }
            state.buffer.extend_from_slice(now);
            state.len += room;
            bytes = later;
            if state.len == place.end() {
                let part = Bytes::from(mem::take(&mut state.buffer));
                self.send(&mut state.upload, place, part)?;
            }
        }
        Ok(())
    }

    fn send(&self, upload: &mut Option<away::PartUpload>, place: Place, part: Bytes) -> Result<()> {
        let upload = match upload {
            Some(upload) => upload,
            none => none.insert(away::PartUpload::begin(&self.path, &self.mark)?),
        };
        upload.send(place.number, part, place.in_flight)
    }

    /// Returns whether all that was written so far is either sent or waits for the commit.
    #[must_use]
    pub fn is_at_border(&self) -> bool {
        let state = self.state();
        state.buffer.is_empty() && state.len >= self.held_end && state.upload.is_some()
    }

    /// Returns the state that another process needs to continue from here, where it is at a
    /// [border](Self::is_at_border); with what [waits](Self::read_held), it has everything. Waits
    /// until the store has all parts.
    ///
    /// # Errors
    /// `Io`.
    pub fn sent(&self) -> Result<Sent> {
        let mut state = self.state();
        let len = state.len;
        let Some(upload) = &mut state.upload else { return Ok(Sent::default()) };
        let Begun { id, parts } = upload.begun()?;
        Ok(Sent { upload: id.clone(), parts: parts.clone(), len })
    }

    /// Reads what waits from an offset on.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_held(&self, from: u64) -> Result<Vec<u8>> {
        let n_bytes = self.held_end.saturating_sub(from);
        let n_bytes = usize::try_from(n_bytes).map_err(|_| self.out_of_order(from))?;
        let mut bytes = vec![0; n_bytes];
        self.size_held().and_then(|()| {
            let read = self.held.read_exact_at(&mut bytes, from);
            read.map_err(staging(&self.path))
        })?;
        Ok(bytes)
    }

    fn size_held(&self) -> Result<()> {
        let len = self.held.metadata().map_err(staging(&self.path))?.len();
        if len < self.held_end {
            self.held.set_len(self.held_end).map_err(staging(&self.path))?;
        }
        Ok(())
    }

    /// Sends the rest: from now on the object is there, with `replaces` in the place of any that has
    /// the name.
    ///
    /// # Errors
    /// `Usage` when something has the name and is not to be replaced; `Io`.
    pub fn commit(&self, replaces: bool) -> Result<()> {
        let mut state = self.state();
        self.size_held()?;
        let State { len, buffer, upload, is_kept } = &mut *state;
        let committed = match upload {
            None => {
                let mut whole = Upload::start(&self.path, Some(&self.mark))?;
                self.each_held(self.held_end.min(*len), |_, bytes| whole.append(&bytes))?;
                whole.append(buffer)?;
                whole.finish(replaces)?
            }
            Some(upload) => {
                if !buffer.is_empty() {
                    let place = Place::at(*len - 1);
                    upload.send(place.number, mem::take(buffer).into(), place.in_flight)?;
                }
                self.each_held(self.held_end, |place, bytes| {
                    upload.send(place.number, bytes.into(), place.in_flight)
                })?;
                upload.complete(*len, replaces)?
            }
        };
        if !committed {
            return Err(rename::exists(&self.path));
        }
        // Where another process of the run was faster, with an upload of its own.
        *is_kept = false;
        Ok(())
    }

    /// Calls `f` with the first `end` bytes, part by part.
    fn each_held(&self, end: u64, mut f: impl FnMut(Place, Vec<u8>) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while at < end {
            let place = Place::at(at);
            let mut bytes = vec![0; (place.end().min(end) - at) as usize];
            self.held.read_exact_at(&mut bytes, at).map_err(staging(&self.path))?;
            f(place, bytes)?;
            at = place.end();
        }
        Ok(())
    }

    /// From now on what was sent stays when this is dropped uncommitted: a later process can
    /// continue it.
    pub fn keep(&self) {
        self.state().is_kept = true;
    }

    /// Bytes so far.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is no collection")]
    pub fn len(&self) -> u64 {
        self.state().len
    }

    /// The object.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Parted {
    fn drop(&mut self) {
        let State { upload, is_kept, .. } =
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if *is_kept && let Some(upload) = upload.take() {
            upload.leave();
            left::note_sent(&self.path);
        }
    }
}

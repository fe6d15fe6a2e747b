//! The SIGBUS handler, and the code that runs before and after it.
#![allow(unsafe_code)]

use super::{
    FAULTS,
    registry::{Entry, MappedFile},
};
use fdconvert_core::{Error, Result};
use memmap2::Mmap;
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    fs::File,
    io,
    mem::{self, ManuallyDrop},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::Path,
    process, ptr,
    sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::SeqCst, fence},
    thread,
    time::Duration,
};

/// A mapped file with pages that may turn out to be unreadable.
pub(crate) struct Mapping {
    map: ManuallyDrop<Mmap>,
    entry: &'static Entry,
}

impl Mapping {
    pub(crate) fn new(map: Mmap, file: &File, path: &Path) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let start = map.as_ptr() as usize;
        let len = map.len().next_multiple_of(page_bytes());
        let file = MappedFile {
            path: std::path::absolute(path)?.into(),
            device: metadata.dev(),
            inode: metadata.ino(),
            len: map.len() as u64,
        };
        let entry = Entry::register(start, len, file);
        Ok(Self { map: ManuallyDrop::new(map), entry })
    }

    /// Gives its pages back to the system; they are read again when they are used.
    pub(crate) fn release(&self) {
        // SAFETY: the map is one of a file and read-only, so that no contents can be lost: a page
        // that was given back is filled from the file again.
        #[allow(unsafe_code)]
        // A hint, whose failure changes nothing but the memory in use.
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // A map that is about to be mapped again stays: nothing else may get its addresses.
        if self.entry.close() {
            // SAFETY: it is dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.map) };
            self.entry.free();
        }
    }
}

/// Maximum number of maps that one piece of work can be hit in.
const MAX_HIT: usize = 8;

/// Number of works that were hit and have not mapped their files again yet. While it is positive,
/// maps may contain zeros, and no work starts.
static REPAIRING: AtomicUsize = AtomicUsize::new(0);

/// The process that the numbers above belong to.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Maximum time that work waits for another thread that was hit.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_micros(100);

/// The work of a thread.
struct Work {
    is_under_way: Cell<bool>,
    /// The maps it was hit in, which it holds, each with the first address.
    hit: [Cell<Option<(&'static Entry, usize)>>; MAX_HIT],
}

thread_local! {
    // Neither lazily initialised nor dropped, so that the handler may read it.
    static WORK: Work =
        const { Work { is_under_way: Cell::new(false), hit: [const { Cell::new(None) }; MAX_HIT] } };
}

pub(super) fn caught_once<T>(work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
    if !is_on() || WORK.with(|work| work.is_under_way.get()) {
        return Some(work());
    }
    let before = match begin() {
        Ok(before) => before,
        Err(error) => return Some(Err(error)),
    };
    /// Ends the work even if it panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            end();
        }
    }
    WORK.with(|work| work.is_under_way.set(true));
    let on_panic = End;
    let result = work();
    mem::forget(on_panic);
    match end() {
        Some(error) => Some(Err(error)),
        // Loads of the work come before this: the handler counts before it maps zeros.
        None => {
            fence(SeqCst);
            (FAULTS.load(SeqCst) == before).then_some(result)
        }
    }
}

pub(super) fn watched<T>(work: impl FnOnce() -> T) -> (T, bool) {
    // As in `begin`: later zeros are counted before anyone can see them.
    let before = FAULTS.load(SeqCst);
    let was_clean = REPAIRING.load(SeqCst) == 0;
    let result = work();
    fence(SeqCst);
    (result, was_clean && FAULTS.load(SeqCst) == before)
}

/// Waits until no map contains zeros; returns the number of faults so far.
fn begin() -> Result<u64> {
    let process = process::id();
    let known = PROCESS.load(SeqCst);
    if known != process && PROCESS.compare_exchange(known, process, SeqCst, SeqCst).is_ok() {
        // After a fork, the threads that were hit do not exist any more. If there is a map to
        // repair, no work starts before that is done.
        if known != 0 && REPAIRING.load(SeqCst) > 0 {
            Entry::for_each(|entry| {
                if entry.zeroed.swap(0, SeqCst) > 0 {
                    map_again(entry);
                }
            });
            REPAIRING.store(0, SeqCst);
        }
    }
    let mut waited = Duration::ZERO;
    loop {
        let before = FAULTS.load(SeqCst);
        if REPAIRING.load(SeqCst) == 0 {
            return Ok(before);
        }
        if waited > PATIENCE {
            let cause = io::Error::new(
                io::ErrorKind::TimedOut,
                "a page could not be read, and its file cannot be mapped again",
            );
            return Err(Error::io("read", "the mapped files")(cause));
        }
        thread::sleep(NAP);
        waited += NAP;
    }
}

/// Maps the files again that the work of this thread was hit in. Returns the first error.
fn end() -> Option<Error> {
    WORK.with(|work| {
        work.is_under_way.set(false);
        let mut first = None;
        let mut is_repaired = true;
        for hit in &work.hit {
            let Some((entry, address)) = hit.take() else { break };
            let error = unreadable(entry, address);
            first.get_or_insert(error);
            is_repaired &= map_again(entry);
            entry.zeroed.fetch_sub(1, SeqCst);
            entry.release();
        }
        // If zeros stay forever, nothing is read any more.
        if first.is_some() && is_repaired {
            REPAIRING.fetch_sub(1, SeqCst);
        }
        first
    })
}

/// Why a load from a map that the caller holds failed.
fn unreadable(entry: &Entry, address: usize) -> Error {
    let offset = (address - entry.range().0) as u64;
    let Some(file) = entry.file() else {
        return Error::io("read", "a mapped file")(io::Error::from_raw_os_error(libc::EIO));
    };
    let cause = match std::fs::metadata(&file.path) {
        Ok(now) if is_same(&now, &file) && now.len() < file.len => io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!(
                "it was cut from {} to {} bytes while it was mapped, and byte {offset} was wanted; \
                 write files under another name and rename them",
                file.len,
                now.len()
            ),
        ),
        // From the disk or the network, and perhaps temporary.
        _ => io::Error::from_raw_os_error(libc::EIO),
    };
    Error::io("read", &*file.path)(cause)
}

fn is_same(metadata: &std::fs::Metadata, file: &MappedFile) -> bool {
    (metadata.dev(), metadata.ino()) == (file.device, file.inode)
}

/// Replaces zeros by the file, in a map that the caller holds. If the file is gone, uses an empty
/// one, so that every page is unreadable. Returns false if neither can be mapped.
fn map_again(entry: &Entry) -> bool {
    let (start, len) = entry.range();
    let map = |file: &File| {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the range is that of a map which is held and so not unmapped, as whole pages of
        // it; other threads find old or new pages there, never none. They are as readable as those
        // of `map`, with the same duty of the operator.
        let address = unsafe {
            libc::mmap(start as *mut c_void, len, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        address != libc::MAP_FAILED
    };
    let again = entry.file().and_then(|file| {
        let opened = File::open(&file.path).ok()?;
        is_same(&opened.metadata().ok()?, &file).then_some(opened)
    });
    if again.is_some_and(|file| map(&file)) {
        return true;
    }
    // SAFETY: the name is a C string; the result is checked, and has no other owner.
    let nothing = unsafe { libc::memfd_create(c"fdconvert-gone".as_ptr(), libc::MFD_CLOEXEC) };
    if nothing < 0 {
        return false;
    }
    // SAFETY: as above.
    let nothing = unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(nothing) };
    map(&nothing)
}

/// Reads the pages of bytes that may be mapped, all at once; part of work.
///
/// If a file is truncated inside a page, that page is still complete, with zeros at its end, and
/// raises no signal. So the page after the bytes is read as well: it is then missing.
///
/// # Errors
/// `Io` when a page cannot be read.
pub fn populate(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() || !is_on() {
        return Ok(());
    }
    let address = bytes.as_ptr() as usize;
    let Some(entry) = Entry::hold_at(address) else { return Ok(()) };
    let result = populate_map(entry, address, bytes.len());
    entry.release();
    result
}

/// The same for bytes in a map that the caller holds.
fn populate_map(entry: &Entry, address: usize, len: usize) -> Result<()> {
    let page = page_bytes();
    let last = address + len - 1;
    let (map, map_len) = entry.range();
    let start = address / page * page;
    let end = (address + len).next_multiple_of(page);
    let is_at_end = end >= map + map_len;
    let end = if is_at_end { end } else { end + page };
    if is_at_end && entry.file().is_some_and(|file| is_cut(&file)) {
        return Err(unreadable(entry, last));
    }
    // SAFETY: pages of a map that is held and so not unmapped, which are only read.
    let done =
        unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_POPULATE_READ) };
    if done == 0 {
        return Ok(());
    }
    if io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) {
        // The failing page is unknown; assume the last one, which a truncation removes first.
        return Err(unreadable(entry, last));
    }
    // Older systems lack this call.
    for page in (start..end).step_by(page) {
        // SAFETY: as above, within work that is notified when the load fails.
        std::hint::black_box(unsafe { (page as *const u8).read_volatile() });
    }
    Ok(())
}

/// Returns true if the file is shorter than when it was mapped.
fn is_cut(file: &MappedFile) -> bool {
    std::fs::metadata(&file.path).is_ok_and(|now| is_same(&now, file) && now.len() < file.len)
}

/// Returns true if the handler is installed.
fn is_on() -> bool {
    const UNKNOWN: u8 = 0;
    const ON: u8 = 1;
    const OFF: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
    match STATE.load(SeqCst) {
        ON => true,
        OFF => false,
        // Several threads may do this at once, with the same result.
        _ => {
            let is_off = std::env::var_os("FDCONVERT_SIGBUS").is_some_and(|value| value == "off");
            let is_on = !is_off && install();
            STATE.store(if is_on { ON } else { OFF }, SeqCst);
            is_on
        }
    }
}

fn page_bytes() -> usize {
    static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);
    match PAGE_BYTES.load(SeqCst) {
        0 => {
            // SAFETY: queries a number.
            let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let bytes = usize::try_from(bytes).ok().filter(|it| it.is_power_of_two());
            let bytes = bytes.unwrap_or(4096);
            PAGE_BYTES.store(bytes, SeqCst);
            bytes
        }
        bytes => bytes,
    }
}

/// The previous handler, in a box that is never freed; null for none.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs the handler; returns whether that worked.
fn install() -> bool {
    page_bytes();
    let ours = on_sigbus as Handler as usize;
    // SAFETY: zeros are an action without flags and signals; the calls read and write the actions
    // given to them. The handler is a function of the kind that `SA_SIGINFO` requires.
    unsafe {
        let mut previous: libc::sigaction = mem::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous) != 0 {
            return false;
        }
        if previous.sa_sigaction == ours {
            return true;
        }
        // Before the handler is installed: it may be called at once.
        PREVIOUS.store(Box::into_raw(Box::new(previous)), SeqCst);
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = ours;
        // On the thread's signal stack, if it has one: the signal may be a stack overflow of other
        // code.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
    }
}

/// Codes of signals raised by a load, always the interrupted one: beyond the end of a file, and on
/// broken memory. Linux uses no other numbers for them.
const OF_LOADS: [c_int; 2] = [2, 4];

extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a handler of this kind a valid `info` with an address for signals
    // that come from a load; `errno` is the thread's own.
    let is_answered = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let is_answered = OF_LOADS.contains(&(*info).si_code) && answer((*info).si_addr() as usize);
        *errno = before;
        is_answered
    };
    if !is_answered {
        // SAFETY: the arguments are those of the system.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Maps zeros where a load has failed, if that is in a registered map and part of work.
///
/// Everything here is safe in a handler: atomics, one system call, and fields of the thread. The
/// interrupted code is a load from a registered map, once that is known: it holds no lock of the
/// allocator or the linker, should the first access to `WORK` need one.
fn answer(address: usize) -> bool {
    let Some(entry) = Entry::hold_at(address) else { return false };
    WORK.with(|work| {
        let is_there = |hit: &&Cell<Option<(&'static Entry, usize)>>| {
            hit.get().is_none_or(|(hit, _)| ptr::eq(hit, entry))
        };
        let room = work.hit.iter().find(is_there).filter(|_| work.is_under_way.get());
        let Some(room) = room else { return entry.release() };
        if room.get().is_some() {
            // It is already held.
            entry.release();
        } else {
            if work.hit.first().is_some_and(|first| first.get().is_none()) {
                REPAIRING.fetch_add(1, SeqCst);
            }
            entry.zeroed.fetch_add(1, SeqCst);
            room.set(Some((entry, address)));
        }
        // Counted before anyone can see zeros.
        FAULTS.fetch_add(1, SeqCst);
        let (start, len) = entry.range();
        let page = address / page_bytes() * page_bytes();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: whole pages of a map that is held and so not unmapped. Its bytes change under
        // shared references, as they do when the file is truncated: see `map`; work that has read
        // them in this state discards its result. The call is the bare one of the system.
        let zeros = unsafe {
            libc::mmap(page as *mut c_void, start + len - page, libc::PROT_READ, flags, -1, 0)
        };
        zeros != libc::MAP_FAILED
    })
}

/// Does what would have happened without this handler.
///
/// # Safety
/// The arguments are those of a handler that was called.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the pointer is null or that of a leaked box; a handler found there is of the kind
    // that its flags say, and expects such arguments.
    unsafe {
        let previous = PREVIOUS.load(SeqCst).as_ref();
        let is_sent = !OF_LOADS.contains(&(*info).si_code);
        match previous.map(|previous| (previous.sa_sigaction, previous.sa_flags)) {
            Some((libc::SIG_IGN, _)) if is_sent => {}
            None | Some((libc::SIG_DFL | libc::SIG_IGN, _)) => {
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
                // A load fails again as soon as this returns; a signal that was sent has to be sent
                // again.
                if is_sent {
                    libc::raise(signal);
                }
            }
            Some((handler, flags)) if flags & libc::SA_SIGINFO != 0 => {
                mem::transmute::<usize, Handler>(handler)(signal, info, context);
            }
            Some((handler, _)) => {
                mem::transmute::<usize, extern "C" fn(c_int)>(handler)(signal);
            }
        }
    }
}

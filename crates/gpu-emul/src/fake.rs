//! A library in the place of the driver, and what tests may ask of it.
#![allow(unsafe_code, reason = "functions of a library are called by their address")]
use libloading::{Library, Symbol};
use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// One test at a time: the library is one for the whole process, and so is what it counts.
static TURN: Mutex<()> = Mutex::new(());

/// The driver that is none. While a test has it, others wait.
pub struct FakeDriver {
    library: Library,
    _turn: MutexGuard<'static, ()>,
}

/// A read that a stream is asked for.
struct Reading {
    address: u64,
    n_bytes: usize,
    found: Arc<Mutex<Vec<u8>>>,
}

/// # Safety
/// As the library calls it: `reading` is one of [`FakeDriver::read_later`], and its memory is alive.
unsafe extern "C" fn read(reading: *mut Reading) {
    // SAFETY: by the caller's promise; the memory of the GPU is the host's here.
    let (reading, bytes) = unsafe {
        let reading = &*reading;
        let start = std::ptr::with_exposed_provenance::<u8>(reading.address as usize);
        (reading, std::slice::from_raw_parts(start, reading.n_bytes))
    };
    *reading.found.lock().unwrap_or_else(PoisonError::into_inner) = bytes.to_vec();
}

/// # Safety
/// As the library calls it, once.
unsafe extern "C" fn forget(reading: *mut Reading) {
    // SAFETY: it was a box.
    drop(unsafe { Box::from_raw(reading) });
}

/// Counts of what is alive, and of what has happened since the test got its turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Pieces of memory of the GPU.
    pub device_memory: u32,
    /// Pieces of pinned memory.
    pub host_memory: u32,
    /// Streams.
    pub streams: u32,
    /// Events.
    pub events: u32,
    /// Modules.
    pub modules: u32,
    /// Times that the primary context is retained.
    pub contexts: u32,
    /// Times that it is pushed.
    pub pushed: u32,
    /// Calls that may fail.
    pub calls: u32,
    /// Kernels that were launched.
    pub launches: u32,
    /// Copies from or to memory that was gone when they were done.
    pub violations: u32,
}

impl Counters {
    /// Nothing is alive, and nothing was used that was gone.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self { calls: self.calls, launches: self.launches, ..Self::default() }
    }
}

/// A machine to pretend.
#[derive(Debug, Clone, Copy)]
pub struct FakeMachine {
    /// As the driver tells it: 12040 for CUDA 12.4.
    pub version: i32,
    /// The number of GPUs there are.
    pub n_devices: i32,
    /// Their compute capability.
    pub capability: (i32, i32),
    /// The memory of each, and what of the host's may be pinned.
    pub memory_bytes: u64,
}

impl FakeMachine {
    /// One GPU that can do all.
    pub const DEFAULT: Self =
        Self { version: 12_040, n_devices: 1, capability: (9, 0), memory_bytes: 8 << 30 };
}

impl FakeDriver {
    /// Returns where the library is: for [`fdconvert_gpu::Driver::load`].
    #[must_use]
    pub fn path() -> &'static Path {
        Path::new(env!("FDCONVERT_FAKE_CUDA"))
    }

    /// Waits for its turn, and starts with a machine that can do all and never fails.
    ///
    /// # Errors
    /// When the library cannot be loaded.
    pub fn take() -> Result<Self, libloading::Error> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: built from `fake_cuda.cpp`, which does nothing when it is loaded.
        let library = unsafe { Library::new(Self::path()) }?;
        let fake = Self { library, _turn: turn };
        fake.reset();
        Ok(fake)
    }

    /// Counts calls from 0 again, and forgets failures and machines.
    pub fn reset(&self) {
        // SAFETY: the type is that of the function in `fake_cuda.cpp`; so below.
        if let Ok(reset) = unsafe { self.function::<unsafe extern "C" fn()>(b"fake_cuda_reset\0") }
        {
            // SAFETY: no preconditions.
            unsafe { reset() };
        }
    }

    /// Lets a call fail, counted from 1 since the last reset, with an error of the driver's.
    pub fn fail(&self, call: u32, code: i32) {
        type Fail = unsafe extern "C" fn(u32, i32);
        // SAFETY: as above.
        if let Ok(fail) = unsafe { self.function::<Fail>(b"fake_cuda_fail\0") } {
            // SAFETY: no preconditions.
            unsafe { fail(call, code) };
        }
    }

    /// Pretends another machine.
    pub fn pretend(&self, machine: FakeMachine) {
        type Pretend = unsafe extern "C" fn(i32, i32, i32, i32, u64);
        let FakeMachine { version, n_devices, capability: (major, minor), memory_bytes } = machine;
        // SAFETY: as above.
        if let Ok(pretend) = unsafe { self.function::<Pretend>(b"fake_cuda_machine\0") } {
            // SAFETY: no preconditions.
            unsafe { pretend(version, n_devices, major, minor, memory_bytes) };
        }
    }

    /// Returns what it has counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        type Count = unsafe extern "C" fn(*mut Counters);
        let mut counters = Counters::default();
        // SAFETY: as above.
        if let Ok(count) = unsafe { self.function::<Count>(b"fake_cuda_counters\0") } {
            // SAFETY: the structure is the one of `fake_cuda.cpp`, ten numbers of 32 bits.
            unsafe { count(&raw mut counters) };
        }
        counters
    }

    /// Asks a stream to read memory of the GPU, as another library does that was handed a batch:
    /// what it finds there when the stream comes to it. 1 and 2 are the default streams.
    ///
    /// # Errors
    /// When the library is not what it was built to be.
    pub fn read_later(
        &self,
        stream: u64,
        address: u64,
        n_bytes: usize,
    ) -> Result<Arc<Mutex<Vec<u8>>>, libloading::Error> {
        type Callback = unsafe extern "C" fn(*mut Reading);
        type Issue = unsafe extern "C" fn(u64, Callback, Callback, *mut Reading) -> i32;
        let found = Arc::new(Mutex::default());
        let reading = Box::new(Reading { address, n_bytes, found: found.clone() });
        // SAFETY: the type is that of the function in `fake_cuda.cpp`.
        let issue = unsafe { self.function::<Issue>(b"fake_cuda_issue\0") }?;
        // SAFETY: the box is given away, to be handed to `read` at most once and to `forget` once.
        unsafe { issue(stream, read, forget, Box::into_raw(reading)) };
        Ok(found)
    }

    /// Returns where a function of the library is.
    pub(crate) fn address(&self, name: &[u8]) -> Result<usize, libloading::Error> {
        // SAFETY: nothing is called, only the address is taken.
        let symbol = unsafe { self.function::<*const ()>(name) }?;
        Ok(symbol.addr())
    }

    /// # Safety
    /// `T` is the type of the function.
    unsafe fn function<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, libloading::Error> {
        // SAFETY: by the caller's promise.
        unsafe { self.library.get(name) }
    }
}

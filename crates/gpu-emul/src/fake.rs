//! A library that replaces the driver, and its controls for tests.
#![allow(unsafe_code, reason = "functions of a library are called by their address")]
use libloading::{Library, Symbol};
use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Held by one test at a time: the library and its counters exist once per process.
static TURN: Mutex<()> = Mutex::new(());

/// A fake driver. While a test holds it, others wait.
pub struct FakeDriver {
    library: Library,
    _turn: MutexGuard<'static, ()>,
}

/// A read queued in a stream.
struct Reading {
    address: u64,
    n_bytes: usize,
    found: Arc<Mutex<Vec<u8>>>,
}

/// # Safety
/// Called by the library: `reading` is one of [`FakeDriver::read_later`], and its memory is
/// allocated.
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
/// Called by the library, once.
unsafe extern "C" fn forget(reading: *mut Reading) {
    // SAFETY: it was a box.
    drop(unsafe { Box::from_raw(reading) });
}

/// Numbers of live resources, and of events since the test acquired the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Live allocations of the GPU.
    pub device_memory: u32,
    /// Live allocations of pinned memory.
    pub host_memory: u32,
    /// Live streams.
    pub streams: u32,
    /// Live events.
    pub events: u32,
    /// Live modules.
    pub modules: u32,
    /// Number of times that the primary context is retained.
    pub contexts: u32,
    /// Number of times that the context is pushed.
    pub pushed: u32,
    /// Number of calls that may fail.
    pub calls: u32,
    /// Number of launched kernels.
    pub launches: u32,
    /// Number of copies from or to memory that had been freed by their execution.
    pub violations: u32,
}

impl Counters {
    /// Returns true if nothing is alive, and nothing was used after being freed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self { calls: self.calls, launches: self.launches, ..Self::default() }
    }
}

/// Properties of the pretended machine.
#[derive(Debug, Clone, Copy)]
pub struct FakeMachine {
    /// Version as the driver reports it: 12040 for CUDA 12.4.
    pub version: i32,
    /// Number of GPUs.
    pub n_devices: i32,
    /// Compute capability of the GPUs.
    pub capability: (i32, i32),
    /// Memory of each GPU, and limit of pinned memory.
    pub memory_bytes: u64,
}

impl FakeMachine {
    /// One GPU that supports everything.
    pub const DEFAULT: Self =
        Self { version: 12_040, n_devices: 1, capability: (9, 0), memory_bytes: 8 << 30 };
}

impl FakeDriver {
    /// Returns the path of the library, for [`fdconvert_gpu::Driver::load`].
    #[must_use]
    pub fn path() -> &'static Path {
        Path::new(env!("FDCONVERT_FAKE_CUDA"))
    }

    /// Waits until no other test holds the driver, and resets it to a machine that supports
    /// everything and never fails.
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

    /// Restarts the count of calls, and clears failures and machines.
    pub fn reset(&self) {
        // SAFETY: the type is that of the function in `fake_cuda.cpp`; so below.
        if let Ok(reset) = unsafe { self.function::<unsafe extern "C" fn()>(b"fake_cuda_reset\0") }
        {
            // SAFETY: no preconditions.
            unsafe { reset() };
        }
    }

    /// Makes a call fail, counted from 1 since the last reset, with this error of the driver.
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

    /// Returns the counters.
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

    /// Queues a read of the GPU's memory in a stream, like a foreign library that uses a batch. The
    /// result has the content at the time of execution. 1 and 2 are the default streams.
    ///
    /// # Errors
    /// When the library lacks a function.
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

//! A library that replaces nvJPEG, and its controls for tests.
#![allow(unsafe_code, reason = "functions of a library are called by their address")]
use crate::FakeDriver;
use libloading::{Library, Symbol};
use std::path::Path;

/// A fake nvJPEG. It works in the streams and the memory of a [`FakeDriver`].
pub struct FakeNvJpeg<'a> {
    library: Library,
    driver: &'a FakeDriver,
}

/// Makes the pixels of a JPEG, given its bytes, their number, width, height, and the destination of
/// three bytes per pixel. Returns 0 on success.
pub type FakeDecode = unsafe extern "C" fn(*const u8, usize, u32, u32, *mut u8) -> i32;

/// Numbers of live resources, and of events since the last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LibraryCounters {
    /// Live handles of the library.
    pub handles: u32,
    /// Live decoding states.
    pub states: u32,
    /// Live parsers of headers.
    pub headers: u32,
    /// Number of calls that may fail.
    pub calls: u32,
    /// Number of images decoded in batches.
    pub together: u32,
    /// Number of images decoded singly.
    pub alone: u32,
    /// Number of writes to freed memory, uses of busy states, and forbidden images.
    pub violations: u32,
}

impl LibraryCounters {
    /// Returns true if nothing is alive, and nothing was misused.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Self { calls, together, alone, .. } = *self;
        *self == Self { calls, together, alone, ..Self::default() }
    }
}

/// The functions of the fake driver in use.
#[repr(C)]
struct Functions {
    in_context: usize,
    is_device_memory: usize,
    issue: usize,
}

impl<'a> FakeNvJpeg<'a> {
    /// Returns the path of the library, for [`fdconvert_gpu::NvJpeg::load`].
    #[must_use]
    pub fn path() -> &'static Path {
        Path::new(env!("FDCONVERT_FAKE_NVJPEG"))
    }

    /// Loads the library, which supports everything and never fails.
    ///
    /// # Errors
    /// When the library cannot be loaded.
    pub fn new(driver: &'a FakeDriver) -> Result<Self, libloading::Error> {
        // SAFETY: built from `fake_nvjpeg.cpp`, which does nothing when it is loaded.
        let library = unsafe { Library::new(Self::path()) }?;
        let fake = Self { library, driver };
        fake.reset()?;
        Ok(fake)
    }

    /// Restarts the count of calls, and clears failures, engines and the decoder.
    ///
    /// # Errors
    /// When one of the libraries lacks a function.
    pub fn reset(&self) -> Result<(), libloading::Error> {
        let functions = Functions {
            in_context: self.driver.address(b"fake_cuda_in_context\0")?,
            is_device_memory: self.driver.address(b"fake_cuda_is_device_memory\0")?,
            issue: self.driver.address(b"fake_cuda_issue\0")?,
        };
        // SAFETY: the types are those of the functions in `fake_nvjpeg.cpp`; so below.
        unsafe {
            let reset: Symbol<'_, unsafe extern "C" fn(*const Functions)> =
                self.library.get(b"fake_nvjpeg_reset\0")?;
            reset(&raw const functions);
        }
        Ok(())
    }

    /// Makes a call fail, counted from 1 since the last reset, with this error of nvJPEG.
    pub fn fail(&self, call: u32, code: i32) {
        // SAFETY: as above.
        unsafe {
            let fail = self.library.get::<unsafe extern "C" fn(u32, i32)>(b"fake_nvjpeg_fail\0");
            fail.iter().for_each(|fail| fail(call, code));
        }
    }

    /// Sets the available engines, one bit for each number.
    pub fn engines(&self, engines: u32) {
        // SAFETY: as above.
        unsafe {
            let set = self.library.get::<unsafe extern "C" fn(u32)>(b"fake_nvjpeg_engines\0");
            set.iter().for_each(|set| set(engines));
        }
    }

    /// Sets the function that makes pixels, until the next reset.
    pub fn set_decoder(&self, decode: FakeDecode) {
        type Set = unsafe extern "C" fn(FakeDecode);
        // SAFETY: as above.
        unsafe {
            let set = self.library.get::<Set>(b"fake_nvjpeg_set_decoder\0");
            set.iter().for_each(|set| set(decode));
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> LibraryCounters {
        type Count = unsafe extern "C" fn(*mut LibraryCounters);
        let mut counters = LibraryCounters::default();
        // SAFETY: as above; the structure is seven numbers of 32 bits.
        unsafe {
            let count = self.library.get::<Count>(b"fake_nvjpeg_counters\0");
            count.iter().for_each(|count| count(&raw mut counters));
        }
        counters
    }
}

//! nvJPEG at work on one GPU: images in, pixels out, into memory of the caller.
use super::{
    LibraryUse, NvJpeg, check,
    functions::{Destination, RGB_INTERLEAVED, SMOOTH_CHROMA},
};
use crate::{
    Gpu, GpuError,
    driver::{Handle, Stream},
};
use std::ffi::c_int;

const BAD_JPEG: c_int = 3;

/// The handles of nvJPEG, and a private stream.
pub(super) struct Session {
    gpu: Gpu,
    library: NvJpeg,
    stream: Stream,
    handle: Handle,
    /// State for batches, and the batch size it is prepared for; 0 when it must be prepared again.
    batches: Handle,
    n_prepared: usize,
    singles: Handle,
    headers: Handle,
    n_threads: c_int,
}

/// An image to decode.
pub(super) struct Job<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) width: u32,
    pub(super) height: u32,
    /// Address of its pixels, rows of RGB without padding.
    pub(super) address: u64,
}

impl Job<'_> {
    fn destination(&self) -> Destination {
        let mut destination = Destination::default();
        destination.channel[0] = self.address as usize;
        destination.pitch[0] = 3 * self.width as usize;
        destination
    }
}

impl Session {
    pub(super) fn new(gpu: &Gpu, library: &NvJpeg, how: LibraryUse) -> Result<Self, GpuError> {
        let stream = Stream::new(gpu)?;
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        // From here on, dropping it releases the handles.
        let mut session = Self {
            gpu: gpu.clone(),
            library: library.clone(),
            stream,
            handle: 0,
            batches: 0,
            n_prepared: 0,
            singles: 0,
            headers: 0,
            n_threads: n_threads.try_into().unwrap_or(1),
        };
        session.start(how)?;
        Ok(session)
    }

    fn start(&mut self, how: LibraryUse) -> Result<(), GpuError> {
        let functions = &self.library.functions;
        let _entered = self.gpu.enter()?;
        let flags = if how.smooth_chroma { SMOOTH_CHROMA } else { 0 };
        let none = std::ptr::null();
        // SAFETY: without allocators nvJPEG uses the driver's; the pointer is to a live integer.
        let code = unsafe {
            let create = functions.nvjpegCreateEx;
            create(how.engine as c_int, none, none, flags, &raw mut self.handle)
        };
        check("nvjpegCreateEx", code)?;
        for state in [&mut self.batches, &mut self.singles] {
            // SAFETY: the handle lives, and the pointer is to a live integer; so below.
            let code = unsafe { (functions.nvjpegJpegStateCreate)(self.handle, &raw mut *state) };
            check("nvjpegJpegStateCreate", code)?;
        }
        // SAFETY: as above.
        let code =
            unsafe { (functions.nvjpegJpegStreamCreate)(self.handle, &raw mut self.headers) };
        check("nvjpegJpegStreamCreate", code)
    }

    /// Returns the number of hardware decoders and the cores of each.
    pub(super) fn hardware(&self) -> Option<(u32, u32)> {
        let _entered = self.gpu.enter().ok()?;
        let (mut engines, mut cores) = (0, 0);
        let info = self.library.functions.nvjpegGetHardwareDecoderInfo;
        // SAFETY: the handle lives, and the pointers are to live integers.
        let code = unsafe { info(self.handle, &raw mut engines, &raw mut cores) };
        (code == 0).then_some((engines, cores))
    }

    /// Decodes images and waits for them. Returns nvJPEG's status for each image.
    ///
    /// # Errors
    /// When the driver fails.
    ///
    /// # Safety
    /// Each image's address points to memory of the GPU with room for its pixels, which nothing
    /// else uses.
    pub(super) unsafe fn decode(&mut self, jobs: &[Job<'_>]) -> Result<Vec<c_int>, GpuError> {
        let gpu = self.gpu.clone();
        let _entered = gpu.enter()?;
        let mut answers = vec![0; jobs.len()];
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for (number, (job, answer)) in jobs.iter().zip(&mut answers).enumerate() {
            match self.look(job) {
                Ok(true) => together.push((number, job)),
                Ok(false) => alone.push((number, job)),
                Err(code) => *answer = code,
            }
        }
        // SAFETY: by the caller's promise, here and below.
        if !together.is_empty() && unsafe { self.decode_together(&together) }? != 0 {
            // Some image is bad, or the batch too large for nvJPEG: batches of one find out which.
            // Not every engine has another way.
            for entry in together {
                let (number, job) = entry;
                // SAFETY: as above.
                let code = unsafe { self.decode_together(&[entry]) }?;
                // SAFETY: as above.
                if code != 0 && unsafe { self.decode_alone(job) }? != 0 {
                    answer(&mut answers, number, code);
                }
            }
        }
        for (number, job) in alone {
            // SAFETY: as above.
            let code = unsafe { self.decode_alone(job) }?;
            answer(&mut answers, number, code);
        }
        Ok(answers)
    }

    /// Returns true if the image may be decoded in a batch, or nvJPEG's error.
    fn look(&self, job: &Job<'_>) -> Result<bool, c_int> {
        let functions = &self.library.functions;
        let (mut width, mut height, mut is_unsupported) = (0, 0, 1);
        // SAFETY: handles live, the bytes are read during the call, and the pointers are to live
        // integers; so below.
        let code = unsafe {
            let parse = functions.nvjpegJpegStreamParseHeader;
            parse(self.handle, job.bytes.as_ptr(), job.bytes.len(), self.headers)
        };
        (code == 0).then_some(()).ok_or(code)?;
        // SAFETY: as above.
        let code = unsafe {
            let dimensions = functions.nvjpegJpegStreamGetFrameDimensions;
            dimensions(self.headers, &raw mut width, &raw mut height)
        };
        (code == 0).then_some(()).ok_or(code)?;
        // This alone keeps nvJPEG within the memory it was given.
        if (width, height) != (job.width, job.height) {
            return Err(BAD_JPEG);
        }
        // SAFETY: as above.
        let code = unsafe {
            let supported = functions.nvjpegDecodeBatchedSupported;
            supported(self.handle, self.headers, &raw mut is_unsupported)
        };
        // Despite the function's name, 0 means supported.
        Ok(code == 0 && is_unsupported == 0)
    }

    /// Decodes all images together, and returns nvJPEG's one status.
    ///
    /// # Safety
    /// As for [`Session::decode`].
    unsafe fn decode_together(&mut self, jobs: &[(usize, &Job<'_>)]) -> Result<c_int, GpuError> {
        let functions = &self.library.functions;
        if self.n_prepared != jobs.len() {
            self.n_prepared = 0;
            let n_images = jobs.len().try_into().unwrap_or(c_int::MAX);
            // SAFETY: the handles live, and no work is running: the stream was waited for.
            let code = unsafe {
                let prepare = functions.nvjpegDecodeBatchedInitialize;
                prepare(self.handle, self.batches, n_images, self.n_threads, RGB_INTERLEAVED)
            };
            if code != 0 {
                return Ok(code);
            }
            self.n_prepared = jobs.len();
        }
        let starts: Vec<_> = jobs.iter().map(|(_, job)| job.bytes.as_ptr()).collect();
        let lengths: Vec<_> = jobs.iter().map(|(_, job)| job.bytes.len()).collect();
        let mut to: Vec<_> = jobs.iter().map(|(_, job)| job.destination()).collect();
        // SAFETY: the arrays have as many entries as the state is prepared for, and live, like the
        // bytes, until the stream has been waited for; the caller vouches for the destinations.
        let code = unsafe {
            let (starts, lengths, to) = (starts.as_ptr(), lengths.as_ptr(), to.as_mut_ptr());
            let decode = functions.nvjpegDecodeBatched;
            decode(self.handle, self.batches, starts, lengths, to, self.stream.handle())
        };
        if code != 0 {
            // The state is usable again once it has been prepared again.
            self.n_prepared = 0;
        }
        // Part of the work may be running nevertheless.
        self.stream.wait()?;
        Ok(code)
    }

    /// # Safety
    /// As for [`Session::decode`].
    unsafe fn decode_alone(&self, job: &Job<'_>) -> Result<c_int, GpuError> {
        let mut to = job.destination();
        // SAFETY: the bytes and the destination live until the stream has been waited for; the
        // caller vouches for the pixels' memory.
        let code = unsafe {
            let (bytes, n_bytes) = (job.bytes.as_ptr(), job.bytes.len());
            let decode = self.library.functions.nvjpegDecode;
            let (handle, state, stream) = (self.handle, self.singles, self.stream.handle());
            decode(handle, state, bytes, n_bytes, RGB_INTERLEAVED, &raw mut to, stream)
        };
        self.stream.wait()?;
        Ok(code)
    }

    /// Waits until nvJPEG has stopped writing.
    pub(super) fn wait(&self) -> Result<(), GpuError> {
        self.stream.wait()
    }
}

fn answer(answers: &mut [c_int], number: usize, code: c_int) {
    if let Some(answer) = answers.get_mut(number) {
        *answer = code;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // If waiting fails, the context is lost, and no work is left.
        let _ = self.stream.wait();
        let functions = &self.library.functions;
        // SAFETY: created in `start`, each destroyed once, and the handle last.
        self.gpu.give_back(|_| unsafe {
            if self.headers != 0 {
                (functions.nvjpegJpegStreamDestroy)(self.headers);
            }
            for state in [self.batches, self.singles].into_iter().filter(|state| *state != 0) {
                (functions.nvjpegJpegStateDestroy)(state);
            }
            if self.handle != 0 {
                (functions.nvjpegDestroy)(self.handle);
            }
        });
    }
}

#![allow(unsafe_code, reason = "the caller supplies addresses of memory and of streams")]
use crate::{
    Addresses, Batch, Diagnostics, Gpu, GpuError, LibraryUse, Limits, NvJpeg, Output, Plan,
    Request,
    batch::{Keep, Pending, Target},
    driver::{DeviceMemory, Event, PinnedMemory, Stream, StreamMachine},
    nvjpeg::{Library, Rest},
    timing::{Laps, TimedMachine},
};
use std::sync::{Arc, Mutex, PoisonError};

/// Decodes batches of JPEGs on one GPU, in order of submission.
///
/// ```text
///   host          pinned slab          GPU, copy stream      GPU, work stream
///   parse, plan
///   fill -------> files, tables,
///                 entry_points -------> one copy
///   (next batch)                           `- event -------> kernels, chunk by chunk
///                 states <---------------------------------- copy, event
///   wait <--------'
/// ```
///
/// While the kernels of one batch run, the next can be filled and copied. Memory is kept from batch
/// to batch, as much as the largest one so far has taken.
pub struct Decoder {
    gpu: Gpu,
    limits: Limits,
    copies: Stream,
    work: Stream,
    /// Working memory of the kernels. One suffices, because batches follow each other.
    workspace: Option<DeviceMemory>,
    spare: Arc<Spare>,
    diagnostics: Diagnostics,
    library: Option<Library>,
}

/// Memory that no batch is using.
#[derive(Default)]
pub(crate) struct Spare {
    slabs: Mutex<Vec<Slab>>,
    outputs: Mutex<Vec<OutputMemory>>,
    staging: Mutex<Option<PinnedMemory>>,
}

pub(crate) struct OutputMemory {
    pub(crate) memory: DeviceMemory,
    /// Events after all work that still reads the previous batch in it.
    pub(crate) readers: Vec<Event>,
}

/// Buffers for uploading a batch and for the kernels' findings.
pub(crate) struct Slab {
    pub(crate) host: PinnedMemory,
    device: DeviceMemory,
    uploaded: Event,
    pub(crate) done: Event,
}

/// Kept pieces of memory of each kind. More are freed.
const MAX_SPARE: usize = 4;

impl Decoder {
    /// Creates a decoder without memory.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn new(gpu: &Gpu, limits: Limits) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            limits,
            copies: Stream::new(gpu)?,
            work: Stream::new(gpu)?,
            workspace: None,
            spare: Arc::default(),
            diagnostics: Diagnostics::default(),
            library: None,
        })
    }

    /// Sets the extra work that is done from the next batch on.
    pub fn diagnose(&mut self, diagnostics: Diagnostics) {
        self.diagnostics = diagnostics;
    }

    /// Makes nvJPEG decode the images that the kernels refuse, or all, from the next batch on.
    /// Without this, only the kernels decode.
    ///
    /// [`Decoder::submit`] then returns when nvJPEG has done its part, which runs in parallel with
    /// the kernels. It takes additional memory: twice the pixels of [`Limits::chunk_blocks`] (192
    /// bytes for each), or more if one image needs it. The times of [`Decoder::diagnose`] do not
    /// include its part.
    ///
    /// # Errors
    /// [`GpuError::Library`] if nvJPEG does not start, for one on a GPU without the requested
    /// engine, or when the driver fails. The previous decoder then stays in use.
    pub fn use_library(&mut self, library: &NvJpeg, how: LibraryUse) -> Result<(), GpuError> {
        let library = Library::new(&self.gpu, library, how)?;
        self.without_library();
        self.library = Some(library);
        Ok(())
    }

    /// Decodes with the kernels alone again.
    pub fn without_library(&mut self) {
        if let Some(library) = self.library.take() {
            // Running batches use its memory. If waiting fails, they have failed as well.
            let _ = self.work.wait();
            drop(library);
        }
    }

    /// Returns the number of hardware decoders of the GPU and the cores of each, as nvJPEG reports
    /// them; `None` if it is not in use or does not report them.
    #[must_use]
    pub fn hardware_decoders(&self) -> Option<(u32, u32)> {
        self.library.as_ref().and_then(Library::hardware)
    }

    /// Decodes a batch and waits for the result.
    ///
    /// When the driver fails. An image that cannot be decoded is no error: see [`Batch::statuses`].
    /// [`Batch::statuses`].
    pub fn decode(&mut self, requests: &[Request<'_>], output: Output) -> Result<Batch, GpuError> {
        self.submit(requests, output)?.wait()
    }

    /// Starts a batch, into memory of the decoder. Requests are copied and may be dropped; stored
    /// images are kept as long as the batch needs them.
    ///
    /// # Errors
    /// When the driver fails, or [`GpuError::OtherGpu`]; the batch is then discarded, and the next
    /// one may succeed.
    pub fn submit(
        &mut self,
        requests: &[Request<'_>],
        output: Output,
    ) -> Result<Pending, GpuError> {
        let (plan, rest) = self.divide(requests, output);
        let n_bytes = output_bytes(&plan, rest.as_ref());
        let mut memory = self.spare.output(&self.gpu, n_bytes)?;
        for reader in std::mem::take(&mut memory.readers) {
            self.work.wait_for(&reader)?;
        }
        self.start((plan, rest), requests, Target::Own(Keep::new(memory, &self.spare)))
    }

    /// Starts a batch, into memory of the caller, such as a tensor of PyTorch.
    ///
    /// # Errors
    /// [`GpuError::OutputSize`] if `n_bytes` is not the size of the output, or when the driver
    /// fails.
    ///
    /// # Safety
    /// `address` points to `n_bytes` bytes of memory of this GPU, aligned to 16 bytes, which stay
    /// allocated and are used by nothing else until the [`Pending`] has been waited for or dropped.
    /// Earlier work on other streams that uses them must have finished.
    pub unsafe fn submit_into(
        &mut self,
        requests: &[Request<'_>],
        output: Output,
        address: u64,
        n_bytes: u64,
    ) -> Result<Pending, GpuError> {
        let (plan, rest) = self.divide(requests, output);
        let expected = output_bytes(&plan, rest.as_ref());
        if expected != n_bytes {
            return Err(GpuError::OutputSize { expected, found: n_bytes });
        }
        self.start((plan, rest), requests, Target::Foreign(address))
    }

    /// Plans the kernels' part, and nvJPEG's if it is in use.
    fn divide(&self, requests: &[Request<'_>], output: Output) -> (Plan, Option<Rest>) {
        match &self.library {
            None => (Plan::new(requests, output, self.limits), None),
            Some(library) => {
                let (plan, rest) = Rest::divide(requests, output, self.limits, library.share());
                (plan, Some(rest))
            }
        }
    }

    fn start(
        &mut self,
        (plan, mut rest): (Plan, Option<Rest>),
        requests: &[Request<'_>],
        target: Target,
    ) -> Result<Pending, GpuError> {
        plan.check_gpu(&self.gpu)?;
        let host_bytes = plan.upload_bytes() + plan.n_states() as u64 * STATE_BYTES;
        let slab = self.spare.slab(&self.gpu, plan.upload_bytes(), host_bytes)?;
        let mut keep = Keep::new(slab, &self.spare);
        let started = match keep.as_mut() {
            Some(slab) => self.enqueue((&plan, rest.as_mut()), requests, &target, slab),
            None => Ok(None),
        };
        let laps = started.inspect_err(|_| {
            // Some work that uses the slab may be running. If waiting fails as well, the context is
            // lost, and no work with it is left.
            let _ = self.copies.wait();
            let _ = self.work.wait();
            let _ = self.library.as_ref().map(Library::wait);
        })?;
        Ok(Pending::new(self.gpu.clone(), (plan, rest), keep, target, laps))
    }

    fn enqueue(
        &mut self,
        (plan, rest): (&Plan, Option<&mut Rest>),
        requests: &[Request<'_>],
        target: &Target,
        slab: &mut Slab,
    ) -> Result<Option<Laps>, GpuError> {
        let timed = self.diagnostics.timings;
        let mut laps = timed.then(|| Laps::new(&self.gpu)).transpose()?;
        plan.fill(requests, slab.host.bytes_mut(), slab.device.address());
        if let Some(laps) = &laps {
            laps.before_upload(&self.copies)?;
        }
        self.copies.upload(&slab.host, &slab.device, plan.upload_bytes())?;
        if let Some(laps) = &laps {
            laps.after_upload(&self.copies)?;
        }
        slab.uploaded.record(&self.copies)?;
        let workspace = match self.workspace.take_if(|it| it.n_bytes() < plan.workspace_bytes()) {
            None => self.workspace.take(),
            Some(small) => {
                // Earlier batches may still use it.
                self.work.wait()?;
                drop(small);
                None
            }
        };
        let workspace = match workspace {
            Some(workspace) => workspace,
            None => DeviceMemory::new(&self.gpu, plan.workspace_bytes())?,
        };
        let workspace = &*self.workspace.insert(workspace);
        self.work.wait_for(&slab.uploaded)?;
        let at = Addresses {
            upload: slab.device.address(),
            workspace: workspace.address(),
            output: target.address(),
        };
        // SAFETY: slab, workspace and the decoder's own output are kept until the work is done, and
        // have the sizes that the plan requires; `submit_into` requires the same of the caller's
        // output. The kernels do not trust an image's bytes; all else was laid out by the plan. The
        // plan keeps stored images alive, and `check_gpu` has found them in this GPU's memory.
        let mut machine = unsafe { StreamMachine::new(&self.work) };
        if self.diagnostics.garbage {
            machine.fill(at.workspace, plan.workspace_bytes(), GARBAGE)?;
            machine.fill(at.output, output_bytes(plan, rest.as_deref()), GARBAGE)?;
        }
        match &mut laps {
            None => plan.run(at, &mut machine)?,
            Some(laps) => {
                laps.start(&self.work)?;
                let (gpu, stream) = (&self.gpu, &self.work);
                plan.run(at, &mut TimedMachine { machine, gpu, stream, laps })?;
            }
        }
        if let (Some(library), Some(rest)) = (&mut self.library, rest) {
            let decoded = plan.decoded(at);
            // SAFETY: output and workspace are kept until the work is done, and have room for the rest.
            unsafe { library.decode(requests, rest, decoded, self.limits, &self.work) }?;
        }
        // SAFETY: as above.
        let mut machine = unsafe { StreamMachine::new(&self.work) };
        match &mut laps {
            None => plan.finish(at, &mut machine)?,
            Some(laps) => {
                let (gpu, stream) = (&self.gpu, &self.work);
                plan.finish(at, &mut TimedMachine { machine, gpu, stream, laps })?;
            }
        }
        let states_at = plan.upload_bytes() as usize;
        self.work.download(workspace, plan.state_range(), &mut slab.host, states_at)?;
        slab.done.record(&self.work)?;
        Ok(laps)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // The workspace must outlive the work. If waiting fails, the work has failed too.
        let _ = self.copies.wait();
        let _ = self.work.wait();
    }
}

/// Neither black nor white, nor a start value of the kernels' counts.
const GARBAGE: u8 = 0xA5;

fn output_bytes(plan: &Plan, rest: Option<&Rest>) -> u64 {
    plan.output_bytes() + rest.map_or(0, Rest::n_bytes)
}

const STATE_BYTES: u64 = size_of::<crate::layout::StateLayout>() as u64;

impl Spare {
    /// Returns a slab of at least this size, a spare one if possible.
    fn slab(&self, gpu: &Gpu, upload_bytes: u64, host_bytes: u64) -> Result<Slab, GpuError> {
        let fits = |slab: &Slab| {
            slab.device.n_bytes() >= upload_bytes && slab.host.bytes().len() as u64 >= host_bytes
        };
        if let Some(slab) = take(&self.slabs, fits) {
            return Ok(slab);
        }
        // Batches differ a little: an eighth more avoids a new slab for the next one.
        let host_bytes = usize::try_from(host_bytes + host_bytes / 8).unwrap_or(usize::MAX);
        Ok(Slab {
            host: PinnedMemory::new(gpu, host_bytes)?,
            device: DeviceMemory::new(gpu, upload_bytes + upload_bytes / 8)?,
            uploaded: Event::new(gpu)?,
            done: Event::new(gpu)?,
        })
    }

    /// Lends pinned memory of at least this size.
    ///
    /// # Errors
    /// When no such memory is left, or `work` fails.
    pub(crate) fn with_staging<T>(
        &self,
        gpu: &Gpu,
        n_bytes: usize,
        work: impl FnOnce(&mut PinnedMemory) -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        let kept = self.staging.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut staging = match kept.filter(|kept| kept.bytes().len() >= n_bytes) {
            Some(kept) => kept,
            None => PinnedMemory::new(gpu, n_bytes)?,
        };
        let done = work(&mut staging);
        *self.staging.lock().unwrap_or_else(PoisonError::into_inner) = Some(staging);
        done
    }

    fn output(&self, gpu: &Gpu, n_bytes: u64) -> Result<OutputMemory, GpuError> {
        match take(&self.outputs, |output| output.memory.n_bytes() >= n_bytes) {
            Some(output) => Ok(output),
            None => {
                let memory = DeviceMemory::new(gpu, n_bytes)?;
                Ok(OutputMemory { memory, readers: Vec::new() })
            }
        }
    }
}

pub(crate) trait Reusable: Sized {
    /// Keeps it for reuse, or frees it.
    fn give_back(self, spare: &Spare);
}

impl Reusable for Slab {
    fn give_back(self, spare: &Spare) {
        put(&spare.slabs, self);
    }
}

impl Reusable for OutputMemory {
    fn give_back(self, spare: &Spare) {
        put(&spare.outputs, self);
    }
}

/// Takes the first that fits. If none does, drops the oldest, so that small ones do not stay
/// forever.
fn take<T>(spare: &Mutex<Vec<T>>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
    let found = spare.iter().position(fits).map(|at| spare.swap_remove(at));
    if found.is_none() && !spare.is_empty() {
        drop(spare.remove(0));
    }
    found
}

fn put<T>(spare: &Mutex<Vec<T>>, item: T) {
    let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
    if spare.len() < MAX_SPARE {
        spare.push(item);
    }
}

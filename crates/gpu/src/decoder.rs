#![allow(
    unsafe_code,
    reason = "memory whose address the caller gives, and the stream that works on it"
)]
use crate::{
    Addresses, Batch, Diagnostics, Gpu, GpuError, LibraryUse, Limits, NvJpeg, Output, Plan,
    Request,
    batch::{Keep, Pending, Target},
    driver::{DeviceMemory, Event, PinnedMemory, Stream, StreamMachine},
    nvjpeg::{Library, Rest},
    timing::{Laps, TimedMachine},
};
use std::sync::{Arc, Mutex, PoisonError};

/// Decodes batches of JPEGs on one GPU, in the order they come.
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
/// While the kernels of one batch run, the next one can be filled and copied. Memory is kept from
/// batch to batch: as much as the largest so far has taken.
pub struct Decoder {
    gpu: Gpu,
    limits: Limits,
    copies: Stream,
    work: Stream,
    /// Working memory of the kernels: one for all batches, because these follow each other.
    workspace: Option<DeviceMemory>,
    spare: Arc<Spare>,
    diagnostics: Diagnostics,
    library: Option<Library>,
}

/// Memory that no batch uses at the moment.
#[derive(Default)]
pub(crate) struct Spare {
    slabs: Mutex<Vec<Slab>>,
    outputs: Mutex<Vec<OutputMemory>>,
    staging: Mutex<Option<PinnedMemory>>,
}

/// Memory for what comes out.
pub(crate) struct OutputMemory {
    pub(crate) memory: DeviceMemory,
    /// Behind what still reads the batch that it last held.
    pub(crate) readers: Vec<Event>,
}

/// Buffers in which a batch is uploaded, and the kernels' findings about it come back.
pub(crate) struct Slab {
    pub(crate) host: PinnedMemory,
    device: DeviceMemory,
    uploaded: Event,
    pub(crate) done: Event,
}

/// Pieces of memory that are kept for later, of a sort. More are freed.
const MAX_SPARE: usize = 4;

impl Decoder {
    /// A decoder without memory yet.
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

    /// Returns what is done beside decoding, from the next batch on.
    pub fn diagnose(&mut self, diagnostics: Diagnostics) {
        self.diagnostics = diagnostics;
    }

    /// Lets nvJPEG decode what the kernels leave, or all images, from the next batch on. Without
    /// this, the kernels alone decode.
    ///
    /// [`Decoder::submit`] then comes back when nvJPEG is done with its part, which continues beside
    /// the kernels. It takes memory of its own: twice what [`Limits::chunk_blocks`] of pixels take
    /// (192 bytes for each), or more where one image does. The times of [`Decoder::diagnose`] leave
    /// its part out.
    ///
    /// # Errors
    /// [`GpuError::Library`] if nvJPEG does not start, on a GPU without the engine for one, or
    /// when the driver fails. Who decoded before continues to.
    pub fn use_library(&mut self, library: &NvJpeg, how: LibraryUse) -> Result<(), GpuError> {
        let library = Library::new(&self.gpu, library, how)?;
        self.without_library();
        self.library = Some(library);
        Ok(())
    }

    /// Lets the kernels alone decode again.
    pub fn without_library(&mut self) {
        if let Some(library) = self.library.take() {
            // Batches that are on their way use its memory. If waiting fails, so have they.
            let _ = self.work.wait();
            drop(library);
        }
    }

    /// Returns how many decoders the GPU has beside its multiprocessors, and how many cores each,
    /// as nvJPEG tells; `None` where it is not in use, or does not tell.
    #[must_use]
    pub fn hardware_decoders(&self) -> Option<(u32, u32)> {
        self.library.as_ref().and_then(Library::hardware)
    }

    /// Decodes a batch and waits for it.
    ///
    /// # Errors
    /// When the driver fails. Images that cannot be decoded are no error: see
    /// [`Batch::statuses`].
    pub fn decode(&mut self, requests: &[Request<'_>], output: Output) -> Result<Batch, GpuError> {
        self.submit(requests, output)?.wait()
    }

    /// Starts a batch, into memory of the decoder's own. The requests are copied: they may go, and
    /// stored images stay as long as the batch needs them.
    ///
    /// # Errors
    /// When the driver fails, or [`GpuError::OtherGpu`]; nothing of the batch is left then, and the
    /// next one may succeed.
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

    /// Starts a batch, into memory of the caller's: a tensor of PyTorch, for one.
    ///
    /// # Errors
    /// [`GpuError::OutputSize`] if `n_bytes` is not what the output takes, or when the driver
    /// fails.
    ///
    /// # Safety
    /// `address` is that of `n_bytes` bytes of memory of this GPU, aligned to 16 bytes, that live
    /// and that no one else uses until the [`Pending`] has been waited for or dropped. Work on
    /// other streams that still uses them must have been waited for.
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

    /// Returns what the kernels do, and what nvJPEG does where it is in use.
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
            // Some of the work may be on its way, with the slab in its hands. Should waiting fail
            // as well, the context is lost, and no work with it is left.
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
                // Batches before this one may still use it.
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
        // SAFETY: slab, workspace and the decoder's own output are kept until the work is done,
        // and have the sizes that the plan asks for; `submit_into` asks that of foreign output.
        // An image's bytes are not trusted by the kernels, all else the plan has laid out. The
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
        // The workspace must not go before the work is done. If waiting fails, so has the work.
        let _ = self.copies.wait();
        let _ = self.work.wait();
    }
}

/// Neither black nor white, nor what the kernels count from.
const GARBAGE: u8 = 0xA5;

fn output_bytes(plan: &Plan, rest: Option<&Rest>) -> u64 {
    plan.output_bytes() + rest.map_or(0, Rest::n_bytes)
}

const STATE_BYTES: u64 = size_of::<crate::layout::StateLayout>() as u64;

impl Spare {
    /// A slab with room for so much; a spare one if there is one that is large enough.
    fn slab(&self, gpu: &Gpu, upload_bytes: u64, host_bytes: u64) -> Result<Slab, GpuError> {
        let fits = |slab: &Slab| {
            slab.device.n_bytes() >= upload_bytes && slab.host.bytes().len() as u64 >= host_bytes
        };
        if let Some(slab) = take(&self.slabs, fits) {
            return Ok(slab);
        }
        // Batches differ a little: an eighth more keeps the next one from needing a new slab.
        let host_bytes = usize::try_from(host_bytes + host_bytes / 8).unwrap_or(usize::MAX);
        Ok(Slab {
            host: PinnedMemory::new(gpu, host_bytes)?,
            device: DeviceMemory::new(gpu, upload_bytes + upload_bytes / 8)?,
            uploaded: Event::new(gpu)?,
            done: Event::new(gpu)?,
        })
    }

    /// Lends pinned memory of at least that size.
    ///
    /// # Errors
    /// When there is none left, or `work` fails.
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

/// Memory that goes back to be spare.
pub(crate) trait Reusable: Sized {
    /// Keeps it for later, or frees it.
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

/// The first that fits. Without one, the oldest goes, so that small ones do not stay for ever.
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

use crate::{
    Gpu, GpuError, Place, Plan, Status, Timings,
    decoder::{OutputMemory, Reusable, Slab, Spare},
    driver::{Event, PinnedMemory, Stream},
    layout::StateLayout,
    nvjpeg::Rest,
    timing::Laps,
};
use std::sync::Arc;
use zerocopy::FromBytes;

/// A batch in progress. Dropping it waits for the work and discards the output.
pub struct Pending {
    gpu: Gpu,
    /// Declared before the target and the plan's stored images: dropping it waits for the work on
    /// them.
    slab: InFlight,
    plan: Plan,
    rest: Option<Rest>,
    target: Option<Target>,
    laps: Option<Laps>,
}

pub(crate) enum Target {
    Own(Keep<OutputMemory>),
    Foreign(u64),
}

impl Target {
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Own(keep) => keep.item.as_ref().map_or(0, |output| output.memory.address()),
            Self::Foreign(address) => *address,
        }
    }
}

impl Pending {
    pub(crate) fn new(
        gpu: Gpu,
        (plan, rest): (Plan, Option<Rest>),
        slab: Keep<Slab>,
        target: Target,
        laps: Option<Laps>,
    ) -> Self {
        let slab = InFlight { keep: slab, is_done: false };
        Self { gpu, slab, plan, rest, target: Some(target), laps }
    }

    /// Waits until the batch is done.
    ///
    /// # Errors
    /// When the driver fails, or the kernels have.
    pub fn wait(mut self) -> Result<Batch, GpuError> {
        let InFlight { keep, is_done } = &mut self.slab;
        let mut statuses = match &keep.item {
            Some(slab) => {
                slab.done.wait()?;
                *is_done = true;
                let at = self.plan.upload_bytes() as usize;
                let bytes = slab.host.bytes().get(at..).unwrap_or_default();
                let states =
                    <[StateLayout]>::ref_from_prefix_with_elems(bytes, self.plan.n_states());
                self.plan.statuses(states.map_or(&[], |(states, _)| states))
            }
            None => self.plan.statuses(&[]),
        };
        if let Some(rest) = &self.rest {
            rest.report(&mut statuses);
        }
        let timings = self.laps.as_ref().map(Laps::timings).transpose()?;
        let target = self.target.take();
        let (gpu, plan, rest) = (self.gpu.clone(), self.plan.clone(), self.rest.take());
        Ok(Batch { gpu, plan, rest, statuses, target, timings })
    }

    /// Makes a stream of the caller wait for the batch, so that the host need not: work queued in
    /// the stream afterwards finds the output. [`Pending::wait`] tells which images were decoded.
    ///
    /// # Errors
    /// When the driver fails.
    ///
    /// # Safety
    /// `stream` is a stream (`CUstream`) of this GPU's primary context.
    #[allow(unsafe_code, reason = "the handle is the caller's to vouch for")]
    pub unsafe fn hold_back(&self, stream: usize) -> Result<(), GpuError> {
        let slab = self.slab.keep.item.as_ref();
        slab.map_or(Ok(()), |slab| slab.done.hold_back(stream))
    }
}

/// A slab that the GPU may be using: dropping it waits for the work.
struct InFlight {
    keep: Keep<Slab>,
    is_done: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let (Some(slab), false) = (&self.keep.item, self.is_done) {
            // If waiting fails, the context is lost, and no work is left.
            let _ = slab.done.wait();
        }
    }
}

/// A finished batch.
pub struct Batch {
    gpu: Gpu,
    plan: Plan,
    rest: Option<Rest>,
    statuses: Vec<Status>,
    target: Option<Target>,
    timings: Option<Timings>,
}

impl Batch {
    /// Returns the status of each image, in the order of the requests.
    #[must_use]
    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// Returns the address of the output in the GPU's memory. The decoder reuses memory that it
    /// allocated itself once the batch is dropped: work on other streams that reads it must be done
    /// by then.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.target.as_ref().map_or(0, Target::address)
    }

    /// Returns the GPU's times, if [`Decoder::diagnose`](crate::Decoder::diagnose) enabled them.
    #[must_use]
    pub fn timings(&self) -> Option<&Timings> {
        self.timings.as_ref()
    }

    /// Returns the size of the output.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.plan.output_bytes() + self.rest.as_ref().map_or(0, Rest::n_bytes)
    }

    /// Returns the place of an image in the output, or `None` if it has none: in the native output,
    /// only images given to the kernels or nvJPEG have a place, all of the kernels' before all of
    /// nvJPEG's.
    #[must_use]
    pub fn place(&self, request: usize) -> Option<Place> {
        let by_library = || self.rest.as_ref()?.place(request);
        self.plan.place(request).or_else(by_library)
    }

    /// Copies the output to the host, or returns `None` if the caller supplied its memory.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn download(&self) -> Result<Option<Vec<u8>>, GpuError> {
        let Some(Target::Own(Keep { item: Some(OutputMemory { memory, .. }), .. })) = &self.target
        else {
            return Ok(None);
        };
        let n_bytes = self.n_bytes();
        let mut host = PinnedMemory::new(&self.gpu, n_bytes as usize)?;
        let stream = Stream::new(&self.gpu)?;
        let copied = stream.download(memory, 0..n_bytes, &mut host, 0);
        let waited = stream.wait();
        copied.and(waited)?;
        Ok(host.bytes().get(..n_bytes as usize).map(<[u8]>::to_vec))
    }

    /// Writes bytes to places in the output, for images that were decoded elsewhere, and waits for
    /// the copy. Returns `false` if the caller supplied the memory of the output and can write
    /// there.
    ///
    /// # Errors
    /// [`GpuError::OutputSize`] for parts outside the output, or when the driver fails.
    pub fn write(&self, parts: &[(u64, &[u8])]) -> Result<bool, GpuError> {
        let Some(Target::Own(Keep { item: Some(OutputMemory { memory, .. }), spare })) =
            &self.target
        else {
            return Ok(false);
        };
        let expected = self.n_bytes();
        for (at, bytes) in parts {
            let found = at.saturating_add(bytes.len() as u64);
            if found > expected {
                return Err(GpuError::OutputSize { expected, found });
            }
        }
        let n_bytes = parts.iter().map(|(_, bytes)| bytes.len()).sum();
        let stream = Stream::new(&self.gpu)?;
        spare.with_staging(&self.gpu, n_bytes, |staging| {
            let mut rest = staging.bytes_mut();
            for (_, bytes) in parts {
                let (to, behind) = rest.split_at_mut(bytes.len().min(rest.len()));
                to.copy_from_slice(bytes);
                rest = behind;
            }
            let mut start = 0;
            let copied = parts.iter().try_for_each(|(at, bytes)| {
                let range = start..start + bytes.len() as u64;
                start = range.end;
                stream.upload_part(staging, range, memory, *at)
            });
            let waited = stream.wait();
            copied.and(waited).map(|()| true)
        })
    }

    /// Declares that work queued in `stream` so far still reads the output, so that memory of the
    /// decoder is not overwritten before it is done. Call it before dropping the batch, once for
    /// each stream; 1 and 2 are the driver's default streams.
    ///
    /// # Errors
    /// When the driver fails; the output must not be read any more then.
    ///
    /// # Safety
    /// `stream` is a stream (`CUstream`) of this GPU's primary context.
    #[allow(unsafe_code, reason = "the handle is the caller's to vouch for")]
    pub unsafe fn used_on(&mut self, stream: usize) -> Result<(), GpuError> {
        let event = Event::new(&self.gpu)?;
        event.record_on(stream)?;
        if let Some(Target::Own(Keep { item: Some(output), .. })) = &mut self.target {
            output.readers.push(event);
        }
        Ok(())
    }
}

/// Memory that can be reused once this is dropped.
pub(crate) struct Keep<T: Reusable> {
    item: Option<T>,
    spare: Arc<Spare>,
}

impl<T: Reusable> Keep<T> {
    pub(crate) fn new(item: T, spare: &Arc<Spare>) -> Self {
        Self { item: Some(item), spare: spare.clone() }
    }

    pub(crate) fn as_mut(&mut self) -> Option<&mut T> {
        self.item.as_mut()
    }
}

impl<T: Reusable> Drop for Keep<T> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            item.give_back(&self.spare);
        }
    }
}

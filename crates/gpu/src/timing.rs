//! Times of the steps of a batch, measured by the GPU.
use crate::{
    Gpu, GpuError, Kernel, Machine,
    driver::{Event, Stream, StreamMachine},
    layout::{BatchLayout, FractalsLayout},
};

/// Extra work of a decoder for measuring and checking. None by default;
/// [`Decoder::diagnose`](crate::Decoder::diagnose) enables it at a cost in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// True to measure every kernel: [`Batch::timings`](crate::Batch::timings).
    pub timings: bool,
    /// True to fill output and workspace with garbage before the kernels run, so that an unwritten
    /// pixel shows.
    pub garbage: bool,
}

/// The GPU's times for a batch, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Timings {
    /// The copy to the GPU.
    pub upload_ms: f32,
    /// Clearing memory before kernels ran.
    pub clear_ms: f32,
    /// Drawing fractals.
    pub draw_ms: f32,
    /// Times of [`Kernel::ALL`], summed over all chunks.
    pub kernels_ms: [f32; Kernel::ALL.len()],
}

impl Timings {
    /// Returns the total without the upload, which overlaps the previous batch.
    #[must_use]
    pub fn work_ms(&self) -> f32 {
        self.clear_ms + self.draw_ms + self.kernels_ms.iter().sum::<f32>()
    }
}

/// Events after each measured step of the streams.
pub(crate) struct Laps {
    upload: [Event; 2],
    start: Event,
    /// The finished steps, each with the event after it.
    laps: Vec<(Lap, Event)>,
}

#[derive(Debug, Clone, Copy)]
enum Lap {
    Clear,
    Draw,
    Kernel(Kernel),
}

impl Laps {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let event = || Event::timed(gpu);
        Ok(Self { upload: [event()?, event()?], start: event()?, laps: Vec::new() })
    }

    pub(crate) fn before_upload(&self, copies: &Stream) -> Result<(), GpuError> {
        self.upload[0].record(copies)
    }

    pub(crate) fn after_upload(&self, copies: &Stream) -> Result<(), GpuError> {
        self.upload[1].record(copies)
    }

    pub(crate) fn start(&self, work: &Stream) -> Result<(), GpuError> {
        self.start.record(work)
    }

    /// Returns the times between the events, all of which must have been reached.
    pub(crate) fn timings(&self) -> Result<Timings, GpuError> {
        let upload_ms = self.upload[1].since(&self.upload[0])?;
        let mut timings = Timings { upload_ms, ..Timings::default() };
        let mut before = &self.start;
        for (lap, event) in &self.laps {
            let sum = match *lap {
                Lap::Clear => Some(&mut timings.clear_ms),
                Lap::Draw => Some(&mut timings.draw_ms),
                Lap::Kernel(kernel) => {
                    let all = Kernel::ALL.iter().zip(&mut timings.kernels_ms);
                    all.into_iter().find(|(other, _)| **other == kernel).map(|(_, sum)| sum)
                }
            };
            let took = event.since(before)?;
            if let Some(sum) = sum {
                *sum += took;
            }
            before = event;
        }
        Ok(timings)
    }
}

/// Records an event after each step of a stream.
pub(crate) struct TimedMachine<'a> {
    pub(crate) machine: StreamMachine<'a>,
    pub(crate) gpu: &'a Gpu,
    pub(crate) stream: &'a Stream,
    pub(crate) laps: &'a mut Laps,
}

impl TimedMachine<'_> {
    fn mark(&mut self, lap: Lap) -> Result<(), GpuError> {
        let event = Event::timed(self.gpu)?;
        event.record(self.stream)?;
        self.laps.laps.push((lap, event));
        Ok(())
    }
}

impl Machine for TimedMachine<'_> {
    type Error = GpuError;

    fn clear(&mut self, address: u64, n_bytes: u64) -> Result<(), GpuError> {
        self.machine.clear(address, n_bytes)?;
        self.mark(Lap::Clear)
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        batch: &BatchLayout,
        n_items: u32,
        n_images: u32,
    ) -> Result<(), GpuError> {
        self.machine.launch(kernel, batch, n_items, n_images)?;
        self.mark(Lap::Kernel(kernel))
    }

    fn draw(&mut self, fractals: &FractalsLayout, n_images: u32) -> Result<(), GpuError> {
        self.machine.draw(fractals, n_images)?;
        self.mark(Lap::Draw)
    }
}

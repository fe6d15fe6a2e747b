//! From nvJPEG's pixels to the output of a batch.
use super::{
    LibraryShare, LibraryUse, NvJpeg,
    rest::{Rest, RestImage},
    session::{Job, Session},
};
use crate::{
    Gpu, GpuError, Kernel, Limits, Machine, Output, Request, Tensor,
    driver::{DeviceMemory, Event, PinnedMemory, Rows, Stream, StreamMachine},
    layout::{BatchLayout, ImageLayout, StateLayout},
};
use zerocopy::IntoBytes;

/// Alignment in a room, as that of the driver's allocations.
const ALIGNMENT: u64 = 256;
/// Images per launch: the driver counts them in a dimension of at most 65535.
const MAX_CHUNK_IMAGES: usize = 1 << 15;

/// nvJPEG as part of a decoder.
pub(crate) struct Library {
    gpu: Gpu,
    session: Session,
    share: LibraryShare,
    /// nvJPEG writes into one while the kernels read the other.
    rooms: [Room; 2],
}

/// Memory for a chunk of images: the kernels' arguments, nvJPEG's pixels, and the kernels' working
/// memory.
struct Room {
    memory: Option<DeviceMemory>,
    host: Option<PinnedMemory>,
    /// Recorded after the last work that uses the room.
    free: Event,
    is_used: bool,
}

/// Addresses of the parts of an image in a room.
#[derive(Debug, Clone, Copy)]
struct Parts {
    pixels: u64,
    /// The columns that the crop touches, unless it touches all.
    window: Option<u64>,
    /// Rows at the width of the output.
    across: u64,
}

impl Library {
    pub(crate) fn new(gpu: &Gpu, library: &NvJpeg, how: LibraryUse) -> Result<Self, GpuError> {
        let session = Session::new(gpu, library, how)?;
        let rooms = [Room::new(gpu)?, Room::new(gpu)?];
        Ok(Self { gpu: gpu.clone(), session, share: how.share, rooms })
    }

    pub(crate) fn share(&self) -> LibraryShare {
        self.share
    }

    pub(crate) fn hardware(&self) -> Option<(u32, u32)> {
        self.session.hardware()
    }

    /// Waits until nvJPEG has stopped writing.
    pub(crate) fn wait(&self) -> Result<(), GpuError> {
        self.session.wait()
    }

    /// Decodes the rest of a batch. Returns when nvJPEG is done; the kernels that make the output
    /// are then queued in `work`.
    ///
    /// # Errors
    /// When the driver fails. Images that nvJPEG cannot decode are recorded in the rest.
    ///
    /// # Safety
    /// `to` is the address of the output that the rest was laid out for, which lives until `work`
    /// has finished the work queued here.
    pub(crate) unsafe fn decode(
        &mut self,
        requests: &[Request<'_>],
        rest: &mut Rest,
        (output, to): (Output, u64),
        limits: Limits,
        work: &Stream,
    ) -> Result<(), GpuError> {
        // As many samples as the kernels have in flight, three bytes each.
        let room_bytes = u64::from(limits.chunk_blocks) * 64 * 3;
        let mut images = rest.images.as_mut_slice();
        while !images.is_empty() {
            let (chunk, others) = images.split_at_mut(chunk_len(images, &output, room_bytes));
            images = others;
            self.rooms.rotate_left(1);
            let [room, _] = &mut self.rooms;
            let mut end = head_bytes(chunk.len(), &output);
            let parts: Vec<_> = chunk.iter().map(|image| parts(image, &output, &mut end)).collect();
            let start = room.prepare(&self.gpu, end, head_bytes(chunk.len(), &output))?;
            let jobs = chunk.iter().zip(&parts).map(|(image, parts)| Job {
                bytes: requests
                    .get(image.request)
                    .and_then(|it| it.image.bytes())
                    .unwrap_or_default(),
                width: image.frame.width,
                height: image.frame.height,
                address: start + parts.pixels,
            });
            let jobs: Vec<_> = jobs.collect();
            // SAFETY: each image has a part of the room to itself, and the room is free.
            let answers = unsafe { self.session.decode(&jobs) }?;
            for (image, answer) in chunk.iter_mut().zip(answers) {
                image.answer = answer;
            }
            // SAFETY: the room is not reused before `free` is reached, nor freed: it is dropped
            // with the decoder, which waits. The caller vouches for the output.
            let mut machine = unsafe { StreamMachine::new(work) };
            room.is_used = true;
            match output.tensor() {
                None => copy(chunk, &parts, (start, to), &mut machine)?,
                Some(tensor) => {
                    room.resize(chunk, &parts, (*tensor, to), work, &mut machine)?;
                }
            }
            room.free.record(work)?;
        }
        Ok(())
    }
}

/// Copies whole images to a native output, and clears the places of undecoded ones.
fn copy(
    images: &[RestImage],
    parts: &[Parts],
    (start, to): (u64, u64),
    machine: &mut StreamMachine<'_>,
) -> Result<(), GpuError> {
    for (image, parts) in images.iter().zip(parts) {
        let (pitch, to) = (image.pitch(), to + image.output_at);
        if image.answer == 0 {
            let from = Rows { address: start + parts.pixels, pitch };
            machine.copy(from, Rows { address: to, pitch }, pitch, image.frame.height.into())?;
        } else {
            machine.clear(to, image.n_bytes())?;
        }
    }
    Ok(())
}

impl Room {
    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self { memory: None, host: None, free: Event::new(gpu)?, is_used: false })
    }

    /// Waits until the room is free, and enlarges it if necessary. Returns its address.
    fn prepare(&mut self, gpu: &Gpu, n_bytes: u64, host_bytes: u64) -> Result<u64, GpuError> {
        if self.is_used {
            self.free.wait()?;
            self.is_used = false;
        }
        let host_bytes = usize::try_from(host_bytes).unwrap_or(usize::MAX);
        drop(self.memory.take_if(|memory| memory.n_bytes() < n_bytes));
        drop(self.host.take_if(|host| host.bytes().len() < host_bytes));
        if self.host.is_none() {
            self.host = Some(PinnedMemory::new(gpu, host_bytes + host_bytes / 8)?);
        }
        let memory = match self.memory.take() {
            Some(memory) => memory,
            None => DeviceMemory::new(gpu, n_bytes + n_bytes / 8)?,
        };
        Ok(self.memory.insert(memory).address())
    }

    /// Crops, resizes and normalises nvJPEG's images. Other places are not written.
    fn resize(
        &mut self,
        images: &[RestImage],
        parts: &[Parts],
        (tensor, to): (Tensor, u64),
        work: &Stream,
        machine: &mut StreamMachine<'_>,
    ) -> Result<(), GpuError> {
        let (Some(memory), Some(host)) = (&self.memory, &mut self.host) else { return Ok(()) };
        let start = memory.address();
        let mut layouts = Vec::with_capacity(images.len());
        let mut max_rows = 0;
        for (image, parts) in images.iter().zip(parts).filter(|(image, _)| image.answer == 0) {
            let crop = image.crop;
            let first_row = parts.pixels + u64::from(crop.first_y) * image.pitch();
            let rows = crop.end_y - crop.first_y;
            max_rows = max_rows.max(rows);
            if let Some(window) = parts.window {
                let row_bytes = 3 * u64::from(crop.end_x - crop.first_x);
                let address = start + first_row + 3 * u64::from(crop.first_x);
                let from = Rows { address, pitch: image.pitch() };
                let to = Rows { address: start + window, pitch: row_bytes };
                machine.copy(from, to, row_bytes, rows.into())?;
            }
            layouts.push(ImageLayout {
                width: image.frame.width,
                height: image.frame.height,
                n_components: 3,
                pixels_at: parts.window.unwrap_or(first_row),
                across_at: parts.across / 2,
                output_at: image.output_at / tensor.sample_type.n_bytes(),
                crop,
                ..ImageLayout::default()
            });
        }
        if layouts.is_empty() {
            return Ok(());
        }
        let states = vec![StateLayout::default(); layouts.len()];
        let bytes = layouts.as_bytes().iter().chain(states.as_bytes());
        for (to, byte) in host.bytes_mut().iter_mut().zip(bytes) {
            *to = *byte;
        }
        let head = head_bytes(layouts.len(), &Output::Tensor(tensor));
        work.upload(host, memory, head)?;
        let mut batch = BatchLayout {
            images: start,
            states: start + size_of_val(layouts.as_slice()) as u64,
            pixels: start,
            across: start,
            output: to,
            ..BatchLayout::default()
        };
        tensor.describe(&mut batch);
        let (width, height) = (u64::from(tensor.width), u64::from(tensor.height));
        let n_images = layouts.len() as u32;
        for (kernel, n) in
            [(Kernel::Across, width * u64::from(max_rows)), (Kernel::Down, width * height)]
        {
            let n_items = n.div_ceil(kernel.n_threads().into());
            machine.launch(kernel, &batch, n_items.try_into().unwrap_or(u32::MAX), n_images)?;
        }
        Ok(())
    }
}

/// Returns the number of images that fit into a room, at least one.
fn chunk_len(images: &[RestImage], output: &Output, room_bytes: u64) -> usize {
    let mut end = 0;
    let fits = |image: &&RestImage| {
        parts(image, output, &mut end);
        end <= room_bytes
    };
    let n_images = images.iter().take(MAX_CHUNK_IMAGES).take_while(fits).count();
    n_images.clamp(1, images.len().max(1))
}

/// Returns the size of the kernels' arguments for this many images.
fn head_bytes(n_images: usize, output: &Output) -> u64 {
    match output.tensor() {
        None => 0,
        Some(_) => (n_images * (size_of::<ImageLayout>() + size_of::<StateLayout>())) as u64,
    }
}

/// Lays out the parts of an image after `end`, which advances.
fn parts(image: &RestImage, output: &Output, end: &mut u64) -> Parts {
    let mut next = |n_bytes: u64| {
        let start = end.next_multiple_of(ALIGNMENT);
        *end = start + n_bytes;
        start
    };
    let pixels = next(image.n_bytes());
    let Some(tensor) = output.tensor() else { return Parts { pixels, window: None, across: 0 } };
    let (columns, rows) =
        (image.crop.end_x - image.crop.first_x, image.crop.end_y - image.crop.first_y);
    let is_whole = columns == image.frame.width;
    let window = (!is_whole).then(|| next(3 * u64::from(columns) * u64::from(rows)));
    Parts { pixels, window, across: next(3 * 2 * u64::from(tensor.width) * u64::from(rows)) }
}

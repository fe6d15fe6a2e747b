#![allow(unsafe_code, reason = "launches a kernel on memory that it owns")]
use crate::{
    Gpu, GpuError,
    driver::{DeviceMemory, PinnedMemory, Stream},
    layout::{FractalImageLayout, FractalSystemLayout, FractalsLayout},
};
use std::ops::Range;
use zerocopy::{FromBytes, IntoBytes};

/// A system prepared for the sampler `lanes64-v1`, with the numbers of a `LanesSystem` of
/// `fdconvert-fractal`. Systems drawn as a single orbit cannot be drawn on the GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FractalSystem {
    /// Parameter `k` of the map in slot `j` is `[k][j]`.
    pub parameters: [[f32; 8]; 6],
    /// The threshold and alias of each slot.
    pub words: [u32; 8],
}

/// An image of a system, identified by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FractalImage {
    /// Index of the system, from 0.
    pub system: u32,
    /// The words of the image's key.
    pub key: (u32, u32),
}

/// The square on which images are drawn: a `Frame` of `fdconvert-fractal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canvas {
    /// Number of columns and of rows; at most 16384.
    pub size: u32,
    /// Free pixels on each side, at least 4.
    pub pad: u32,
    /// Number of points of an image, at least 128.
    pub points: u32,
}

impl Canvas {
    const MAX_SIZE: u32 = 16_384;
    const MIN_PAD: u32 = 4;
    const LEAD_IN: u32 = 128;
    const LANES: u32 = 64;

    pub(crate) fn is_good(&self) -> bool {
        self.pad >= Self::MIN_PAD
            && self.size <= Self::MAX_SIZE
            && u64::from(self.size) > 2 * u64::from(self.pad)
            && self.points >= Self::LEAD_IN
    }

    /// Returns the number of points of every lane.
    pub(crate) fn n_steps(&self) -> u32 {
        self.points.saturating_sub(Self::LEAD_IN).div_ceil(Self::LANES)
    }

    /// Returns the size of a bitmap: rows of whole 64-bit words, the first pixel in the lowest bit.
    #[must_use]
    pub fn bitmap_bytes(&self) -> u64 {
        u64::from(self.size.div_ceil(64)) * 8 * u64::from(self.size)
    }
}

/// Draws fractals on one GPU, with the same bits as the CPU.
pub struct Fractals {
    gpu: Gpu,
    work: Stream,
    canvas: Canvas,
    systems: DeviceMemory,
    n_systems: usize,
}

/// Drawn images in the GPU's memory.
pub struct Drawing {
    gpu: Gpu,
    memory: DeviceMemory,
    coverage: Range<u64>,
    patches: Range<u64>,
    needs_orbit: Vec<bool>,
}

/// Threads of a block, as in the kernel's source.
pub(crate) const N_THREADS: u32 = 64;
/// Images per launch: the driver counts them in a dimension of at most 65535.
const MAX_IMAGES: usize = 1 << 15;
/// Arrays start at multiples of this many bytes.
const ALIGNMENT: u64 = 256;

impl Fractals {
    /// Uploads the systems.
    ///
    /// # Errors
    /// [`GpuError::Fractal`] for an invalid canvas, or when the driver fails.
    pub fn new(gpu: &Gpu, systems: &[FractalSystem], canvas: Canvas) -> Result<Self, GpuError> {
        if !canvas.is_good() {
            return Err(GpuError::Fractal { what: "the canvas is out of bounds" });
        }
        let layouts: Vec<_> = systems
            .iter()
            .map(|it| FractalSystemLayout { map: it.parameters, words: it.words })
            .collect();
        let (work, n_bytes) = (Stream::new(gpu)?, layouts.as_bytes().len());
        let memory = DeviceMemory::new(gpu, n_bytes as u64)?;
        let mut host = PinnedMemory::new(gpu, n_bytes)?;
        write(host.bytes_mut(), layouts.as_bytes());
        let copied = work.upload(&host, &memory, n_bytes as u64);
        let waited = settle(&work);
        copied.and(waited)?;
        Ok(Self { gpu: gpu.clone(), work, canvas, systems: memory, n_systems: systems.len() })
    }

    /// Draws images, both with and without patches, and waits for them.
    ///
    /// # Errors
    /// [`GpuError::Fractal`] for an image of an unknown system, or when the driver fails.
    pub fn render(&mut self, images: &[FractalImage]) -> Result<Drawing, GpuError> {
        if images.iter().any(|image| image.system as usize >= self.n_systems) {
            return Err(GpuError::Fractal { what: "an image is of a system that is not there" });
        }
        let layouts: Vec<_> = images
            .iter()
            .map(|it| {
                let key = [it.key.0, it.key.1];
                FractalImageLayout { system: it.system, key, ..FractalImageLayout::default() }
            })
            .collect();
        let image_bytes = layouts.as_bytes().len() as u64;
        let bitmap_bytes = self.canvas.bitmap_bytes() * images.len() as u64;
        let coverage_at = image_bytes.next_multiple_of(ALIGNMENT);
        let patches_at = (coverage_at + bitmap_bytes).next_multiple_of(ALIGNMENT);
        let memory = DeviceMemory::new(&self.gpu, patches_at + bitmap_bytes)?;
        let mut host = PinnedMemory::new(&self.gpu, image_bytes as usize)?;
        write(host.bytes_mut(), layouts.as_bytes());
        let asked = self.ask(&memory, &mut host, images.len(), (coverage_at, patches_at));
        let waited = settle(&self.work);
        asked.and(waited)?;
        let states = <[FractalImageLayout]>::ref_from_prefix_with_elems(host.bytes(), images.len());
        let states = states.map_or(&[][..], |(states, _)| states);
        Ok(Drawing {
            gpu: self.gpu.clone(),
            memory,
            coverage: coverage_at..coverage_at + bitmap_bytes,
            patches: patches_at..patches_at + bitmap_bytes,
            needs_orbit: states.iter().map(|state| state.left != 0).collect(),
        })
    }

    fn ask(
        &self,
        memory: &DeviceMemory,
        host: &mut PinnedMemory,
        n_images: usize,
        (coverage_at, patches_at): (u64, u64),
    ) -> Result<(), GpuError> {
        let image_bytes = (n_images * size_of::<FractalImageLayout>()) as u64;
        self.work.upload(host, memory, image_bytes)?;
        for first in (0..n_images).step_by(MAX_IMAGES) {
            let argument = FractalsLayout {
                systems: self.systems.address(),
                images: memory.address(),
                coverage: memory.address() + coverage_at,
                patches: memory.address() + patches_at,
                first_image: first as u32,
                size: self.canvas.size,
                pad: self.canvas.pad,
                n_steps: self.canvas.n_steps(),
            };
            let blocks = (1, (n_images - first).min(MAX_IMAGES) as u32);
            // SAFETY: that is the kernel's parameter. `render` has sized the memory for this number
            // of images on this canvas, checked that their systems exist, and waits before it
            // returns.
            unsafe { self.work.launch(self.gpu.fractal_kernel(), blocks, N_THREADS, &argument) }?;
        }
        self.work.download(memory, 0..image_bytes, host, 0)
    }
}

impl Drawing {
    /// Returns for each image whether it is left to the CPU because a point of it exceeds single
    /// precision. Its bitmaps are empty.
    #[must_use]
    pub fn needs_orbit(&self) -> &[bool] {
        &self.needs_orbit
    }

    /// Returns the address of the bitmaps of points in the GPU's memory, one after the other.
    #[must_use]
    pub fn coverage(&self) -> u64 {
        self.memory.address() + self.coverage.start
    }

    /// Returns the address of the bitmaps with patches.
    #[must_use]
    pub fn patches(&self) -> u64 {
        self.memory.address() + self.patches.start
    }

    /// Copies both to the host.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn download(&self) -> Result<(Vec<u8>, Vec<u8>), GpuError> {
        let n_bytes = self.patches.end - self.coverage.start;
        let mut host = PinnedMemory::new(&self.gpu, n_bytes as usize)?;
        let stream = Stream::new(&self.gpu)?;
        let range = self.coverage.start..self.patches.end;
        let copied = stream.download(&self.memory, range, &mut host, 0);
        let waited = settle(&stream);
        copied.and(waited)?;
        let part = |range: &Range<u64>| {
            let start = (range.start - self.coverage.start) as usize;
            let end = (range.end - self.coverage.start) as usize;
            host.bytes().get(start..end).unwrap_or_default().to_vec()
        };
        Ok((part(&self.coverage), part(&self.patches)))
    }
}

/// Waits even after an error: queued work must not outlive its memory. If waiting fails too, the
/// context is lost, and no work is left.
fn settle(stream: &Stream) -> Result<(), GpuError> {
    stream.wait().inspect_err(|_| {
        let _ = stream.wait();
    })
}

fn write(to: &mut [u8], bytes: &[u8]) {
    if let Some(to) = to.get_mut(..bytes.len()) {
        to.copy_from_slice(bytes);
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::bilinear::Bilinear;
use crate::simd::Instructions;
use fast_image_resize as fir;
use fir::images::{TypedCroppedImage, TypedImage, TypedImageRef};

/// A rectangle inside a part of an image.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Rows without padding, with interleaved channels.
    pub pixels: &'a [u8],
    /// Width and height of `pixels`.
    pub size: (u32, u32),
    /// The part that may be read: left, top, width and height in pixels.
    pub view: (u32, u32, u32, u32),
    /// The rectangle to resize: left, top, width and height in pixels, relative to the view.
    pub rect: (f64, f64, f64, f64),
}

impl Source<'_> {
    /// Returns true if the slices have their sizes, the rectangle is within the view, and both its
    /// sides change. Anything else is rare, or an error that `fast_image_resize` reports.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn is_for_loops(&self, size: (u32, u32), out: &[u8]) -> bool {
        let n_bytes = |(width, height): (u32, u32)| width as usize * height as usize * 3;
        let inside = |at: u32, len: u32, side: u32| len > 0 && len <= side && at <= side - len;
        let changes = |at: f64, len: f64, side: u32, out: u32| {
            let is_within = at >= 0.0 && len > 0.0 && at + len <= f64::from(side);
            is_within && out > 0 && (len != f64::from(out) || at != at.round())
        };
        let Self { pixels, size: whole, view, rect } = *self;
        pixels.len() == n_bytes(whole)
            && out.len() == n_bytes(size)
            && inside(view.0, view.2, whole.0)
            && inside(view.1, view.3, whole.1)
            && changes(rect.0, rect.2, view.2, size.0)
            && changes(rect.1, rect.3, view.3, size.1)
    }
}

/// Resizes rectangles with the antialiased bilinear filter. Use one per thread: it keeps buffers.
///
/// The result is within one level of torchvision's and Pillow's: the weights have fewer bits.
pub struct Stretcher {
    resizer: fir::Resizer,
    /// For RGB, if the processor has the instructions.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    loops: Option<Bilinear>,
}

impl Default for Stretcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Stretcher {
    /// Creates a stretcher without buffers, with the fastest instructions of the processor.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Instructions::best())
    }

    /// Creates a stretcher with at most these instructions. The pixels do not depend on them:
    /// [`Instructions::Portable`] is `fast_image_resize`, which computes the same with its own
    /// vectors, and AVX-512 here needs its byte permutations and is AVX2 without them.
    #[must_use]
    pub fn with(instructions: Instructions) -> Self {
        let _ = instructions;
        Self {
            resizer: fir::Resizer::default(),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            loops: Bilinear::new(instructions),
        }
    }

    /// Fills `out`, `size` pixels of one channel.
    ///
    /// # Errors
    /// A text, when the slices do not have their sizes or the rectangle exceeds the pixels.
    pub fn gray(
        &mut self,
        from: &Source<'_>,
        size: (u32, u32),
        out: &mut [u8],
    ) -> Result<(), String> {
        self.stretch::<fir::pixels::U8>(from, size, out)
    }

    /// Fills `out`, `size` pixels of three channels.
    ///
    /// # Errors
    /// As for [`gray`](Self::gray).
    pub fn rgb(
        &mut self,
        from: &Source<'_>,
        size: (u32, u32),
        out: &mut [u8],
    ) -> Result<(), String> {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if let Some(loops) = &mut self.loops
            && from.is_for_loops(size, out)
            && loops.rgb(from, size, out).is_some()
        {
            return Ok(());
        }
        self.stretch::<fir::pixels::U8x3>(from, size, out)
    }

    /// Fills `out`, `size` values of one band, from a rectangle of a plane of floats, both with their
    /// sides: left, top, width and height of the rectangle are in pixels of the plane.
    ///
    /// # Errors
    /// As for [`gray`](Self::gray).
    pub fn floats(
        &mut self,
        (plane, plane_size): (&[f32], (u32, u32)),
        rect: (f64, f64, f64, f64),
        size: (u32, u32),
        out: &mut [f32],
    ) -> Result<(), String> {
        let view = (0, 0, plane_size.0, plane_size.1);
        let source = Source { pixels: bytemuck::cast_slice(plane), size: plane_size, view, rect };
        self.stretch::<fir::pixels::F32>(&source, size, bytemuck::cast_slice_mut(out))
    }

    fn stretch<P: fir::PixelTrait>(
        &mut self,
        from: &Source<'_>,
        size: (u32, u32),
        out: &mut [u8],
    ) -> Result<(), String> {
        let Source { pixels, size: (width, height), view, rect } = *from;
        let whole = TypedImageRef::<P>::from_buffer(width, height, pixels)
            .map_err(|error| error.to_string())?;
        let part = TypedCroppedImage::new(whole, view.0, view.1, view.2, view.3)
            .map_err(|error| error.to_string())?;
        let mut to =
            TypedImage::<P>::from_buffer(size.0, size.1, out).map_err(|error| error.to_string())?;
        let options = fir::ResizeOptions::new()
            .resize_alg(fir::ResizeAlg::Convolution(fir::FilterType::Bilinear))
            .crop(rect.0, rect.1, rect.2, rect.3);
        self.resizer.resize_typed(&part, &mut to, &options).map_err(|error| error.to_string())
    }
}

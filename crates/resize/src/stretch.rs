use fast_image_resize as fir;
use fir::images::{TypedCroppedImage, TypedImage, TypedImageRef};

/// A rectangle inside a part of an image.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Rows without padding, channels side by side.
    pub pixels: &'a [u8],
    /// Width and height of `pixels`.
    pub size: (u32, u32),
    /// The part that may be read: left, top, width and height in pixels.
    pub view: (u32, u32, u32, u32),
    /// What is resized: left, top, width and height in pixels, from the corner of the view.
    pub rect: (f64, f64, f64, f64),
}

/// Resizes rectangles with the antialiased bilinear filter; one per thread, for its buffers.
///
/// The result is that of torchvision and Pillow to within one level: the weights have fewer bits.
#[derive(Default)]
pub struct Stretcher {
    resizer: fir::Resizer,
}

impl Stretcher {
    /// A stretcher without buffers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fills `out`, `size` pixels of one channel.
    ///
    /// # Errors
    /// A text, when the slices do not have their sizes or the rectangle is not within the pixels.
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
        self.stretch::<fir::pixels::U8x3>(from, size, out)
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

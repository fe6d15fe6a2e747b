//! Fractals on the CPU, drawn by the kernel.
#![allow(unsafe_code, reason = "hands addresses to the kernel")]
use crate::kernels::fdconvert_fractal;
use fdconvert_gpu::layout::{FractalImageLayout, FractalSystemLayout, FractalsLayout};

/// Images drawn by the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The pixels that contain points, image after image: rows of whole 64-bit words.
    pub coverage: Vec<u64>,
    /// The pixels of the patches, in the same layout.
    pub patches: Vec<u64>,
    /// For each image, whether the kernel has left it to the CPU.
    pub needs_orbit: Vec<bool>,
}

/// Draws images of `size` by `size` pixels, `pad` of them free on every side, from `points` points.
/// All memory starts out with garbage. `None` if an image has an unknown system.
#[must_use]
pub fn draw(
    systems: &[FractalSystemLayout],
    images: &[FractalImageLayout],
    (size, pad, points): (u32, u32, u32),
) -> Option<Drawn> {
    if images.iter().any(|image| image.system as usize >= systems.len()) {
        return None;
    }
    let mut images = images.to_vec();
    let image_words = size.div_ceil(64) as usize * size as usize;
    let mut coverage = vec![0xA5A5_A5A5_A5A5_A5A5_u64; image_words * images.len()];
    let mut patches = coverage.clone();
    let batch = FractalsLayout {
        systems: systems.as_ptr().expose_provenance() as u64,
        images: images.as_mut_ptr().expose_provenance() as u64,
        coverage: coverage.as_mut_ptr().expose_provenance() as u64,
        patches: patches.as_mut_ptr().expose_provenance() as u64,
        first_image: 0,
        size,
        pad,
        n_steps: points.saturating_sub(128).div_ceil(64),
    };
    let n_images = images.len().try_into().ok()?;
    // SAFETY: every address is that of a local array with the size that the kernel computes from
    // `size`; the systems of all images exist, as was just checked.
    unsafe { fdconvert_fractal(&raw const batch, 1, n_images) };
    let needs_orbit = images.iter().map(|image| image.left == 1).collect();
    Some(Drawn { coverage, patches, needs_orbit })
}

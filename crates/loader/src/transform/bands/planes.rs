use super::BandPixels;
use crate::transform::Area;
use fdconvert_core::DType;

/// The bands of an image, one after the other.
#[derive(Debug, Default)]
pub(super) struct Planes {
    pub(super) values: Vec<f32>,
    pub(super) size: (u32, u32),
}

impl Planes {
    fn n_pixels(&self) -> usize {
        (self.size.0 as usize * self.size.1 as usize).max(1)
    }

    pub(super) fn n(&self) -> usize {
        self.values.len() / self.n_pixels()
    }

    pub(super) fn resize(&mut self, size: (u32, u32), n: usize) {
        self.size = size;
        self.values.resize(size.0 as usize * size.1 as usize * n, 0.0);
    }

    pub(super) fn planes(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.n_pixels())
    }

    pub(super) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let n_pixels = self.n_pixels();
        self.values.chunks_exact_mut(n_pixels)
    }

    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let width = (self.size.0 as usize).max(1);
        self.values.chunks_exact_mut(width)
    }

    /// Takes a view, in pixels of the image, of decoded values.
    pub(super) fn load(&mut self, pixels: &BandPixels<'_>, view: Area) -> Result<(), String> {
        let lines = pixels.lines(view)?;
        self.resize((view.width, view.height), pixels.bands.n.into());
        match pixels.bands.dtype {
            DType::U16 => self.spread(lines, |it| u16::from_ne_bytes(it).into()),
            DType::I16 => self.spread(lines, |it| i16::from_ne_bytes(it).into()),
            DType::F32 => self.spread(lines, f32::from_ne_bytes),
            _ => self.spread(lines, |[it]| it.into()),
        }
        Ok(())
    }

    /// Spreads the bands of pixels over the planes.
    fn spread<'a, const N: usize>(
        &mut self,
        lines: impl Iterator<Item = &'a [u8]>,
        value: impl Fn([u8; N]) -> f32,
    ) {
        let (n, n_pixels, width) = (self.n(), self.n_pixels(), self.size.0 as usize);
        for (number, line) in lines.enumerate() {
            let values = line.as_chunks().0;
            for band in 0..n {
                let start = band * n_pixels + number * width;
                let to = self.values.get_mut(start..start + width).unwrap_or_default();
                let from = values.iter().skip(band).step_by(n.max(1));
                to.iter_mut().zip(from).for_each(|(to, from)| *to = value(*from));
            }
        }
    }
}

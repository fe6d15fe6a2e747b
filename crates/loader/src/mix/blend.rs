//! Mixing of images: each row takes from the row before it, in place.
//!
//! The loops run over parallel bytes and numbers without a branch, so that compilers emit vector
//! instructions.

use super::Blend;
use crate::transform::{Area, DType, Layout, Output};
use half::{
    bf16, f16,
    slice::{HalfBitsSliceExt, HalfFloatSliceExt},
};

impl Blend {
    /// Mixes the rows of a batch, in the form of `output`: each with the one before it, and the
    /// first with the last. A single row is unchanged.
    ///
    /// Single-precision numbers have the bits of torchvision's. Half precision is computed in
    /// single precision and rounded once. Bytes, which torchvision does not mix, are rounded to
    /// nearest.
    pub fn mix_images<R: AsMut<[u8]>>(&self, output: &Output, rows: &mut [R]) {
        match *self {
            Self::None => {}
            Self::MixUp { lambda } => {
                let weights = Weights::of(lambda);
                match output.dtype {
                    DType::U8 => roll(rows, |to, from| mix_bytes(weights, to, from)),
                    // Bands are not mixed.
                    DType::U16 | DType::I16 => {}
                    DType::F16 => roll(rows, |to, from| mix_halves(weights, &F16, to, from)),
                    DType::Bf16 => roll(rows, |to, from| mix_halves(weights, &BF16, to, from)),
                    DType::F32 => roll(rows, |to, from| mix_singles(weights, to, from)),
                }
            }
            Self::CutMix { area, .. } => roll(rows, |to, from| paste(output, area, to, from)),
        }
    }

    /// Mixes rows of numbers like the images.
    pub(super) fn mix_numbers<R: AsMut<[f32]>>(&self, rows: &mut [R]) {
        let (Self::MixUp { lambda } | Self::CutMix { lambda, .. }) = *self else { return };
        let weights = Weights::of(lambda);
        roll(rows, |to, from| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = weights.mix(*to, *from));
        });
    }
}

/// The shares of a row and of the one before it.
#[derive(Clone, Copy)]
struct Weights {
    own: f32,
    other: f32,
}

impl Weights {
    fn of(lambda: f64) -> Self {
        Self { own: lambda as f32, other: (1.0 - lambda) as f32 }
    }

    #[inline(always)]
    fn mix(self, own: f32, other: f32) -> f32 {
        other * self.other + own * self.own
    }
}

/// Applies `take` to each row and the one before it; the first takes from the last.
fn roll<T: Clone, R: AsMut<[T]>>(rows: &mut [R], take: impl Fn(&mut [T], &[T])) {
    let [_, .., last] = rows else { return };
    // In reverse: the row before has not changed yet, so that only the last one is copied.
    let copy = last.as_mut().to_vec();
    for at in (1..rows.len()).rev() {
        let (before, rest) = rows.split_at_mut(at);
        if let (Some(from), Some(to)) = (before.last_mut(), rest.first_mut()) {
            take(to.as_mut(), from.as_mut());
        }
    }
    if let Some(first) = rows.first_mut() {
        take(first.as_mut(), &copy);
    }
}

fn mix_bytes(weights: Weights, to: &mut [u8], from: &[u8]) {
    /// 2^23: numbers between it and twice it are integers, so that adding it rounds, and the lowest
    /// byte of the sum is the result. A checked conversion takes longer.
    const ROUNDS: f32 = 8_388_608.0;
    to.iter_mut().zip(from).for_each(|(to, from)| {
        let mixed = weights.mix(f32::from(*to), f32::from(*from));
        *to = (mixed + ROUNDS).to_bits() as u8;
    });
}

fn mix_singles(weights: Weights, to: &mut [u8], from: &[u8]) {
    let ((to, _), (from, _)) = (to.as_chunks_mut::<4>(), from.as_chunks::<4>());
    to.iter_mut().zip(from).for_each(|(to, from)| {
        *to = weights.mix(f32::from_ne_bytes(*to), f32::from_ne_bytes(*from)).to_ne_bytes();
    });
}

/// Half-precision numbers are converted in blocks, in buffers on the stack.
const BLOCK: usize = 256;

/// The conversions of a type of two bytes.
struct Half {
    widen: fn(&[u16], &mut [f32]),
    narrow: fn(&[f32], &mut [u16]),
}

const F16: Half = Half {
    widen: |bits, to| bits.reinterpret_cast::<f16>().convert_to_f32_slice(to),
    narrow: |from, bits| bits.reinterpret_cast_mut::<f16>().convert_from_f32_slice(from),
};
const BF16: Half = Half {
    widen: |bits, to| bits.reinterpret_cast::<bf16>().convert_to_f32_slice(to),
    narrow: |from, bits| bits.reinterpret_cast_mut::<bf16>().convert_from_f32_slice(from),
};

fn mix_halves(weights: Weights, half: &Half, to: &mut [u8], from: &[u8]) {
    let ((to, _), (from, _)) = (to.as_chunks_mut::<2>(), from.as_chunks::<2>());
    let (mut bits, mut own, mut other) = ([0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let load = |from: &[[u8; 2]], bits: &mut [u16; BLOCK], to: &mut [f32; BLOCK]| {
        bits.iter_mut().zip(from).for_each(|(bits, from)| *bits = u16::from_ne_bytes(*from));
        (half.widen)(bits, to);
    };
    for (to, from) in to.chunks_mut(BLOCK).zip(from.chunks(BLOCK)) {
        load(to, &mut bits, &mut own);
        load(from, &mut bits, &mut other);
        own.iter_mut().zip(&other).for_each(|(own, other)| *own = weights.mix(*own, *other));
        (half.narrow)(&own, &mut bits);
        to.iter_mut().zip(&bits).for_each(|(to, bits)| *to = bits.to_ne_bytes());
    }
}

fn paste(output: &Output, area: Area, to: &mut [u8], from: &[u8]) {
    let (width, height) = (output.size.0 as usize, output.size.1 as usize);
    let pixel_bytes = match output.layout {
        Layout::Nhwc => 3 * output.dtype.n_bytes(),
        Layout::Nchw => output.dtype.n_bytes(),
    };
    let line_bytes = (width * pixel_bytes).max(1);
    let columns = area.x as usize * pixel_bytes..(area.x + area.width) as usize * pixel_bytes;
    let lines = area.y as usize..(area.y + area.height) as usize;
    // In each of three planes the lines start again at the first.
    for (number, (to, from)) in
        to.chunks_exact_mut(line_bytes).zip(from.chunks_exact(line_bytes)).enumerate()
    {
        if lines.contains(&(number % height.max(1)))
            && let (Some(to), Some(from)) = (to.get_mut(columns.clone()), from.get(columns.clone()))
        {
            to.copy_from_slice(from);
        }
    }
}

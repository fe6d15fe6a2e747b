//! Automatic augmentations: which changes they choose from, and how strong.
use super::{
    Change, Fill, Interpolation, Policy, Warp,
    op::Op,
    policies::{CIFAR10, Choice, IMAGENET, SVHN},
};
use fdconvert_core::KeyedRandom;

/// How the changes look outside the image and between pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) interpolation: Interpolation,
    pub(super) fill: Fill,
}

/// The strongest of each change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    shear: f32,
    translate: Translate,
    rotate: f32,
    enhance: f32,
    /// Bits that the weakest posterizing keeps, and how many fewer the strongest.
    posterize: (f32, f32),
}

#[derive(Debug, Clone, Copy)]
enum Translate {
    Pixels(f32),
    Share(f64),
}

/// Of AutoAugment and RandAugment.
pub(super) const USUAL: Space = Space {
    shear: 0.3,
    translate: Translate::Share(150.0 / 331.0),
    rotate: 30.0,
    enhance: 0.9,
    posterize: (8.0, 4.0),
};
pub(super) const WIDE: Space = Space {
    shear: 0.99,
    translate: Translate::Pixels(32.0),
    rotate: 135.0,
    enhance: 0.99,
    posterize: (8.0, 6.0),
};
/// Of AugMix.
pub(super) const PARTIAL: Space = Space {
    shear: 0.3,
    translate: Translate::Share(1.0 / 3.0),
    rotate: 30.0,
    enhance: 0.9,
    posterize: (4.0, 4.0),
};

/// The changes that RandAugment and TrivialAugment choose from; the first leaves the image as it is.
pub(super) const ALL: [Op; 14] = [
    Op::Identity,
    Op::ShearX,
    Op::ShearY,
    Op::TranslateX,
    Op::TranslateY,
    Op::Rotate,
    Op::Brightness,
    Op::Color,
    Op::Contrast,
    Op::Sharpness,
    Op::Posterize,
    Op::Solarize,
    Op::AutoContrast,
    Op::Equalize,
];
/// Those of AugMix, and those with `all_ops`.
pub(super) const MIXED: [Op; 9] = [
    Op::ShearX,
    Op::ShearY,
    Op::TranslateX,
    Op::TranslateY,
    Op::Rotate,
    Op::Posterize,
    Op::Solarize,
    Op::AutoContrast,
    Op::Equalize,
];
pub(super) const MIXED_ALL: &[Op] = ALL.split_at(1).1;

/// Draws the changes of AutoAugment.
pub(super) fn auto_augment(
    policy: Policy,
    size: (u32, u32),
    look: Look,
    stream: &mut KeyedRandom,
) -> Vec<Change> {
    let pairs = match policy {
        Policy::ImageNet => &IMAGENET,
        Policy::Cifar10 => &CIFAR10,
        Policy::Svhn => &SVHN,
    };
    let pair = pairs.get(stream.below(pairs.len() as u64) as usize);
    let mut changes = Vec::new();
    for &Choice(op, percent, bin) in pair.into_iter().flatten() {
        let (is_made, is_negative) = (stream.below(100) < u64::from(percent), stream.chance(0.5));
        if is_made {
            changes.extend(USUAL.change(op, bin, 10, size, is_negative, look));
        }
    }
    changes
}

impl Space {
    /// Draws one of these changes, at this bin of the strengths.
    pub(super) fn draw(
        &self,
        ops: &[Op],
        (bin, n_bins): (u32, u32),
        size: (u32, u32),
        look: Look,
        stream: &mut KeyedRandom,
    ) -> Option<Change> {
        let op = ops.get(stream.below(ops.len() as u64) as usize).copied()?;
        self.change(op, bin, n_bins, size, stream.chance(0.5), look)
    }

    /// Returns a change of strength `bin` of `n_bins`; `None` for no change.
    fn change(
        &self,
        op: Op,
        bin: u32,
        n_bins: u32,
        (width, height): (u32, u32),
        is_negative: bool,
        look: Look,
    ) -> Option<Change> {
        let sign = if is_negative { -1.0 } else { 1.0 };
        let signed = |most: f32| f64::from(level(0.0, most, bin, n_bins)) * sign;
        let pixels = |side: u32| match self.translate {
            Translate::Pixels(most) => most,
            Translate::Share(share) => (share * f64::from(side)) as f32,
        };
        let Look { interpolation, fill } = look;
        let warp = |warp| Change::Warp { warp, interpolation, fill };
        let shear = |shear| {
            let center = Some([0.0; 2]);
            warp(Warp::Affine { angle: 0.0, translate: [0.0; 2], scale: 1.0, shear, center })
        };
        let shift = |translate| {
            warp(Warp::Affine { angle: 0.0, translate, scale: 1.0, shear: [0.0; 2], center: None })
        };
        Some(match op {
            Op::Identity => return None,
            Op::ShearX => shear([libm::atan(signed(self.shear)).to_degrees(), 0.0]),
            Op::ShearY => shear([0.0, libm::atan(signed(self.shear)).to_degrees()]),
            Op::TranslateX => shift([signed(pixels(width)).trunc(), 0.0]),
            Op::TranslateY => shift([0.0, signed(pixels(height)).trunc()]),
            Op::Rotate => {
                let angle = signed(self.rotate);
                warp(Warp::Rotate { angle, expand: false, center: None })
            }
            Op::Brightness => Change::AdjustBrightness(1.0 + signed(self.enhance)),
            Op::Color => Change::AdjustSaturation(1.0 + signed(self.enhance)),
            Op::Contrast => Change::AdjustContrast(1.0 + signed(self.enhance)),
            Op::Sharpness => Change::AdjustSharpness(1.0 + signed(self.enhance)),
            Op::Posterize => {
                let (most, fewer) = self.posterize;
                let step = n_bins.saturating_sub(1).max(1) as f32 / fewer;
                Change::Posterize((most - bin as f32 / step).round_ties_even() as u8)
            }
            Op::Solarize => Change::Solarize(255.0 * f64::from(level(1.0, 0.0, bin, n_bins))),
            Op::AutoContrast => Change::Autocontrast,
            Op::Equalize => Change::Equalize,
            Op::Invert => Change::Invert,
        })
    }
}

/// Returns number `bin` of `n_bins` evenly spaced ones from `first` to `last`: computed from the
/// nearer end, with one rounding, like torch.
fn level(first: f32, last: f32, bin: u32, n_bins: u32) -> f32 {
    let n_steps = n_bins.saturating_sub(1);
    if n_steps == 0 {
        return first;
    }
    let step = (last - first) / n_steps as f32;
    if bin < n_bins / 2 {
        step.mul_add(bin as f32, first)
    } else {
        (-step).mul_add(n_steps.saturating_sub(bin) as f32, last)
    }
}

//! The choice of changes to an image, and of their strengths.

use super::super::keyed::{Key, Purpose};
use super::super::list::policy::level;
use super::op::{Op, Step};
use super::policies::{CIFAR10, Choice, IMAGENET, SVHN};
use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Policy that draws changes. The random numbers are those of the sample and epoch; they are evenly
/// distributed like torchvision's, but not the same sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Augment {
    /// One of 25 learned pairs of changes, each with its probability: Cubuk et al., "AutoAugment:
    /// Learning Augmentation Strategies from Data", 2019.
    AutoAugment(Policy),
    /// Any changes, all of one strength: Cubuk et al., "RandAugment: Practical automated data
    /// augmentation with a reduced search space", 2020.
    RandAugment {
        /// Changes per image; usually 2.
        n_ops: u32,
        /// Strength of the changes, from 0 to below `n_bins`; usually 9.
        magnitude: u32,
        /// Number of strengths; usually 31.
        n_bins: u32,
    },
    /// One change of any strength, from a wider range: Müller and Hutter, "TrivialAugment:
    /// Tuning-free Yet State-of-the-Art Data Augmentation", 2021.
    TrivialAugmentWide {
        /// Number of strengths; usually 31.
        n_bins: u32,
    },
}

/// Dataset that the pairs of [`Augment::AutoAugment`] were learned on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Photographs.
    #[default]
    ImageNet,
    /// Small photographs.
    Cifar10,
    /// House numbers.
    Svhn,
}

impl Augment {
    /// Policies by name, with torchvision's default numbers.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("autoaugment", Self::AutoAugment(Policy::ImageNet)),
        ("autoaugment-cifar10", Self::AutoAugment(Policy::Cifar10)),
        ("autoaugment-svhn", Self::AutoAugment(Policy::Svhn)),
        ("randaugment", Self::RandAugment { n_ops: 2, magnitude: 9, n_bins: USUAL_BINS }),
        ("trivialaugment", Self::TrivialAugmentWide { n_bins: USUAL_BINS }),
    ];

    /// Returns the policy of that name in [`NAMED`](Self::NAMED).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, augment)| *augment)
    }

    /// Returns its name in [`NAMED`](Self::NAMED), if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        Self::NAMED.iter().find(|(_, known)| known == self).map(|(name, _)| *name)
    }

    /// Creates RandAugment with torchvision's usual number of strengths.
    #[must_use]
    pub fn randaugment(n_ops: u32, magnitude: u32) -> Self {
        Self::RandAugment { n_ops, magnitude, n_bins: USUAL_BINS }
    }

    /// Checks the numbers, once for a run.
    ///
    /// # Errors
    /// `Usage` for fewer than two strengths, for a strength that is not among them, and for no
    /// changes or so many that nothing is left of the image.
    pub fn check(&self) -> Result<()> {
        if let Self::RandAugment { n_ops, .. } = *self
            && !(1..=MAX_CHANGES).contains(&n_ops)
        {
            let what = format!("{n_ops} changes of an image are not from 1 to {MAX_CHANGES}");
            return Err(Error::usage("augment", what));
        }
        let (n_bins, magnitude) = match *self {
            Self::AutoAugment(_) => return Ok(()),
            Self::RandAugment { n_bins, magnitude, .. } => (n_bins, magnitude),
            Self::TrivialAugmentWide { n_bins } => (n_bins, 0),
        };
        if n_bins < 2 || magnitude >= n_bins {
            let what = format!("magnitude {magnitude} of {n_bins} bins: at least 2 are needed");
            return Err(Error::usage("augment", what));
        }
        Ok(())
    }

    /// Draws the changes for one sample, for an image of this (width, height), in order, each with
    /// its strength.
    pub fn draw(&self, size: (u32, u32), key: Key, mut make: impl FnMut(Op, f64)) {
        let mut stream = key.stream(Purpose::Augment);
        match *self {
            Self::AutoAugment(policy) => {
                let pairs = match policy {
                    Policy::ImageNet => &IMAGENET,
                    Policy::Cifar10 => &CIFAR10,
                    Policy::Svhn => &SVHN,
                };
                let Some(pair) = pairs.get(stream.below(pairs.len() as u64) as usize) else {
                    return;
                };
                for &Choice(op, percent, bin) in pair {
                    let is_made = stream.below(100) < u64::from(percent);
                    let is_negative = stream.chance(0.5);
                    if is_made {
                        make(op, NARROW.strength(op, bin, 10, size, is_negative));
                    }
                }
            }
            Self::RandAugment { n_ops, magnitude, n_bins } => {
                for _ in 0..n_ops {
                    let op = any_but_invert(stream.below(N_OPS));
                    let is_negative = stream.chance(0.5);
                    make(op, NARROW.strength(op, magnitude, n_bins, size, is_negative));
                }
            }
            Self::TrivialAugmentWide { n_bins } => {
                let op = any_but_invert(stream.below(N_OPS));
                let bin = stream.below(u64::from(n_bins)) as u32;
                let is_negative = stream.chance(0.5);
                make(op, WIDE.strength(op, bin, n_bins, size, is_negative));
            }
        }
    }

    /// Returns the drawn changes with the numbers for computing pixels.
    pub(crate) fn steps(&self, size: (u32, u32), key: Key) -> Vec<Step> {
        let mut steps = Vec::new();
        self.draw(size, key, |op, strength| match Step::of(op, strength, size) {
            Step::Identity => {}
            step => steps.push(step),
        });
        steps
    }

    /// Returns the strength of a change at one of this policy's levels, before its sign is drawn.
    #[must_use]
    pub fn strength(&self, op: Op, bin: u32, size: (u32, u32)) -> f64 {
        match *self {
            Self::AutoAugment(_) => NARROW.strength(op, bin, 10, size, false),
            Self::RandAugment { n_bins, .. } => NARROW.strength(op, bin, n_bins, size, false),
            Self::TrivialAugmentWide { n_bins } => WIDE.strength(op, bin, n_bins, size, false),
        }
    }
}

/// Number of strengths in torchvision's policies by default.
const USUAL_BINS: u32 = 31;

/// More changes leave nothing of an image, and take seconds.
const MAX_CHANGES: u32 = 100;

/// Number of changes that RandAugment and TrivialAugment choose from.
const N_OPS: u64 = 14;

fn any_but_invert(index: u64) -> Op {
    Op::ALL.get(index as usize).copied().unwrap_or(Op::Identity)
}

/// The strongest of each change.
struct Range {
    shear: f32,
    /// In pixels, or as a part of the side.
    translate: Translate,
    rotate: f32,
    enhance: f32,
    /// Bits that posterizing removes.
    posterize: f32,
}

enum Translate {
    Pixels(f32),
    Part(f64),
}

const NARROW: Range = Range {
    shear: 0.3,
    translate: Translate::Part(150.0 / 331.0),
    rotate: 30.0,
    enhance: 0.9,
    posterize: 4.0,
};

const WIDE: Range = Range {
    shear: 0.99,
    translate: Translate::Pixels(32.0),
    rotate: 135.0,
    enhance: 0.99,
    posterize: 6.0,
};

impl Range {
    /// Returns level `bin` of `n_bins`, in single precision like torchvision.
    fn strength(
        &self,
        op: Op,
        bin: u32,
        n_bins: u32,
        (width, height): (u32, u32),
        is_negative: bool,
    ) -> f64 {
        let translate = |side: u32| match self.translate {
            Translate::Pixels(most) => most,
            Translate::Part(part) => (part * f64::from(side)) as f32,
        };
        let sign = if is_negative { -1.0 } else { 1.0 };
        let signed = |most: f32| f64::from(level(0.0, most, bin, n_bins)) * sign;
        match op {
            Op::Identity | Op::AutoContrast | Op::Equalize | Op::Invert => 0.0,
            Op::ShearX | Op::ShearY => signed(self.shear),
            Op::TranslateX => signed(translate(width)),
            Op::TranslateY => signed(translate(height)),
            Op::Rotate => signed(self.rotate),
            Op::Brightness | Op::Color | Op::Contrast | Op::Sharpness => signed(self.enhance),
            Op::Posterize => {
                let step = n_bins.saturating_sub(1).max(1) as f32 / self.posterize;
                f64::from(8.0 - (bin as f32 / step).round_ties_even())
            }
            Op::Solarize => f64::from(level(255.0, 0.0, bin, n_bins)),
        }
    }
}

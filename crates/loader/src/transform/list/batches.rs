//! Transforms of batches: what they mix.
use super::{Mix, Transform, check::refuse};
use fdconvert_core::Result;

impl Transform {
    /// Returns true for MixUp and CutMix, a choice between them, and either one sometimes.
    pub(super) fn is_of_batches(&self) -> bool {
        match self {
            Self::MixUp { .. } | Self::CutMix { .. } => true,
            Self::RandomChoice { transforms, .. } | Self::RandomApply { transforms, .. } => {
                !transforms.is_empty() && transforms.iter().all(Self::is_of_batches)
            }
            _ => false,
        }
    }

    /// Returns the mixing of a transform of batches.
    ///
    /// # Errors
    /// `Usage` for arguments out of their range, and for anything but one method or a choice of both.
    pub(super) fn mix(&self) -> Result<Mix> {
        self.check()?;
        let mix = match self {
            Self::MixUp { alpha, num_classes } => {
                Mix { mixup: *alpha, num_classes: *num_classes, ..Mix::default() }
            }
            Self::CutMix { alpha, num_classes } => {
                Mix { cutmix: *alpha, num_classes: *num_classes, ..Mix::default() }
            }
            Self::RandomApply { transforms, p } => match &transforms[..] {
                [one] => {
                    let mix = one.mix()?;
                    Mix { mix_prob: mix.mix_prob * p, ..mix }
                }
                _ => {
                    return refuse(
                        "RandomApply of batches takes one: MixUp, CutMix or a choice".into(),
                    );
                }
            },
            Self::RandomChoice { transforms, p } => match (&transforms[..], p.as_deref()) {
                ([one], _) => one.mix()?,
                ([one, two], None) => choice(one, two, 0.5)?,
                ([one, two], Some([first, second])) => choice(one, two, second / (first + second))?,
                _ => return no_choice(),
            },
            _ => Mix::default(),
        };
        mix.check()?;
        Ok(mix)
    }
}

/// Returns the mixing by one of two transforms, the second with that probability.
fn choice(one: &Transform, two: &Transform, share: f64) -> Result<Mix> {
    let (mixup, cutmix, switch_prob) = match (one, two) {
        (Transform::MixUp { .. }, Transform::CutMix { .. }) => (one.mix()?, two.mix()?, share),
        (Transform::CutMix { .. }, Transform::MixUp { .. }) => {
            (two.mix()?, one.mix()?, 1.0 - share)
        }
        _ => return no_choice(),
    };
    if mixup.num_classes != cutmix.num_classes {
        return refuse(
            "MixUp and CutMix make the same labels: give both the same num_classes".into(),
        );
    }
    Ok(Mix { cutmix: cutmix.cutmix, switch_prob, ..mixup })
}

fn no_choice<T>() -> Result<T> {
    refuse("RandomChoice of batches is between one MixUp and one CutMix".into())
}

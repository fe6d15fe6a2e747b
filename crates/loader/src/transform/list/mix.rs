use fdconvert_core::{Error, Result};

/// Options for mixing rows of a batch, with the names that they have in timm and torchvision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Parameter, for both sides, of the beta distribution of MixUp's share; usually 0.2 to 1. 0
    /// for no MixUp. Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018.
    pub mixup: f64,
    /// Parameter of the beta distribution of CutMix's share, usually 1. 0 for no CutMix. Yun et
    /// al., "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable
    /// Features", 2019.
    pub cutmix: f64,
    /// Probability of mixing a batch; the labels of the other batches are soft, too.
    pub mix_prob: f64,
    /// Probability of CutMix for a mixed batch, if both methods are enabled.
    pub switch_prob: f64,
    /// Length of each row of labels. `None` for the number of the label's class names, or of its
    /// arrays' elements.
    pub num_classes: Option<u32>,
}

impl Default for Mix {
    fn default() -> Self {
        Self { mixup: 0.0, cutmix: 0.0, mix_prob: 1.0, switch_prob: 0.5, num_classes: None }
    }
}

impl Mix {
    /// Checks the numbers, once for a run.
    ///
    /// # Errors
    /// `Usage`, with the name of the option.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::usage("transform", what));
        for (name, alpha) in [("MixUp", self.mixup), ("CutMix", self.cutmix)] {
            if !(0.0..=1e6).contains(&alpha) {
                return refuse(format!(
                    "{name}: alpha={alpha} is not a parameter of a beta distribution; take 0.1 to 10"
                ));
            }
        }
        if self.mixup == 0.0 && self.cutmix == 0.0 {
            return refuse("MixUp and CutMix: with an alpha of 0 nothing mixes".into());
        }
        for share in [self.mix_prob, self.switch_prob] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("MixUp and CutMix: {share} is not a probability"));
            }
        }
        if self.num_classes == Some(0) {
            return refuse("num_classes: there is at least one class".into());
        }
        Ok(())
    }
}

//! The choice of a sampling, as a program gives it.
use super::{list::SampleList, weights::Weights};
use serde::{Deserialize, Serialize};

/// Method of choosing and ordering the samples of an epoch.
///
/// Every method gives the same global order for any number of ranks and threads, and resumes at any
/// step with another number of ranks or another batch. [`Weighted`](Self::Weighted) and
/// [`Order`](Self::Order), which hold a value for each sample, have no serialized form.
///
/// [`Balanced`](Self::Balanced), [`Weighted`](Self::Weighted) and [`Order`](Self::Order) number the
/// samples of all datasets one after the other, and need datasets of weight 1. They do not spread
/// the codecs of a mixed set evenly over an epoch, and neither does
/// [`Sequential`](Self::Sequential): the costs of batches vary with the samples in them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Each sample once, in a random order: every order of a group of samples with equal cost is as
    /// likely as any other, and groups are spread evenly.
    #[default]
    Shuffle,
    /// The order of the dataset, for evaluation: dataset after dataset, samples ascending, the same
    /// in every epoch. A dataset with a weight above 1 is repeated from its start; one below 1
    /// gives samples at even distances, because the first ones are often of one class.
    Sequential,
    /// For storage with large reads: chunks in a random order, samples displaced by less than the
    /// window. This holds for each group separately, so that a reader needs room for one window for
    /// each of them. Groups are spread evenly.
    Windowed {
        /// Number of consecutive samples that are read together.
        chunk: u64,
        /// Number of samples that a reader can hold.
        window: u64,
    },
    /// Each class equally often. Of as many consecutive positions as there are classes, each class
    /// has one. No sample of a class comes again before the class is through, over all epochs: one
    /// that gives few of its samples to an epoch gives others to the next. Samples of class -1,
    /// which is none, are left out.
    ///
    /// 10^8 samples take 400 MB. A position of them takes 120 ns where several are looked up
    /// together, and 400 ns alone, most of which is one access to memory.
    Balanced {
        /// Field of integers that has the class.
        label: String,
        /// Samples of each class in an epoch; `None` for the mean number of samples of a class,
        /// rounded up.
        per_class: Option<u64>,
    },
    /// Each sample as often as its weight says.
    ///
    /// With replacement every position is drawn independently; 10^8 samples take 485 MB, and a
    /// position of them 160 ns among several, or 450 ns alone. Without replacement, samples are drawn one after another in
    /// proportion to their weights, each from those that are left, as by torch's
    /// `WeightedRandomSampler`: exactly, by the keys `u^(1/w)` of Efraimidis and Spirakis (2006).
    /// The list of these draws is made when an epoch begins and takes 4 bytes for each; making it
    /// takes 8 more for each sample, and 16 s for 10^8.
    #[serde(skip)]
    Weighted {
        /// Weight of each sample.
        weights: Weights,
        /// Draws in an epoch; `None` for as many as there are samples, or without replacement as
        /// many as have a positive weight, which is also the limit then.
        n: Option<u64>,
        /// Whether a sample may come again in an epoch.
        replacement: bool,
    },
    /// Each sample that many times in the same global batch, with other crops and augmentations:
    /// repeated augmentation. The samples are those of [`Shuffle`](Self::Shuffle), and the global
    /// batch must be a multiple of the number.
    Repeated(u64),
    /// An order of the user's own, such as a curriculum. Rows keep it within a batch.
    #[serde(skip)]
    Order(SampleList),
}

impl Sampling {
    /// Returns true if it gives the samples of all datasets by one numbering, so that groups of
    /// equal cost do not matter.
    pub(crate) fn numbers_all(&self) -> bool {
        match self {
            Self::Balanced { .. } | Self::Weighted { .. } | Self::Order(_) => true,
            Self::Shuffle | Self::Sequential | Self::Windowed { .. } | Self::Repeated(_) => false,
        }
    }

    /// Returns true if groups of samples with equal cost are spread evenly over an epoch.
    pub(crate) fn spreads_groups(&self) -> bool {
        !self.numbers_all() && !matches!(self, Self::Sequential)
    }
}

#[cfg(test)]
mod tests {
    use super::{SampleList, Sampling};

    #[test]
    fn small_samplings_have_a_serialized_form() {
        let windowed = Sampling::Windowed { chunk: 2, window: 8 };
        let balanced = Sampling::Balanced { label: "label".into(), per_class: None };
        for (sampling, text) in [
            (Sampling::Shuffle, r#""shuffle""#),
            (Sampling::Sequential, r#""sequential""#),
            (windowed, r#"{"windowed":{"chunk":2,"window":8}}"#),
            (balanced, r#"{"balanced":{"label":"label","per_class":null}}"#),
            (Sampling::Repeated(3), r#"{"repeated":3}"#),
        ] {
            assert_eq!(serde_json::to_string(&sampling).unwrap(), text);
            let read: Sampling = serde_json::from_str(text).unwrap();
            assert_eq!(format!("{read:?}"), format!("{sampling:?}"));
        }
        assert!(serde_json::to_string(&Sampling::Order(SampleList::from(vec![1]))).is_err());
    }
}

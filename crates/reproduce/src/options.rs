use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, str::FromStr};

/// A paper with an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Paper {
    /// Martinez-Noriega, Peng and Yokota, "High-Performance Data Loader for Large-Scale Data
    /// Processing": loaders compared on FractalDB.
    #[serde(rename = "000")]
    Loaders,
    /// Martinez-Noriega and others, "Towards High Performance Image-Free ViT Pre-training Using
    /// Tensor Based Fractal Generation": images drawn while loading.
    #[serde(rename = "001")]
    Generation,
    /// Svogor and others, "Profiling and Improving the PyTorch Dataloader for high-latency Storage"
    /// (`ConcurrentDataloader`): reads in flight within a batch.
    #[serde(rename = "002")]
    Latency,
    /// Yoon and others, "Liquid: Mix-and-Match Multiple Image Formats to Balance DNN Training
    /// Pipeline", APSys 2023.
    #[serde(rename = "003")]
    Mixing,
    /// Yang and Cong, "Accelerating Data Loading in Deep Neural Network Training", HiPC 2019:
    /// samples stay with the ranks that cache them.
    #[serde(rename = "004")]
    Locality,
}

impl Paper {
    /// All papers.
    pub const ALL: [Self; 5] =
        [Self::Loaders, Self::Generation, Self::Latency, Self::Mixing, Self::Locality];

    /// Returns the number that identifies it.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::Loaders => "000",
            Self::Generation => "001",
            Self::Latency => "002",
            Self::Mixing => "003",
            Self::Locality => "004",
        }
    }

    /// Returns its authors and title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Loaders => {
                "E. J. Martinez-Noriega, P. Chen, R. Yokota: High-Performance Data Loader for \
                 Large-Scale Data Processing"
            }
            Self::Generation => {
                "E. J. Martinez-Noriega, T. T. Nguyen, J. Haga, Y. Tanimura, R. Yokota: Towards \
                 High Performance Image-Free ViT Pre-training Using Tensor Based Fractal Generation"
            }
            Self::Latency => {
                "I. Svogor, C. Eichenberger, M. Spanring, M. Neun, M. Kopp: Profiling and Improving \
                 the PyTorch Dataloader for high-latency Storage"
            }
            Self::Mixing => {
                "W. Yoon, J. Bae and others: Liquid: Mix-and-Match Multiple Image Formats to \
                 Balance DNN Training Pipeline, APSys 2023"
            }
            Self::Locality => {
                "C.-C. Yang, G. Cong: Accelerating Data Loading in Deep Neural Network Training, \
                 HiPC 2019"
            }
        }
    }
}

impl FromStr for Paper {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|paper| paper.number() == text)
            .ok_or_else(|| format!("`{text}` is not one of 000, 001, 002, 003, 004"))
    }
}

/// Options of an experiment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReproduceOptions {
    /// True for less data and fewer rounds: some minutes on two cores.
    pub quick: bool,
    /// The folder for data. It is made in a new folder inside, which is removed afterwards.
    pub scratch: PathBuf,
    /// Pythons to search for other loaders; each loader runs in the first that has it.
    pub python: Vec<PathBuf>,
    /// Number of threads, or worker processes, of every loader; `None` for one per core.
    pub threads: Option<usize>,
    /// Number of rounds, for medians; `None` for 5, or 3 in the quick form.
    pub rounds: Option<u32>,
    /// Number of images to make; `None` for the experiment's default.
    pub images: Option<u64>,
    /// The command line, for the page.
    pub command: String,
}

impl Default for ReproduceOptions {
    fn default() -> Self {
        Self {
            quick: false,
            scratch: ".".into(),
            python: vec!["python3".into()],
            threads: None,
            rounds: None,
            images: None,
            command: String::new(),
        }
    }
}

impl ReproduceOptions {
    pub(crate) fn n_rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 5 }).max(1)
    }

    pub(crate) fn n_threads(&self) -> Result<usize> {
        fdconvert::plumbing::threads(self.threads)
    }

    /// Returns the number of images to make: the requested one, or the default of quick or full
    /// runs.
    pub(crate) fn n_images(&self, quick: u64, full: u64) -> Result<u64> {
        self.n_images_from(if self.quick { quick } else { full }, MIN_IMAGES)
    }

    /// Returns the requested number of images or the usual one, at least `least`.
    pub(crate) fn n_images_from(&self, usual: u64, least: u64) -> Result<u64> {
        let images = self.images.unwrap_or(usual);
        if !(least..=MAX_IMAGES).contains(&images) {
            let what = format!("must be from {least} to {MAX_IMAGES}, not {images}");
            return Err(Error::usage("images", what));
        }
        Ok(images)
    }
}

const MIN_IMAGES: u64 = 100;
const MAX_IMAGES: u64 = 1_000_000;

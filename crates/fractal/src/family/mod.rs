//! Sources of categories: each family has its way to find them.

mod candidate;
mod known;
mod one_p_frac;
mod search;
mod space_search;
mod svd;

pub use search::Search;
pub use space_search::SpaceSearch;

use crate::{Category, Draw, LineFamily, Sampler, Shape, csv, recipe::Keys, space};
use fdconvert_core::{Error, Result};
use std::path::PathBuf;

/// Number of categories if the recipe has none, as in most papers.
const DEFAULT_CLASSES: usize = 1000;

/// Likewise, for RT-FractalDB.
const RT_CLASSES: usize = 1_000_000;

/// Seed of categories, as in FractalDB.
const DEFAULT_SEED: u32 = Search::PUBLISHED_SEED;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Family {
    /// FractalDB (Kataoka et al., "Pre-training without natural images", ACCV 2020).
    FractalDb(FractalDb),
    /// OFDB (Nakamura et al., "Pre-training vision transformers with very limited synthesized
    /// images", ICCV 2023): FractalDB's categories with one image each.
    Ofdb(FractalDb),
    /// 1p-frac (Nakamura et al., "Scaling backwards: minimal synthetic pre-training?", ECCV 2024).
    OnePFrac(one_p_frac::OnePFrac),
    /// The sampler of Anderson and Farrell ("Improving fractal pre-training", WACV 2022).
    Svd {
        /// Seed of the categories.
        seed: u32,
        /// True for RT-FractalDB (Martinez-Noriega et al., "Towards high performance image-free
        /// ViT pre-training using tensor based fractal generation"): one image of each of a million.
        one_each: bool,
    },
    Lines {
        family: LineFamily,
        /// Seed of the classes.
        seed: u32,
    },
    /// Views of three-dimensional fractals.
    Space(SpaceFamily),
    /// Categories read from files.
    Csv {
        /// A folder or one file.
        path: PathBuf,
        /// True for three-dimensional systems.
        is_of_space: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FractalDb {
    seed: u32,
    rate: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpaceFamily {
    /// True for ExFractalDB, which turns views at random.
    is_turned: bool,
    seed: u32,
    variance: f64,
}

/// A family's defaults for keys that a recipe omits.
pub(crate) struct Defaults {
    pub(crate) size: u32,
    pub(crate) points: u32,
    pub(crate) weight: Option<f64>,
    pub(crate) flips: bool,
    pub(crate) instances: u64,
    pub(crate) draw: Draw,
    pub(crate) sampler: Sampler,
    pub(crate) turn: f64,
}

/// Description of a family, for the help text.
pub struct FamilyHelp {
    /// Name in recipes.
    pub name: &'static str,
    /// Description of the categories.
    pub about: &'static str,
}

/// All families, in the order of the help text.
pub const FAMILIES: &[FamilyHelp] = &[
    FamilyHelp { name: "fractaldb", about: "FractalDB's search, the published categories first" },
    FamilyHelp { name: "ofdb", about: "the same categories with one image each (OFDB)" },
    FamilyHelp { name: "1p-frac", about: "one system of two maps and noise on it" },
    FamilyHelp { name: "svd", about: "contracting maps by singular values (Anderson and Farrell)" },
    FamilyHelp {
        name: "rt-fractaldb",
        about: "one image of each of a million such systems, none searched for (RT-FractalDB)",
    },
    FamilyHelp { name: "rcdb", about: "radial contours, dark on white" },
    FamilyHelp { name: "visual_atom", about: "waves around a centre, light on black" },
    FamilyHelp {
        name: "mv-fractaldb",
        about: "fractals of space, each seen from 12 sides (MV-FractalDB)",
    },
    FamilyHelp { name: "ex-fractaldb", about: "the same, each view turned a little (ExFractalDB)" },
    FamilyHelp { name: "csv", about: "categories in files of FractalDB's or MV-FractalDB's form" },
];

impl Family {
    /// Returns the family of this name, and takes its keys out of the recipe.
    ///
    /// # Errors
    /// `Usage`, naming the families or the key.
    pub(crate) fn take(name: &str, keys: &mut Keys) -> Result<Self> {
        let fractaldb = |keys: &mut Keys| -> Result<_> {
            let rate = keys.or("rate", Search::PUBLISHED_RATE)?;
            Ok(FractalDb { seed: keys.or("category_seed", DEFAULT_SEED)?, rate })
        };
        Ok(match name {
            "fractaldb" => Self::FractalDb(fractaldb(keys)?),
            "ofdb" => Self::Ofdb(fractaldb(keys)?),
            "1p-frac" => {
                let seed = keys.or("category_seed", DEFAULT_SEED)?;
                let (sigma, delta) = (keys.or("sigma", 3.5)?, keys.or("delta", 0.1)?);
                Self::OnePFrac(one_p_frac::OnePFrac::new(seed, sigma, delta)?)
            }
            "svd" | "rt-fractaldb" => {
                let seed = keys.or("category_seed", DEFAULT_SEED)?;
                Self::Svd { seed, one_each: name == "rt-fractaldb" }
            }
            "mv-fractaldb" | "ex-fractaldb" => Self::Space(SpaceFamily {
                is_turned: name == "ex-fractaldb",
                seed: keys.or("category_seed", DEFAULT_SEED)?,
                variance: keys.or("variance", SpaceSearch::PUBLISHED_VARIANCE)?,
            }),
            "csv" => match keys.take("path") {
                Some(path) if !path.is_empty() => {
                    let path = PathBuf::from(path);
                    Self::Csv { is_of_space: csv::is_of_space(&path), path }
                }
                _ => {
                    let what = "say where the categories are: fractal:csv?path=FOLDER";
                    return Err(Error::usage("path", what));
                }
            },
            _ => {
                let Some(family) = LineFamily::from_name(name) else {
                    let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
                    let what = format!("unknown `{name}`; expected one of: {}", names.join(", "));
                    return Err(Error::usage("fractal", what));
                };
                Self::Lines { family, seed: keys.or("category_seed", DEFAULT_SEED)? }
            }
        })
    }

    /// Returns true if images are drawn point by point, so that draws, samplers, weights and flips
    /// apply.
    pub(crate) fn has_points(&self) -> bool {
        !matches!(self, Self::Lines { .. })
    }

    /// Returns true if images are views of three-dimensional fractals.
    pub(crate) fn has_views(&self) -> bool {
        matches!(self, Self::Space(_) | Self::Csv { is_of_space: true, .. })
    }

    /// Passes the family's keys of the recipe to `put`, with their values.
    pub(crate) fn put_keys(&self, put: &mut impl FnMut(&str, String)) {
        match self {
            Self::FractalDb(family) | Self::Ofdb(family) => {
                put("category_seed", family.seed.to_string());
                put("rate", family.rate.to_string());
            }
            Self::OnePFrac(family) => {
                put("category_seed", family.seed.to_string());
                put("sigma", family.sigma.to_string());
                put("delta", family.delta.to_string());
            }
            Self::Space(family) => {
                put("category_seed", family.seed.to_string());
                put("variance", family.variance.to_string());
            }
            Self::Svd { seed, .. } | Self::Lines { seed, .. } => {
                put("category_seed", seed.to_string());
            }
            Self::Csv { .. } => {}
        }
    }

    /// Returns true if categories are read from files.
    pub(crate) fn has_path(&self) -> bool {
        matches!(self, Self::Csv { .. })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::FractalDb(_) => "fractaldb",
            Self::Ofdb(_) => "ofdb",
            Self::OnePFrac(_) => "1p-frac",
            Self::Svd { one_each: true, .. } => "rt-fractaldb",
            Self::Svd { .. } => "svd",
            Self::Lines { family, .. } => family.name(),
            Self::Space(family) if family.is_turned => "ex-fractaldb",
            Self::Space(_) => "mv-fractaldb",
            Self::Csv { .. } => "csv",
        }
    }

    pub(crate) fn default_classes(&self) -> usize {
        if matches!(self, Self::Svd { one_each: true, .. }) { RT_CLASSES } else { DEFAULT_CLASSES }
    }

    /// Returns the defaults, those of the family's own programs.
    pub(crate) fn defaults(&self) -> Defaults {
        let one_each = Defaults {
            size: 512,
            points: 100_000,
            weight: None,
            flips: false,
            instances: 1,
            draw: Draw::PatchGray,
            sampler: Sampler::FractaldbV1,
            turn: 0.0,
        };
        if self.has_views() {
            let is_turned = matches!(self, Self::Space(family) if family.is_turned);
            return Defaults {
                size: 224,
                points: space_search::POINTS,
                weight: Some(0.6),
                draw: Draw::PointGray,
                sampler: Sampler::MvFractaldbV1,
                turn: if is_turned { space::EX_TURN } else { 0.0 },
                ..one_each
            };
        }
        match self {
            Self::FractalDb(_) | Self::Csv { .. } => Defaults {
                size: 362,
                points: 200_000,
                weight: Some(0.4),
                flips: true,
                instances: 1000,
                ..one_each
            },
            Self::Ofdb(_) | Self::OnePFrac(_) | Self::Space(_) => one_each,
            Self::Lines { .. } => Defaults { instances: 1000, ..one_each },
            Self::Svd { one_each: is_rt, .. } => Defaults {
                size: 256,
                instances: if *is_rt { 1 } else { 1000 },
                sampler: Sampler::Lanes64V1,
                ..one_each
            },
        }
    }

    /// Finds the first `classes` categories of the family.
    ///
    /// # Errors
    /// `Usage` when there are fewer, `Io` and `Corrupt` for files, `Cancelled`.
    pub(crate) fn categories(
        &self,
        classes: Option<usize>,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<Category>> {
        let wanted = classes.unwrap_or(self.default_classes());
        if wanted == 0 || wanted > crate::Formula::MAX_CLASSES {
            let what = format!("{wanted} is not from 1 to {}", crate::Formula::MAX_CLASSES);
            return Err(Error::usage("classes", what));
        }
        let systems = match self {
            Self::FractalDb(family) | Self::Ofdb(family) => {
                let mut search = Search::new(family.seed, family.rate)?;
                search.run(wanted, progress)?;
                search.found().to_vec()
            }
            Self::OnePFrac(family) => family.systems(wanted, progress)?,
            Self::Svd { seed, .. } => svd::systems(*seed, wanted)?,
            Self::Csv { path, .. } => return from_files(path, classes),
            Self::Space(family) => {
                let mut search = SpaceSearch::new(family.seed, family.variance)?;
                search.run(wanted, progress)?;
                return Ok(search.categories());
            }
            Self::Lines { family, seed } => {
                let shape = |class| Shape::Lines(family.class((*seed).into(), class));
                let name = |class| Category { name: format!("{class:05}"), shape: shape(class) };
                return Ok((0..wanted as u32).map(name).collect());
            }
        };
        // The originals number them so.
        let digits = match self {
            Self::OnePFrac(_) => 2,
            Self::Svd { one_each: true, .. } => 6,
            _ => 5,
        };
        let name = |(number, system)| {
            let name = format!("{number:0digits$}");
            Category { name, shape: Shape::Ifs(system) }
        };
        Ok(systems.into_iter().enumerate().map(name).collect())
    }
}

fn from_files(path: &std::path::Path, classes: Option<usize>) -> Result<Vec<Category>> {
    let mut categories =
        if path.is_dir() { Category::read_all(path)? } else { vec![Category::read(path)?] };
    if let Some(wanted) = classes {
        if wanted > categories.len() {
            let what = format!("{wanted}, and {} has {}", path.display(), categories.len());
            return Err(Error::usage("classes", what));
        }
        categories.truncate(wanted);
    }
    Ok(categories)
}

use crate::{
    BASE_ROW, Category, Draw, Flip, Frame, GRAY, N_WEIGHT_ROWS, NO_WEIGHTS, Shape, System, Weights,
    space, weights,
};
use fdconvert_core::{Error, Result};
use xxhash_rust::xxh3::Xxh3;

/// A complete definition of a dataset: the categories themselves, and how they are drawn. Equal
/// formulas make equal images, on every machine and in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// Name of the family, for messages and file names.
    pub family: String,
    /// The classes, in order.
    pub categories: Vec<Category>,
    /// Step of the table of 25 [`weights`]; with [`Sampler::MvFractaldbV1`] the reach of
    /// [`space_weights`](crate::space_weights). `None` for one unweighted instance.
    pub weight: Option<f64>,
    /// Number of images per class and row of weights, before flips; number of views for
    /// three-dimensional systems.
    pub patches: u32,
    /// True if each image comes in the four flips of the original, false for its `flip0` only.
    pub flips: bool,
    /// Size and number of points.
    pub frame: Frame,
    /// Style in which points are drawn.
    pub draw: Draw,
    /// Generator of the points.
    pub sampler: Sampler,
    /// Seed of everything random in an instance.
    pub seed: u64,
    /// An image with points that cover less than this share is redrawn with other weights; 0
    /// accepts every image.
    pub min_fill: f64,
    /// Largest random turn of a view, in degrees; 0 without views.
    pub turn: f64,
    /// True if every epoch has different instances.
    pub varies: bool,
}

/// Generator of the points. The images of a released name never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampler {
    /// FractalDB's own renderer, bit for bit: one orbit for each category and row of weights,
    /// from random numbers that are the same for all images.
    FractaldbV1,
    /// Sixty-four parallel orbits; every instance has its own random numbers.
    Lanes64V1,
    /// MV-FractalDB's points and renderer, for three-dimensional systems: views of instances, which
    /// have their own random numbers.
    MvFractaldbV1,
}

impl Sampler {
    /// All samplers.
    pub const ALL: [Self; 3] = [Self::FractaldbV1, Self::Lanes64V1, Self::MvFractaldbV1];

    /// Returns its name in recipes and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FractaldbV1 => "fractaldb-v1",
            Self::Lanes64V1 => "lanes64-v1",
            Self::MvFractaldbV1 => "mv-fractaldb-v1",
        }
    }

    /// Returns the sampler of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sampler| sampler.name() == name)
    }
}

/// Position of an image in a dataset: flips vary fastest, then patches, rows, and classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Position of the category.
    pub class: u32,
    /// Row of the weights, 0 when there are none.
    pub row: u32,
    /// Number of the image of that row; for three-dimensional systems, of the view.
    pub patch: u32,
    /// Flip of the image.
    pub flip: Flip,
}

impl Formula {
    /// Largest number of classes; a formula is read into memory as a whole.
    pub const MAX_CLASSES: usize = 1 << 22;

    /// Largest number of views of an instance.
    pub const MAX_VIEWS: u32 = 1000;

    /// Largest number of images of a class, which have 32-bit numbers.
    pub const MAX_INSTANCES: u64 = 1 << 31;

    /// Checks the values against their bounds and each other.
    ///
    /// # Errors
    /// `Usage`, naming the key of the recipe.
    pub fn check(&self) -> Result<()> {
        if self.categories.is_empty() || self.categories.len() > Self::MAX_CLASSES {
            let (n, most) = (self.categories.len(), Self::MAX_CLASSES);
            return Err(Error::usage("classes", format!("{n} is not from 1 to {most}")));
        }
        let is_of_space = self.has_views();
        let wrong = self
            .categories
            .iter()
            .find(|category| matches!(category.shape, Shape::Space(_)) != is_of_space);
        if let Some(category) = wrong {
            let (name, sampler) = (&category.name, self.sampler.name());
            let what = if is_of_space {
                format!("{sampler} draws systems of space, and category {name} is none")
            } else {
                format!("{sampler} draws no systems of space, and category {name} is one")
            };
            return Err(Error::usage("sampler", what));
        }
        if is_of_space {
            return self.check_views();
        }
        if let Some(step) = self.weight
            && !(step.is_finite() && step.abs() <= 10.0)
        {
            return Err(Error::usage("weight", format!("{step} is not from -10 to 10")));
        }
        let instances = self.instances();
        if self.patches == 0 || instances > Self::MAX_INSTANCES {
            let what = format!("{instances} is not from 1 to {}", Self::MAX_INSTANCES);
            return Err(Error::usage("instances", what));
        }
        if self.sampler == Sampler::FractaldbV1 && !self.draw.is_patch() && self.patches > 1 {
            let what = format!(
                "with sampler={} every {} of a class and a row of weights is the same image; ask \
                 for {} instances, or for another sampler or draw",
                self.sampler.name(),
                self.draw.name(),
                instances / u64::from(self.patches)
            );
            return Err(Error::usage("instances", what));
        }
        if !(0.0..=1.0).contains(&self.min_fill) {
            return Err(Error::usage("min_fill", format!("{} is not from 0 to 1", self.min_fill)));
        }
        if self.min_fill > 0.0 && self.weight.is_none() {
            let what = "without weights there is nothing else to draw; add weight=0.4";
            return Err(Error::usage("min_fill", what));
        }
        Ok(())
    }

    fn check_views(&self) -> Result<()> {
        space::space_weights(self.weight)?;
        if self.patches == 0 || self.patches > Self::MAX_VIEWS {
            let what = format!("{} is not from 1 to {}", self.patches, Self::MAX_VIEWS);
            return Err(Error::usage("views", what));
        }
        if !(0.0..=180.0).contains(&self.turn) {
            return Err(Error::usage("turn", format!("{} is not from 0 to 180", self.turn)));
        }
        if self.flips || self.min_fill != 0.0 || self.draw != Draw::PointGray {
            let what = "views are white points, not turned over, and drawn as they are";
            return Err(Error::usage("draw", what));
        }
        Ok(())
    }

    /// Returns true if images are views of three-dimensional fractals.
    #[must_use]
    pub fn has_views(&self) -> bool {
        self.sampler == Sampler::MvFractaldbV1
    }

    /// Returns the gray of a lit pixel, for two-level images.
    #[must_use]
    pub fn level(&self) -> u8 {
        if self.has_views() { space::WHITE } else { GRAY }
    }

    /// Returns the number of weight rows in use.
    #[must_use]
    pub fn n_rows(&self) -> u32 {
        if self.has_views() {
            space::n_rows(self.weight)
        } else if self.weight.is_some() {
            N_WEIGHT_ROWS as u32
        } else {
            1
        }
    }

    /// Returns the weight rows in use, for systems of the plane.
    #[must_use]
    pub fn rows(&self) -> Vec<Weights> {
        self.weight.map_or_else(|| vec![NO_WEIGHTS], |step| weights(step).to_vec())
    }

    /// Returns the row that changes nothing.
    #[must_use]
    pub fn base_row(&self) -> u32 {
        if self.has_views() {
            return space::base_row(self.weight);
        }
        if self.weight.is_some() { BASE_ROW as u32 } else { 0 }
    }

    fn n_flips(&self) -> u32 {
        if self.flips { Flip::ALL.len() as u32 } else { 1 }
    }

    /// Returns the number of images of a class.
    #[must_use]
    pub fn instances(&self) -> u64 {
        u64::from(self.n_rows()) * u64::from(self.patches) * u64::from(self.n_flips())
    }

    /// Returns the number of images of the dataset.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.categories.len() as u64 * self.instances()
    }

    /// Returns false for every checked formula.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the place of image `index`; `None` beyond the last.
    #[must_use]
    pub fn place(&self, index: u64) -> Option<Place> {
        if index >= self.len() {
            return None;
        }
        let (class, instance) = (index / self.instances(), (index % self.instances()) as u32);
        let (rest, flip) = (instance / self.n_flips(), instance % self.n_flips());
        let flip = Flip::ALL.into_iter().nth(flip as usize)?;
        let (row, patch) = (rest / self.patches, rest % self.patches);
        Some(Place { class: class as u32, row, patch, flip })
    }

    /// Returns the instance at a place, the same for its four flips. With seed and class it keys
    /// the random numbers of the image.
    #[must_use]
    pub fn instance(&self, place: &Place) -> u32 {
        place.row * self.patches + place.patch
    }

    /// Returns the file name that the family's original program gives to the image.
    #[must_use]
    pub fn key(&self, place: &Place) -> String {
        let Some(category) = self.categories.get(place.class as usize) else {
            return String::new();
        };
        if let Shape::Lines(class) = &category.shape {
            return class.name(place.class, self.instance(place));
        }
        if matches!(category.shape, Shape::Space(_)) {
            let name = &category.name;
            return format!("{name}/{name}_{:05}_{:03}.png", place.row, place.patch);
        }
        let category = &category.name;
        let flip = Flip::ALL.iter().position(|flip| *flip == place.flip).unwrap_or(0);
        let patch = place.patch;
        // If each class has one image, 1p-frac repeats the class in place of the row.
        if self.family == "1p-frac" && self.n_rows() == 1 {
            return format!("{category}/{category}_{category}_count_{patch}_flip{flip}.png");
        }
        format!("{category}/{category}_{:02}_count_{patch}_flip{flip}.png", place.row)
    }

    /// Returns a hash of everything that affects an image or its name.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        let mut hash = Xxh3::new();
        let mut put = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        put(self.family.as_bytes());
        put(self.draw.name().as_bytes());
        put(self.sampler.name().as_bytes());
        let step = self.weight.unwrap_or(f64::NAN).to_bits();
        let frame = [self.frame.size(), self.frame.pad(), self.frame.points()].map(u64::from);
        let (patches, flips) = (self.patches.into(), self.flips.into());
        let rest = [step, patches, flips, self.seed, self.min_fill.to_bits(), self.varies.into()];
        put(frame.map(u64::to_le_bytes).as_flattened());
        put(rest.map(u64::to_le_bytes).as_flattened());
        if self.has_views() {
            put(&self.turn.to_le_bytes());
        }
        for category in &self.categories {
            put(category.name.as_bytes());
            match &category.shape {
                Shape::Ifs(system) => put_maps(system, &mut put),
                Shape::Space(system) => put_maps(system, &mut put),
                Shape::Lines(class) => {
                    for (name, value) in class.params() {
                        put(name.as_bytes());
                        put(&value.to_le_bytes());
                    }
                }
            }
        }
        hash.digest128().to_le_bytes()
    }
}

fn put_maps<const N: usize>(system: &System<N>, put: &mut impl FnMut(&[u8])) {
    for (map, probability) in system.maps().iter().zip(system.probabilities()) {
        put(map.map(f64::to_le_bytes).as_flattened());
        put(&probability.to_le_bytes());
    }
}

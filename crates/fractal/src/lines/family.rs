use crate::lines::params::{self, Given};
use crate::lines::{RcdbClass, VisualAtomClass};
use fdconvert_core::{Pixels, Result};

/// A family of figures made of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineFamily {
    /// Radial contours, dark on white.
    Rcdb,
    /// Contours with waves, light on black.
    VisualAtom,
}

impl LineFamily {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rcdb, Self::VisualAtom];

    /// Its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rcdb => "rcdb",
            Self::VisualAtom => "visual_atom",
        }
    }

    /// The family of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The gray of pixels that no line touches.
    #[must_use]
    pub fn background(self) -> u8 {
        match self {
            Self::Rcdb => 255,
            Self::VisualAtom => 0,
        }
    }

    /// Class number `class` of a seed.
    #[must_use]
    pub fn class(self, seed: u64, class: u32) -> LineClass {
        match self {
            Self::Rcdb => LineClass::Rcdb(RcdbClass::new(seed, class)),
            Self::VisualAtom => LineClass::VisualAtom(VisualAtomClass::new(seed, class)),
        }
    }
}

/// A class of a family, as numbers that a file can keep.
#[derive(Debug, Clone, PartialEq)]
pub enum LineClass {
    /// One of RCDB.
    Rcdb(RcdbClass),
    /// One of VisualAtom.
    VisualAtom(VisualAtomClass),
}

impl LineClass {
    /// The class of these numbers, by the names that [`params`](Self::params) has, in any order.
    ///
    /// # Errors
    /// `Usage` when a number is missing, unknown, given twice or out of the bounds within which a
    /// figure is drawn in reasonable time.
    pub fn from_params<S: AsRef<str>>(family: LineFamily, params: &[(S, f64)]) -> Result<Self> {
        let mut given = Given::new(params);
        let class = match family {
            LineFamily::Rcdb => Self::Rcdb(RcdbClass::from_given(&mut given)?),
            LineFamily::VisualAtom => Self::VisualAtom(VisualAtomClass::from_given(&mut given)?),
        };
        given.finish()?;
        Ok(class)
    }

    /// The class of a text as [`to_csv`](Self::to_csv) writes it, so also of RCDB's own files.
    ///
    /// # Errors
    /// `Usage`, as for [`from_params`](Self::from_params), and for lines of another shape.
    pub fn from_csv(family: LineFamily, text: &str) -> Result<Self> {
        Self::from_params(family, &params::from_csv(text)?)
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> LineFamily {
        match self {
            Self::Rcdb(_) => LineFamily::Rcdb,
            Self::VisualAtom(_) => LineFamily::VisualAtom,
        }
    }

    /// Its numbers, in the order and by the names of RCDB's files. VisualAtom writes none; it has
    /// the same numbers and, by the names in its script, two frequencies.
    #[must_use]
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Rcdb(class) => class.params(),
            Self::VisualAtom(class) => class.params(),
        }
    }

    /// Its numbers as lines `name,value`, as RCDB's `param/00000.csv` has them.
    #[must_use]
    pub fn to_csv(&self) -> String {
        params::to_csv(&self.params())
    }

    /// Draws instance `instance` in gray, one channel. Pixels depend on the class's numbers, on
    /// `seed`, `class`, `instance` and `size`, and on nothing else.
    ///
    /// Figures are computed for the originals' 512 by 512 pixels. Another `size` shows the same
    /// figure smaller or larger, with lines of one pixel still; the originals take a size too, but
    /// then keep the figure's size, cut it off and change RCDB's grays.
    ///
    /// # Errors
    /// `Usage` for a size that is 0 or above [`Frame::MAX_SIZE`](crate::Frame::MAX_SIZE).
    pub fn render(&self, seed: u64, class: u32, instance: u32, size: u32) -> Result<Pixels> {
        match self {
            Self::Rcdb(figure) => figure.render(seed, class, instance, size),
            Self::VisualAtom(figure) => figure.render(seed, class, instance, size),
        }
    }

    /// The file of an instance below the folder of images, as in the originals: RCDB's
    /// `00000/00000_0000.png`, VisualAtom's `00000/vertex_0500_instance_0000.png`.
    #[must_use]
    pub fn name(&self, class: u32, instance: u32) -> String {
        match self {
            Self::Rcdb(figure) => figure.name(class, instance),
            Self::VisualAtom(figure) => figure.name(class, instance),
        }
    }
}

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
    /// All families.
    pub const ALL: [Self; 2] = [Self::Rcdb, Self::VisualAtom];

    /// Returns its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rcdb => "rcdb",
            Self::VisualAtom => "visual_atom",
        }
    }

    /// Returns the family of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Returns the gray of the background.
    #[must_use]
    pub fn background(self) -> u8 {
        match self {
            Self::Rcdb => 255,
            Self::VisualAtom => 0,
        }
    }

    /// Draws class number `class` of a seed.
    #[must_use]
    pub fn class(self, seed: u64, class: u32) -> LineClass {
        match self {
            Self::Rcdb => LineClass::Rcdb(RcdbClass::new(seed, class)),
            Self::VisualAtom => LineClass::VisualAtom(VisualAtomClass::new(seed, class)),
        }
    }
}

/// A class of a family, as parameters that a file can store.
#[derive(Debug, Clone, PartialEq)]
pub enum LineClass {
    /// A class of RCDB.
    Rcdb(RcdbClass),
    /// A class of VisualAtom.
    VisualAtom(VisualAtomClass),
}

impl LineClass {
    /// Creates the class of these parameters, named as in [`params`](Self::params), in any order.
    ///
    /// # Errors
    /// `Usage` when a parameter is missing, unknown, given twice or outside the bounds that keep
    /// the drawing time reasonable.
    pub fn from_params<S: AsRef<str>>(family: LineFamily, params: &[(S, f64)]) -> Result<Self> {
        let mut given = Given::new(params);
        let class = match family {
            LineFamily::Rcdb => Self::Rcdb(RcdbClass::from_given(&mut given)?),
            LineFamily::VisualAtom => Self::VisualAtom(VisualAtomClass::from_given(&mut given)?),
        };
        given.finish()?;
        Ok(class)
    }

    /// Reads a class as [`to_csv`](Self::to_csv) writes it, including RCDB's own files.
    ///
    /// # Errors
    /// `Usage`, as for [`from_params`](Self::from_params), and for malformed lines.
    pub fn from_csv(family: LineFamily, text: &str) -> Result<Self> {
        Self::from_params(family, &params::from_csv(text)?)
    }

    /// Returns its family.
    #[must_use]
    pub fn family(&self) -> LineFamily {
        match self {
            Self::Rcdb(_) => LineFamily::Rcdb,
            Self::VisualAtom(_) => LineFamily::VisualAtom,
        }
    }

    /// Returns its parameters, with the order and names of RCDB's files. VisualAtom writes no
    /// files; it has the same parameters and two frequencies, named as in its script.
    #[must_use]
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Rcdb(class) => class.params(),
            Self::VisualAtom(class) => class.params(),
        }
    }

    /// Returns its parameters as lines `name,value`, as in RCDB's `param/00000.csv`.
    #[must_use]
    pub fn to_csv(&self) -> String {
        params::to_csv(&self.params())
    }

    /// Draws instance `instance` in gray, one channel. Pixels depend only on the class's parameters
    /// and on `seed`, `class`, `instance` and `size`.
    ///
    /// Figures are computed for the originals' 512 by 512 pixels. Another `size` scales the figure,
    /// but not its lines of one pixel; the originals take a size too, but keep the figure's size,
    /// cut it off and change RCDB's grays.
    ///
    /// # Errors
    /// `Usage` for a size that is 0 or above [`Frame::MAX_SIZE`](crate::Frame::MAX_SIZE).
    pub fn render(&self, seed: u64, class: u32, instance: u32, size: u32) -> Result<Pixels> {
        match self {
            Self::Rcdb(figure) => figure.render(seed, class, instance, size),
            Self::VisualAtom(figure) => figure.render(seed, class, instance, size),
        }
    }

    /// Returns the file of an instance below the folder of images, as in the originals: RCDB's
    /// `00000/00000_0000.png`, VisualAtom's `00000/vertex_0500_instance_0000.png`.
    #[must_use]
    pub fn name(&self, class: u32, instance: u32) -> String {
        match self {
            Self::Rcdb(figure) => figure.name(class, instance),
            Self::VisualAtom(figure) => figure.name(class, instance),
        }
    }
}

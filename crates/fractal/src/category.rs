use crate::{LineClass, SpaceSystem, System, csv};

/// A class of a dataset: a name, and what all its images are instances of.
#[derive(Debug, Clone, PartialEq)]
pub struct Category {
    /// Names the class, the folder of its images and its file; numbered from `00000` by the
    /// originals.
    pub name: String,
    /// Shape that its images are instances of.
    pub shape: Shape,
}

/// Shape that the images of a category are instances of.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An iterated function system; an instance is an orbit of it.
    Ifs(System),
    /// An iterated function system of space; an instance is a view of an orbit of it.
    Space(SpaceSystem),
    /// A figure of closed lines; an instance is noise on it.
    Lines(LineClass),
}

impl Category {
    /// The text of its file: lines of seven columns for systems, of thirteen for those of space
    /// (see [`read`](Self::read)), lines `name,value` for figures of lines.
    #[must_use]
    pub fn to_csv(&self) -> String {
        match &self.shape {
            Shape::Ifs(system) => csv::to_csv(system),
            Shape::Space(system) => csv::to_csv(system),
            Shape::Lines(class) => class.to_csv(),
        }
    }
}

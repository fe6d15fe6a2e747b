use crate::{LineClass, SpaceSystem, System, csv};

/// A class of a dataset: a name and a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Category {
    /// Name of the class, of the folder of its images and of its file; the originals number classes
    /// from `00000`.
    pub name: String,
    /// The shape of which its images are instances.
    pub shape: Shape,
}

/// The shape of which the images of a category are instances.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An iterated function system; an instance is an orbit of it.
    Ifs(System),
    /// A three-dimensional iterated function system; an instance is a view of an orbit of it.
    Space(SpaceSystem),
    /// A figure of closed lines; an instance is noise on it.
    Lines(LineClass),
}

impl Category {
    /// Returns the text of its file: lines of seven columns for systems, of thirteen for
    /// three-dimensional ones (see [`read`](Self::read)), lines `name,value` for figures of lines.
    #[must_use]
    pub fn to_csv(&self) -> String {
        match &self.shape {
            Shape::Ifs(system) => csv::to_csv(system),
            Shape::Space(system) => csv::to_csv(system),
            Shape::Lines(class) => class.to_csv(),
        }
    }
}

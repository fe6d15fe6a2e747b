//! What a layout cannot say of the samples, counted by kind.
use fdconvert_core::{Remark, option};
use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    sync::{Arc, Mutex, PoisonError},
};

/// A kind of loss, with what it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    /// A field of the samples.
    Field(String),
    /// A split that YOLO has no name for.
    Split(String),
    /// A list of the objects, by its key.
    Key(String),
    /// Polygons of objects.
    Polygons,
    /// Run lengths of objects.
    Masks,
    /// Run lengths that became polygons around them.
    TracedMasks,
    /// Holes in such masks, which are filled.
    Holes,
    /// Several polygons of an object that became one.
    JoinedPolygons,
    /// Boxes in the place of polygons.
    BoxPolygons,
    /// Polygons in the place of oriented boxes.
    Rectangles,
    Keypoints,
    /// Objects with another number of keypoints.
    OtherKeypoints,
    /// Crowds, which are left out.
    Crowds,
    /// Crowds, which are marked as difficult.
    DifficultCrowds,
    /// Objects without a category, which are left out.
    Uncategorized,
    /// Objects whose box has no area in the image, which are left out.
    Empty,
    /// Boxes that reach out of the image, and are cut.
    Cut,
    /// Ids of images or annotations that occur twice, and are replaced.
    Ids,
    /// Run lengths of another size than the image.
    ResizedMasks,
}

/// The losses of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losses(BTreeMap<Loss, u64>);

/// The losses of a finished run, for its summary.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told(Arc<Mutex<(&'static str, Losses)>>);

impl Losses {
    pub(crate) fn add(&mut self, loss: Loss) {
        self.add_n(loss, 1);
    }

    pub(crate) fn add_n(&mut self, loss: Loss, n: u64) {
        if n > 0 {
            *self.0.entry(loss).or_default() += n;
        }
    }

    pub(crate) fn append(&mut self, others: Self) {
        others.0.into_iter().for_each(|(loss, n)| self.add_n(loss, n));
    }

    /// The first loss, as a text that refuses it.
    pub(crate) fn refused(&self, layout: &str) -> Option<String> {
        let (loss, n) = self.0.first_key_value()?;
        Some(format!("`strict` allows no loss: {}", Line { loss, n: *n, layout }))
    }
}

impl Told {
    pub(crate) fn tell(&self, layout: &'static str, losses: Losses) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (layout, losses);
    }

    /// A remark for each kind, with its number.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (layout, losses) = &*told;
        let remark = |(loss, n): (&Loss, &u64)| {
            let remark = Remark::from(Line { loss, n: *n, layout }.to_string());
            match (loss, *layout) {
                (Loss::Polygons, "yolo") => {
                    remark.cure("to write them", option::TASK.with("segment"))
                }
                (Loss::Keypoints, "yolo") => {
                    remark.cure("to write them", option::TASK.with("pose"))
                }
                _ => remark,
            }
        };
        losses.0.iter().map(remark).collect()
    }
}

/// A loss as a sentence.
struct Line<'a> {
    loss: &'a Loss,
    n: u64,
    layout: &'a str,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { loss, n, layout } = self;
        let objects = if *n == 1 { "object" } else { "objects" };
        let s = if *n == 1 { "" } else { "s" };
        let (is, has) = if *n == 1 { ("is", "has") } else { ("are", "have") };
        match loss {
            Loss::Field(name) => write!(f, "the field `{name}` has no place in {layout}"),
            Loss::Split(name) => {
                let samples = if *n == 1 { "sample" } else { "samples" };
                write!(f, "{n} {samples} of the split `{name}` {is} in `train` of data.yaml")
            }
            Loss::Key(key) => write!(f, "`{key}` of {n} {objects} has no place in {layout}"),
            Loss::Polygons => write!(f, "the polygons of {n} {objects} are not written"),
            Loss::Masks => write!(f, "the run lengths of {n} {objects} are not written"),
            Loss::TracedMasks => write!(f, "the run lengths of {n} {objects} became polygons"),
            Loss::Holes => write!(f, "{n} hole{s} in such run lengths {is} filled"),
            Loss::JoinedPolygons => {
                write!(f, "{n} {objects} of several polygons became one polygon each")
            }
            Loss::BoxPolygons => write!(f, "{n} {objects} without polygons became their boxes"),
            Loss::Rectangles => {
                write!(
                    f,
                    "the polygons of {n} {objects} became the smallest rectangles around them"
                )
            }
            Loss::Keypoints => write!(f, "the keypoints of {n} {objects} are not written"),
            Loss::OtherKeypoints => {
                write!(f, "{n} {objects} {has} another number of keypoints, and {is} left out")
            }
            Loss::Crowds => write!(f, "{n} crowd{s} {is} left out, which {layout} cannot mark"),
            Loss::DifficultCrowds => write!(f, "{n} crowd{s} {is} marked as difficult"),
            Loss::Uncategorized => write!(f, "{n} {objects} without a category {is} left out"),
            Loss::Empty => {
                write!(f, "{n} {objects} whose box has no area in the image {is} left out")
            }
            Loss::Cut => write!(f, "{n} {objects} that reach out of the image {is} cut to it"),
            Loss::Ids if *n == 1 => f.write_str("1 id that occurs twice is replaced by a new one"),
            Loss::Ids => write!(f, "{n} ids that occur twice are replaced by new ones"),
            Loss::ResizedMasks => write!(
                f,
                "the run lengths of {n} {objects} are of another size than the image, and left out"
            ),
        }
    }
}

//! The views of an image in a row of a batch: several draws of one or more lists of transforms.

use crate::{
    batch::Shape,
    transform::{DType, Layout, Output, TransformList},
};
use fdconvert_core::{Bands, Error, Result};
use std::sync::Arc;

/// Views of each image that are drawn from one list, under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewGroup {
    /// Name in batches.
    pub name: String,
    /// Number of views, at least 1.
    pub n_views: u32,
    /// List that each of them is drawn from, with other random numbers.
    pub transform: TransformList,
}

impl ViewGroup {
    /// Creates a group.
    #[must_use]
    pub fn new(name: impl Into<String>, n_views: u32, transform: TransformList) -> Self {
        Self { name: name.into(), n_views, transform }
    }
}

/// Order of the views of a group in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ViewLayout {
    /// The first view of all rows, then the second one: (views, rows, ...).
    #[default]
    Views,
    /// All views of the first row, then those of the second one: (rows, views, ...).
    Rows,
}

/// More views of one image are a mistake.
const MAX_VIEWS: u32 = 256;

/// The groups of a loader, and the form of their rows.
#[derive(Debug, Clone)]
pub(crate) struct Views {
    groups: Arc<[GroupForm]>,
    pub(crate) layout: ViewLayout,
}

#[derive(Debug)]
pub(crate) struct GroupForm {
    pub(crate) name: String,
    pub(crate) n_views: usize,
    pub(crate) transform: TransformList,
    pub(crate) output: Output,
}

impl Views {
    /// Creates the views of images, by default one of the default list; without images there are
    /// none.
    ///
    /// # Errors
    /// `Usage` for groups without images, for no views or too many, equal names, images of several sizes, and
    /// batches that are mixed although a row has several views.
    pub(crate) fn new(groups: &[ViewGroup], layout: ViewLayout, have_images: bool) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("views", what));
        let default = [ViewGroup::new("", 1, TransformList::default())];
        let groups = match (have_images, groups) {
            (true, []) => &default[..],
            (false, [_, ..]) => {
                let what = "the samples of the dataset have no images, which transforms are for: leave \
                            `transform` and `views` out";
                return refuse(what.into());
            }
            _ => groups,
        };
        for (number, group) in groups.iter().enumerate() {
            let ViewGroup { name, n_views, .. } = group;
            if groups.iter().take(number).any(|earlier| earlier.name == *name) {
                return refuse(format!("two groups are called `{name}`"));
            }
            if !(1..=MAX_VIEWS).contains(n_views) {
                return refuse(format!("{n_views} of `{name}` are not 1 to {MAX_VIEWS}"));
            }
        }
        let n_views: u32 = groups.iter().map(|group| group.n_views).sum();
        if n_views > 1 && groups.iter().any(|group| group.transform.mix().is_some()) {
            let what = "MixUp and CutMix mix the labels of rows, which have several views here: leave \
                        them out, or take one view";
            return refuse(what.into());
        }
        let bands_of = |group: &ViewGroup| group.transform.bands().map(|form| form.bands);
        if groups.windows(2).any(|two| two.first().map(bands_of) != two.last().map(bands_of)) {
            return refuse("the views of an image are of the same Bands".into());
        }
        let group = |group: &ViewGroup| {
            let ViewGroup { name, n_views, transform } = group.clone();
            let output = transform.output()?;
            Ok(GroupForm { name, n_views: n_views as usize, transform, output })
        };
        Ok(Self { groups: groups.iter().map(group).collect::<Result<_>>()?, layout })
    }

    /// Creates a single view whose rows have another form than its list of transforms has.
    pub(crate) fn single_with(transform: TransformList, output: Output) -> Self {
        let group = GroupForm { name: String::new(), n_views: 1, transform, output };
        Self { groups: Arc::new([group]), layout: ViewLayout::default() }
    }

    pub(crate) fn groups(&self) -> &[GroupForm] {
        &self.groups
    }

    /// Yields the group of each view of a row, in order.
    pub(crate) fn each(&self) -> impl Iterator<Item = &GroupForm> + Clone {
        self.groups.iter().flat_map(|group| std::iter::repeat_n(group, group.n_views))
    }

    /// Returns the form of the views, if a row has a single one.
    pub(crate) fn single(&self) -> Option<&GroupForm> {
        let mut all = self.each();
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns the first group.
    pub(crate) fn first(&self) -> Option<&GroupForm> {
        self.groups.first()
    }

    /// Returns the shape of the first view of a number of rows.
    pub(crate) fn shape(&self, rows: usize) -> Shape {
        match self.groups.first() {
            Some(group) => group.shape(rows),
            // There is a group.
            None => Shape {
                rows,
                height: 0,
                width: 0,
                channels: 3,
                layout: Layout::default(),
                dtype: DType::U8,
            },
        }
    }

    /// Returns the bands that images are taken as; `None` for RGB.
    pub(crate) fn bands(&self) -> Option<Bands> {
        Some(self.groups.first()?.transform.bands()?.bands)
    }

    /// Returns the side at which square images need no resizing in any view.
    pub(crate) fn draw_side(&self) -> Option<u32> {
        let mut sides = self.groups.iter().map(|group| group.transform.draw_side());
        let first = sides.next()??;
        sides.all(|side| side == Some(first)).then_some(first)
    }

    /// Returns the bytes of a row, all its views together.
    pub(crate) fn row_bytes(&self) -> usize {
        self.groups.iter().fold(0, |sum: usize, group| {
            sum.saturating_add(group.n_views.saturating_mul(group.output.n_bytes()))
        })
    }
}

impl GroupForm {
    /// Returns the shape of one view of a number of rows.
    pub(crate) fn shape(&self, rows: usize) -> Shape {
        let Output { size: (width, height), layout, channels, dtype, .. } = self.output;
        Shape { rows, height, width, channels, layout, dtype }
    }
}

//! The forms of batches: one, or one for each bucket of sizes.
use crate::{
    fields::Fields,
    options::Options,
    sizes::{Patches, SizeBuckets, Sizes},
    transform::{Change, Interpolation, Layout, TransformList},
    views::{ViewGroup, Views},
};
use fdconvert_core::{Error, Result};
use std::sync::Arc;

/// Rows of the batches of one bucket; without buckets, of all batches.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) views: Views,
    /// The fields of the first view, and those that follow the image in each other view.
    pub(crate) fields: Vec<Arc<Fields>>,
}

impl Form {
    pub(super) fn new(views: Views, fields: &Arc<Fields>) -> Self {
        let size = views.first().map(|group| group.output.size);
        let first = match size.filter(|_| fields.follow()) {
            Some(size) => Arc::new(fields.of_size(size)),
            None => fields.clone(),
        };
        let others = views.each().skip(1).filter(|_| fields.follow());
        let others = others.map(|group| Arc::new(fields.following(group.output.size)));
        Self { fields: std::iter::once(first).chain(others).collect(), views }
    }
}

/// Returns the views of each form.
///
/// # Errors
/// `Usage` for sizes that do not fit the other options.
pub(super) fn views_of(options: &Options, have_images: bool) -> Result<Vec<Views>> {
    let Options { views, view_layout, sizes, .. } = options;
    if *sizes == Sizes::One {
        return Ok(vec![Views::new(views, *view_layout, have_images)?]);
    }
    if !have_images {
        return refuse("the samples of the dataset have no images: leave it out");
    }
    if options.device.is_some() {
        return refuse(
            "batches on a GPU have one size: take them in the host's memory (no `device`)",
        );
    }
    if views.iter().any(|group| group.transform.mix().is_some()) {
        return refuse(
            "MixUp and CutMix mix rows of one size that all batches have: leave them out",
        );
    }
    match sizes {
        Sizes::Buckets(buckets) => in_buckets(buckets, options),
        Sizes::Patches(patches) => Ok(vec![of_patches(*patches, single(options)?, options)?]),
        _ => {
            let transform = single(options)?;
            refuse_fields(options)?;
            let output = transform.of_size((0, 0));
            Ok(vec![Views::single_with(transform, output)])
        }
    }
}

fn in_buckets(buckets: &SizeBuckets, options: &Options) -> Result<Vec<Views>> {
    let plain = [ViewGroup::new("", 1, TransformList::new(Vec::new())?)];
    let groups = if options.views.is_empty() { &plain[..] } else { &options.views };
    let mut forms: Vec<Vec<ViewGroup>> = vec![Vec::new(); buckets.sizes().len()];
    for ViewGroup { name, n_views, transform } in groups {
        for (form, list) in forms.iter_mut().zip(buckets.lists(transform)?) {
            form.push(ViewGroup::new(name, *n_views, list));
        }
    }
    forms.iter().map(|groups| Views::new(groups, options.view_layout, true)).collect()
}

fn of_patches(patches: Patches, transform: TransformList, options: &Options) -> Result<Views> {
    patches.check()?;
    refuse_fields(options)?;
    if !transform.keeps_sizes() {
        return refuse(
            "the image is resized to its patches before the transforms: leave out those \
                       that cut, resize or pad",
        );
    }
    let output = transform.of_size((patches.side * patches.side, patches.most));
    if transform.bands().is_some() {
        return refuse("patches are of RGB: leave Bands out, or take buckets");
    }
    if output.layout == Layout::Nchw {
        return refuse("the pixels of a patch are next to each other: leave ToLayout out");
    }
    Ok(Views::single_with(transform, output))
}

/// Returns the list of the only view.
fn single(options: &Options) -> Result<TransformList> {
    match &options.views[..] {
        [] => TransformList::new(Vec::new()),
        [ViewGroup { n_views: 1, transform, .. }] => Ok(transform.clone()),
        _ => refuse("rows of their own sizes have one view: leave `views` out"),
    }
}

/// Refuses fields that have the size of the image.
fn refuse_fields(options: &Options) -> Result<()> {
    match options.masks.is_empty() {
        true => Ok(()),
        false => refuse("masks are columns of one size: take buckets, or leave `masks` out"),
    }
}

fn refuse<T>(what: &str) -> Result<T> {
    Err(Error::usage("sizes", what))
}

/// Returns the resize of an image of this width and height to its patches, before its list of
/// transforms; `None` without patches.
///
/// # Errors
/// The reason why the image does not fit into its patches, as the end of a sentence.
pub(super) fn before(sizes: &Sizes, size: (u32, u32)) -> Result<Option<Change>, String> {
    let Sizes::Patches(patches) = sizes else { return Ok(None) };
    let (rows, columns) = patches.grid(size);
    let Patches { most, side } = *patches;
    if u64::from(rows) * u64::from(columns) > most.into() {
        let (width, height) = size;
        return Err(format!("{width}x{height} pixels are too long a shape for {most} patches"));
    }
    let size = [rows * side, columns * side];
    Ok(Some(Change::Resize { size, interpolation: Interpolation::Bilinear }))
}

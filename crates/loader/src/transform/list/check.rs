//! What a list makes of images: checked once for a run, before any image is read.
use super::{
    super::{
        Normalise, Output,
        bands::BandForm,
        output::{DType, Layout},
    },
    Change, DrawKey, EraseValue, Mix, ResizeTo, Transform,
    draw::{draw, resized},
};
use fdconvert_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// A checked list of transforms.
///
/// In a document it is the list of its transforms, each under its name:
/// `[{"RandomResizedCrop": {"size": [224, 224]}}, {"RandomHorizontalFlip": {}}]`.
///
/// ```
/// use fdconvert_loader::parts::{DrawKey, Transform, TransformList, Transformer};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let list = TransformList::new(vec![
///     Transform::RandomResizedCrop { size: [32, 32], scale: [0.08, 1.0], ratio: [0.75, 1.333] },
///     Transform::RandomHorizontalFlip { p: 0.5 },
/// ])?;
/// let key = DrawKey { seed: 7, epoch: 0, sample: 3, occurrence: 0, view: 0 };
/// let gray = vec![127; 200 * 100 * 3];
/// let (row, output) = Transformer::default().apply(&list, &gray, (200, 100), key)?;
/// assert_eq!((output.size, row.len()), ((32, 32), 32 * 32 * 3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Transform>", into = "Vec<Transform>")]
pub struct TransformList {
    /// As it was written: first the changes of images.
    transforms: Vec<Transform>,
    n_changes: usize,
    dtype: DType,
    layout: Layout,
    normalise: Option<Normalise>,
    bands: Option<BandForm>,
    mix: Option<Mix>,
}

/// The option that a list is.
const OPTION: &str = "transform";

pub(super) fn refuse<T>(what: String) -> Result<T> {
    Err(Error::usage(OPTION, what))
}

impl TransformList {
    /// Checks a list.
    ///
    /// # Errors
    /// `Usage` for arguments out of their range, and for transforms of the row's form or of batches
    /// before others or in them.
    pub fn new(list: Vec<Transform>) -> Result<Self> {
        let (mut dtype, mut layout, mut normalise, mut mix) = (None, None, None, None);
        let mut bands = None;
        let mut n_changes = 0;
        for transform in &list {
            let name = transform.name();
            let is_late = dtype.is_some() || layout.is_some() || normalise.is_some();
            match transform {
                Transform::ToDtype { dtype: it } => once(&mut dtype, *it, name)?,
                Transform::ToLayout { layout: it } => once(&mut layout, *it, name)?,
                Transform::Normalize { mean, std } => {
                    once(&mut normalise, (&mean[..], &std[..]), name)?;
                }
                it if it.is_of_batches() => {
                    once(&mut mix, it.mix()?, "MixUp or CutMix (or both in a RandomChoice)")?;
                }
                _ if is_late || mix.is_some() => {
                    return refuse(format!(
                        "{name} works on the image and comes before ToDtype, ToLayout, Normalize, \
                         MixUp and CutMix"
                    ));
                }
                transform => {
                    transform.check()?;
                    if let Transform::Bands { n, dtype } = *transform {
                        once(&mut bands, (n, dtype), name)?;
                    }
                    n_changes += 1;
                }
            }
        }
        let stored = bands.map_or(DType::U8, |(_, dtype)| dtype);
        let dtype = dtype.unwrap_or(if normalise.is_some() { DType::F32 } else { stored });
        let layout = layout.unwrap_or_default();
        let (bands, normalise) = match bands {
            Some((n, stored)) => {
                let changes = list.get(..n_changes).unwrap_or_default();
                (Some(BandForm::new(n, stored, dtype, normalise, changes)?), None)
            }
            None if matches!(dtype, DType::U16 | DType::I16) => {
                let what = "ToDtype: RGB of 8 bits has no values of 16; Bands(n, \"u16\") at the start \
                            of the list takes images of 16 bits as they are stored";
                return refuse(what.into());
            }
            None => (None, normalise.map(Normalise::of).transpose()?),
        };
        if mix.is_some() && bands.is_some() {
            return refuse("MixUp and CutMix mix images of RGB: leave them or Bands out".into());
        }
        let list = Self { transforms: list, n_changes, dtype, layout, normalise, bands, mix };
        list.of_size((1, 1)).check()?;
        Ok(list)
    }

    /// Returns the transforms, as they were written.
    #[must_use]
    pub fn transforms(&self) -> &[Transform] {
        &self.transforms
    }

    /// Returns those that change images.
    fn changes(&self) -> &[Transform] {
        self.transforms.get(..self.n_changes).unwrap_or_default()
    }

    /// Returns the form of the rows of a batch, which are all of one size.
    ///
    /// # Errors
    /// `Usage` if the list leaves images of several sizes.
    pub fn output(&self) -> Result<Output> {
        let Some(size) = size_of(self.changes(), None) else {
            return refuse(
                "rows have one size, and this list leaves images of several: end it with a crop, \
                 Resize([height, width]) or Letterbox"
                    .into(),
            );
        };
        let output = self.of_size(size);
        output.check()?;
        Ok(output)
    }

    /// Returns true if images of any size have the same size afterwards.
    pub(crate) fn keeps_sizes(&self) -> bool {
        // Sides that no transform is likely to name.
        let size = Some((7919, 6133));
        size_of(self.changes(), size) == size
    }

    /// Returns true if all transforms are cuts, resizes and flips.
    pub(crate) fn only_resamples(&self) -> bool {
        self.changes().iter().all(|transform| {
            matches!(
                transform,
                Transform::Resize { .. }
                    | Transform::CenterCrop { .. }
                    | Transform::RandomCrop { .. }
                    | Transform::RandomResizedCrop { .. }
                    | Transform::ScaleJitter { .. }
                    | Transform::Cover { .. }
                    | Transform::Bands { .. }
                    | Transform::RandomHorizontalFlip { .. }
                    | Transform::RandomVerticalFlip { .. }
            )
        })
    }

    /// Returns true if an image may become a mixture of differently moved copies, which nothing can
    /// follow.
    pub(crate) fn mixes_copies(&self) -> bool {
        fn any(list: &[Transform]) -> bool {
            list.iter().any(|transform| match transform {
                Transform::AugMix { .. } => true,
                Transform::RandomApply { transforms, .. }
                | Transform::RandomChoice { transforms, .. }
                | Transform::RandomOrder { transforms } => any(transforms),
                _ => false,
            })
        }
        any(self.changes())
    }

    /// Returns the side at which square images need no resizing; `None` if the list draws how much
    /// of them is shown, or takes them as they are.
    pub(crate) fn draw_side(&self) -> Option<u32> {
        match *self.changes().first()? {
            Transform::Resize { size: ResizeTo::Short(short), .. } => Some(short),
            Transform::Resize { size: ResizeTo::Exact([height, width]), .. } => {
                Some(height.max(width))
            }
            Transform::Letterbox { size: [height, width], .. } => Some(height.min(width)),
            _ => None,
        }
    }

    /// Returns the mixing of the rows of a batch.
    #[must_use]
    pub fn mix(&self) -> Option<&Mix> {
        self.mix.as_ref()
    }

    /// Returns the form of images of bands; `None` for RGB.
    pub(crate) fn bands(&self) -> Option<&BandForm> {
        self.bands.as_ref()
    }

    /// Draws the changes for an image of this width and height.
    ///
    /// # Errors
    /// `Usage` if a crop is larger than the image.
    pub fn draw(&self, size: (u32, u32), key: DrawKey) -> Result<Vec<Change>> {
        draw(self.changes(), size, key).map_err(|what| Error::usage(OPTION, what))
    }

    /// Returns the form of an image of this size.
    pub(crate) fn of_size(&self, size: (u32, u32)) -> Output {
        let Self { dtype, layout, normalise, .. } = *self;
        let channels = self.bands.as_ref().map_or(3, |form| form.bands.n.into());
        Output { size, dtype, layout, channels, normalise }
    }
}

impl Default for TransformList {
    /// Creates torchvision's usual list for evaluation: the short side becomes 256 pixels, of which
    /// the middle 224 x 224 are shown, as bytes.
    fn default() -> Self {
        Self {
            transforms: vec![Transform::resize(256), Transform::center_crop(224)],
            n_changes: 2,
            dtype: DType::U8,
            layout: Layout::Nhwc,
            normalise: None,
            bands: None,
            mix: None,
        }
    }
}

impl TryFrom<Vec<Transform>> for TransformList {
    type Error = Error;

    fn try_from(list: Vec<Transform>) -> Result<Self> {
        Self::new(list)
    }
}

impl From<TransformList> for Vec<Transform> {
    fn from(list: TransformList) -> Self {
        list.transforms
    }
}

fn once<T>(place: &mut Option<T>, value: T, name: &str) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => refuse(format!("{name} is there twice")),
    }
}

/// Returns the size of the images after a list; `None` if it is not known before.
fn size_of(list: &[Transform], size: Option<(u32, u32)>) -> Option<(u32, u32)> {
    list.iter().fold(size, |size, transform| transform.size(size))
}

impl Transform {
    /// Returns torchvision's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        macro_rules! names {
            ($($name:ident)+) => {
                match self {
                    $(Self::$name { .. } => stringify!($name),)+
                }
            };
        }
        names!(
            Resize CenterCrop RandomCrop RandomResizedCrop ScaleJitter Letterbox Cover Pad
            RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomAffine RandomPerspective
            ColorJitter Grayscale RandomGrayscale GaussianBlur RandomInvert RandomPosterize
            RandomSolarize RandomAdjustSharpness RandomAutocontrast RandomEqualize RandomErasing
            AutoAugment RandAugment TrivialAugmentWide AugMix RandomApply RandomChoice RandomOrder
            Bands Normalize ToDtype ToLayout MixUp CutMix
        )
    }

    /// Returns width and height afterwards, as far as they do not depend on the image.
    fn size(&self, size: Option<(u32, u32)>) -> Option<(u32, u32)> {
        match self {
            Self::Resize { size: ResizeTo::Exact([height, width]), .. }
            | Self::CenterCrop { size: [height, width] }
            | Self::RandomCrop { size: [height, width], .. }
            | Self::RandomResizedCrop { size: [height, width], .. }
            | Self::Letterbox { size: [height, width], .. }
            | Self::Cover { size: [height, width], .. } => Some((*width, *height)),
            Self::Resize { size: short, max_size, .. } => {
                let [height, width] = resized(size?, *short, *max_size);
                Some((width, height))
            }
            Self::ScaleJitter { .. } | Self::RandomRotation { expand: true, .. } => None,
            Self::Pad { padding, fill, padding_mode } => {
                let (padding, fill, padding_mode) = (*padding, *fill, *padding_mode);
                Some(Change::Pad { padding, fill, padding_mode }.size(size?))
            }
            Self::RandomApply { transforms, .. } => {
                size_of(transforms, size).filter(|made| Some(*made) == size)
            }
            Self::RandomOrder { transforms } => {
                let is_same = |it: &Self| it.size(size) == size;
                size.filter(|_| transforms.iter().all(is_same))
            }
            Self::RandomChoice { transforms, .. } => {
                let mut sizes = transforms.iter().map(|it| it.size(size));
                let first = sizes.next()??;
                sizes.all(|it| it == Some(first)).then_some(first)
            }
            _ => size,
        }
    }

    /// Checks the arguments.
    pub(super) fn check(&self) -> Result<()> {
        let name = self.name();
        let wrong = |what: String| refuse(format!("{name}: {what}"));
        let probability = |p: f64| match (0.0..=1.0).contains(&p) {
            true => Ok(()),
            false => wrong(format!("p={p} is not a probability, 0 to 1")),
        };
        let range = |argument: &str, [least, most]: [f64; 2], from: f64, to: f64| match least
            .is_finite()
            && most.is_finite()
            && from <= least
            && least <= most
            && most <= to
        {
            true => Ok(()),
            false if to == f64::INFINITY => wrong(format!(
                "{argument}=({least}, {most}) is not a range from {from} on, the smaller number \
                     first"
            )),
            false => wrong(format!(
                "{argument}=({least}, {most}) is not a range within {from} to {to}, the smaller \
                     number first"
            )),
        };
        let side = |argument: &str, size: &[u32]| match size
            .iter()
            .all(|side| (1..=Output::MAX_SIDE).contains(side))
        {
            true => Ok(()),
            false => {
                wrong(format!("{argument}={size:?}: a side has 1 to {} pixels", Output::MAX_SIDE))
            }
        };
        let numbers = |argument: &str, values: &[f64]| match values.iter().all(|it| it.is_finite())
        {
            true => Ok(()),
            false => wrong(format!("{argument}={values:?} are not all numbers")),
        };
        let positive = f64::MIN_POSITIVE;
        match self {
            Self::Resize { size, max_size, .. } => {
                match size {
                    ResizeTo::Short(short) => side("size", &[*short])?,
                    ResizeTo::Exact(size) => side("size", size)?,
                }
                match (size, max_size) {
                    (ResizeTo::Short(short), Some(max_size)) if max_size <= short => wrong(
                        format!("max_size={max_size} must be above the short side of {short}"),
                    ),
                    (ResizeTo::Exact(_), Some(_)) => {
                        wrong("max_size goes with the short side alone".into())
                    }
                    (_, max_size) => side("max_size", max_size.as_slice()),
                }
            }
            Self::CenterCrop { size } | Self::Letterbox { size, .. } | Self::Cover { size, .. } => {
                side("size", size)
            }
            Self::RandomCrop { size, padding, .. } => {
                side("size", size)?;
                padding_is_sound(name, padding.unwrap_or_default())
            }
            Self::Pad { padding, .. } => padding_is_sound(name, *padding),
            Self::RandomResizedCrop { size, scale, ratio } => {
                side("size", size)?;
                range("scale", *scale, positive, 1.0)?;
                range("ratio", *ratio, positive, f64::INFINITY)
            }
            Self::ScaleJitter { target_size, scale_range } => {
                side("target_size", target_size)?;
                range("scale_range", *scale_range, positive, 100.0)
            }
            Self::RandomHorizontalFlip { p }
            | Self::RandomVerticalFlip { p }
            | Self::RandomGrayscale { p }
            | Self::RandomInvert { p }
            | Self::RandomAutocontrast { p }
            | Self::RandomEqualize { p } => probability(*p),
            Self::RandomRotation { degrees, center, .. } => {
                numbers("center", &center.unwrap_or_default())?;
                range("degrees", *degrees, -1e6, 1e6)
            }
            Self::RandomAffine { degrees, translate, scale, shear, center, .. } => {
                numbers("center", &center.unwrap_or_default())?;
                range("degrees", *degrees, -1e6, 1e6)?;
                if translate.is_some_and(|it| it.iter().any(|it| !(0.0..=1.0).contains(it))) {
                    return wrong(format!("translate={translate:?} are shares, 0 to 1"));
                }
                range("scale", scale.unwrap_or([1.0; 2]), positive, 1e6)?;
                let [a, b, c, d] = shear.unwrap_or_default();
                range("shear", [a, b], -89.0, 89.0)?;
                range("shear", [c, d], -89.0, 89.0)
            }
            Self::RandomPerspective { distortion_scale, p, .. } => {
                range("distortion_scale", [*distortion_scale; 2], 0.0, 1.0)?;
                probability(*p)
            }
            Self::ColorJitter { brightness, contrast, saturation, hue } => {
                for (argument, value) in
                    [("brightness", brightness), ("contrast", contrast), ("saturation", saturation)]
                {
                    range(argument, value.unwrap_or([1.0; 2]), 0.0, f64::INFINITY)?;
                }
                range("hue", hue.unwrap_or_default(), -0.5, 0.5)
            }
            Self::GaussianBlur { kernel_size, sigma } => {
                side("kernel_size", kernel_size)?;
                if kernel_size.iter().any(|side| side % 2 == 0) {
                    return wrong(format!("kernel_size={kernel_size:?} must be odd"));
                }
                range("sigma", *sigma, positive, f64::INFINITY)
            }
            Self::RandomPosterize { bits, p } => {
                if *bits > 8 {
                    return wrong(format!("bits={bits} are not 0 to 8"));
                }
                probability(*p)
            }
            Self::RandomSolarize { threshold, p } => {
                range("threshold", [*threshold; 2], 0.0, 256.0)?;
                probability(*p)
            }
            Self::RandomAdjustSharpness { sharpness_factor, p } => {
                range("sharpness_factor", [*sharpness_factor; 2], 0.0, f64::INFINITY)?;
                probability(*p)
            }
            Self::RandomErasing { p, scale, ratio, value } => {
                probability(*p)?;
                if let EraseValue::Pixels { mean, std } = value {
                    numbers("mean", mean)?;
                    numbers("std", std)?;
                }
                range("scale", *scale, 0.0, 1.0)?;
                range("ratio", *ratio, positive, f64::INFINITY)
            }
            Self::RandAugment { num_ops, magnitude, num_magnitude_bins, .. } => {
                if *num_ops > MAX_CHANGES {
                    return wrong(format!("num_ops={num_ops} is more than {MAX_CHANGES}"));
                }
                if *num_magnitude_bins < 2 || magnitude >= num_magnitude_bins {
                    return wrong(format!(
                        "magnitude={magnitude} must be below num_magnitude_bins={num_magnitude_bins}, \
                         and that at least 2"
                    ));
                }
                Ok(())
            }
            Self::TrivialAugmentWide { num_magnitude_bins, .. } => match *num_magnitude_bins < 2 {
                true => wrong("num_magnitude_bins must be at least 2".into()),
                false => Ok(()),
            },
            Self::AugMix { severity, mixture_width, chain_depth, alpha, .. } => {
                if !(1..=10).contains(severity) {
                    return wrong(format!("severity={severity} is not 1 to 10"));
                }
                if !(1..=MAX_CHANGES).contains(mixture_width) || *chain_depth > MAX_CHANGES as i32 {
                    return wrong(format!(
                        "mixture_width and chain_depth are at most {MAX_CHANGES}, and the first at \
                         least 1"
                    ));
                }
                // Below, shares are numbers that doubles cannot tell from 0.
                range("alpha", [*alpha; 2], 0.05, 1e6)
            }
            Self::RandomApply { transforms, p } => {
                probability(*p)?;
                inner(name, transforms)
            }
            Self::RandomOrder { transforms } => inner(name, transforms),
            Self::RandomChoice { transforms, p } => {
                let p = p.as_deref().unwrap_or_default();
                let is_sound = |p: &f64| p.is_finite() && *p >= 0.0;
                if !p.is_empty()
                    && (p.len() != transforms.len()
                        || !p.iter().all(is_sound)
                        || p.iter().sum::<f64>() <= 0.0)
                {
                    return wrong("p must have a number of at least 0 for each transform".into());
                }
                inner(name, transforms)
            }
            Self::Grayscale {}
            | Self::Bands { .. }
            | Self::AutoAugment { .. }
            | Self::Normalize { .. }
            | Self::ToDtype { .. }
            | Self::ToLayout { .. }
            | Self::MixUp { .. }
            | Self::CutMix { .. } => Ok(()),
        }
    }
}

/// More changes leave nothing of an image, and take seconds.
const MAX_CHANGES: u32 = 100;

fn padding_is_sound(name: &str, padding: [u32; 4]) -> Result<()> {
    match padding.iter().all(|side| *side <= Output::MAX_SIDE) {
        true => Ok(()),
        false => refuse(format!("{name}: a padding of {padding:?} is too large")),
    }
}

/// Checks the list within a transform.
fn inner(name: &str, transforms: &[Transform]) -> Result<()> {
    if transforms.is_empty() {
        return refuse(format!("{name} has no transforms"));
    }
    let are_of_batches = transforms.iter().all(Transform::is_of_batches);
    for transform in transforms {
        let is_form = matches!(
            transform,
            Transform::Bands { .. }
                | Transform::Normalize { .. }
                | Transform::ToDtype { .. }
                | Transform::ToLayout { .. }
        );
        if is_form || (transform.is_of_batches() && !are_of_batches) {
            let what =
                format!("{} gives all rows their form, and cannot be in {name}", transform.name());
            return refuse(what);
        }
        transform.check()?;
    }
    Ok(())
}
